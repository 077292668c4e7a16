import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { CrawlError, describeThrown } from '../../errors.ts';
import { closest, integer, onlyKnown, show } from '../../options.ts';
import { CODING_FAULTS } from './coding-faults.ts';
import { CONTENT_FAULTS } from './content-faults.ts';
import type { Fault, FaultPlace, HostileFault } from './fault.ts';
import { FRAMING_FAULTS } from './framing-faults.ts';
import { HEADER_FAULTS } from './header-faults.ts';
import { HTTP2_FAULTS } from './http2-faults.ts';
import { Peer } from './peer.ts';
import { PROXY_FAULTS } from './proxy-faults.ts';
import { REDIRECT_FAULTS } from './redirect-faults.ts';
import { headReader } from './requests.ts';
import { type Aim, HostileSite } from './site.ts';
import { SITE_FAULTS } from './site-faults.ts';
import { SOCKS_FAULTS } from './socks-faults.ts';
import { STATUS_FAULTS } from './status-faults.ts';
import { TIMING_FAULTS } from './timing-faults.ts';
import { TLS_FAULTS } from './tls-faults.ts';

const FAULTS: readonly Fault[] = [
  ...STATUS_FAULTS,
  ...HEADER_FAULTS,
  ...FRAMING_FAULTS,
  ...TIMING_FAULTS,
  ...CODING_FAULTS,
  ...REDIRECT_FAULTS,
  ...CONTENT_FAULTS,
  ...SITE_FAULTS,
  ...TLS_FAULTS,
  ...HTTP2_FAULTS,
  ...PROXY_FAULTS,
  ...SOCKS_FAULTS,
];

/** Schemes of URLs, where they are not http. */
const SCHEMES: Readonly<Partial<Record<FaultPlace, string>>> = { tls: 'https', http2: 'https', socks: 'socks5' };

/** Every misbehaviour that a {@link HostileServer} knows. */
export const HOSTILE_FAULTS: readonly HostileFault[] = FAULTS.map(({ name, does, place }) => ({ name, does, place }));

/** Options of {@link HostileServer.start}. */
export interface HostileServerOptions {
  /** What chance is drawn from: the same seed gives the same bytes under the same URL. @defaultValue 1 */
  readonly seed?: number | undefined;
  /** The address to listen at, one of this machine's. @defaultValue `'127.0.0.1'` */
  readonly host?: string | undefined;
  /** Time between the bytes of what drips, in milliseconds. @defaultValue 50 */
  readonly dripMs?: number | undefined;
}

/** Every default of {@link HostileServerOptions}, written once. */
export const HOSTILE_SERVER_DEFAULTS: Readonly<{ seed: number; host: string; dripMs: number }> = {
  seed: 1,
  host: '127.0.0.1',
  dripMs: 50,
};

/**
 * A web server that does all that a web server should not: for tests of crawlers and other clients of HTTP. It speaks
 * TCP and writes its bytes itself, since a server of HTTP would refuse most of them. Each misbehaviour has a name
 * ({@link HOSTILE_FAULTS}) and a URL; what is left to chance is the same for the same seed, name and number.
 *
 * Misbehaviours of answers share one port and `/` leads to all of them; each of another place has a port of its own.
 */
export class HostileServer implements AsyncDisposable {
  readonly #host: string;
  readonly #dripMs: number;
  readonly #ports = new Map<string, number>();
  readonly #places = new Map<string, FaultPlace>();
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  #port = 0;
  #connections = 0;
  #requests = 0;

  /**
   * @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`, as a rejection; the latter also where nobody
   * can listen at `host`, with the error of Node as `cause`.
   */
  static async start(options: HostileServerOptions = {}): Promise<HostileServer> {
    onlyKnown('HostileServer', options, Object.keys(HOSTILE_SERVER_DEFAULTS));
    const { host = HOSTILE_SERVER_DEFAULTS.host } = options;
    const seed = integer('seed', options.seed, HOSTILE_SERVER_DEFAULTS.seed, 0, 2 ** 32);
    const dripMs = integer('dripMs', options.dripMs, HOSTILE_SERVER_DEFAULTS.dripMs, 1, 60_000);
    const server = new HostileServer(host, dripMs);
    try {
      await server.#listen(seed);
    } catch (error) {
      await server.close();
      const message = `Option "host" takes an address of this machine; nobody can listen at ${show(host)}: ${describeThrown(error)}`;
      throw new CrawlError('CRAWL_OPTION_INVALID', message, { cause: error });
    }
    return server;
  }

  private constructor(host: string, dripMs: number) {
    this.#host = host;
    this.#dripMs = dripMs;
  }

  /** What it does, in no particular order. */
  get faults(): readonly HostileFault[] {
    return HOSTILE_FAULTS;
  }

  /** Connections so far. */
  get connections(): number {
    return this.#connections;
  }

  /** Connections that are open. */
  get openConnections(): number {
    return this.#sockets.size;
  }

  /** Requests that were read so far. */
  get requests(): number {
    return this.#requests;
  }

  /**
   * Where a misbehaviour is met. For one of a robots.txt or a sitemap that is a sound page of the site that has it; for one
   * of a proxy what is given as `proxy`: proxies of HTTP speak TLS, too, where `https:` is put in place of `http:`, and those
   * of SOCKS are as well asked by `socks4`, `socks4a` and `socks5h`. Certificates are by {@link HOSTILE_AUTHORITY}.
   *
   * @param name - One of {@link faults}. Without it, the page that leads to all misbehaviours of answers.
   * @param n - Another number is another URL, and for what is random other bytes. @defaultValue 0
   * @param host - The host of the URL, for tests that have names of their own lead here. @defaultValue the address
   * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where there is no such misbehaviour, or `n` is no whole number.
   */
  url(name?: string, n = 0, host: string = this.#authority()): string {
    if (name === undefined) return `http://${host}:${this.#port}/`;
    const port = this.#ports.get(name);
    if (port === undefined) {
      const meant = typeof name === 'string' ? closest(name, [...this.#ports.keys()]) : undefined;
      const hint = meant === undefined ? 'HOSTILE_FAULTS has their names.' : `Did you mean "${meant}"?`;
      throw new CrawlError('CRAWL_OPTION_INVALID', `There is no misbehaviour ${show(name)}. ${hint}`);
    }
    const place = this.#places.get(name) as FaultPlace;
    const origin = `${SCHEMES[place] ?? 'http'}://${host}:${port}`;
    return place === 'proxy' || place === 'socks' ? origin : `${origin}/${name}/${integer('n', n, 0)}`;
  }

  /** Breaks off all connections and stops listening. A second call does nothing. */
  async close(): Promise<void> {
    const closing = this.#servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve)));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closing);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #listen(seed: number): Promise<void> {
    const byName = new Map(FAULTS.map((fault) => [fault.name, fault]));
    this.#port = await this.#open(new HostileSite(byName, undefined, seed));
    for (const fault of FAULTS) {
      const port = fault.place === 'answer' ? this.#port : await this.#open(new HostileSite(byName, fault, seed));
      this.#ports.set(fault.name, port);
      this.#places.set(fault.name, fault.place);
    }
  }

  async #open(site: HostileSite): Promise<number> {
    const server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => this.#accept(socket, site));
    this.#servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, this.#host, () => resolve());
    });
    return (server.address() as AddressInfo).port;
  }

  #accept(socket: Socket, site: HostileSite): void {
    this.#connections++;
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    // Who is misbehaved to leaves in every way there is.
    socket.on('error', () => {});
    const fault = site.onConnection;
    const address = `${this.#authority()}:${socket.localPort}`;
    if (fault !== undefined) {
      const { act, name } = fault;
      const peer = this.#act(socket, site, { act, n: 0, query: '', origin: `http://${address}`, base: `/${name}` });
      // Who doesn't read doesn't see that the client is gone, either.
      if (!peer.isDeaf) socket.resume();
      return;
    }
    const onHead = (request: string): void => {
      this.#requests++;
      this.#act(socket, site, site.aim(request, address));
    };
    socket
      .on(
        'data',
        headReader(onHead, () => socket.destroy()),
      )
      .resume();
  }

  #act(socket: Socket, site: HostileSite, { act, ...aim }: Aim): Peer {
    const peer = new Peer(socket, { ...aim, random: site.randomOf(aim.base, aim.n), dripMs: this.#dripMs });
    act(peer);
    return peer;
  }

  #authority(): string {
    return this.#host.includes(':') ? `[${this.#host}]` : this.#host;
  }
}
