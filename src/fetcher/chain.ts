import { Readable } from 'node:stream';
import { AddressGuard, checkUrl } from '../address-guard.ts';
import { CrawlError, isCrawlError, toCrawlError } from '../errors.ts';
import { parseContentType } from '../headers.ts';
import type { CookieStore, TransportResponse } from '../ports.ts';
import type { Acceptance, RedirectHop, ResponseHead, Timings } from '../types.ts';
import { Meter, readBody } from './body.ts';
import { BodyStream } from './body-stream.ts';
import { contentCodings } from './codings.ts';
import { cookiesFor, takeCookies } from './cookies.ts';
import type { Deadline } from './deadline.ts';
import { discard } from './discard.ts';
import { toFetchError, withUrl } from './failure.ts';
import { requestHeaders } from './headers.ts';
import { Hop } from './hop.ts';
import type { FetcherSettings } from './options.ts';
import { checkChain, redirectOf, strip } from './redirect.ts';
import type { FetchRequest, FetchResult } from './types.ts';

/** Statuses whose answers have no body, whatever the server sends (RFC 9110, 15.3.5, 15.3.6 and 15.4.5). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

const HTML: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml']);
const NOTHING: Buffer = Buffer.alloc(0);

/** Chunks of a single byte take six bytes each; the head and what a chunk may have besides come on top. */
const WIRE_BYTES_PER_BYTE = 16;
const WIRE_BYTES_MORE = 1_048_576;

/** Who sends the requests of a fetch. */
export interface HopTransport {
  request(hop: Hop): Promise<TransportResponse>;
  /** Waited for before the clock of a fetch starts. */
  ready?(): Promise<unknown> | undefined;
  close(): Promise<void>;
}

/** What a fetch needs of its fetcher. */
export interface ChainContext {
  readonly settings: FetcherSettings;
  readonly transport: HopTransport;
  readonly deadline: Deadline;
  /** What the caller has named himself, by which it is judged what may be connected to and who may learn who asks. */
  readonly named: URL;
}

/** One fetch: the request, those it was redirected to, and the body of the last answer. */
export class Chain {
  readonly #context: ChainContext;
  readonly #request: FetchRequest;
  readonly #start: URL;
  readonly #fragment: string;
  readonly #guard: AddressGuard;
  readonly #hops: RedirectHop[] = [];
  #url: URL;
  #hop: Hop | undefined;
  #sentAt = 0;
  #answeredAt = 0;

  constructor(context: ChainContext, request: FetchRequest, start: URL, fragment: string) {
    this.#context = context;
    this.#request = request;
    this.#start = start;
    this.#fragment = fragment;
    this.#url = start;
    this.#guard = guardFor(context.settings.network, context.named.hostname);
  }

  /** Ends the deadline when all is read; where the body is a stream, when that is closed. */
  async run(): Promise<FetchResult> {
    let streaming = false;
    try {
      for (;;) {
        const response = await this.#send();
        this.#answeredAt = performance.now();
        const redirect = redirectOf(response.status, response.headers, this.#url, this.#fragment);
        if (redirect.kind === 'none' || (redirect.kind === 'unusable' && this.#request.redirect === 'manual')) {
          const result = await this.#receive(response);
          streaming = result.stream instanceof BodyStream;
          return result;
        }
        await discard(response);
        if (redirect.kind === 'unusable') throw this.#invalid(response.status, redirect.why);
        if (this.#request.redirect === 'manual')
          return this.#result(response, this.#head(response), 'skip', { location: redirect.url.href });
        this.#follow(response.status, redirect.url);
      }
    } catch (error) {
      throw withUrl(error, this.#url.href);
    } finally {
      if (!streaming) this.#context.deadline.end();
    }
  }

  async #send(): Promise<TransportResponse> {
    const { deadline, settings, transport } = this.#context;
    const url = this.#url;
    checkUrl(url);
    this.#guard.checkHostname(url.hostname);
    if (this.#request.beforeHop !== undefined) await deadline.race(this.#ask(this.#request.beforeHop));
    deadline.throwIfAborted();
    const trusted = this.#isTrusted(url);
    const headers = this.#headers(url, trusted);
    if (settings.cookies !== undefined) await this.#addCookies(settings.cookies, headers);
    const resend = this.#request.resend ?? this.#request.redirect !== 'manual';
    const hop = new Hop(url, headers, { deadline, guard: this.#guard, settings, resend, trusted });
    this.#hop = hop;
    this.#sentAt = performance.now();
    let response: TransportResponse;
    try {
      response = await transport.request(hop);
    } catch (error) {
      throw toFetchError(error, url.href, 'headers');
    }
    if (settings.cookies !== undefined) await this.#takeCookies(settings.cookies, response);
    return response;
  }

  async #addCookies(store: CookieStore, headers: Record<string, string>): Promise<void> {
    const cookies = await this.#context.deadline.race(cookiesFor(store, this.#url.href));
    if (cookies !== '') headers.cookie = headers.cookie === undefined ? cookies : `${headers.cookie}; ${cookies}`;
  }

  /** The body waits meanwhile. */
  async #takeCookies(store: CookieStore, response: TransportResponse): Promise<void> {
    const { headers } = response;
    if (headers['set-cookie'] === undefined) return;
    await this.#context.deadline.race(takeCookies(store, this.#url.href, headers));
  }

  #headers(url: URL, trusted: boolean): Record<string, string> {
    const { headers, referer, validators } = this.#request;
    return requestHeaders(this.#context.settings, {
      url,
      headers,
      referer,
      // They are those of the URL that was asked for, not of what it leads to.
      validators: this.#hops.length === 0 ? validators : undefined,
      sameOrigin: this.#isSameOrigin(url),
      trusted,
    });
  }

  #isSameOrigin(url: URL): boolean {
    return url === this.#start || url.origin === this.#start.origin;
  }

  /** Whether the user named this host, and the chain is still at the origin it began with. */
  #isTrusted(url: URL): boolean {
    const { named } = this.#context;
    if (!this.#isSameOrigin(url) || (named !== this.#start && named.origin !== url.origin)) return false;
    return this.#guard !== this.#context.settings.network || this.#guard.isNamed(url.hostname);
  }

  async #ask(beforeHop: NonNullable<FetchRequest['beforeHop']>): Promise<void> {
    try {
      await beforeHop(this.#url.href, this.#hops.slice());
    } catch (error) {
      if (isCrawlError(error)) throw error;
      const url = this.#url.href;
      throw toCrawlError(error, 'CRAWL_REDIRECT_REFUSED', `beforeHop refused ${url}`, { url });
    }
  }

  #follow(status: number, next: URL): void {
    this.#hops.push({ url: this.#url.href, status });
    strip(next);
    const { cookies, maxRedirects } = this.#context.settings;
    checkChain(this.#hops, next.href, { maxRedirects, mayRepeat: cookies !== undefined }, this.#start.href);
    this.#url = next;
  }

  async #receive(response: TransportResponse): Promise<FetchResult> {
    const head = this.#head(response);
    const acceptance = this.#acceptance(head, response);
    if (acceptance === 'skip' || WITHOUT_BODY.has(response.status)) {
      await discard(response);
      return this.#result(response, head, acceptance, acceptance === 'stream' ? { stream: Readable.from([]) } : {});
    }
    const maxBytes = this.#maxBytes(head.contentType);
    if (this.#hop !== undefined) this.#hop.maxWireBytes = WIRE_BYTES_PER_BYTE * maxBytes + WIRE_BYTES_MORE;
    const meter = new Meter(head.url, {
      maxBytes,
      maxRatio: this.#context.settings.maxDecompressionRatio,
      beforeLarge: this.#beforeLarge(head.url),
    });
    const source = response.body as Readable;
    const codings = contentCodings(response.headers);
    if (acceptance === 'buffer') {
      const body = await readBody(source, codings, meter);
      const { bytes, truncated, mislabelled } = meter;
      return this.#result(response, head, acceptance, { body, bytes, truncated, mislabelled });
    }
    const stream = new BodyStream(source, codings, meter, () => this.#context.deadline.end());
    return Object.defineProperties(this.#result(response, head, acceptance, { stream }), {
      bytes: { get: () => meter.bytes, enumerable: true },
      truncated: { get: () => meter.truncated, enumerable: true },
      mislabelled: { get: () => meter.mislabelled, enumerable: true },
    });
  }

  #acceptance(head: ResponseHead, response: TransportResponse): Acceptance {
    try {
      const answer = this.#request.accept?.(head) ?? 'buffer';
      if (answer === 'buffer' || answer === 'stream' || answer === 'skip') return answer;
      throw new TypeError(`it answered ${String(answer)}, not 'buffer', 'stream' or 'skip'`);
    } catch (error) {
      response.body.destroy();
      throw toCrawlError(error, 'CRAWL_HOOK_FAILED', `"accept" failed for ${head.url}`, { url: head.url });
    }
  }

  #beforeLarge(url: string): (() => Promise<void>) | undefined {
    const { beforeLargeBody } = this.#request;
    if (beforeLargeBody === undefined) return undefined;
    return async () => {
      try {
        await this.#context.deadline.setAside(beforeLargeBody());
      } catch (error) {
        throw toCrawlError(error, 'CRAWL_HOOK_FAILED', `"beforeLargeBody" failed for ${url}`, { url });
      }
    };
  }

  #maxBytes(contentType: string): number {
    const { html, other } = this.#context.settings.maxBodyBytes;
    return this.#request.maxBodyBytes ?? (HTML.has(contentType) || contentType === '' ? html : other);
  }

  #head({ headers, status }: TransportResponse): ResponseHead {
    const contentType = parseContentType(headers['content-type']).type;
    return { url: this.#url.href, status, headers, contentType };
  }

  #result(
    response: TransportResponse,
    head: ResponseHead,
    acceptance: Acceptance,
    more: Partial<FetchResult>,
  ): FetchResult {
    const { timings, remoteAddress } = response;
    const now = performance.now();
    const times: Timings = { ...timings, download: now - this.#answeredAt, total: now - this.#sentAt };
    const result: { -readonly [name in keyof FetchResult]: FetchResult[name] } = {
      url: this.#start.href,
      finalUrl: this.#url.href,
      redirects: this.#hops,
      status: head.status,
      headers: head.headers,
      contentType: head.contentType,
      body: more.body ?? NOTHING,
      acceptance,
      truncated: more.truncated ?? false,
      bytes: more.bytes ?? 0,
      mislabelled: more.mislabelled ?? false,
      timings: times,
      remoteAddress,
    };
    if (more.stream !== undefined) result.stream = more.stream;
    if (more.location !== undefined) result.location = more.location;
    return result;
  }

  #invalid(status: number, why: string): CrawlError {
    const url = this.#url.href;
    return new CrawlError('CRAWL_REDIRECT_INVALID', `A redirect (${status}) leads nowhere: ${why} (${url})`, {
      url,
      status,
    });
  }
}

/** Who uses a fetcher alone names the URL himself; a guard of his own knows which hosts were named. */
function guardFor(network: FetcherSettings['network'], hostname: string): AddressGuard {
  if (network instanceof AddressGuard) return network;
  const guard = new AddressGuard(network);
  guard.allowHost(hostname);
  return guard;
}
