import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { ExtendOptions, Got, Request } from 'got';
import { CrawlError } from '../errors.ts';
import type { Transport, TransportRequest, TransportResponse } from '../ports.ts';
import { type Agents, createAgents } from './agents.ts';
import { type Phase, RESETS, toFetchError } from './failure.ts';
import { toHeaders } from './headers.ts';

/** A kept-alive socket may be closed by the server just when it is used again; then the request was most likely never read. */
const STALE_SOCKET_TRIES = 2;

/** Sends requests by got, stripped of all that the crawler does itself: redirects, retries, decompression, cookies. */
export class GotTransport implements Transport {
  readonly #agents: Agents = createAgents();
  readonly #maxHeaderBytes: number;
  readonly #maxHeaderFields: number;
  #client: Promise<Got> | undefined;

  constructor(options: { readonly maxHeaderBytes: number; readonly maxHeaderFields: number }) {
    this.#maxHeaderBytes = options.maxHeaderBytes;
    this.#maxHeaderFields = options.maxHeaderFields;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    this.#client ??= this.#load();
    const client = await this.#client;
    request.signal.throwIfAborted();
    for (let tries = 0; ; tries++) {
      const exchange = new Exchange(client, request, this.#maxHeaderFields);
      try {
        return await exchange.response;
      } catch (error) {
        if (!exchange.wasStale || request.signal.aborted) throw error;
        if (request.once === true) throw staleError(request.url, error);
        if (tries === STALE_SOCKET_TRIES) throw error;
      }
    }
  }

  close(): Promise<void> {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
    return Promise.resolve();
  }

  /** With the first request, since whoever imports the package may never send one. */
  async #load(): Promise<Got> {
    const { default: got } = await import('got');
    return got.extend({
      agent: this.#agents,
      decompress: false,
      followRedirect: false,
      isStream: true,
      maxHeaderSize: this.#maxHeaderBytes,
      retry: { limit: 0 },
      // What counts as complete is HTTP's own framing, which Node checks.
      strictContentLength: false,
      throwHttpErrors: false,
    } as ExtendOptions);
  }
}

/**
 * One request and the head of its answer. The body is Node's own stream, not got's: it costs less, and what a server
 * sends behind the end of a body then spoils only the connection.
 */
class Exchange {
  readonly response: Promise<TransportResponse>;
  readonly #request: TransportRequest;
  readonly #maxHeaderFields: number;
  readonly #stream: Request;
  #phase: Phase = 'connect';
  #timer: NodeJS.Timeout | undefined;
  #stale = false;

  constructor(client: Got, request: TransportRequest, maxHeaderFields: number) {
    this.#request = request;
    this.#maxHeaderFields = maxHeaderFields;
    const options = {
      headers: request.headers,
      dnsLookup: request.lookup,
      ...(hasEmptyQuery(request.url) ? { request: keepEmptyQuery } : {}),
    };
    this.#stream = client(request.url, options as object) as unknown as Request;
    this.response = new Promise((resolve, reject) => this.#listen(resolve, reject));
  }

  /** Whether it failed on a kept-alive connection that the server had given up. */
  get wasStale(): boolean {
    return this.#stale;
  }

  #listen(resolve: (response: TransportResponse) => void, reject: (error: CrawlError) => void): void {
    const { signal, url } = this.#request;
    const stream = this.#stream;
    const onAbort = () => stream.destroy(signal.reason);
    const forget = () => {
      clearTimeout(this.#timer);
      signal.removeEventListener('abort', onAbort);
    };
    stream.on('error', (error: Error) => {
      forget();
      this.#stale = this.#phase === 'headers' && stream.reusedSocket === true && isLeftOver(error);
      reject(toFetchError(error, url, this.#phase));
    });
    stream.once('close', forget);
    stream.once('socket', (socket: Socket) => this.#watch(socket));
    // Unasked, so nobody could make use of it; without this the socket would stay open for ever.
    stream.once('upgrade', (_response: IncomingMessage, socket: Socket) => {
      socket.destroy();
      stream.destroy(protocolError(url, 'the server changed to another protocol'));
    });
    let sent: ClientRequest | undefined;
    stream.once('request', (request: ClientRequest) => {
      sent = request;
    });
    stream.once('response', (response: IncomingMessage) => {
      forget();
      this.#phase = 'body';
      const fields = response.rawHeaders.length / 2;
      if (fields > this.#maxHeaderFields) {
        stream.destroy(tooManyFields(url, fields, this.#maxHeaderFields));
        return;
      }
      if (sent !== undefined) takeOver(sent, response, signal);
      resolve(this.#answer(response));
    });
    signal.addEventListener('abort', onAbort);
    this.#await('connect', this.#request.connectTimeoutMs);
    if (signal.aborted) onAbort();
  }

  /** Checks where the socket leads, and starts the clock of the headers once it is connected. */
  #watch(socket: Socket): void {
    const connected = () => {
      try {
        if (socket.remoteAddress !== undefined) this.#request.checkAddress(socket.remoteAddress);
      } catch (error) {
        socket.destroy();
        this.#stream.destroy(error as Error);
        return;
      }
      if (this.#phase === 'connect') this.#await('headers', this.#request.headersTimeoutMs);
    };
    if (!socket.connecting) connected();
    else socket.once(this.#request.url.startsWith('https:') ? 'secureConnect' : 'connect', connected);
  }

  #await(phase: 'connect' | 'headers', ms: number): void {
    const stream = this.#stream;
    const { url } = this.#request;
    this.#phase = phase;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => stream.destroy(lateError(phase, ms, url)), ms);
  }

  #answer(response: IncomingMessage): TransportResponse {
    const stream = this.#stream;
    const fresh = stream.reusedSocket !== true;
    const { dns, tcp: connect, tls, firstByte } = stream.timings?.phases ?? {};
    return {
      status: response.statusCode ?? 0,
      headers: toHeaders(response.rawHeaders),
      body: response,
      timings: {
        ...(fresh && dns !== undefined ? { dns } : {}),
        ...(fresh && connect !== undefined ? { connect } : {}),
        ...(fresh && tls !== undefined ? { tls } : {}),
        ...(firstByte !== undefined ? { firstByte } : {}),
      },
      remoteAddress: response.socket?.remoteAddress,
    };
  }
}

/** `/x?` is another resource than `/x`. */
function hasEmptyQuery(url: string): boolean {
  return url.endsWith('?') && url.indexOf('?') === url.length - 1;
}

/** Node makes the path of a request from parts of the URL among which an empty query doesn't show. */
function keepEmptyQuery(url: URL, options: RequestOptions): ClientRequest {
  const { request } = url.protocol === 'https:' ? https : http;
  return request(url, { ...options, path: `${url.pathname}?` });
}

/** From here on the body answers for itself. */
function takeOver(request: ClientRequest, response: IncomingMessage, signal: AbortSignal): void {
  // got would read along, and throw away a complete body when something unexpected follows it.
  response.removeAllListeners('readable');
  request.removeAllListeners('error');
  request.on('error', (error) => {
    if (!response.complete) response.destroy(error);
  });
  const onAbort = () => response.destroy(signal.reason);
  signal.addEventListener('abort', onAbort);
  response.once('close', () => signal.removeEventListener('abort', onAbort));
}

/** What goes wrong on a kept connection because of what came before: it was closed, or has bytes nobody asked for. */
function isLeftOver(error: Error): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return RESETS.has(code) || code.startsWith('HPE_');
}

function staleError(url: string, cause: unknown): CrawlError {
  const message = `A kept-alive connection was lost when it was used again: ${url}`;
  return new CrawlError('CRAWL_CONNECTION_LOST', message, { url, cause, retryable: true });
}

function lateError(phase: 'connect' | 'headers', ms: number, url: string): CrawlError {
  return phase === 'connect'
    ? new CrawlError('CRAWL_CONNECT_TIMEOUT', `No connection within ${ms} ms (timeouts.connect): ${url}`, {
        url,
        retryable: true,
      })
    : new CrawlError('CRAWL_HEADERS_TIMEOUT', `No answer within ${ms} ms (timeouts.headers): ${url}`, {
        url,
        retryable: true,
      });
}

function tooManyFields(url: string, fields: number, most: number): CrawlError {
  return new CrawlError(
    'CRAWL_HEADERS_TOO_LARGE',
    `The answer has ${fields} header fields, more than ${most} (maxHeaderFields): ${url}`,
    { url },
  );
}

function protocolError(url: string, why: string): CrawlError {
  return new CrawlError('CRAWL_PROTOCOL_INVALID', `The answer is no valid HTTP: ${why} (${url})`, { url });
}
