import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { ExtendOptions, Got, Request } from 'got';
import type { TransportResponse } from '../ports.ts';
import { type Agents, createAgents } from './agents.ts';
import { Exchange, type ExchangeContext, exchangeUntilSent } from './exchange.ts';
import type { Hop } from './hop.ts';

/** Sends requests by got, stripped of all that the crawler does itself: redirects, retries, decompression, cookies. */
export class GotTransport {
  readonly #agents: Agents = createAgents();
  readonly #context: ExchangeContext;
  readonly #maxHeaderBytes: number;
  #client: Got | undefined;

  constructor(options: { readonly maxHeaderBytes: number; readonly maxHeaderFields: number }) {
    this.#maxHeaderBytes = options.maxHeaderBytes;
    this.#context = { maxHeaderFields: options.maxHeaderFields, idle: this.#agents.idle };
  }

  async request(hop: Hop): Promise<TransportResponse> {
    const client = this.#client ?? (await this.#load());
    return exchangeUntilSent(hop, () => send(client, hop, this.#context));
  }

  /** Resolves when requests can be sent; the time it takes is no request's. `undefined` where there is nothing to wait for. */
  ready(): Promise<unknown> | undefined {
    return this.#client === undefined ? this.#load() : undefined;
  }

  close(): Promise<void> {
    this.#agents.close();
    return Promise.resolve();
  }

  /** With the first request, since whoever imports the package may never send one. */
  async #load(): Promise<Got> {
    const { default: got } = await import('got');
    this.#client ??= got.extend({
      agent: { http: this.#agents.http, https: this.#agents.https },
      decompress: false,
      followRedirect: false,
      isStream: true,
      maxHeaderSize: this.#maxHeaderBytes,
      retry: { limit: 0 },
      // What counts as complete is HTTP's own framing, which Node checks.
      strictContentLength: false,
      throwHttpErrors: false,
    } as ExtendOptions);
    return this.#client;
  }
}

function send(client: Got, hop: Hop, context: ExchangeContext): Exchange {
  const options = {
    headers: hop.headers,
    dnsLookup: hop.lookup,
    ...(hasEmptyQuery(hop.target) ? { request: keepEmptyQuery } : {}),
  };
  const stream = client(hop.url, options as object) as unknown as Request;
  const exchange = new Exchange(hop, context, (error) => void stream.destroy(error));
  const failed = (error: Error) => exchange.failed(error);
  stream.on('error', failed);
  stream.once('socket', (socket: Socket) => exchange.onSocket(socket));
  stream.once('upgrade', (_response: IncomingMessage, socket: Socket) => exchange.onUpgrade(socket));
  stream.once('request', (request: ClientRequest) => {
    stream.once('response', (response: IncomingMessage) => {
      // got would read along, and throw away a complete body when something unexpected follows it.
      response.removeAllListeners('readable');
      request.removeAllListeners('error').on('error', failed);
      stream.off('error', failed).on('error', () => {});
      exchange.onResponse(response);
    });
  });
  return exchange;
}

/** `/x?` is another resource than `/x`. */
function hasEmptyQuery(url: URL): boolean {
  return url.search === '' && url.href.endsWith('?');
}

/** Node makes the path of a request from parts of the URL among which an empty query doesn't show. */
function keepEmptyQuery(url: URL, options: RequestOptions): ClientRequest {
  const { request } = url.protocol === 'https:' ? https : http;
  return request(url, { ...options, path: `${url.pathname}?` });
}
