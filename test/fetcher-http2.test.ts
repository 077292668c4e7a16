import { once } from 'node:events';
import http2 from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { FetcherOptions } from '../src/fetcher/index.ts';
import { fetcherOver, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { startHttp2Site, startHttpProxy, startSecureSite, startSocks } from './helpers/servers.ts';
import { loopbackLookup, startRawSite } from './helpers/site.ts';
import { CERTIFICATE, KEY } from './helpers/tls.ts';

const HOST = 'secure.example.test';
const { NGHTTP2_CANCEL, NGHTTP2_HTTP_1_1_REQUIRED, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } =
  http2.constants;

describe.each(TRANSPORTS)('http2 over %s', (transport) => {
  const newFetcher = (options: Partial<FetcherOptions> = {}) =>
    fetcherOver(transport)({ http2: true, dnsLookup: loopbackLookup(), tls: { ca: CERTIFICATE }, ...options });

  test('is spoken with a server that chooses it, many requests on one connection', async () => {
    await using site = await startHttp2Site((request, response) => {
      response.writeHead(request.url === '/gone' ? 404 : 200, {
        'content-type': 'text/html',
        'set-cookie': ['a=1', 'b=2'],
        'x-many': ['1', '2'],
      });
      response.end(`page ${request.url}`);
    });
    await using fetcher = newFetcher({ headers: { 'X-Own': 'own', connection: 'keep-alive' } });
    const paths = ['/gone', '/b?c=%20d', '/e?'];
    const results = await Promise.all(paths.map((path) => fetcher.fetch({ url: site.url(path, HOST) })));
    expect(results.map(({ status }) => status)).toEqual([404, 200, 200]);
    expect(results.map(({ body }) => body.toString())).toEqual(paths.map((path) => `page ${path}`));
    expect(results[0]).toMatchObject({ contentType: 'text/html', remoteAddress: '127.0.0.1' });
    expect(results[0]?.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(results[0]?.headers['x-many']).toEqual(['1', '2']);
    expect(results[0]?.headers).not.toHaveProperty(':status');
    expect(site.log.sort()).toEqual(['2.0 /b?c=%20d', '2.0 /e?', '2.0 /gone']);
    expect(site.requests[0]?.headers).toMatchObject({
      ':authority': new URL(site.url('/', HOST)).host,
      'x-own': 'own',
    });
    expect(site.requests[0]?.headers).not.toHaveProperty('connection');
    expect(site.connections).toBe(1);
  });

  test('takes as many answers at once as were asked for, each with a long head, for no flood', async () => {
    await using site = await startHttp2Site((_, response) => {
      response.writeHead(404, { 'x-long': 'x'.repeat(12_000) });
      response.end();
    });
    await using fetcher = newFetcher();
    const urls = Array.from({ length: 400 }, (_, n) => site.url(`/${n}`, HOST));
    const results = await Promise.all(urls.map((url) => fetcher.fetch({ url })));
    expect(results.filter(({ status }) => status === 404)).toHaveLength(400);
  });

  test('is not asked for where it is not wanted', async () => {
    await using site = await startHttp2Site((_, response) => void response.end());
    await using fetcher = newFetcher({ http2: false });
    await fetcher.fetch({ url: site.url('/', HOST) });
    expect(site.log).toEqual(['1.1 /']);
  });

  test('gives way to HTTP/1.1 with a server that knows nothing else, on the same connection', async () => {
    await using site = await startSecureSite((_, response) => response.end('old'));
    await using fetcher = newFetcher();
    for (let n = 0; n < 3; n++) {
      expect((await fetcher.fetch({ url: site.url('/', HOST) })).body.toString()).toBe('old');
      await new Promise(setImmediate);
    }
    expect(site.log.map(({ httpVersion }) => httpVersion)).toEqual(['1.1', '1.1', '1.1']);
    expect(site.connections).toBe(1);
  });

  test('connects nowhere that is refused, also by a connection that is there', async () => {
    await using site = await startHttp2Site((request, response) => {
      if (request.url === '/away') response.writeHead(302, { location: site.url('/secret', HOST) });
      response.end('mine');
    });
    await using fetcher = newFetcher();
    for (const warm of [false, true]) {
      if (warm) await fetcher.fetch({ url: site.url('/', HOST) });
      expect(await rejection(fetcher.fetch({ url: site.url('/away') }))).toMatchObject({
        code: 'CRAWL_ADDRESS_REFUSED',
        retryable: false,
      });
    }
    expect(site.log).not.toContain('2.0 /secret');
  });

  test.each(['buffer', 'stream', 'skip'] as const)('brings bodies taken as %s', async (acceptance) => {
    const text = 'some text\n'.repeat(100_000);
    await using site = await startHttp2Site((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync(text));
    });
    await using fetcher = newFetcher();
    for (let n = 0; n < 2; n++) {
      const result = await fetcher.fetch({ url: site.url('/', HOST), accept: () => acceptance });
      const chunks: Buffer[] = [];
      for await (const chunk of result.stream ?? []) chunks.push(chunk as Buffer);
      const body = acceptance === 'stream' ? Buffer.concat(chunks) : result.body;
      expect(body.toString() === (acceptance === 'skip' ? '' : text)).toBe(true);
    }
    expect(site.connections).toBe(1);
  });

  test('cuts a body that never ends, and leaves the connection to others', async () => {
    await using site = await startHttp2Site((request, response) => {
      if (request.url === '/small') {
        response.end('small');
        return;
      }
      const more = () => {
        while (!response.stream.destroyed && response.write(Buffer.alloc(10_000)));
        response.once('drain', more);
      };
      more();
    });
    await using fetcher = newFetcher({ maxBodyBytes: 1_000_000 });
    const result = await fetcher.fetch({ url: site.url('/endless', HOST) });
    expect(result).toMatchObject({ truncated: true, bytes: 1_000_000 });
    expect((await fetcher.fetch({ url: site.url('/small', HOST) })).body.toString()).toBe('small');
    expect(site.connections).toBe(1);
  });

  test('does not hold more than it must when the reader of a stream is slow', async () => {
    let written = 0;
    await using site = await startHttp2Site((_, response) => {
      const more = () => {
        while (written < 50_000_000) {
          written += 64_000;
          if (!response.write(Buffer.alloc(64_000))) break;
        }
        if (written < 50_000_000) response.once('drain', more);
      };
      more();
    });
    await using fetcher = newFetcher({ maxBodyBytes: 100_000_000 });
    const { stream } = await fetcher.fetch({ url: site.url('/', HOST), accept: () => 'stream' });
    await once(stream!, 'readable');
    await delay(200);
    expect(written).toBeLessThan(10_000_000);
    stream!.destroy();
  });

  test.each([
    ['refuses the stream', NGHTTP2_REFUSED_STREAM],
    ['has an error of its own', NGHTTP2_INTERNAL_ERROR],
    ['cancels', NGHTTP2_CANCEL],
    ['just ends the stream', NGHTTP2_NO_ERROR],
  ])('a server that %s before its answer may be asked again', async (_, code) => {
    await using site = await startHttp2Site((_request, response) => response.stream.close(code));
    await using fetcher = newFetcher();
    expect(await rejection(fetcher.fetch({ url: site.url('/', HOST), redirect: 'manual' }))).toMatchObject({
      code: 'CRAWL_CONNECTION_LOST',
      retryable: true,
    });
    expect(site.log).toHaveLength(1);
  });

  test.each([
    ['resets the stream', {}, NGHTTP2_INTERNAL_ERROR],
    ['cancels it', {}, NGHTTP2_CANCEL],
    ['ends it before its length', { 'content-length': '1000' }, NGHTTP2_NO_ERROR],
  ])('a body is truncated where the server %s', async (_, headers, code) => {
    await using site = await startHttp2Site((_request, response) => {
      response.writeHead(200, headers);
      response.write('some', () => setTimeout(() => response.stream.close(code), 20));
    });
    await using fetcher = newFetcher();
    for (const acceptance of ['buffer', 'stream'] as const) {
      const fetching = (async () => {
        const { stream } = await fetcher.fetch({ url: site.url('/', HOST), accept: () => acceptance });
        for await (const _ of stream ?? []);
      })();
      expect(await rejection(fetching)).toMatchObject({ code: 'CRAWL_BODY_TRUNCATED', retryable: true });
    }
  });

  test('a server that says GOAWAY answers what it has, and the next request has a new connection', async () => {
    await using site = await startHttp2Site((request, response) => {
      request.stream.session?.goaway(NGHTTP2_NO_ERROR);
      setTimeout(() => response.end('last'), 20);
    });
    await using fetcher = newFetcher();
    for (let n = 0; n < 3; n++) {
      const { body } = await fetcher.fetch({ url: site.url('/', HOST), redirect: 'manual' });
      expect(body.toString()).toBe('last');
    }
    expect(site.connections).toBe(3);
  });

  test('a server that says GOAWAY with an error may be asked again', async () => {
    await using site = await startHttp2Site((request) => {
      request.stream.session?.goaway(NGHTTP2_INTERNAL_ERROR);
    });
    await using fetcher = newFetcher();
    expect(await rejection(fetcher.fetch({ url: site.url('/', HOST) }))).toMatchObject({
      code: 'CRAWL_CONNECTION_LOST',
      retryable: true,
    });
  });

  test.each([
    ['sent again where it may be', {}, 3],
    ['an error that may pass where not', { resend: false }, 2],
  ])('a request lost with a connection that was used before is %s', async (_, more, requests) => {
    let asked = 0;
    await using site = await startHttp2Site((request, response) => {
      if (++asked === 2) request.stream.session?.destroy();
      else response.end('ok');
    });
    await using fetcher = newFetcher();
    const request = { url: site.url('/', HOST), ...more };
    await fetcher.fetch(request);
    if (requests === 3) expect((await fetcher.fetch(request)).body.toString()).toBe('ok');
    else {
      expect(await rejection(fetcher.fetch(request))).toMatchObject({ code: 'CRAWL_CONNECTION_LOST', retryable: true });
    }
    expect(asked).toBe(requests);
  });

  test.each([
    ['by 421', undefined],
    ['by a reset', NGHTTP2_HTTP_1_1_REQUIRED],
  ])('a server that asks for HTTP/1.1 %s gets it from then on', async (_, code) => {
    await using site = await startHttp2Site((request, response) => {
      if (request.httpVersion === '1.1') response.end('old');
      else if (code === undefined) {
        response.writeHead(421);
        response.end('misdirected');
      } else response.stream.close(code);
    });
    await using fetcher = newFetcher();
    const { body } = await fetcher.fetch({ url: site.url('/1', HOST) });
    expect(body.toString()).toBe('old');
    await fetcher.fetch({ url: site.url('/2', HOST) });
    expect(site.log).toEqual(['2.0 /1', '1.1 /1', '1.1 /2']);
    site.log.length = 0;
    await using once = newFetcher();
    const request = { url: site.url('/1', HOST), redirect: 'manual' } as const;
    expect(await rejection(once.fetch(request))).toMatchObject({ code: 'CRAWL_CONNECTION_LOST', retryable: true });
    expect((await once.fetch(request)).body.toString()).toBe('old');
    expect(site.log).toEqual(['2.0 /1', '1.1 /1']);
  });

  test.each([
    ['more fields than allowed', 20, { maxHeaderFields: 5 }],
    ['more bytes than allowed', 20, { maxHeaderBytes: 1000 }],
    ['very many fields', 300, {}],
  ])('a head of %s is refused', async (_, fields, options) => {
    await using site = await startHttp2Site((_request, response) => {
      for (let n = 0; n < fields; n++) response.setHeader(`x-${n}`, 'y'.repeat(60));
      response.end('page');
    });
    await using fetcher = newFetcher(options);
    expect(await rejection(fetcher.fetch({ url: site.url('/', HOST) }))).toMatchObject({
      code: 'CRAWL_HEADERS_TOO_LARGE',
      retryable: false,
    });
  });

  test.each([
    ['connection', 'CRAWL_CONNECT_TIMEOUT', { connect: 100 }],
    ['head', 'CRAWL_HEADERS_TIMEOUT', { headers: 100 }],
    ['body', 'CRAWL_PAGE_TIMEOUT', { page: 200 }],
  ])('a %s that does not come ends in time', async (what, code, timeouts) => {
    await using silent = await startRawSite((socket) => void socket.resume());
    await using site = await startHttp2Site((_, response) => {
      if (what === 'body') response.write('some');
    });
    await using fetcher = newFetcher({ timeouts });
    const url = what === 'connection' ? silent.url('/').replace('http:', 'https:') : site.url('/', HOST);
    expect(await rejection(fetcher.fetch({ url }))).toMatchObject({ code, retryable: true });
    await expect.poll(() => silent.openSockets).toBe(0);
  });

  test('one who waits for a connection gives up alone', async () => {
    await using site = await startHttp2Site((_, response) => void response.end('page'));
    await using fetcher = newFetcher();
    const controller = new AbortController();
    const first = rejection(fetcher.fetch({ url: site.url('/1', HOST) }, controller.signal));
    const second = fetcher.fetch({ url: site.url('/2', HOST) });
    await new Promise(setImmediate);
    controller.abort();
    expect(await first).toMatchObject({ code: 'CRAWL_ABORTED' });
    expect((await second).body.toString()).toBe('page');
  });

  test('giving up in the middle ends the stream, and close() the connection', async () => {
    const controller = new AbortController();
    await using site = await startHttp2Site((request, response) => {
      if (request.url === '/ok') response.end('ok');
      else setTimeout(() => controller.abort(), 20);
    });
    const fetcher = newFetcher();
    expect(await rejection(fetcher.fetch({ url: site.url('/', HOST) }, controller.signal))).toMatchObject({
      code: 'CRAWL_ABORTED',
    });
    await expect.poll(() => site.requests[0]?.stream.closed).toBe(true);
    expect((await fetcher.fetch({ url: site.url('/ok', HOST) })).body.toString()).toBe('ok');
    expect(site.connections).toBe(1);
    await fetcher.close();
    await expect.poll(() => site.openSockets).toBe(0);
  });

  test('an untrusted certificate is refused as over HTTP/1.1', async () => {
    await using site = await startHttp2Site((_, response) => void response.end('page'));
    await using fetcher = newFetcher();
    expect(await rejection(fetcher.fetch({ url: site.url('/', 'other.example.test') }))).toMatchObject({
      code: 'CRAWL_TLS_FAILED',
      retryable: false,
    });
  });

  test('a server that chooses it and speaks something else is no server', async () => {
    const { createServer } = await import('node:tls');
    const server = createServer({ cert: CERTIFICATE, key: KEY, ALPNProtocols: ['h2'] }, (socket) => {
      socket.on('error', () => {});
      socket.resume().end('HTTP/1.1 200 OK\r\n\r\nhello');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    await using fetcher = newFetcher();
    expect(await rejection(fetcher.fetch({ url: `https://127.0.0.1:${port}/` }))).toMatchObject({
      code: expect.stringMatching(/^CRAWL_(PROTOCOL_INVALID|CONNECTION_LOST)$/),
    });
    await new Promise((resolve) => server.close(resolve));
  });

  test('goes through proxies', async () => {
    await using site = await startHttp2Site((_, response) => void response.end('page'));
    await using http = await startHttpProxy();
    await using socks = await startSocks();
    for (const proxy of [`http://127.0.0.1:${http.port}`, `socks5h://127.0.0.1:${socks.port}`]) {
      await using fetcher = newFetcher({ proxy });
      for (let n = 0; n < 2; n++) {
        const result = await fetcher.fetch({ url: site.url('/', HOST) });
        expect(result.body.toString()).toBe('page');
        expect(result.remoteAddress).toBeUndefined();
      }
    }
    expect(site.log).toEqual(['2.0 /', '2.0 /', '2.0 /', '2.0 /']);
    expect(site.connections).toBe(2);
  });

  test('shows the client certificate to hosts that were named alone', async () => {
    await using site = await startHttp2Site(
      (request, response) => {
        const { subject } = (request.socket as unknown as TLSSocket).getPeerCertificate();
        if (request.url === '/away') response.writeHead(302, { location: site.url('/there', HOST) });
        response.end(String(subject?.CN ?? 'nobody'));
      },
      { requestCert: true, rejectUnauthorized: false },
    );
    await using fetcher = newFetcher({ network: 'any', tls: { ca: CERTIFICATE, cert: CERTIFICATE, key: KEY } });
    expect((await fetcher.fetch({ url: site.url('/', HOST) })).body.toString()).toBe(HOST);
    expect((await fetcher.fetch({ url: site.url('/away') })).body.toString()).toBe('nobody');
  });
});
