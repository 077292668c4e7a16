import http, { type IncomingMessage } from 'node:http';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { CrawlError, describeThrown } from '../errors.ts';
import { LONGEST_TIMER_MS } from '../options.ts';
import type { Hop } from './hop.ts';
import { authorityOf, hostOf, type ProxyRoute, portOf, proxyAuthorization, proxyError, serverNameOf } from './proxy.ts';
import { boundHandshakes } from './tls.ts';

/** More than this in the head of a proxy's answer is no answer. */
const MAX_HEAD_BYTES = 16_384;

/** Time by which `socks` waits for longer than anybody else. */
const SOCKS_MORE_MS = 1_000;

/** What connections to proxies are made with: its own certificate authorities, but nobody's identity. */
export interface ProxyConnectOptions {
  readonly tls: tls.ConnectionOptions;
  readonly lookup: net.LookupFunction;
}

/** A connection to the proxy itself. Rejects with `CRAWL_PROXY_FAILED`; ends when the hop is given up. */
export function connectProxy(route: ProxyRoute, hop: Hop, options: ProxyConnectOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { host, port } = route;
    const socket = route.secure
      ? tls.connect({ ...options.tls, host, port, servername: serverNameOf(host), lookup: options.lookup })
      : net.connect({ host, port, lookup: options.lookup });
    if (route.secure) boundHandshakes(socket);
    const failed = (error: Error) =>
      reject(proxyError(route, hop.url, error.message, { cause: error, retryable: true }));
    socket.once('error', failed);
    socket.once('close', () => failed(new Error('it closed the connection')));
    socket.once(route.secure ? 'secureConnect' : 'connect', () => {
      socket.off('error', failed);
      resolve(socket);
    });
    hop.onGivenUp(() => socket.destroy());
  });
}

/** A connection to the target of a hop, through the proxy. Rejects with `CRAWL_PROXY_FAILED`. */
export async function openTunnel(route: ProxyRoute, hop: Hop, options: ProxyConnectOptions): Promise<Socket> {
  const socket = await connectProxy(route, hop, options);
  const ignore = () => {};
  socket.on('error', ignore);
  try {
    return route.kind === 'http' ? await askToConnect(route, hop, socket) : await greetSocks(route, hop, socket);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    socket.off('error', ignore);
  }
}

/** CONNECT (RFC 9110, 9.3.6). */
function askToConnect(route: ProxyRoute, hop: Hop, socket: Socket): Promise<Socket> {
  const authority = authorityOf(hop.target);
  return new Promise((resolve, reject) => {
    const failed = (why: string, retryable: boolean, cause?: unknown) =>
      reject(proxyError(route, hop.url, why, { retryable, ...(cause === undefined ? {} : { cause }) }));
    const request = http.request({
      method: 'CONNECT',
      path: authority,
      headers: {
        host: authority,
        connection: 'keep-alive',
        'user-agent': hop.headers['user-agent'],
        ...proxyAuthorization(route),
      },
      maxHeaderSize: MAX_HEAD_BYTES,
      createConnection: () => socket,
    });
    // Node's parser has no limit for empty lines before an answer.
    let bytes = 0;
    const count = (data: Buffer): void => {
      bytes += data.length;
      if (bytes > MAX_HEAD_BYTES + data.length) request.destroy(new Error('its answer is too long'));
    };
    socket.on('data', count);
    const answered = (response: IncomingMessage, rest?: Buffer) => {
      const status = response.statusCode ?? 0;
      if (status < 200 || status >= 300 || rest === undefined) {
        failed(`it answered ${status}`, status >= 500 || status === 429);
        socket.destroy();
        return;
      }
      socket.off('data', count);
      if (rest.length > 0) socket.unshift(rest);
      resolve(socket);
    };
    request.on('connect', (response, _socket, rest) => answered(response, rest));
    request.on('response', (response) => answered(response));
    request.on('error', (error) => failed(error.message, true, error));
    request.end();
  });
}

/** SOCKS 4, 4a and 5 (RFC 1928), by the package `socks`. */
async function greetSocks(route: ProxyRoute, hop: Hop, socket: Socket): Promise<Socket> {
  const { SocksClient } = await loadSocks();
  const host = hop.targetAddress ?? hostOf(hop.target);
  const { password, user } = route;
  try {
    const { socket: open } = await SocksClient.createConnection({
      proxy: {
        host: route.host,
        port: route.port,
        type: route.kind === 'socks5' ? 5 : 4,
        ...(user === '' ? {} : { userId: user }),
        ...(password === '' ? {} : { password }),
      },
      command: 'connect',
      destination: { host, port: portOf(hop.target) },
      existing_socket: socket,
      // Whichever of the two fires first would be a matter of chance: it is the hop's own.
      timeout: Math.min(LONGEST_TIMER_MS, hop.connectTimeoutMs + SOCKS_MORE_MS),
    });
    return open;
  } catch (error) {
    const why = describeThrown(error);
    throw proxyError(route, hop.url, why, { cause: error, retryable: !/authentication/i.test(why) });
  }
}

/** @throws {@link CrawlError} `CRAWL_DEPENDENCY_MISSING` */
export async function loadSocks(): Promise<typeof import('socks')> {
  try {
    return await import('socks');
  } catch (error) {
    throw new CrawlError('CRAWL_DEPENDENCY_MISSING', 'A SOCKS proxy needs the package "socks": npm install socks', {
      cause: error,
    });
  }
}
