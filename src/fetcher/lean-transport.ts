import http, { type ClientRequest, type RequestOptions } from 'node:http';
import https from 'node:https';
import type { TransportResponse } from '../ports.ts';
import { type Agents, createAgents } from './agents.ts';
import { Exchange, type ExchangeContext, exchangeUntilSent } from './exchange.ts';
import type { Hop } from './hop.ts';

/** Sends requests by Node's own client, with nothing in between. */
export class LeanTransport {
  readonly #agents: Agents = createAgents();
  readonly #context: ExchangeContext;
  readonly #maxHeaderBytes: number;

  constructor(options: { readonly maxHeaderBytes: number; readonly maxHeaderFields: number }) {
    this.#maxHeaderBytes = options.maxHeaderBytes;
    this.#context = { maxHeaderFields: options.maxHeaderFields, idle: this.#agents.idle };
  }

  request(hop: Hop): Promise<TransportResponse> {
    return exchangeUntilSent(hop, () => this.#send(hop));
  }

  close(): Promise<void> {
    this.#agents.close();
    return Promise.resolve();
  }

  #send(hop: Hop): Exchange {
    const request = this.#open(hop);
    const exchange = new Exchange(hop, this.#context, (error) => void request.destroy(error));
    request.on('error', (error) => exchange.failed(error));
    request.on('socket', (socket) => exchange.onSocket(socket));
    request.on('upgrade', (_response, socket) => exchange.onUpgrade(socket));
    request.on('response', (response) => exchange.onResponse(response));
    request.end();
    return exchange;
  }

  #open(hop: Hop): ClientRequest {
    const { target } = hop;
    const secure = target.protocol === 'https:';
    const options: RequestOptions = {
      agent: secure ? this.#agents.https : this.#agents.http,
      host: hostOf(target),
      port: target.port === '' ? (secure ? 443 : 80) : Number(target.port),
      path: pathOf(target),
      headers: headerList(hop),
      maxHeaderSize: this.#maxHeaderBytes,
      lookup: hop.lookup,
    };
    return secure ? https.request(options) : http.request(options);
  }
}

/** An IPv6 address without its brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** With an empty query, too: `/x?` is another resource than `/x`. */
function pathOf(url: URL): string {
  const { pathname, search } = url;
  return search === '' && url.href.endsWith('?') ? `${pathname}?` : pathname + search;
}

/** As a flat list, which Node sends as it is. */
function headerList({ headers, target }: Hop): string[] {
  const list = ['host', target.host];
  for (const name in headers) list.push(name, headers[name] as string);
  return list;
}
