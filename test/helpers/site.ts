import http from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import net from 'node:net';

/** One request as the server saw it. */
export interface Seen {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  /** Milliseconds, monotonic: when the head had arrived. */
  readonly at: number;
  /** When the answer had been handed to the socket, or the client was gone. */
  endedAt?: number;
}

export interface Site extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  /** Every request so far, in order of arrival. */
  readonly log: Seen[];
  /** Paths asked for, robots.txt left out. */
  readonly paths: string[];
  /** Most requests that were open at one moment. */
  readonly maxInFlight: number;
  readonly openSockets: number;
  url(path: string, host?: string): string;
  /** Ends all connections, as a server that restarts does. */
  dropSockets(): void;
  close(): Promise<void>;
}

/** An HTTP server on loopback that remembers what it was asked. */
export async function startSite(handler: http.RequestListener, address = '127.0.0.1'): Promise<Site> {
  const log: Seen[] = [];
  let inFlight = 0;
  let maxInFlight = 0;
  const server = http.createServer((request, response) => {
    const entry: Seen = {
      method: request.method ?? '',
      host: request.headers.host ?? '',
      path: request.url ?? '',
      headers: request.headers,
      at: performance.now(),
    };
    log.push(entry);
    maxInFlight = Math.max(maxInFlight, ++inFlight);
    const end = response.end.bind(response);
    // The moment at which the answer is complete; a client can't have had all of it before.
    response.end = ((...args: Parameters<typeof end>) => {
      entry.endedAt ??= performance.now();
      return end(...args);
    }) as typeof response.end;
    response.on('close', () => {
      inFlight--;
      entry.endedAt ??= performance.now();
    });
    handler(request, response);
  });
  const raw = await listen(server, address);
  return {
    ...raw,
    log,
    get paths() {
      return log.map((entry) => entry.path).filter((path) => path !== '/robots.txt');
    },
    get maxInFlight() {
      return maxInFlight;
    },
    get openSockets() {
      return raw.sockets.size;
    },
  };
}

/** A TCP server that says whatever bytes the test wants; for what an HTTP server would refuse to send. */
export async function startRawSite(
  onConnection: (socket: net.Socket) => void,
  address = '127.0.0.1',
): Promise<Omit<Site, 'log' | 'paths' | 'maxInFlight'> & { readonly connections: number }> {
  let connections = 0;
  const server = net.createServer((socket) => {
    connections++;
    onConnection(socket);
  });
  const raw = await listen(server, address);
  return {
    ...raw,
    get connections() {
      return connections;
    },
    get openSockets() {
      return raw.sockets.size;
    },
  };
}

async function listen(server: net.Server, address: string) {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, address, resolve);
  });
  const port = (server.address() as AddressInfo).port;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return {
    port,
    sockets,
    origin: `http://${address}:${port}`,
    dropSockets: () => {
      for (const socket of sockets) socket.destroy();
    },
    url: (path: string, host: string = address) => `http://${host}:${port}${path}`,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A `dnsLookup`, Node's signature, that finds every name at `address` or where `hosts` says. */
export function loopbackLookup(hosts: Readonly<Record<string, string>> = {}, address = '127.0.0.1'): LookupFunction {
  return (hostname, options, callback) => {
    const found = hosts[hostname] ?? address;
    if (options.all) callback(null, [{ address: found, family: 4 }]);
    else callback(null, found, 4);
  };
}
