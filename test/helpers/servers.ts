import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net, { type AddressInfo, type Server, type Socket } from 'node:net';
import { CERTIFICATE, KEY } from './tls.ts';

/** A server on loopback, whatever it speaks. */
export interface Running extends AsyncDisposable {
  readonly port: number;
  readonly openSockets: number;
  /** Connections so far. */
  readonly connections: number;
}

export async function run(server: Server): Promise<Running> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return {
    port: (server.address() as AddressInfo).port,
    get openSockets() {
      return sockets.size;
    },
    get connections() {
      return connections;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** An HTTPS server whose certificate is that of `tls.ts`. */
export async function startSecureSite(
  handler: http.RequestListener,
  options: https.ServerOptions = {},
): Promise<Running & { readonly url: (path: string, host?: string) => string; readonly log: http.IncomingMessage[] }> {
  const log: http.IncomingMessage[] = [];
  const server = https.createServer({ cert: CERTIFICATE, key: KEY, ...options }, (request, response) => {
    log.push(request);
    handler(request, response);
  });
  server.on('tlsClientError', () => {});
  const running = await run(server);
  const url = (path: string, host = '127.0.0.1') => `https://${host}:${running.port}${path}`;
  return Object.assign(Object.create(running), { url, log });
}

/** A server of HTTP/2, and of HTTP/1.1 for who wants that. */
export async function startHttp2Site(
  handler: (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => void,
  options: http2.SecureServerOptions = {},
): Promise<
  Running & {
    readonly url: (path: string, host?: string) => string;
    /** Version and path of each request. */
    readonly log: string[];
    readonly requests: http2.Http2ServerRequest[];
    readonly server: http2.Http2SecureServer;
  }
> {
  const log: string[] = [];
  const requests: http2.Http2ServerRequest[] = [];
  const server = http2.createSecureServer({ cert: CERTIFICATE, key: KEY, allowHTTP1: true, ...options });
  server.on('request', (request, response) => {
    log.push(`${request.httpVersion} ${request.url}`);
    requests.push(request);
    request.on('error', () => {});
    response.on('error', () => {});
    handler(request, response);
  });
  server.on('sessionError', () => {});
  server.on('session', (session) => session.on('error', () => {}));
  server.on('stream', (stream) => stream.on('error', () => {}));
  const running = await run(server);
  const url = (path: string, host = '127.0.0.1') => `https://${host}:${running.port}${path}`;
  return Object.assign(Object.create(running), { url, log, requests, server });
}

/** What a proxy was asked for, and by whom. */
export interface Asked {
  readonly method: string;
  readonly target: string;
  readonly authorization: string | undefined;
  readonly headers: http.IncomingHttpHeaders;
}

/** Where a proxy leads: everything is on loopback here. */
const inside = (port: number): Socket => net.connect(port, '127.0.0.1');

/** An HTTP proxy that leads every name to loopback. `answer` may refuse, by a status. */
export async function startHttpProxy(
  options: { secure?: boolean; answer?: (asked: Asked) => number | 'hang' | 'reset' | undefined } = {},
): Promise<Running & { readonly log: Asked[] }> {
  const log: Asked[] = [];
  const judge = (method: string, target: string, headers: http.IncomingHttpHeaders) => {
    const asked = { method, target, headers, authorization: headers['proxy-authorization'] };
    log.push(asked);
    return options.answer?.(asked);
  };
  const server = options.secure === true ? https.createServer({ cert: CERTIFICATE, key: KEY }) : http.createServer();
  server.on('connect', (request: http.IncomingMessage, socket: Socket) => {
    socket.on('error', () => {});
    const verdict = judge('CONNECT', request.url ?? '', request.headers);
    if (verdict === 'hang') {
      // Else it would not see that the client is gone.
      socket.resume().on('end', () => socket.destroy());
      return;
    }
    if (verdict === 'reset') socket.destroy();
    else if (verdict !== undefined) socket.end(`HTTP/1.1 ${verdict} No\r\nContent-Length: 0\r\n\r\n`);
    else {
      const out = inside(Number(new URL(`http://${request.url}`).port || 80));
      out.on('error', () => socket.destroy());
      out.on('close', () => socket.destroy());
      socket.on('close', () => out.destroy());
      out.on('connect', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        out.pipe(socket).pipe(out);
      });
    }
  });
  server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    const verdict = judge(request.method ?? '', request.url ?? '', request.headers);
    if (verdict === 'hang') return;
    if (verdict === 'reset') {
      request.socket.destroy();
      return;
    }
    if (verdict !== undefined) {
      response.writeHead(verdict).end('the proxy says no');
      return;
    }
    const { port, pathname, search } = new URL(request.url ?? '');
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const path = (request.url ?? '').endsWith('?') ? `${pathname}?` : pathname + search;
    http
      .get({ port, path, headers, host: '127.0.0.1' }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
        answer.pipe(response);
      })
      .on('error', () => response.writeHead(502).end());
  });
  return Object.assign(Object.create(await run(server)), { log });
}

/** A SOCKS server of version 4, 4a and 5 that leads every name and address to loopback. */
export async function startSocks(
  options: { user?: string; password?: string; refuse?: boolean; hang?: boolean } = {},
): Promise<Running & { readonly log: string[] }> {
  const log: string[] = [];
  const lead = (socket: Socket, target: string, port: number, granted: Buffer, denied: Buffer) => {
    log.push(target);
    if (options.refuse === true) {
      socket.end(denied);
      return;
    }
    const out = inside(port);
    out.on('error', () => socket.destroy());
    socket.on('close', () => out.destroy());
    out.on('connect', () => {
      socket.write(granted);
      out.pipe(socket).pipe(out);
    });
  };
  const five = (socket: Socket, data: Buffer) => {
    const [, , , type = 0] = data;
    const name = type === 3 ? data.toString('latin1', 5, 5 + (data[4] ?? 0)) : undefined;
    const end = name === undefined ? (type === 1 ? 8 : 20) : 5 + name.length;
    const address = name ?? (type === 1 ? [...data.subarray(4, 8)].join('.') : data.toString('hex', 4, 20));
    const reply = (code: number) => Buffer.from([5, code, 0, 1, 127, 0, 0, 1, 0, 0]);
    lead(socket, `5 ${type === 3 ? 'name' : 'address'} ${address}`, data.readUInt16BE(end), reply(0), reply(2));
  };
  const four = (socket: Socket, data: Buffer) => {
    const userEnd = data.indexOf(0, 8);
    const isName = data.readUInt32BE(4) < 256;
    const address = isName ? data.toString('latin1', userEnd + 1, data.length - 1) : [...data.subarray(4, 8)].join('.');
    const reply = (code: number) => Buffer.from([0, code, 0, 0, 0, 0, 0, 0]);
    lead(socket, `4 ${isName ? 'name' : 'address'} ${address}`, data.readUInt16BE(2), reply(0x5a), reply(0x5b));
  };
  const server = net.createServer((socket) => {
    if (options.hang === true) {
      socket.resume();
      return;
    }
    socket.once('data', (hello) => {
      if (hello[0] === 4) {
        four(socket, hello);
        return;
      }
      if (options.user === undefined) {
        socket.write(Buffer.from([5, 0]));
        socket.once('data', (data) => five(socket, data));
        return;
      }
      socket.write(Buffer.from([5, hello.includes(2, 2) ? 2 : 0xff]));
      socket.once('data', (given) => {
        const length = given[1] ?? 0;
        const user = given.toString('latin1', 2, 2 + length);
        const password = given.toString('latin1', 3 + length);
        const right = user === options.user && password === options.password;
        socket.write(Buffer.from([1, right ? 0 : 1]));
        socket.once('data', (data) => five(socket, data));
      });
    });
  });
  return Object.assign(Object.create(await run(server)), { log });
}
