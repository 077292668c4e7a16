import { CrawlError } from '../errors.ts';
import type { TransportResponse } from '../ports.ts';
import { Connections } from './connections.ts';
import { discard } from './discard.ts';
import { type Exchange, type ExchangeContext, exchangeUntilSent } from './exchange.ts';
import { toFetchError } from './failure.ts';
import type { Hop } from './hop.ts';
import type { Http2 } from './http2.ts';
import type { FetcherSettings } from './options.ts';
import { hostOf, proxyError, routeOf, takesWholeUrls } from './proxy.ts';

/** What the transports of this library have in common: everything but the client that sends. */
export abstract class HttpTransport {
  protected readonly connections: Connections;
  protected readonly context: ExchangeContext;
  readonly #settings: FetcherSettings;
  #http2: Http2 | undefined;

  constructor(settings: FetcherSettings) {
    this.#settings = settings;
    this.connections = new Connections(settings);
    const { maxHeaderBytes, maxHeaderFields } = settings;
    this.context = { maxHeaderBytes, maxHeaderFields, idle: this.connections.idle };
  }

  /** Resolves when requests can be sent; the time it takes is no request's. `undefined` where there is nothing to wait for. */
  ready(): Promise<unknown> | undefined {
    return this.#settings.http2 && this.#http2 === undefined ? this.#loadHttp2() : undefined;
  }

  async request(hop: Hop): Promise<TransportResponse> {
    if (this.#settings.proxy !== undefined) await this.#choose(hop);
    if (this.#http2 !== undefined && hop.target.protocol === 'https:') {
      const answer = await this.#http2.request(hop);
      if (answer !== undefined) return answer;
    }
    const response = await exchangeUntilSent(hop, () => this.send(hop));
    if (hop.route === undefined) return response;
    return hop.target.protocol === 'http:' ? checkProxyAnswer(hop, response) : response;
  }

  close(): Promise<void> {
    this.#http2?.close();
    this.connections.close();
    return Promise.resolve();
  }

  /** Sends one request over HTTP/1.1. */
  protected abstract send(hop: Hop): Exchange;

  async #loadHttp2(): Promise<void> {
    const { Http2 } = await import('./http2.ts');
    this.#http2 ??= new Http2(this.connections, this.#settings);
  }

  /** Finds the proxy for a hop. What is behind it is looked at here: once it is asked, nobody would see where it leads. */
  async #choose(hop: Hop): Promise<void> {
    const { dns, proxy } = this.#settings;
    hop.route = proxy === undefined ? undefined : routeOf(proxy, hop.target);
    const { route, target } = hop;
    if (route === undefined) return;
    if (!route.resolvesHere && !hop.guard.dependsOnAddress(target.hostname)) return;
    const late = () => hop.deadline.abort(connectTimeout(hop));
    hop.deadline.beginPhase(hop.connectTimeoutMs, late);
    try {
      const addresses = await hop.deadline.race(dns.resolve(hostOf(target)));
      for (const { address } of addresses) hop.checkAddress(address);
      if (route.resolvesHere) hop.targetAddress = addresses[0]?.address;
    } catch (error) {
      throw toFetchError(error, hop.url, 'connect');
    } finally {
      hop.deadline.endPhase();
    }
  }
}

/** 407 is the proxy's own word, not the site's. */
async function checkProxyAnswer(hop: Hop, response: TransportResponse): Promise<TransportResponse> {
  const { route } = hop;
  if (route === undefined) return response;
  // The far end of the connection is the proxy.
  const { remoteAddress: _, ...seen } = response;
  if (!takesWholeUrls(route, hop.target) || response.status !== 407) return seen;
  await discard(response);
  throw proxyError(route, hop.url, 'it answered 407', { retryable: false });
}

function connectTimeout({ connectTimeoutMs, url }: Hop): CrawlError {
  const message = `No connection within ${connectTimeoutMs} ms (timeouts.connect): ${url}`;
  return new CrawlError('CRAWL_CONNECT_TIMEOUT', message, { url, retryable: true });
}
