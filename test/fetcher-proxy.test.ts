import net from 'node:net';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { FetcherOptions } from '../src/fetcher/index.ts';
import { fetcherOver, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { startHttpProxy, startSecureSite, startSocks } from './helpers/servers.ts';
import { loopbackLookup, startRawSite, startSite } from './helpers/site.ts';
import { CERTIFICATE } from './helpers/tls.ts';

const HOST = 'secure.example.test';
const refused = { code: 'CRAWL_ADDRESS_REFUSED', retryable: false };

/** Finds names under `public.test` on the open internet, all others here. */
const lookup: FetcherOptions['dnsLookup'] = async (host) => [
  host.endsWith('public.test') ? '93.184.216.34' : '127.0.0.1',
];

describe.each(TRANSPORTS)('a proxy over %s', (transport) => {
  const newFetcher = (options: Partial<FetcherOptions> = {}) =>
    fetcherOver(transport)({ dnsLookup: loopbackLookup(), tls: { ca: CERTIFICATE }, ...options });

  test('of HTTP gets the whole URL, and the answer is the site’s', async () => {
    await using site = await startSite((_, response) => response.writeHead(404, { 'x-many': ['1', '2'] }).end('gone'));
    await using proxy = await startHttpProxy();
    await using fetcher = newFetcher({ proxy: `http://127.0.0.1:${proxy.port}` });
    const url = site.url('/a?b=%20c', 'a.example.test');
    const result = await fetcher.fetch({ url });
    expect(result).toMatchObject({ status: 404, url, finalUrl: url });
    expect(result.remoteAddress).toBeUndefined();
    expect(result.timings.connect).toBeGreaterThanOrEqual(0);
    expect(result.headers['x-many']).toEqual(['1', '2']);
    expect(result.body.toString()).toBe('gone');
    expect(proxy.log).toMatchObject([{ method: 'GET', target: url, authorization: undefined }]);
    expect(site.log[0]).toMatchObject({ host: new URL(url).host, path: '/a?b=%20c' });
    await fetcher.fetch({ url: site.url('/empty?', 'a.example.test') });
    expect(site.log[1]?.path).toBe('/empty?');
    expect(proxy.connections).toBe(1);
  });

  test.each([false, true])(
    'of HTTP, itself secure: %s, makes a tunnel for secure sites, and keeps it',
    async (secure) => {
      await using site = await startSecureSite((_, response) => response.end('secret'));
      await using proxy = await startHttpProxy({ secure });
      await using fetcher = newFetcher({ proxy: `${secure ? 'https' : 'http'}://127.0.0.1:${proxy.port}` });
      for (let n = 0; n < 3; n++) {
        expect((await fetcher.fetch({ url: site.url('/', HOST) })).body.toString()).toBe('secret');
        await new Promise(setImmediate);
      }
      expect(proxy.log).toMatchObject([{ method: 'CONNECT', target: `${HOST}:${site.port}` }]);
      expect(site.connections).toBe(1);
    },
  );

  test('is told name and password of its own user, and the site is not', async () => {
    await using site = await startSite((_, response) => response.end());
    await using secureSite = await startSecureSite((_, response) => response.end());
    const needed = `Basic ${Buffer.from('me:p@ss word').toString('base64')}`;
    await using proxy = await startHttpProxy({ answer: (asked) => (asked.authorization === needed ? undefined : 407) });
    await using fetcher = newFetcher({ proxy: `http://me:p%40ss%20word@127.0.0.1:${proxy.port}` });
    await fetcher.fetch({ url: site.url('/') });
    await fetcher.fetch({ url: secureSite.url('/') });
    expect(proxy.log.map((asked) => asked.method)).toEqual(['GET', 'CONNECT']);
    for (const { headers } of [...site.log, ...secureSite.log]) {
      expect(headers).not.toHaveProperty('proxy-authorization');
      expect(JSON.stringify(headers)).not.toContain('Basic');
    }
    await using stranger = newFetcher({ proxy: `http://127.0.0.1:${proxy.port}` });
    for (const url of [site.url('/'), secureSite.url('/')]) {
      const error = await rejection(stranger.fetch({ url }));
      expect(error).toMatchObject({ code: 'CRAWL_PROXY_FAILED', retryable: false, url });
    }
  });

  test.each([
    [403, false],
    [404, false],
    [429, true],
    [502, true],
  ])('that answers CONNECT with %i has failed, for now: %s', async (status, retryable) => {
    await using proxy = await startHttpProxy({ answer: () => status });
    await using fetcher = newFetcher({ proxy: `http://me:secret@127.0.0.1:${proxy.port}` });
    const error = (await rejection(fetcher.fetch({ url: 'https://a.example.test/' }))) as Error;
    expect(error).toMatchObject({ code: 'CRAWL_PROXY_FAILED', retryable });
    expect(error.message).toContain(String(status));
    expect(error.message).not.toContain('secret');
    await expect.poll(() => proxy.openSockets).toBe(0);
  });

  test.each(['http', 'https'])('that is not there has failed, for now (%s)', async (scheme) => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as net.AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    await using fetcher = newFetcher({ proxy: `http://127.0.0.1:${port}` });
    expect(await rejection(fetcher.fetch({ url: `${scheme}://a.example.test/` }))).toMatchObject({
      code: 'CRAWL_PROXY_FAILED',
      retryable: true,
    });
  });

  test('that says nothing is given up when the connection’s time is over', async () => {
    await using proxy = await startHttpProxy({ answer: () => 'hang' });
    await using socks = await startSocks({ hang: true });
    for (const url of [`http://127.0.0.1:${proxy.port}`, `socks5://127.0.0.1:${socks.port}`]) {
      await using fetcher = newFetcher({ proxy: url, timeouts: { connect: 100 } });
      expect(await rejection(fetcher.fetch({ url: 'https://a.example.test/' }))).toMatchObject({
        code: 'CRAWL_CONNECT_TIMEOUT',
        retryable: true,
      });
    }
    await expect.poll(() => proxy.openSockets + socks.openSockets).toBe(0);
  });

  test('of SOCKS is waited for as long as the longest timer, if need be', async () => {
    await using site = await startSite((_, response) => response.end('page'));
    await using socks = await startSocks();
    const longest = 2 ** 31 - 1;
    const set = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => void set.mockRestore());
    await using fetcher = newFetcher({ proxy: `socks5://127.0.0.1:${socks.port}`, timeouts: { connect: longest } });
    expect((await fetcher.fetch({ url: site.url('/', HOST) })).body.toString()).toBe('page');
    // A longer one would fire at once.
    expect(Math.max(...set.mock.calls.map(([, ms = 0]) => ms))).toBe(longest);
  });

  test('that answers anything gives an answer or a named error', async () => {
    let said: Uint8Array = Buffer.alloc(0);
    await using proxy = await startRawSite((socket) => void socket.once('data', () => socket.end(said)));
    await using fetcher = newFetcher({
      timeouts: { connect: 500, headers: 500 },
      proxy: `http://127.0.0.1:${proxy.port}`,
    });
    const start = fc.constantFrom(
      '',
      'HTTP/1.1 200 OK\r\n',
      'HTTP/1.1 200 OK\r\n\r\n',
      'HTTP/1.1 301 X\r\nLocation: /\r\n\r\n',
    );
    await fc.assert(
      fc.asyncProperty(
        start,
        fc.uint8Array({ maxLength: 40 }),
        fc.constantFrom('http', 'https'),
        async (head, rest, scheme) => {
          said = Buffer.concat([Buffer.from(head), rest]);
          const error = await fetcher.fetch({ url: `${scheme}://a.example.test/` }).catch((thrown) => thrown);
          if (error instanceof Error) expect(error).toMatchObject({ code: expect.stringMatching(/^CRAWL_/) });
          else expect(scheme).toBe('http');
        },
      ),
      { numRuns: 150 },
    );
  });

  test('of SOCKS that answers anything gives a named error', async () => {
    let said: Uint8Array = Buffer.alloc(0);
    await using proxy = await startRawSite((socket) => void socket.once('data', () => socket.end(said)));
    for (const scheme of ['socks4a', 'socks5h']) {
      await using fetcher = newFetcher({ proxy: `${scheme}://127.0.0.1:${proxy.port}`, timeouts: { connect: 500 } });
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 12 }), async (bytes) => {
          said = bytes;
          expect(await rejection(fetcher.fetch({ url: 'https://a.example.test/' }))).toMatchObject({
            code: expect.stringMatching(/^CRAWL_/),
          });
        }),
        { numRuns: 60 },
      );
    }
    await expect.poll(() => proxy.openSockets).toBe(0);
  });

  test('that breaks off has failed, for now', async () => {
    await using proxy = await startHttpProxy({ answer: () => 'reset' });
    await using fetcher = newFetcher({ proxy: `http://127.0.0.1:${proxy.port}` });
    expect(await rejection(fetcher.fetch({ url: 'https://a.example.test/' }))).toMatchObject({
      code: 'CRAWL_PROXY_FAILED',
      retryable: true,
    });
  });

  test('does not make an untrusted certificate trusted', async () => {
    await using site = await startSecureSite((_, response) => response.end('secret'));
    await using proxy = await startHttpProxy();
    await using fetcher = newFetcher({ proxy: `http://127.0.0.1:${proxy.port}` });
    expect(await rejection(fetcher.fetch({ url: site.url('/', 'other.example.test') }))).toMatchObject({
      code: 'CRAWL_TLS_FAILED',
      retryable: false,
    });
    expect(site.log).toHaveLength(0);
  });

  test.each([
    ['socks5', '5 address 127.0.0.1'],
    ['socks5h', '5 name secure.example.test'],
    ['socks', '5 name secure.example.test'],
    ['socks4', '4 address 127.0.0.1'],
    ['socks4a', '4 name secure.example.test'],
  ])('of %s is asked for %s, for pages and secure pages', async (scheme, asked) => {
    await using site = await startSite((_, response) => response.end('page'));
    await using secureSite = await startSecureSite((_, response) => response.end('secret'));
    await using proxy = await startSocks();
    await using fetcher = newFetcher({ proxy: `${scheme}://127.0.0.1:${proxy.port}` });
    for (let n = 0; n < 2; n++) {
      expect((await fetcher.fetch({ url: site.url('/', HOST) })).body.toString()).toBe('page');
      expect((await fetcher.fetch({ url: secureSite.url('/', HOST) })).body.toString()).toBe('secret');
      await new Promise(setImmediate);
    }
    expect(proxy.log).toEqual([asked, asked]);
    expect(site.log[0]?.path).toBe('/');
  });

  test('of SOCKS is told name and password, and its refusals are named', async () => {
    await using site = await startSite((_, response) => response.end('page'));
    await using proxy = await startSocks({ user: 'me', password: 'p@ss' });
    await using fetcher = newFetcher({ proxy: `socks5h://me:p%40ss@127.0.0.1:${proxy.port}` });
    expect((await fetcher.fetch({ url: site.url('/', HOST) })).status).toBe(200);
    await using wrong = newFetcher({ proxy: `socks5h://me:other@127.0.0.1:${proxy.port}` });
    const error = (await rejection(wrong.fetch({ url: site.url('/', HOST) }))) as Error;
    expect(error).toMatchObject({ code: 'CRAWL_PROXY_FAILED', retryable: false });
    expect(error.message).not.toContain('other');
    await using refusing = await startSocks({ refuse: true });
    await using refusedBy = newFetcher({ proxy: `socks5h://127.0.0.1:${refusing.port}` });
    expect(await rejection(refusedBy.fetch({ url: site.url('/', HOST) }))).toMatchObject({
      code: 'CRAWL_PROXY_FAILED',
      retryable: true,
    });
  });

  test('is chosen by a function of the URL, which may choose none', async () => {
    await using site = await startSite((_, response) => response.end('page'));
    await using proxy = await startHttpProxy();
    const asked: string[] = [];
    await using fetcher = newFetcher({
      proxy: (url) => {
        asked.push(url.href);
        url.pathname = '/other';
        return url.hostname === 'a.example.test' ? `http://127.0.0.1:${proxy.port}` : undefined;
      },
    });
    const urls = [site.url('/1', 'a.example.test'), site.url('/2', 'b.example.test'), site.url('/3', 'a.example.test')];
    const addresses = [];
    for (const url of urls) addresses.push((await fetcher.fetch({ url })).remoteAddress);
    expect(addresses).toEqual([undefined, '127.0.0.1', undefined]);
    expect(asked).toEqual(urls);
    expect(proxy.log.map(({ target }) => target)).toEqual([urls[0], urls[2]]);
    expect(site.paths).toEqual(['/1', '/2', '/3']);
  });

  test('that a function fails to choose is named', async () => {
    const fault = new Error('no proxy left');
    await using failing = newFetcher({
      proxy: () => {
        throw fault;
      },
    });
    expect(await rejection(failing.fetch({ url: 'http://a.example.test/' }))).toMatchObject({
      code: 'CRAWL_HOOK_FAILED',
      cause: fault,
    });
    await using wrong = newFetcher({ proxy: () => 'ftp://x/' });
    expect(await rejection(wrong.fetch({ url: 'http://a.example.test/' }))).toMatchObject({
      code: 'CRAWL_OPTION_INVALID',
    });
  });

  describe('leads to no address that is refused without it', () => {
    const leading = (to: string) => startSite((_, response) => response.writeHead(302, { location: to }).end());

    test.each([
      ['an address', '127.0.0.1'],
      ['a mapped address', '[::ffff:127.0.0.1]'],
      ['a name that resolves there', 'innocent.example.test'],
      ['localhost', 'localhost'],
    ])('%s', async (_, host) => {
      await using inner = await startSite((_request, response) => response.end('secret'));
      await using outer = await leading(inner.url('/', host));
      await using http = await startHttpProxy();
      await using socks = await startSocks();
      for (const proxy of [
        `http://127.0.0.1:${http.port}`,
        `socks5://127.0.0.1:${socks.port}`,
        `socks5h://127.0.0.1:${socks.port}`,
      ]) {
        await using fetcher = newFetcher({ proxy });
        expect(await rejection(fetcher.fetch({ url: outer.url('/', 'seed.example.test') }))).toMatchObject(refused);
      }
      expect(inner.log).toHaveLength(0);
      expect(http.log.map(({ target }) => target)).toEqual([outer.url('/', 'seed.example.test')]);
    });

    test('one of several addresses is enough to refuse a name', async () => {
      await using proxy = await startHttpProxy();
      await using fetcher = newFetcher({
        network: 'public',
        dnsLookup: async () => ['93.184.216.34', '10.0.0.1'],
        proxy: `http://127.0.0.1:${proxy.port}`,
      });
      expect(await rejection(fetcher.fetch({ url: 'http://a.public.test/' }))).toMatchObject(refused);
      expect(proxy.log).toEqual([]);
    });

    test('but to public ones, though the proxy itself is here', async () => {
      await using site = await startSite((_, response) => response.end('page'));
      await using proxy = await startHttpProxy();
      await using fetcher = newFetcher({
        network: 'public',
        dnsLookup: lookup,
        proxy: `http://127.0.0.1:${proxy.port}`,
      });
      expect((await fetcher.fetch({ url: site.url('/', 'a.public.test') })).body.toString()).toBe('page');
    });

    test('a name that is not found here is not asked for, but where all is allowed', async () => {
      await using site = await startSite((_, response) => response.end('page'));
      await using proxy = await startHttpProxy();
      const dnsLookup = () => Promise.reject(new Error('no such name'));
      const options = { dnsLookup, proxy: `http://127.0.0.1:${proxy.port}` };
      await using careful = newFetcher({ ...options, network: 'public' });
      expect(await rejection(careful.fetch({ url: site.url('/', 'a.example.test') }))).toMatchObject({
        code: 'CRAWL_DNS_FAILED',
        retryable: true,
      });
      await using open = newFetcher({ ...options, network: 'any' });
      expect((await open.fetch({ url: site.url('/', 'a.example.test') })).status).toBe(200);
    });

    test('and a name that is looked up for too long counts against the connection', async () => {
      await using fetcher = newFetcher({
        network: 'public',
        dnsLookup: () => new Promise(() => {}),
        proxy: 'http://127.0.0.1:9',
        timeouts: { connect: 60 },
      });
      expect(await rejection(fetcher.fetch({ url: 'http://slow.example.test/' }))).toMatchObject({
        code: 'CRAWL_CONNECT_TIMEOUT',
      });
    });
  });

  test('and giving up on it leave no connection behind', async () => {
    await using site = await startSecureSite((_, response) => void response.write('some'));
    await using proxy = await startHttpProxy();
    await using fetcher = newFetcher({ proxy: `http://127.0.0.1:${proxy.port}`, timeouts: { page: 150 } });
    expect(await rejection(fetcher.fetch({ url: site.url('/', HOST) }))).toMatchObject({ code: 'CRAWL_PAGE_TIMEOUT' });
    await expect.poll(() => proxy.openSockets + site.openSockets).toBe(0);
  });

  test.each(['x', '', 'ftp://a/', 'http://', 'http://me:secret@', 5, null])('can not be %o', (proxy) => {
    let error: unknown;
    try {
      newFetcher({ proxy: proxy as never });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 'CRAWL_OPTION_INVALID' });
    expect(String(error)).not.toContain('secret');
  });
});

test.each([{ proxy: 'http://127.0.0.1:1' }, { http2: true }, { tls: {} }])(
  'a transport of the user’s can not be given %o, since it makes its own connections',
  (option) => {
    const transport = { request: () => Promise.reject(new Error('x')), close: async () => {} };
    expect(() => fetcherOver('got')({ transport, ...option })).toThrow(
      expect.objectContaining({ code: 'CRAWL_OPTION_CONFLICT' }),
    );
  },
);
