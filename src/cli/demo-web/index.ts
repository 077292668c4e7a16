import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { library } from './library.ts';
import { calendar, gallery, services } from './other-sites.ts';
import { type Answer, html, type Origins, type Site } from './site.ts';

/** One request, as the demo web saw it. Times are milliseconds since it was started. */
interface DemoRequest {
  /** The origin that was asked, such as `http://127.0.0.2:8000`. */
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  readonly userAgent: string;
  readonly status: number;
  /** When the head of the request had arrived. */
  readonly at: number;
  /** When the answer was on its way; `undefined` until then. */
  endedAt: number | undefined;
}

/** A web of a few hosts on this machine. */
export interface DemoWeb extends AsyncDisposable {
  /** Where to begin: the first page of the first host. */
  readonly url: string;
  /** The first page of each host. */
  readonly urls: readonly string[];
  /** Every request so far, at most the last 10,000, in order of arrival. */
  readonly log: readonly DemoRequest[];
  /** The shortest time from an answer of an origin to its next request; `undefined` where it was asked less than twice. */
  smallestGapMs(origin: string): number | undefined;
  /** Ends all connections. A second call does nothing. */
  close(): Promise<void>;
}

/** Requests that are remembered. */
const MAX_LOG = 10_000;

/** Loopback addresses of the hosts, in the order of {@link Origins}. */
const HOSTS = [
  ['library', '127.0.0.1'],
  ['gallery', '127.0.0.2'],
  ['services', '127.0.0.3'],
  ['calendar', '127.0.0.4'],
] as const;

/** Tries to find a port that is free on all addresses. */
const PORT_ATTEMPTS = 20;

/**
 * Starts a web of four hosts and some sixty pages: robots rules, redirects, errors that pass, sitemaps, pictures, service
 * descriptions, pages in other encodings, and a calendar without end. It answers alike each time it is started.
 *
 * All hosts share one port. Where the system has no loopback address but 127.0.0.1, they are ports of that.
 */
export async function startDemoWeb(): Promise<DemoWeb> {
  const servers = await listenEverywhere();
  const bases = servers.map((server) => originOf(server));
  const origins = Object.fromEntries(HOSTS.map(([name], i) => [name, bases[i]])) as unknown as Origins;
  const sites = [library(origins), gallery(origins), services(origins), calendar(origins)];
  const log: DemoRequest[] = [];
  const start = performance.now();
  servers.forEach((server, i) => {
    const times = new Map<string, number>();
    server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
      const path = new URL(request.url ?? '/', 'http://host').pathname;
      times.set(path, (times.get(path) ?? 0) + 1);
      const answer = answerTo(sites[i]!, path, times.get(path)!);
      const entry: DemoRequest = {
        origin: bases[i]!,
        method: request.method ?? '',
        path: request.url ?? '',
        userAgent: request.headers['user-agent'] ?? '',
        status: answer.status ?? 200,
        at: performance.now() - start,
        endedAt: undefined,
      };
      if (log.length >= MAX_LOG) log.shift();
      log.push(entry);
      response.on('close', () => {
        entry.endedAt = performance.now() - start;
      });
      send(request, response, answer);
    });
  });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= Promise.all(servers.map(stop)).then(() => {});
    return closed;
  };
  const urls = bases.map((base) => `${base}/`);
  return {
    url: urls[0]!,
    urls,
    log,
    smallestGapMs: (origin) => smallestGap(log.filter((entry) => entry.origin === origin)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function answerTo(site: Site, path: string, times: number): Answer {
  const resource = site.resources.get(path) ?? site.other?.(path);
  if (resource === undefined) return html('Nothing here', '<p>No such page.</p>', { status: 404 });
  return typeof resource === 'function' ? resource(times) : resource;
}

function send(request: http.IncomingMessage, response: http.ServerResponse, answer: Answer): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end();
    return;
  }
  const body = Buffer.from(answer.body ?? '');
  response.writeHead(answer.status ?? 200, { ...answer.headers, 'content-length': body.length });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function smallestGap(entries: readonly DemoRequest[]): number | undefined {
  let smallest: number | undefined;
  for (let i = 1; i < entries.length; i++) {
    const gap = Math.max(0, entries[i]!.at - (entries[i - 1]!.endedAt ?? entries[i]!.at));
    smallest = Math.min(smallest ?? gap, gap);
  }
  return smallest;
}

async function listenEverywhere(): Promise<http.Server[]> {
  for (let attempt = 1; ; attempt++) {
    const servers: http.Server[] = [];
    try {
      for (const [, address] of HOSTS) {
        const port = servers[0] === undefined ? 0 : portOf(servers[0]);
        servers.push(await listen(address, port).catch((error) => listenOnMain(error)));
      }
      return servers;
    } catch (error) {
      await Promise.all(servers.map(stop));
      if (attempt >= PORT_ATTEMPTS || !hasCode(error, 'EADDRINUSE')) throw error;
    }
  }
}

/** Some systems have no loopback address but the first. */
function listenOnMain(error: unknown): Promise<http.Server> {
  if (!hasCode(error, 'EADDRNOTAVAIL')) throw error;
  return listen(HOSTS[0][1], 0);
}

function listen(address: string, port: number): Promise<http.Server> {
  const server = http.createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => resolve(server));
  });
}

function stop(server: http.Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function portOf(server: http.Server): number {
  return (server.address() as AddressInfo).port;
}

function originOf(server: http.Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `http://${address}:${port}`;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
