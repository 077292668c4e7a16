import { describe, expect, test } from 'vitest';
import { isCrawlError } from '../src/errors.ts';
import { FETCHER_DEFAULTS, Fetcher, type FetcherOptions } from '../src/fetcher/index.ts';
import type { Transport } from '../src/ports.ts';
import type { RedirectHop } from '../src/types.ts';
import { fetcherOver, rejection, TRANSPORTS, USER_AGENT } from './helpers/fetcher.ts';
import { loopbackLookup, startRawSite, startSite } from './helpers/site.ts';

describe.each(TRANSPORTS)('over %s', (transport) => {
  const newFetcher = fetcherOver(transport);

  describe('new Fetcher()', () => {
    const codeOf = (options: unknown) => {
      try {
        new Fetcher(options as FetcherOptions);
        return undefined;
      } catch (error) {
        return isCrawlError(error) ? error.code : 'not a CrawlError';
      }
    };

    test.each([
      [undefined, 'CRAWL_OPTION_INVALID'],
      [{}, 'CRAWL_CONTACT_MISSING'],
      [{ userAgent: 'somebot/1.0' }, 'CRAWL_CONTACT_MISSING'],
      [{ userAgent: USER_AGENT, timeoutMs: 1 }, 'CRAWL_OPTION_UNKNOWN'],
      [{ userAgent: USER_AGENT, timeouts: { total: 1 } }, 'CRAWL_OPTION_UNKNOWN'],
      [{ userAgent: USER_AGENT, timeouts: { page: 0 } }, 'CRAWL_OPTION_INVALID'],
      [{ userAgent: USER_AGENT, timeouts: { page: Number.POSITIVE_INFINITY } }, 'CRAWL_OPTION_INVALID'],
      [{ userAgent: USER_AGENT, maxBodyBytes: -1 }, 'CRAWL_OPTION_INVALID'],
      [{ userAgent: USER_AGENT, maxBodyBytes: { htm: 1 } }, 'CRAWL_OPTION_UNKNOWN'],
      [{ userAgent: USER_AGENT, maxRedirects: 1.5 }, 'CRAWL_OPTION_INVALID'],
      [{ userAgent: USER_AGENT, network: 'private' }, 'CRAWL_OPTION_INVALID'],
      [{ userAgent: USER_AGENT, dnsLookup: 'x' }, 'CRAWL_OPTION_INVALID'],
      [{ userAgent: USER_AGENT, headers: { 'bad name': 'x' } }, 'CRAWL_OPTION_INVALID'],
      [{ userAgent: USER_AGENT, headers: { x: 'a\r\nb: c' } }, 'CRAWL_OPTION_INVALID'],
      [{ userAgent: USER_AGENT, headers: { Host: 'other.example.test' } }, 'CRAWL_OPTION_INVALID'],
      [{ userAgent: USER_AGENT, from: 'a\nb' }, 'CRAWL_OPTION_INVALID'],
      [{ userAgent: USER_AGENT, transport: 'curl' }, 'CRAWL_OPTION_INVALID'],
      [{ userAgent: USER_AGENT, maxBodyBytes: 0, maxRedirects: 0, timeouts: {}, network: undefined }, undefined],
    ])('%o gives %s', (options, code) => expect(codeOf(options)).toBe(code));

    test('has its defaults in one place', () => {
      expect(FETCHER_DEFAULTS).toMatchObject({
        timeouts: { connect: 10_000, headers: 30_000, page: 120_000 },
        maxBodyBytes: { html: 2_097_152, other: 15_728_640 },
        maxRedirects: 10,
        network: 'seeds',
      });
    });

    test('opens nothing', () => {
      const before = process.getActiveResourcesInfo();
      new Fetcher({ userAgent: USER_AGENT });
      expect(process.getActiveResourcesInfo()).toEqual(before);
    });
  });

  describe('Fetcher.fetch()', () => {
    test('takes a URL object, too, and leaves it as it is', async () => {
      await using site = await startSite((_, response) => response.end('ok'));
      await using fetcher = newFetcher();
      const url = new URL(site.url('/a#part'));
      expect(await fetcher.fetch({ url })).toMatchObject({ status: 200, finalUrl: site.url('/a') });
      expect(url.href).toBe(site.url('/a#part'));
    });

    test('gives status, headers and body of an answer, and says who asked', async () => {
      await using site = await startSite((_, response) => {
        response.writeHead(404, { 'content-type': 'Text/HTML; charset=utf-8', 'x-many': ['1', '2'] }).end('gone');
      });
      await using fetcher = newFetcher();
      const result = await fetcher.fetch({ url: site.url('/a#part') });
      expect(result).toMatchObject({
        url: site.url('/a'),
        finalUrl: site.url('/a'),
        status: 404,
        contentType: 'text/html',
        redirects: [],
        truncated: false,
        mislabelled: false,
        bytes: 4,
        acceptance: 'buffer',
        remoteAddress: '127.0.0.1',
      });
      expect(result.headers['x-many']).toEqual(['1', '2']);
      expect(result.headers['content-type']).toBe('Text/HTML; charset=utf-8');
      expect(result.body.toString()).toBe('gone');
      expect(result.stream).toBeUndefined();
      expect(result.location).toBeUndefined();
    });

    test('asks by GET, with headers that claim no more than it can do', async () => {
      await using site = await startSite((_, response) => response.end());
      await using fetcher = newFetcher();
      await fetcher.fetch({ url: site.url('/') });
      const [seen] = site.log;
      expect(seen?.method).toBe('GET');
      expect(seen?.headers).toMatchObject({
        'user-agent': USER_AGENT,
        accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
        connection: 'keep-alive',
      });
      expect(seen?.headers['accept-encoding']).toMatch(/^gzip, deflate, br(, zstd)?$/);
      for (const name of ['accept-language', 'referer', 'cookie', 'authorization', 'from']) {
        expect(seen?.headers).not.toHaveProperty(name);
      }
    });

    test('sends what options and request add, the request last', async () => {
      await using site = await startSite((_, response) => response.end());
      await using fetcher = newFetcher({
        from: 'operator@example.test',
        acceptLanguage: 'de, en;q=0.5',
        headers: { 'X-A': 'option', 'X-B': 'option' },
      });
      await fetcher.fetch({ url: site.url('/'), headers: { 'x-b': 'request', accept: 'text/plain' } });
      expect(site.log[0]?.headers).toMatchObject({
        from: 'operator@example.test',
        'accept-language': 'de, en;q=0.5',
        'x-a': 'option',
        'x-b': 'request',
        accept: 'text/plain',
      });
    });

    test('names a headers function that fails, and lets it change no URL', async () => {
      await using site = await startSite((_, response) => response.end());
      const fault = new Error('no token');
      await using failing = newFetcher({
        headers: () => {
          throw fault;
        },
      });
      expect(await rejection(failing.fetch({ url: site.url('/') }))).toMatchObject({
        code: 'CRAWL_HOOK_FAILED',
        cause: fault,
        retryable: false,
      });
      await using meddling = newFetcher({
        headers: (url) => {
          url.pathname = '/other';
          return {};
        },
      });
      await meddling.fetch({ url: site.url('/mine') });
      expect(site.paths).toEqual(['/mine']);
    });

    test('does not pretend to be somebody else', async () => {
      await using site = await startSite((_, response) => response.end());
      await using fetcher = newFetcher();
      const fetching = fetcher.fetch({ url: site.url('/'), headers: { 'User-Agent': 'Mozilla/5.0 Chrome/140' } });
      expect(await rejection(fetching)).toMatchObject({ code: 'CRAWL_CONTACT_MISSING' });
      await fetcher.fetch({ url: site.url('/'), headers: { 'User-Agent': 'other/1 (+https://example.test)' } });
      expect(site.log.map((seen) => seen.headers['user-agent'])).toEqual(['other/1 (+https://example.test)']);
    });

    test('never sends user name and password of a URL', async () => {
      await using site = await startSite((_, response) => response.end());
      await using fetcher = newFetcher();
      const result = await fetcher.fetch({ url: site.url('/').replace('//', '//me:secret@') });
      expect(result.finalUrl).toBe(site.url('/'));
      expect(site.log[0]?.headers.authorization).toBeUndefined();
    });

    test.each([
      ['https://a.example.test/x?y#z', undefined],
      ['http://me:pw@a.example.test/x?y#z', 'http://a.example.test/x?y'],
      ['about:blank', undefined],
      ['nonsense', undefined],
    ])('tells the referring page %s as %s', async (referer, expected) => {
      await using site = await startSite((_, response) => response.end());
      await using fetcher = newFetcher();
      await fetcher.fetch({ url: site.url('/'), referer });
      expect(site.log[0]?.headers.referer).toBe(expected);
    });

    test.each([
      { url: 'http://a.example.test/', redirects: 'follow' },
      { url: 'http://a.example.test/', redirect: 'error' },
      { url: 'http://a.example.test/', maxBodyBytes: -1 },
      { url: 'http://a.example.test/', accept: 'buffer' },
      { url: 'http://a.example.test/', headers: { 'content-length': '5' } },
      { url: 'http://a.example.test/', headers: { x: 5 } },
      'http://a.example.test/',
      undefined,
    ])('refuses a request of %o', async (request) => {
      await using fetcher = newFetcher();
      expect(await rejection(fetcher.fetch(request as never))).toMatchObject({
        code: expect.stringMatching(/^CRAWL_OPTION_/),
      });
    });

    test('takes the time of a new connection and of its steps, and none of them for a kept one', async () => {
      await using site = await startSite((_, response) => {
        setTimeout(() => response.end('late'), 30);
      });
      await using fetcher = newFetcher({ dnsLookup: loopbackLookup() });
      const { timings: first } = await fetcher.fetch({ url: site.url('/', 'a.example.test') });
      await new Promise(setImmediate);
      const { timings: second } = await fetcher.fetch({ url: site.url('/', 'a.example.test') });
      expect(first.firstByte).toBeGreaterThanOrEqual(25);
      expect(first.connect).toBeGreaterThanOrEqual(0);
      expect(first.dns).toBeGreaterThanOrEqual(0);
      expect(first.total).toBeGreaterThanOrEqual((first.firstByte ?? 0) - 1);
      expect(second).not.toHaveProperty('connect');
      expect(second).not.toHaveProperty('dns');
      expect(second.firstByte).toBeGreaterThanOrEqual(25);
    });

    test('asks its accept about the head, with lines unjoined and the type in lower case', async () => {
      await using site = await startSite((_, response) => {
        response.writeHead(203, { 'content-type': 'IMAGE/png', 'x-a': ['1', '2'] }).end('x');
      });
      await using fetcher = newFetcher();
      const heads: unknown[] = [];
      await fetcher.fetch({
        url: site.url('/'),
        accept: (head) => {
          heads.push({ ...head, headers: { ...head.headers } });
          return 'skip';
        },
      });
      expect(heads).toMatchObject([
        { url: site.url('/'), status: 203, contentType: 'image/png', headers: { 'x-a': ['1', '2'] } },
      ]);
    });

    test('names what a transport of its caller throws, as a failure that may pass', async () => {
      const fault = new Error('cable cut');
      const transport: Transport = { request: () => Promise.reject(fault), close: async () => {} };
      await using fetcher = newFetcher({ transport });
      expect(await rejection(fetcher.fetch({ url: 'http://a.example.test/' }))).toMatchObject({
        code: 'CRAWL_CONNECTION_LOST',
        cause: fault,
        retryable: true,
      });
    });

    test('asks for an empty query where one was named', async () => {
      await using site = await startSite((_, response) => response.end());
      await using fetcher = newFetcher();
      for (const path of ['/x?', '/x', '/x?#part', '/x??', '/?']) await fetcher.fetch({ url: site.url(path) });
      expect(site.paths).toEqual(['/x?', '/x', '/x?', '/x??', '/?']);
    });

    test('tells a transport of its caller when the time is up, and does not wait for one that does not listen', async () => {
      const { Readable } = await import('node:stream');
      const reasons: unknown[] = [];
      const silent: Transport = {
        request: ({ signal }) => {
          signal.addEventListener('abort', () => reasons.push(signal.reason));
          return new Promise(() => {});
        },
        close: async () => {},
      };
      const body = new Readable({ read: () => {} });
      const endless: Transport = {
        request: async () => ({ status: 200, headers: {}, body, timings: {} }),
        close: async () => {},
      };
      for (const transport of [silent, endless]) {
        await using fetcher = newFetcher({ transport, timeouts: { page: 60 } });
        const error = await rejection(fetcher.fetch({ url: 'http://a.example.test/' }));
        expect(error).toMatchObject({ code: 'CRAWL_PAGE_TIMEOUT', retryable: true });
        if (transport === silent) expect(reasons).toEqual([error]);
      }
      expect(body.destroyed).toBe(true);
    });

    test('hands a transport of its caller a plain object of what it promises', async () => {
      const { Readable } = await import('node:stream');
      const asked: object[] = [];
      const transport: Transport = {
        request: async (request) => {
          asked.push({ ...request });
          return { status: 200, headers: {}, body: Readable.from([]), timings: {} };
        },
        close: async () => {},
      };
      await using fetcher = newFetcher({ transport, timeouts: { connect: 1, headers: 2 } });
      await fetcher.fetch({ url: 'http://a.example.test/?#x', headers: { 'x-a': 'b' }, redirect: 'manual' });
      expect(asked).toEqual([
        {
          url: 'http://a.example.test/?',
          headers: expect.objectContaining({ 'x-a': 'b', 'user-agent': USER_AGENT }),
          connectTimeoutMs: 1,
          headersTimeoutMs: 2,
          signal: expect.any(AbortSignal),
          lookup: expect.any(Function),
          checkAddress: expect.any(Function),
          resend: false,
        },
      ]);
    });

    test('works over a transport of its caller, and does not close it', async () => {
      let closed = 0;
      const { Readable } = await import('node:stream');
      const transport: Transport = {
        request: async ({ url }) => ({
          status: 200,
          headers: { 'content-type': 'text/plain' },
          body: Readable.from([Buffer.from(`from ${url}`)]),
          timings: {},
        }),
        close: async () => void closed++,
      };
      const fetcher = newFetcher({ transport });
      expect((await fetcher.fetch({ url: 'http://a.example.test/' })).body.toString()).toBe(
        'from http://a.example.test/',
      );
      await fetcher.close();
      expect(closed).toBe(0);
    });
  });

  describe('redirects', () => {
    /** `/0` leads to `/1`, and so on, `hops` times. */
    const chain = (hops: number, status = 302) =>
      startSite((request, response) => {
        const n = Number(request.url?.slice(1));
        if (n < hops) response.writeHead(status, { location: String(n + 1) }).end('moved');
        else response.end('there');
      });

    test.each([300, 301, 302, 303, 307, 308])('%i is followed and remembered', async (status) => {
      await using site = await chain(2, status);
      await using fetcher = newFetcher();
      const result = await fetcher.fetch({ url: site.url('/0') });
      expect(result).toMatchObject({
        url: site.url('/0'),
        finalUrl: site.url('/2'),
        status: 200,
        redirects: [
          { url: site.url('/0'), status },
          { url: site.url('/1'), status },
        ],
      });
      expect(result.body.toString()).toBe('there');
      await new Promise(setImmediate);
      expect(site.openSockets).toBe(1);
    });

    test.each([304, 305, 306])('%i with a Location is an answer', async (status) => {
      await using site = await startSite((_, response) => response.writeHead(status, { location: '/x' }).end());
      await using fetcher = newFetcher();
      expect((await fetcher.fetch({ url: site.url('/') })).status).toBe(status);
    });

    test('300 without a Location is an answer', async () => {
      await using site = await startSite((_, response) => response.writeHead(300).end('choose'));
      await using fetcher = newFetcher();
      expect((await fetcher.fetch({ url: site.url('/') })).body.toString()).toBe('choose');
    });

    test('ten are followed, the eleventh is one too many', async () => {
      await using site = await chain(11);
      await using fetcher = newFetcher();
      expect((await fetcher.fetch({ url: site.url('/1') })).redirects).toHaveLength(10);
      site.log.length = 0;
      expect(await rejection(fetcher.fetch({ url: site.url('/0') }))).toMatchObject({
        code: 'CRAWL_TOO_MANY_REDIRECTS',
        retryable: false,
        url: site.url('/0'),
      });
      expect(site.log).toHaveLength(11);
    });

    test.each([
      [0, 1],
      [1, 2],
    ])('maxRedirects %i allows %i requests', async (maxRedirects, requests) => {
      await using site = await chain(5);
      await using fetcher = newFetcher({ maxRedirects });
      await rejection(fetcher.fetch({ url: site.url('/0') }));
      expect(site.log).toHaveLength(requests);
    });

    test.each([
      ['to itself', ['/']],
      ['in a circle', ['/a', '/b', '/']],
    ])('%s end at the first repetition, since nothing in the request has changed', async (_, path) => {
      await using site = await startSite((request, response) => {
        const next = path[(path.indexOf(request.url ?? '') + 1) % path.length];
        response.writeHead(302, { location: next, 'set-cookie': 's=1' }).end();
      });
      await using fetcher = newFetcher();
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({
        code: 'CRAWL_TOO_MANY_REDIRECTS',
      });
      expect(site.log.length).toBeLessThanOrEqual(path.length);
    });

    test.each([
      ['/plain', '/plain'],
      ['  /spaces%20 in side  ', '/spaces%20%20in%20side'],
      ['//127.0.0.1:PORT/other', '/other'],
      ['?query', '/start?query'],
      ['', undefined],
      ['/caf\u00c3\u00a9', '/caf%C3%A9'],
      ['/caf\u00e9?\u00e9', '/caf%E9?%E9'],
      ['/part#section', '/part'],
      ['\\back\\slash', '/back/slash'],
      ['/a/../b', '/b'],
    ])('a Location of "%s" leads to %s', async (location, expected) => {
      await using site = await startRawSite((socket) => {
        socket.once('data', (head) => {
          const first = head.toString().startsWith('GET /start HTTP');
          const line = Buffer.from(`Location: ${location.replace('PORT', String(socket.localPort))}\r\n`, 'latin1');
          socket.write(`HTTP/1.1 ${first ? 302 : 200} X\r\nContent-Length: 0\r\nConnection: close\r\n`);
          if (first) socket.write(line);
          socket.end('\r\n');
        });
      });
      await using fetcher = newFetcher();
      const fetching = fetcher.fetch({ url: site.url('/start#top') });
      if (expected === undefined) {
        expect(await rejection(fetching)).toMatchObject({
          code: 'CRAWL_REDIRECT_INVALID',
          retryable: false,
          status: 302,
        });
      } else {
        expect((await fetching).finalUrl).toBe(site.url(expected));
      }
    });

    test.each([
      ['none', {}, 'CRAWL_REDIRECT_INVALID'],
      ['no URL', { location: 'http://[' }, 'CRAWL_REDIRECT_INVALID'],
      ['a port that is none', { location: 'http://a.example.test:99999/' }, 'CRAWL_REDIRECT_INVALID'],
      ['two that differ', { location: ['/a', '/b'] }, 'CRAWL_REDIRECT_INVALID'],
      ['a mail address', { location: 'mailto:x@example.test' }, 'CRAWL_SCHEME_REFUSED'],
      ['a script', { location: 'javascript:alert(1)' }, 'CRAWL_SCHEME_REFUSED'],
      ['a file', { location: 'file:///etc/passwd' }, 'CRAWL_SCHEME_REFUSED'],
      ['the port of another protocol', { location: '//a.example.test:6379.' }, 'CRAWL_REDIRECT_INVALID'],
      ['a bad port', { location: 'http://a.example.test:25/' }, 'CRAWL_PORT_REFUSED'],
    ])('with %s for a target end with a named error', async (_, headers, code) => {
      await using site = await startSite((_request, response) => {
        response.writeHead(302, headers as Record<string, string>).end();
      });
      await using fetcher = newFetcher({ dnsLookup: loopbackLookup() });
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({ code, retryable: false });
      expect(site.log).toHaveLength(1);
    });

    test("with redirect: 'manual' are handed back with their target", async () => {
      await using site = await startSite((_, response) => {
        response.writeHead(301, { location: '../b', 'content-type': 'text/html' }).end('<a href="../b">');
      });
      await using fetcher = newFetcher();
      const asked: number[] = [];
      const result = await fetcher.fetch({
        url: site.url('/a/#frag'),
        redirect: 'manual',
        accept: ({ status }) => {
          asked.push(status);
          return 'buffer';
        },
      });
      expect(result).toMatchObject({
        status: 301,
        finalUrl: site.url('/a/'),
        location: `${site.url('/b')}#frag`,
        redirects: [],
        acceptance: 'skip',
        bytes: 0,
      });
      expect(asked).toEqual([]);
      expect(site.log).toHaveLength(1);
    });

    test.each([
      [{}, undefined],
      [{ location: 'http://[' }, undefined],
      [{ location: 'mailto:x@example.test' }, 'mailto:x@example.test'],
    ])("with redirect: 'manual' and %o have the target %s", async (headers, location) => {
      await using site = await startSite((_, response) => response.writeHead(302, headers).end('x'));
      await using fetcher = newFetcher();
      const result = await fetcher.fetch({ url: site.url('/'), redirect: 'manual' });
      expect(result.status).toBe(302);
      expect(result.location).toBe(location);
    });

    test('ask beforeHop before every request, and go nowhere it refuses', async () => {
      await using site = await chain(3);
      await using fetcher = newFetcher();
      const seen: [string, readonly RedirectHop[]][] = [];
      const refusal = new Error('robots.txt says no');
      const fetching = fetcher.fetch({
        url: site.url('/0'),
        beforeHop: async (url, hops) => {
          seen.push([url, hops]);
          if (hops.length === 2) throw refusal;
        },
      });
      expect(await rejection(fetching)).toMatchObject({
        code: 'CRAWL_REDIRECT_REFUSED',
        cause: refusal,
        url: site.url('/2'),
      });
      expect(seen.map(([url, hops]) => [url, hops.length])).toEqual([
        [site.url('/0'), 0],
        [site.url('/1'), 1],
        [site.url('/2'), 2],
      ]);
      expect(site.paths).toEqual(['/0', '/1']);
    });

    test('take credentials of record and request to their own origin only, those of a function wherever it says', async () => {
      await using other = await startSite((_, response) => response.end());
      const target = other.url('/', 'b.example.test');
      await using site = await startSite((request, response) => {
        response.writeHead(302, { location: request.url === '/' ? '/same' : target }).end();
      });
      const options = { dnsLookup: loopbackLookup(), network: 'any' } as const;
      await using recorded = newFetcher({ ...options, headers: { Authorization: 'Basic x', 'X-Keep': 'k' } });
      await recorded.fetch({ url: site.url('/'), headers: { Cookie: 's=1' } });
      for (const seen of site.log) expect(seen.headers).toMatchObject({ authorization: 'Basic x', cookie: 's=1' });
      expect(site.paths).toEqual(['/', '/same']);
      expect(other.log[0]?.headers).not.toHaveProperty('authorization');
      expect(other.log[0]?.headers).not.toHaveProperty('cookie');
      expect(other.log[0]?.headers['x-keep']).toBe('k');
      await using asked = newFetcher({
        ...options,
        headers: (url) => (url.hostname === 'b.example.test' ? { Authorization: 'Basic b' } : undefined),
      });
      await asked.fetch({ url: site.url('/') });
      expect(other.log[1]?.headers.authorization).toBe('Basic b');
      expect(site.log[2]?.headers).not.toHaveProperty('authorization');
    });
  });

  describe('Fetcher.getOnce()', () => {
    test('makes one GET under the name it is given, cut at maxBytes, and follows nothing', async () => {
      await using site = await startSite((request, response) => {
        if (request.url === '/moved') response.writeHead(302, { location: '/robots.txt' }).end('moved');
        else response.end('User-agent: *\nDisallow: /');
      });
      await using fetcher = newFetcher();
      const userAgent = 'other/2.0 (+https://example.test/bot)';
      const answer = await fetcher.getOnce(site.url('/robots.txt'), {
        maxBytes: 12,
        userAgent,
        headers: { 'if-none-match': '"1"' },
      });
      expect(answer).toMatchObject({ status: 200, url: site.url('/robots.txt') });
      expect(Buffer.from(answer.body).toString()).toBe('User-agent: ');
      expect(site.log[0]?.headers).toMatchObject({ 'user-agent': userAgent, 'if-none-match': '"1"' });
      const moved = await fetcher.getOnce(site.url('/moved'), { maxBytes: 100, userAgent });
      expect(moved.status).toBe(302);
      expect(moved.headers.location).toBe('/robots.txt');
      expect(site.log).toHaveLength(2);
    });
  });
});
