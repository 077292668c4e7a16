import { CrawlError } from '../errors.ts';
import { boolean, integer, mustTake, oneOf, onlyKnown, show, wrongOption } from '../options.ts';
import type { RobotsSource, Transport, TransportResponse } from '../ports.ts';
import type { Headers } from '../types.ts';
import { parseUrl } from '../url.ts';
import { Chain, type HopTransport } from './chain.ts';
import { Deadlines } from './deadline.ts';
import { withUrl } from './failure.ts';
import { GotTransport } from './got-transport.ts';
import { checkHeaders, requestHeaders, type Validators } from './headers.ts';
import type { Hop } from './hop.ts';
import { LeanTransport } from './lean-transport.ts';
import { type FetcherOptions, type FetcherSettings, fetcherSettings } from './options.ts';
import { isSocks } from './proxy.ts';
import { strip } from './redirect.ts';
import { loadSocks } from './tunnel.ts';
import type { FetchRequest, FetchResult } from './types.ts';

export { type HeadersOption, type Validators, validatorsOf } from './headers.ts';
export {
  type BodySizes,
  FETCHER_DEFAULTS,
  type FetcherOptions,
  type Timeouts,
  type TransportOption,
} from './options.ts';
export type { ProxyOption } from './proxy.ts';
export type { TlsSettings } from './tls.ts';
export type { FetchRequest, FetchResult } from './types.ts';

const REQUEST_FIELDS = [
  'url',
  'headers',
  'redirect',
  'accept',
  'maxBodyBytes',
  'resend',
  'referer',
  'beforeHop',
  'beforeLargeBody',
  'validators',
];

/**
 * Fetches one URL at a time, as a polite and careful client does: it says who asks, follows redirects hop by hop, connects
 * only where it may, and lets no answer take more time or room than it should. It knows no robots.txt, no delays and no
 * retries; those are for who uses it, by {@link FetchRequest.beforeHop} or the crawler.
 */
export class Fetcher implements RobotsSource {
  readonly #settings: FetcherSettings;
  readonly #transport: HopTransport;
  readonly #deadlines = new Deadlines();
  #closed = false;

  /**
   * Opens nothing.
   * @throws {@link CrawlError} `CRAWL_CONTACT_MISSING`, `CRAWL_OPTION_UNKNOWN`, `CRAWL_OPTION_INVALID` or
   * `CRAWL_OPTION_CONFLICT`
   */
  constructor(options: FetcherOptions) {
    this.#settings = fetcherSettings(options);
    this.#transport = transportOf(this.#settings);
  }

  /**
   * Loads what the first request needs, so that its time isn't counted as the server's. Never opens a connection.
   * Rejects with {@link CrawlError} `CRAWL_DEPENDENCY_MISSING` where `proxy` is one of SOCKS and the package is missing.
   */
  async ready(): Promise<void> {
    if (isSocks(this.#settings.proxy)) await loadSocks();
    await this.#transport.ready?.();
  }

  /**
   * Sends a GET and reads the answer. Every status is an answer; only what gives none is an error.
   *
   * @param signal - Gives up; also a body that is still being read as a stream.
   * @throws {@link CrawlError} (as a rejection, or as the error of `result.stream`), retryable unless marked *:
   * - before anything is sent: `CRAWL_URL_INVALID`*, `CRAWL_SCHEME_REFUSED`*, `CRAWL_PORT_REFUSED`*,
   *   `CRAWL_ADDRESS_REFUSED`*, `CRAWL_OPTION_INVALID`*, `CRAWL_OPTION_UNKNOWN`*
   * - no connection: `CRAWL_DNS_FAILED`, `CRAWL_CONNECT_FAILED`, `CRAWL_CONNECT_TIMEOUT`, `CRAWL_TLS_FAILED` (* for a
   *   certificate that is not valid), `CRAWL_PROXY_FAILED` (* where the proxy said no), `CRAWL_DEPENDENCY_MISSING`* (a
   *   SOCKS proxy without the package `socks`)
   * - no answer: `CRAWL_CONNECTION_LOST`, `CRAWL_HEADERS_TIMEOUT`, `CRAWL_PROTOCOL_INVALID`*,
   *   `CRAWL_HEADERS_TOO_LARGE`*
   * - redirects: `CRAWL_TOO_MANY_REDIRECTS`*, `CRAWL_REDIRECT_INVALID`*, `CRAWL_REDIRECT_REFUSED`*
   * - no whole body: `CRAWL_BODY_TRUNCATED`, `CRAWL_BODY_UNDECODABLE`*, `CRAWL_BODY_BOMB`*
   * - at any time: `CRAWL_PAGE_TIMEOUT`, `CRAWL_ABORTED`*, `CRAWL_CLOSED`*, `CRAWL_HOOK_FAILED`* (`accept`,
   *   `headers`, `proxy` or the cookie store threw)
   */
  async fetch(request: FetchRequest, signal?: AbortSignal): Promise<FetchResult> {
    return this.#fetch(request, signal);
  }

  /** @param origin - That of the URL which the caller named himself, where it is another. */
  async #fetch(request: FetchRequest, signal?: AbortSignal, origin?: string): Promise<FetchResult> {
    if (this.#closed) throw closedError(request?.url?.toString());
    checkRequest(request);
    const isSignal = signal === undefined || signal instanceof AbortSignal;
    mustTake('Fetcher.fetch', 'an AbortSignal as its second argument', isSignal, signal);
    const { fragment, url } = startOf(request.url);
    const loading = this.#transport.ready?.();
    if (loading !== undefined) {
      await loading.catch((error) => {
        throw withUrl(error, url.href);
      });
      if (this.#closed) throw closedError(url.href);
    }
    const { connect, page } = this.#settings.timeouts;
    const deadline = this.#deadlines.start(url.href, { pageMs: page, firstPhaseMs: connect }, signal);
    const named = origin === undefined ? url : startOf(origin).url;
    const context = { settings: this.#settings, transport: this.#transport, deadline, named };
    return new Chain(context, request, url, fragment).run();
  }

  /**
   * The headers that a request for this URL would have by itself, names in lower case: no cookies, no conditions.
   * @throws {@link CrawlError} `CRAWL_URL_INVALID`, or `CRAWL_HOOK_FAILED` where a `headers` function fails.
   */
  headersFor(url: string): Readonly<Record<string, string>> {
    const none = { headers: undefined, referer: undefined, validators: undefined };
    return requestHeaders(this.#settings, { url: startOf(url).url, ...none, sameOrigin: true, trusted: true });
  }

  /**
   * One GET without redirects, for a `RobotsCache`; the body is cut at `maxBytes`.
   * @throws {@link CrawlError} as {@link fetch} does.
   */
  async getOnce(
    url: string,
    options: {
      readonly maxBytes: number;
      readonly userAgent: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly signal?: AbortSignal;
      readonly origin?: string;
    },
  ): Promise<{ readonly status: number; readonly headers: Headers; readonly body: Uint8Array; readonly url: string }> {
    mustTake('Fetcher.getOnce', 'an object with maxBytes and userAgent', isObject(options), options);
    const { status, headers, body, finalUrl } = await this.#fetch(
      {
        url,
        redirect: 'manual',
        maxBodyBytes: options.maxBytes,
        headers: { ...options.headers, 'user-agent': options.userAgent },
      },
      options.signal,
      options.origin,
    );
    return { status, headers, body, url: finalUrl };
  }

  /** Ends what is running with `CRAWL_CLOSED` and lets go of all connections. A second call does nothing. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#deadlines.close(closedError(undefined));
    await this.#transport.close();
  }
}

function transportOf(settings: FetcherSettings): HopTransport {
  const { transport } = settings;
  if (typeof transport !== 'string') {
    return { request: (hop) => askTransport(transport, hop), close: () => Promise.resolve() };
  }
  return transport === 'got' ? new GotTransport(settings) : new LeanTransport(settings);
}

/** Holds a transport of the user's to the time of the fetch, should it not watch the signal itself. */
async function askTransport(transport: Transport, hop: Hop): Promise<TransportResponse> {
  const { deadline } = hop;
  const answering = transport.request(hop.toRequest());
  answering.then(
    ({ body }) => {
      if (deadline.reason !== undefined) body.destroy(deadline.reason);
    },
    () => {},
  );
  const response = await deadline.race(answering);
  try {
    if (response.remoteAddress !== undefined) hop.checkAddress(response.remoteAddress);
  } catch (error) {
    response.body.destroy();
    throw error;
  }
  deadline.watch((reason) => response.body.destroy(reason));
  return response;
}

function isObject(value: unknown): boolean {
  return value !== null && typeof value === 'object';
}

function checkRequest(request: FetchRequest): void {
  const isBare = typeof request === 'string' || (request as unknown) instanceof URL;
  mustTake('Fetcher.fetch', "an object as { url: 'https://...' }", !isBare, request);
  onlyKnown('Fetcher.fetch', request, REQUEST_FIELDS);
  oneOf('redirect', request.redirect, 'follow', ['follow', 'manual']);
  integer('maxBodyBytes', request.maxBodyBytes, 0);
  boolean('resend', request.resend, true);
  if (request.validators !== undefined) checkValidators(request.validators);
  for (const name of ['accept', 'beforeHop', 'beforeLargeBody'] as const) {
    if (request[name] !== undefined && typeof request[name] !== 'function') {
      throw wrongOption(name, 'a function', request[name]);
    }
  }
}

function checkValidators(validators: Validators): void {
  onlyKnown('validators', validators, ['etag', 'lastModified']);
  const { etag = '', lastModified = '' } = validators;
  checkHeaders({ 'if-none-match': etag, 'if-modified-since': lastModified });
}

/** The URL to ask for: credentials and fragment are not sent. */
function startOf(text: unknown): { readonly url: URL; readonly fragment: string } {
  // A copy: what is not sent is taken out of it.
  const url = typeof text === 'string' || text instanceof URL ? parseUrl(String(text)) : undefined;
  if (url === undefined) {
    throw new CrawlError('CRAWL_URL_INVALID', `Not an absolute URL: ${show(text)}`, {
      ...(typeof text === 'string' ? { url: text } : {}),
    });
  }
  const fragment = url.hash;
  strip(url);
  return { url, fragment };
}

function closedError(url: string | undefined): CrawlError {
  return new CrawlError('CRAWL_CLOSED', 'The fetcher was closed; make a new one.', url === undefined ? {} : { url });
}
