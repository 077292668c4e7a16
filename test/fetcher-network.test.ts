import http from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AddressGuard } from '../src/address-guard.ts';
import { DnsCache } from '../src/dns.ts';
import { CrawlError } from '../src/errors.ts';
import { IdleSockets, keepWith } from '../src/fetcher/agents.ts';
import { fetcherOver, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { loopbackLookup, startRawSite, startSite } from './helpers/site.ts';
import { CERTIFICATE, KEY } from './helpers/tls.ts';

describe.each(TRANSPORTS)('over %s', (transport) => {
  const newFetcher = fetcherOver(transport);

  const raw = (bytes: string | Buffer) =>
    startRawSite((socket: Socket) => void socket.once('data', () => socket.end(bytes)));

  describe('what may be connected to', () => {
    const to = (location: string) => startSite((_, response) => response.writeHead(302, { location }).end());

    test('the host of the URL itself, wherever it is', async () => {
      await using site = await startSite((_, response) => response.end('mine'));
      await using fetcher = newFetcher({ dnsLookup: loopbackLookup() });
      for (const host of ['127.0.0.1', 'named.example.test', 'intranet']) {
        expect((await fetcher.fetch({ url: site.url('/', host) })).body.toString()).toBe('mine');
      }
    });

    test.each([
      ['an address', '127.0.0.1'],
      ['the short form of an address', '127.1'],
      ['an integer', '2130706433'],
      ['a mapped address', '[::ffff:127.0.0.1]'],
      ['a name that resolves there', 'innocent.example.test'],
      ['localhost', 'localhost'],
      ['a name without a dot', 'intranet'],
    ])('not what it redirects to on this machine: %s', async (_, host) => {
      await using inner = await startSite((_request, response) => response.end('secret'));
      await using outer = await to(inner.url('/', host));
      await using fetcher = newFetcher({ dnsLookup: loopbackLookup() });
      expect(await rejection(fetcher.fetch({ url: outer.url('/', 'seed.example.test') }))).toMatchObject({
        code: 'CRAWL_ADDRESS_REFUSED',
        retryable: false,
      });
      expect(inner.log).toHaveLength(0);
    });

    test('not by a kept-alive connection that was opened when it was allowed', async () => {
      await using inner = await startSite((_request, response) => response.end('secret'));
      const target = inner.url('/', 'inner.example.test');
      await using outer = await to(target);
      await using fetcher = newFetcher({ dnsLookup: loopbackLookup() });
      await fetcher.fetch({ url: target });
      await new Promise(setImmediate);
      expect(inner.openSockets).toBe(1);
      expect(await rejection(fetcher.fetch({ url: outer.url('/', 'seed.example.test') }))).toMatchObject({
        code: 'CRAWL_ADDRESS_REFUSED',
      });
      expect(inner.log).toHaveLength(1);
    });

    test("with 'public', nothing on this machine; with 'any', all of it", async () => {
      await using site = await startSite((_, response) => response.end('mine'));
      await using open = newFetcher({ network: 'any', dnsLookup: loopbackLookup() });
      await using shut = newFetcher({ network: 'public', dnsLookup: loopbackLookup() });
      for (const host of ['127.0.0.1', 'localhost', 'a.example.test']) {
        expect((await open.fetch({ url: site.url('/', host) })).status).toBe(200);
        expect(await rejection(shut.fetch({ url: site.url('/', host) }))).toMatchObject({
          code: 'CRAWL_ADDRESS_REFUSED',
        });
      }
    });

    test.each(['127.0.0.1', '[::1]', 'localhost', 'intranet', 'inner.example.test'])(
      'and says for which URL it refused: %s',
      async (host) => {
        await using fetcher = newFetcher({ network: 'public', dnsLookup: loopbackLookup() });
        const url = `http://${host}:8080/a?b`;
        expect(await rejection(fetcher.fetch({ url }))).toMatchObject({
          code: 'CRAWL_ADDRESS_REFUSED',
          url,
          message: expect.stringContaining(url),
        });
        await using outer = await to(url);
        await using follower = newFetcher({ dnsLookup: loopbackLookup() });
        const seed = outer.url('/', 'seed.example.test');
        expect(await rejection(follower.fetch({ url: seed }))).toMatchObject({ code: 'CRAWL_ADDRESS_REFUSED', url });
      },
    );

    test('says for which URL, too, when the fetcher is closed and when a hook throws an error without one', async () => {
      const fetcher = newFetcher({ dnsLookup: loopbackLookup() });
      await using site = await startSite(() => void fetcher.close());
      const url = site.url('/', 'seed.example.test');
      expect(await rejection(fetcher.fetch({ url }))).toMatchObject({ code: 'CRAWL_CLOSED', url });
      await using other = newFetcher({ dnsLookup: loopbackLookup() });
      const beforeHop = () => {
        throw new CrawlError('CRAWL_HTTP_STATUS', 'Not now', { status: 418, retryable: true, cause: 'tea' });
      };
      expect(await rejection(other.fetch({ url, beforeHop }))).toMatchObject({
        ...{ code: 'CRAWL_HTTP_STATUS', url, message: `Not now (${url})`, status: 418, retryable: true, cause: 'tea' },
      });
    });

    test('a function decides for each address; only those that pass are dialled', async () => {
      await using site = await startSite((_, response) => response.end('mine'), '127.0.0.2');
      await using fetcher = newFetcher({
        network: (address) => address === '127.0.0.2',
        dnsLookup: async () => ['127.0.0.1', '127.0.0.2', '10.0.0.1'],
      });
      const result = await fetcher.fetch({ url: site.url('/', 'many.example.test') });
      expect(result.remoteAddress).toBe('127.0.0.2');
    });

    test('a guard knows the named hosts itself, also for credentials', async () => {
      await using site = await startSite((_, response) => response.end('mine'));
      const guard = new AddressGuard('seeds');
      guard.allowHost('seed.example.test');
      await using fetcher = newFetcher({
        network: guard,
        dnsLookup: new DnsCache({ lookup: loopbackLookup() }),
        headers: { Authorization: 'Basic c2VjcmV0' },
      });
      await fetcher.fetch({ url: site.url('/', 'seed.example.test') });
      expect(site.log[0]?.headers.authorization).toBe('Basic c2VjcmV0');
      expect(await rejection(fetcher.fetch({ url: site.url('/', 'other.example.test') }))).toMatchObject({
        code: 'CRAWL_ADDRESS_REFUSED',
      });
    });

    test.each([
      ['ftp://example.test/', 'CRAWL_SCHEME_REFUSED'],
      ['javascript:alert(1)', 'CRAWL_SCHEME_REFUSED'],
      ['http://example.test:25/', 'CRAWL_PORT_REFUSED'],
      ['/relative', 'CRAWL_URL_INVALID'],
      ['http://', 'CRAWL_URL_INVALID'],
      ['', 'CRAWL_URL_INVALID'],
    ])('%s is refused before anything is sent: %s', async (url, code) => {
      await using fetcher = newFetcher();
      expect(await rejection(fetcher.fetch({ url }))).toMatchObject({ code, retryable: false });
    });
  });

  describe('time', () => {
    test('a name that is not found in time counts against the connection', async () => {
      await using fetcher = newFetcher({ dnsLookup: () => new Promise(() => {}), timeouts: { connect: 60 } });
      expect(await rejection(fetcher.fetch({ url: 'http://slow.example.test/' }))).toMatchObject({
        code: 'CRAWL_CONNECT_TIMEOUT',
        retryable: true,
      });
    });

    test('a TLS handshake that is never answered is no connection either', async () => {
      await using site = await startRawSite((socket) => void socket.resume());
      await using fetcher = newFetcher({ timeouts: { connect: 100 } });
      const url = site.url('/').replace('http:', 'https:');
      expect(await rejection(fetcher.fetch({ url }))).toMatchObject({ code: 'CRAWL_CONNECT_TIMEOUT', retryable: true });
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test.each([
      ['says nothing', ''],
      ['stops in the middle of its headers', 'HTTP/1.1 200 OK\r\nContent-'],
      ['only ever says 103', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ])('an answer that %s ends at the headers timeout', async (_, text) => {
      await using site = await startRawSite((socket) => void socket.once('data', () => socket.write(text)));
      await using fetcher = newFetcher({ timeouts: { headers: 100 } });
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({
        code: 'CRAWL_HEADERS_TIMEOUT',
        retryable: true,
        url: site.url('/'),
      });
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test('the page is a wall for connection and headers together', async () => {
      await using site = await startRawSite((socket) => void socket.resume());
      await using fetcher = newFetcher({ timeouts: { connect: 5000, headers: 5000, page: 100 } });
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({
        code: 'CRAWL_PAGE_TIMEOUT',
        retryable: true,
      });
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test.each([
      ['its headers', 'HTTP/1.1 200 OK\r\n', 'X: y\r\n'],
      ['its body', 'HTTP/1.1 200 OK\r\n\r\n', '<p>'],
      ['empty chunks of nothing', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\n \r\n'],
    ])('the page is a wall for a server that drips %s', async (_, head, drop) => {
      await using site = await startRawSite((socket) => {
        socket.once('data', () => {
          socket.write(head);
          const timer = setInterval(() => socket.write(drop), 20);
          socket.on('close', () => clearInterval(timer));
        });
      });
      await using fetcher = newFetcher({ timeouts: { page: 200 } });
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({ code: 'CRAWL_PAGE_TIMEOUT' });
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test('the page is a wall for a whole chain of redirects', async () => {
      let n = 0;
      await using site = await startSite(async (_, response) => {
        await delay(40);
        response.writeHead(302, { location: `/${n++}` }).end();
      });
      await using fetcher = newFetcher({ timeouts: { page: 150 } });
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({ code: 'CRAWL_PAGE_TIMEOUT' });
    });

    test('a beforeHop that never answers ends at the wall', async () => {
      await using site = await startSite((_, response) => response.end());
      await using fetcher = newFetcher({ timeouts: { page: 80 } });
      const fetching = fetcher.fetch({ url: site.url('/'), beforeHop: () => new Promise(() => {}) });
      expect(await rejection(fetching)).toMatchObject({ code: 'CRAWL_PAGE_TIMEOUT' });
      expect(site.log).toHaveLength(0);
    });
  });

  describe('giving up', () => {
    test.each([
      ['before the request', 0],
      ['while waiting for headers', 1],
      ['while reading the body', 2],
    ])('%s gives CRAWL_ABORTED with the reason', async (_, stage) => {
      const controller = new AbortController();
      const reason = new Error('changed my mind');
      await using site = await startSite((_request, response) => {
        if (stage === 1) controller.abort(reason);
        if (stage === 2) {
          response.write('some');
          setTimeout(() => controller.abort(reason), 20);
        }
      });
      await using fetcher = newFetcher();
      if (stage === 0) controller.abort(reason);
      const fetching = fetcher.fetch({ url: site.url('/') }, controller.signal);
      expect(await rejection(fetching)).toMatchObject({ code: 'CRAWL_ABORTED', cause: reason, retryable: false });
      await expect.poll(() => site.openSockets).toBe(0);
      if (stage === 0) expect(site.log).toHaveLength(0);
    });

    test('by close() ends what is running and refuses what comes after', async () => {
      await using site = await startSite((_, response) => response.write('some'));
      const fetcher = newFetcher();
      const buffered = rejection(fetcher.fetch({ url: site.url('/') }));
      const { stream } = await fetcher.fetch({ url: site.url('/'), accept: () => 'stream' });
      const streamed = new Promise((resolve) => stream!.once('error', resolve));
      await expect.poll(() => site.log.length).toBe(2);
      await fetcher.close();
      await fetcher.close();
      expect(await buffered).toMatchObject({ code: 'CRAWL_CLOSED' });
      expect(await streamed).toMatchObject({ code: 'CRAWL_CLOSED' });
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({ code: 'CRAWL_CLOSED' });
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test('leaves no listener on the signal of its caller', async () => {
      await using site = await startSite((_, response) => response.end('x'));
      await using fetcher = newFetcher();
      const { signal } = new AbortController();
      let listeners = 0;
      const add = signal.addEventListener.bind(signal);
      const remove = signal.removeEventListener.bind(signal);
      signal.addEventListener = (...args: Parameters<typeof add>) => {
        listeners++;
        add(...args);
      };
      signal.removeEventListener = (...args: Parameters<typeof remove>) => {
        listeners--;
        remove(...args);
      };
      for (let n = 0; n < 3; n++) await fetcher.fetch({ url: site.url('/') }, signal);
      expect(listeners).toBe(0);
    });
  });

  describe('connections', () => {
    /** A port where nobody listens. */
    async function closedPort(): Promise<number> {
      const server = net.createServer().listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      const { port } = server.address() as AddressInfo;
      await new Promise((resolve) => server.close(resolve));
      return port;
    }

    test('a refused one is an error that may pass', async () => {
      await using fetcher = newFetcher();
      expect(await rejection(fetcher.fetch({ url: `http://127.0.0.1:${await closedPort()}/` }))).toMatchObject({
        code: 'CRAWL_CONNECT_FAILED',
        retryable: true,
      });
    });

    test('one refused at every address of its host says why', async () => {
      await using fetcher = newFetcher({ dnsLookup: async () => ['127.0.0.1', '127.0.0.2'] });
      const error = await rejection(fetcher.fetch({ url: `http://a.example.test:${await closedPort()}/` }));
      expect(error).toMatchObject({ code: 'CRAWL_CONNECT_FAILED', retryable: true });
      expect(String(error)).toContain('ECONNREFUSED');
    });

    test('a host that is not found is an error that may pass', async () => {
      const cause = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
      await using fetcher = newFetcher({ dnsLookup: () => Promise.reject(cause) });
      expect(await rejection(fetcher.fetch({ url: 'http://nowhere.example.test/' }))).toMatchObject({
        code: 'CRAWL_DNS_FAILED',
        retryable: true,
        cause,
        url: 'http://nowhere.example.test/',
      });
    });

    test.each([
      ['closed at once', (socket: Socket) => void socket.end()],
      ['reset', (socket: Socket) => void socket.once('data', () => socket.resetAndDestroy())],
      [
        'closed in the middle of the headers',
        (socket: Socket) => void socket.once('data', () => socket.end('HTTP/1.1 2')),
      ],
    ])('one that is %s is an error that may pass', async (_, behave) => {
      await using site = await startRawSite(behave);
      await using fetcher = newFetcher();
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({
        code: expect.stringMatching(/^CRAWL_CONNECTION_LOST$/),
        retryable: true,
      });
      expect(site.connections).toBe(1);
    });

    test('one that the server closed while it was kept is replaced without a word', async () => {
      let requests = 0;
      await using site = await startRawSite((socket) => {
        let first = true;
        socket.on('data', () => {
          requests++;
          if (first) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
          else socket.resetAndDestroy();
          first = false;
        });
      });
      await using fetcher = newFetcher();
      for (let n = 0; n < 3; n++) {
        expect((await fetcher.fetch({ url: site.url('/') })).body.toString()).toBe('ok');
        await new Promise(setImmediate);
      }
      expect(requests).toBe(5);
      expect(site.connections).toBe(3);
    });

    test('one on which a 304 left a body behind is replaced too', async () => {
      await using site = await startRawSite((socket) => {
        socket.on('data', (head) => {
          if (head.toString().startsWith('GET /unchanged ')) {
            socket.write('HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n');
            setTimeout(() => socket.write('hello'), 10);
          } else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        });
      });
      await using fetcher = newFetcher();
      for (let n = 0; n < 5; n++) {
        expect((await fetcher.fetch({ url: site.url('/unchanged') })).status).toBe(304);
        await delay(n * 5);
        expect((await fetcher.fetch({ url: site.url('/page') })).body.toString()).toBe('ok');
      }
    });

    test('a server that resets every request is asked once, not over and over', async () => {
      let requests = 0;
      await using site = await startRawSite((socket) => {
        socket.on('data', () => {
          requests++;
          socket.resetAndDestroy();
        });
      });
      await using fetcher = newFetcher();
      await rejection(fetcher.fetch({ url: site.url('/') }));
      expect(requests).toBe(1);
    });

    test.each([
      ['no HTTP at all', 'SSH-2.0-OpenSSH_9.2\r\n'],
      ['a status that is none', 'HTTP/1.1 abc OK\r\n\r\n'],
      ['a header line without a colon', 'HTTP/1.1 200 OK\r\nBroken\r\n\r\n'],
      ['two lengths that differ', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!'],
      ['a length that is no number', 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello'],
      ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ])('%s is an answer that will not get better', async (_, text) => {
      await using site = await raw(text);
      await using fetcher = newFetcher();
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({
        code: 'CRAWL_PROTOCOL_INVALID',
        retryable: false,
      });
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test.each([
      ['more bytes than 16 KiB', `X-Long: ${'a'.repeat(17_000)}\r\n`, {}],
      ['more than 100 fields', 'X: y\r\n'.repeat(101), {}],
      ['more bytes than allowed', `X-Long: ${'a'.repeat(900)}\r\n`, { maxHeaderBytes: 800 }],
      ['more fields than allowed', 'X: y\r\n'.repeat(4), { maxHeaderFields: 3 }],
    ])('a head of %s is refused', async (_, lines, options) => {
      await using site = await raw(`HTTP/1.1 200 OK\r\n${lines}\r\nbody`);
      await using fetcher = newFetcher(options);
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({
        code: 'CRAWL_HEADERS_TOO_LARGE',
        retryable: false,
      });
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test('a head of 100 fields is read, and its lines are not joined', async () => {
      await using site = await raw(`HTTP/1.1 200 OK\r\n${'X-Robots-Tag: a, b\r\n'.repeat(99)}__Proto__: z\r\n\r\n`);
      await using fetcher = newFetcher();
      const { headers } = await fetcher.fetch({ url: site.url('/') });
      expect(headers['x-robots-tag']).toEqual(Array(99).fill('a, b'));
      expect(Object.entries(headers)).toContainEqual(['__proto__', 'z']);
    });

    test.each(['a=b; Domain=other.example.test', '=x', '', ';;;', 'a=b; Domain=127.0.0.1', 'a=\xff'])(
      'a page with "Set-Cookie: %s" is a page',
      async (cookie) => {
        await using site = await raw(
          Buffer.from(`HTTP/1.1 200 OK\r\nSet-Cookie: ${cookie}\r\nContent-Length: 4\r\n\r\npage`, 'latin1'),
        );
        await using fetcher = newFetcher();
        expect((await fetcher.fetch({ url: site.url('/') })).body.toString()).toBe('page');
      },
    );

    test('any bytes in headers give an answer or a named error', async () => {
      let line = Buffer.alloc(0);
      await using site = await startRawSite((socket) => {
        socket.once('data', () => {
          socket.write('HTTP/1.1 302 Found\r\nContent-Length: 0\r\n');
          socket.write(line);
          socket.end('\r\n\r\n');
        });
      });
      await using fetcher = newFetcher();
      const name = fc.constantFrom('Location', 'Set-Cookie', 'Content-Type', 'Content-Encoding', 'X');
      await fc.assert(
        fc.asyncProperty(name, fc.uint8Array({ maxLength: 60 }), fc.boolean(), async (field, bytes, manual) => {
          line = Buffer.concat([Buffer.from(`${field}: `), bytes]);
          try {
            const result = await fetcher.fetch({ url: site.url('/'), redirect: manual ? 'manual' : 'follow' });
            expect(result.status).toBeGreaterThanOrEqual(100);
          } catch (error) {
            expect((error as CrawlError).code).toMatch(/^CRAWL_/);
          }
        }),
        { numRuns: 300 },
      );
    });

    test('one to a server whose certificate is its own is refused for good', async () => {
      const server = createServer({ cert: CERTIFICATE, key: KEY }, (_, response) => response.end('secret'));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      await using fetcher = newFetcher();
      expect(await rejection(fetcher.fetch({ url: `https://127.0.0.1:${port}/` }))).toMatchObject({
        code: 'CRAWL_TLS_FAILED',
        retryable: false,
      });
      await new Promise((resolve) => server.close(resolve));
    });

    test.each([
      [
        'speaks no TLS',
        (socket: Socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
      ],
      ['breaks the handshake off', (socket: Socket) => void socket.once('data', () => socket.end())],
    ])('a secure one to a server that %s may be tried again', async (_, behave) => {
      await using site = await startRawSite(behave);
      await using fetcher = newFetcher();
      expect(await rejection(fetcher.fetch({ url: site.url('/').replace('http:', 'https:') }))).toMatchObject({
        code: 'CRAWL_TLS_FAILED',
        retryable: true,
      });
    });

    test('many at once to one host are not queued: how many a host gets is for politeness to say', async () => {
      await using site = await startSite(async (_, response) => {
        await delay(100);
        response.end();
      });
      await using fetcher = newFetcher();
      await Promise.all(Array.from({ length: 30 }, (_, n) => fetcher.fetch({ url: site.url(`/${n}`) })));
      expect(site.maxInFlight).toBe(30);
    });

    test('no more are kept unused than fit, and the oldest goes first', async () => {
      await using site = await startSite((_, response) => response.end('x'), '0.0.0.0');
      const agent = keepWith(new http.Agent({ keepAlive: true }), new IdleSockets(2));
      const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
      for (const host of hosts) {
        await new Promise((resolve, reject) => {
          const options = { agent, host, port: site.port };
          http.get(options, (response) => response.resume().on('close', resolve)).on('error', reject);
        });
        await new Promise(setImmediate);
      }
      await expect.poll(() => site.openSockets).toBe(2);
      expect(Object.keys(agent.freeSockets).map((name) => name.split(':')[0])).toEqual(hosts.slice(1));
      agent.destroy();
    });
  });
});
