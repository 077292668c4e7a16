import http, { type ClientRequest, type RequestOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import tls from 'node:tls';
import type { DnsCache } from '../dns.ts';
import { IdleSockets, keepWith } from './agents.ts';
import type { Hop } from './hop.ts';
import { hostOf, type ProxyRoute, portOf, proxyAuthorization, serverNameOf, takesWholeUrls } from './proxy.ts';
import { boundHandshakes, type Identity, identityOf, type TlsSettings, withoutIdentity } from './tls.ts';
import { connectProxy, openTunnel } from './tunnel.ts';

/** Proxies whose connections are kept. */
const MAX_PROXIES = 256;

/** What connections are made with. */
export interface ConnectionSettings {
  readonly tls: TlsSettings;
  readonly dns: DnsCache;
  readonly maxHeaderBytes: number;
}

/** A request's options, and the request they are for. */
type HopOptions = RequestOptions & { readonly hop?: Hop };

/** Connections of one road: straight to the target, or through one proxy. */
interface Road {
  readonly http: http.Agent;
  readonly https: https.Agent;
  /** With the client certificate of the user's. */
  readonly trusted: https.Agent;
}

/** Opens connections for hops, keeps them, and gives Node's client the right one. */
export class Connections {
  readonly idle: IdleSockets;
  readonly #settings: ConnectionSettings;
  readonly #identity: Identity;
  readonly #anonymous: TlsSettings;
  readonly #straight: Road;
  readonly #proxied = new Map<string, Road>();

  constructor(settings: ConnectionSettings, maxIdle?: number) {
    this.idle = new IdleSockets(maxIdle);
    this.#settings = settings;
    this.#identity = identityOf(settings.tls);
    this.#anonymous = withoutIdentity(settings.tls);
    this.#straight = this.#road(undefined);
  }

  /** Node's request for a hop, not sent yet; `options` are those of the client that asks. */
  open(hop: Hop, options: RequestOptions): ClientRequest {
    const { route, target } = hop;
    const secure = target.protocol === 'https:';
    const whole = route !== undefined && takesWholeUrls(route, target);
    const own: HopOptions = Object.assign(options, {
      hop,
      agent: this.#agentFor(hop, secure),
      host: hostOf(target),
      hostname: undefined,
      port: portOf(target),
      path: whole ? hop.url : pathOf(target),
      lookup: hop.lookup,
      maxHeaderSize: this.#settings.maxHeaderBytes,
    });
    return secure ? https.request(own) : http.request(own);
  }

  /** A secure connection for a hop, with what ALPN chose on it. */
  async connectSecurely(hop: Hop, protocols: readonly string[]): Promise<tls.TLSSocket> {
    const host = hostOf(hop.target);
    const raw = hop.route === undefined ? undefined : await this.#tunnel(hop.route, hop);
    const socket = tls.connect({
      ...this.#tlsFor(hop),
      // Of a tunnel, too: the certificate must be for it.
      host,
      ...(raw === undefined ? { port: portOf(hop.target), lookup: hop.lookup } : { socket: raw }),
      servername: serverNameOf(host),
      ...(protocols.length === 0 ? {} : { ALPNProtocols: [...protocols] }),
    });
    boundHandshakes(socket);
    return secured(socket, hop);
  }

  close(): void {
    for (const road of [this.#straight, ...this.#proxied.values()]) closeRoad(road);
    this.#proxied.clear();
    this.idle.clear();
  }

  #agentFor(hop: Hop, secure: boolean): http.Agent {
    const road = hop.route === undefined ? this.#straight : this.#roadThrough(hop.route);
    if (!secure) return road.http;
    return hop.trusted ? road.trusted : road.https;
  }

  #tlsFor(hop: Hop): tls.ConnectionOptions {
    return hop.trusted ? { ...this.#anonymous, ...this.#identity } : this.#anonymous;
  }

  #roadThrough(route: ProxyRoute): Road {
    const known = this.#proxied.get(route.key);
    if (known !== undefined) return known;
    if (this.#proxied.size >= MAX_PROXIES) this.#forgetUnused();
    const road = this.#road(route);
    this.#proxied.set(route.key, road);
    return road;
  }

  /** Connections in use are left to end by themselves. */
  #forgetUnused(): void {
    for (const [key, road] of this.#proxied) {
      if (Object.keys({ ...road.http.sockets, ...road.https.sockets, ...road.trusted.sockets }).length > 0) continue;
      closeRoad(road);
      this.#proxied.delete(key);
    }
  }

  #road(route: ProxyRoute | undefined): Road {
    const options: http.AgentOptions = { keepAlive: true, scheduling: 'lifo' };
    const open = route === undefined ? undefined : (hop: Hop) => this.#openThrough(route, hop);
    const plain = keepWith(new http.Agent(options), this.idle, open);
    const secure = keepWith(new https.Agent({ ...options, ...this.#anonymous }), this.idle, open);
    const named = Object.keys(this.#identity).length > 0;
    const trusted = named
      ? keepWith(new https.Agent({ ...options, ...this.#anonymous, ...this.#identity }), this.idle, open)
      : secure;
    return { http: plain, https: secure, trusted };
  }

  #openThrough(route: ProxyRoute, hop: Hop): Promise<Socket> {
    if (hop.target.protocol === 'https:') return this.connectSecurely(hop, []);
    return takesWholeUrls(route, hop.target) ? connectProxy(route, hop, this.#toProxy()) : this.#tunnel(route, hop);
  }

  #tunnel(route: ProxyRoute, hop: Hop): Promise<Socket> {
    return openTunnel(route, hop, this.#toProxy());
  }

  #toProxy(): { readonly tls: tls.ConnectionOptions; readonly lookup: DnsCache['lookup'] } {
    return { tls: this.#anonymous, lookup: this.#settings.dns.lookup };
  }
}

/** What a request says to the proxy that reads it. */
export function headersFor(hop: Hop): Readonly<Record<string, string>> {
  const { headers, route, target } = hop;
  return route !== undefined && takesWholeUrls(route, target) ? { ...headers, ...proxyAuthorization(route) } : headers;
}

/** With an empty query, too: `/x?` is another resource than `/x`. */
export function pathOf(url: URL): string {
  const { pathname, search } = url;
  return search === '' && url.href.endsWith('?') ? `${pathname}?` : pathname + search;
}

function secured(socket: tls.TLSSocket, hop: Hop): Promise<tls.TLSSocket> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(error);
    const closed = () => {
      const error = new Error('Client network socket disconnected before secure TLS connection was established');
      reject(Object.assign(error, { code: 'ECONNRESET' }));
    };
    socket.once('error', failed);
    socket.once('close', closed);
    if (hop.route === undefined) {
      socket.once('connect', () => {
        try {
          if (socket.remoteAddress !== undefined) hop.checkAddress(socket.remoteAddress);
        } catch (error) {
          socket.destroy(error as Error);
        }
      });
    }
    socket.once('secureConnect', () => {
      socket.off('error', failed).off('close', closed);
      resolve(socket);
    });
    hop.onGivenUp(() => socket.destroy());
  });
}

function closeRoad(road: Road): void {
  road.http.destroy();
  road.https.destroy();
  road.trusted.destroy();
}
