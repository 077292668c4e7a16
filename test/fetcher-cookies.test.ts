import { once } from 'node:events';
import { CookieJar } from 'tough-cookie';
import { describe, expect, test } from 'vitest';
import { fetcherOver, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { loopbackLookup, startRawSite, startSite } from './helpers/site.ts';

describe.each(TRANSPORTS)('over %s', (transport) => {
  const newFetcher = fetcherOver(transport);

  const names = { dnsLookup: loopbackLookup(), network: 'any' } as const;

  /** Sets what `cookies` says for a path. */
  const setting = (cookies: Readonly<Record<string, string | string[]>>) =>
    startSite((request, response) => {
      const lines = cookies[request.url ?? ''];
      if (lines !== undefined) response.setHeader('set-cookie', lines);
      response.end('page');
    });

  describe('cookies', () => {
    test('are neither kept nor sent where nothing is said of them', async () => {
      await using site = await setting({ '/': 's=1' });
      await using fetcher = newFetcher();
      for (const path of ['/', '/next']) await fetcher.fetch({ url: site.url(path) });
      for (const seen of site.log) expect(seen.headers).not.toHaveProperty('cookie');
    });

    test('are sent back to who set them, by path, until they run out', async () => {
      await using site = await setting({
        '/': ['a=1', 'b=2; Path=/deep', 'c=3; Max-Age=3600', 'd=4; Secure'],
        '/end': 'c=; Max-Age=0',
      });
      await using fetcher = newFetcher({ ...names, cookies: true });
      for (const path of ['/', '/x', '/deep/x', '/end', '/x'])
        await fetcher.fetch({ url: site.url(path, 'a.example.test') });
      expect(site.log.map((seen) => seen.headers.cookie)).toEqual([
        undefined,
        'a=1; c=3',
        'b=2; a=1; c=3',
        'a=1; c=3',
        'a=1',
      ]);
    });

    test('go to no other site, nor to a host beside the one that set them, but below a domain that they name', async () => {
      await using site = await setting({ '/host': 'h=1', '/domain': 'd=1; Domain=example.test' });
      await using fetcher = newFetcher({ ...names, cookies: true });
      for (const path of ['/host', '/domain']) await fetcher.fetch({ url: site.url(path, 'a.example.test') });
      const asked = ['a.example.test', 'b.example.test', 'example.test', 'other.test', 'xexample.test', '127.0.0.1'];
      for (const host of asked) await fetcher.fetch({ url: site.url('/', host) });
      expect(site.log.slice(2).map((seen) => seen.headers.cookie)).toEqual([
        'h=1; d=1',
        'd=1',
        'd=1',
        undefined,
        undefined,
        undefined,
      ]);
    });

    test.each(['com', 'co.uk', 'github.io', 'test'])('of the public suffix %s are refused', async (suffix) => {
      await using site = await setting({ '/': `s=1; Domain=${suffix}` });
      await using fetcher = newFetcher({ ...names, cookies: true });
      for (const host of [`a.${suffix}`, `b.${suffix}`]) await fetcher.fetch({ url: site.url('/', host) });
      expect(site.log[1]?.headers).not.toHaveProperty('cookie');
    });

    test('are kept by one fetcher, not by all', async () => {
      await using site = await setting({ '/': 's=1' });
      await using one = newFetcher({ cookies: true });
      await using other = newFetcher({ cookies: true });
      await one.fetch({ url: site.url('/') });
      await other.fetch({ url: site.url('/') });
      await one.fetch({ url: site.url('/') });
      expect(site.log.map((seen) => seen.headers.cookie)).toEqual([undefined, undefined, 's=1']);
    });

    test('stand behind what a header says, which goes to no other origin than theirs', async () => {
      await using other = await setting({});
      await using site = await startSite((request, response) => {
        if (request.url === '/away') response.setHeader('location', other.url('/', 'b.example.test'));
        response.writeHead(request.url === '/away' ? 302 : 200, { 'set-cookie': 's=1' }).end();
      });
      await using fetcher = newFetcher({ ...names, cookies: true });
      await fetcher.fetch({ url: site.url('/', 'a.example.test') });
      await fetcher.fetch({ url: site.url('/away', 'a.example.test'), headers: { Cookie: 'own=1' } });
      expect(site.log[1]?.headers.cookie).toBe('own=1; s=1');
      expect(other.log[0]?.headers).not.toHaveProperty('cookie');
    });
  });

  describe('KF-03: a page that redirects to itself to set a cookie', () => {
    const startGate = (opens: boolean) =>
      startSite((request, response) => {
        if (opens && request.headers.cookie === 's=1') response.end('in');
        else response.writeHead(302, { location: '/', 'set-cookie': 's=1; Path=/' }).end('out');
      });

    test('is read with cookies', async () => {
      await using site = await startGate(true);
      await using fetcher = newFetcher({ cookies: true });
      const result = await fetcher.fetch({ url: site.url('/') });
      expect(result.body.toString()).toBe('in');
      expect(result.redirects).toEqual([{ url: site.url('/'), status: 302 }]);
      expect(site.log).toHaveLength(2);
    });

    test.each([
      [{ cookies: true }, 11],
      [{ cookies: true, maxRedirects: 3 }, 4],
      [{}, 1],
    ])('ends at a limit where it never lets in: %o makes %i requests', async (options, requests) => {
      await using site = await startGate(false);
      await using fetcher = newFetcher(options);
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({
        code: 'CRAWL_TOO_MANY_REDIRECTS',
        retryable: false,
      });
      expect(site.log).toHaveLength(requests);
    });
  });

  describe('KF-17: a page is not lost for a cookie that is none', () => {
    test.each(['a=b; Domain=other.example.test', '=x', '', ';;;', 'a=b; Domain=127.0.0.1', 'a=\xff', '__Host-a=1'])(
      'with "Set-Cookie: %s"',
      async (cookie) => {
        const head = Buffer.from(`HTTP/1.1 200 OK\r\nSet-Cookie: ${cookie}\r\nSet-Cookie: good=1\r\n`, 'latin1');
        await using site = await startRawSite((socket) => {
          socket.on('data', () => socket.write(Buffer.concat([head, Buffer.from('Content-Length: 4\r\n\r\npage')])));
        });
        await using fetcher = newFetcher({ cookies: true });
        for (let n = 0; n < 2; n++) expect((await fetcher.fetch({ url: site.url('/') })).body.toString()).toBe('page');
      },
    );
  });

  describe('a flood of cookies', () => {
    test('of one site leaves 50, the last ones, and a header that servers take', async () => {
      let n = 0;
      await using site = await startSite((_, response) => {
        const lines = Array.from({ length: 90 }, () => `c${n}=${'x'.repeat(n++ % 3 === 0 ? 100 : 10)}`);
        response.setHeader('set-cookie', lines);
        response.end();
      });
      await using fetcher = newFetcher({ cookies: true });
      while (n < 10_000) await fetcher.fetch({ url: site.url('/') });
      await fetcher.fetch({ url: site.url('/') });
      const sent = (site.log.at(-1)?.headers.cookie ?? '').split('; ');
      expect(sent).toHaveLength(50);
      const set = n - 90;
      expect(sent.map((cookie) => Number.parseInt(cookie.slice(1), 10)).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 50 }, (_, i) => set - 50 + i),
      );
    });

    test('of large ones sends less than 8 KiB of them', async () => {
      let n = 0;
      await using site = await startSite((_, response) => {
        response.setHeader('set-cookie', [`a${n}=${'x'.repeat(3000)}`, `b${n++}=${'y'.repeat(5000)}`]);
        response.end();
      });
      await using fetcher = newFetcher({ cookies: true });
      for (let i = 0; i < 10; i++) await fetcher.fetch({ url: site.url('/') });
      const last = site.log.at(-1)!.headers.cookie!;
      expect(last.split('; ').map((cookie) => cookie.slice(0, 3))).toEqual(['a0=', 'a1=']);
      for (const seen of site.log) expect(seen.headers.cookie?.length ?? 0).toBeLessThan(8192);
    });

    test('from many sites leaves the cookies of the last 1000', async () => {
      await using site = await setting({ '/set': 's=1' });
      await using fetcher = newFetcher({ ...names, cookies: true });
      for (let n = 0; n <= 1000; n++) await fetcher.fetch({ url: site.url('/set', `h.site-${n}.test`) });
      for (const n of [0, 1, 1000]) await fetcher.fetch({ url: site.url('/', `h.site-${n}.test`) });
      expect(site.log.slice(-3).map((seen) => seen.headers.cookie)).toEqual([undefined, 's=1', 's=1']);
    });
  });

  describe('a cookie store of the user’s', () => {
    test('is filled and asked: a jar of tough-cookie', async () => {
      const jar = new CookieJar();
      await using site = await setting({ '/': 's=1' });
      await jar.setCookie('mine=1', site.url('/'));
      await using fetcher = newFetcher({ cookies: jar });
      for (let n = 0; n < 2; n++) await fetcher.fetch({ url: site.url('/') });
      expect(site.log.map((seen) => seen.headers.cookie)).toEqual(['mine=1', 'mine=1; s=1']);
      expect(await jar.getCookieString(site.url('/'))).toBe('mine=1; s=1');
    });

    test('that gives no cookie header, or one that can not be sent, sends none', async () => {
      await using site = await setting({});
      for (const given of [undefined, '', 'a=1\r\nHost: x', 5]) {
        const cookies = { getCookieString: async () => given as string, setCookie: async () => {} };
        await using fetcher = newFetcher({ cookies });
        await fetcher.fetch({ url: site.url('/') });
      }
      for (const seen of site.log) expect(seen.headers).not.toHaveProperty('cookie');
    });

    test('that fails to give is named, one that fails to take loses no page', async () => {
      await using site = await setting({ '/': 's=1' });
      const fault = new Error('disk full');
      const failing = () => Promise.reject(fault);
      await using giving = newFetcher({ cookies: { getCookieString: failing, setCookie: failing } });
      expect(await rejection(giving.fetch({ url: site.url('/') }))).toMatchObject({
        code: 'CRAWL_HOOK_FAILED',
        cause: fault,
        url: site.url('/'),
      });
      await using taking = newFetcher({ cookies: { getCookieString: async () => '', setCookie: failing } });
      expect((await taking.fetch({ url: site.url('/') })).body.toString()).toBe('page');
    });

    test.each(['getCookieString', 'setCookie'])('whose %s never answers ends at the page wall', async (method) => {
      await using site = await setting({ '/': 's=1' });
      const cookies = {
        getCookieString: async () => '',
        setCookie: async () => {},
        [method]: () => new Promise(() => {}),
      };
      await using fetcher = newFetcher({ cookies: cookies as never, timeouts: { page: 100 } });
      expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({ code: 'CRAWL_PAGE_TIMEOUT' });
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test.each([[null], ['jar'], [{}], [{ getCookieString: () => '' }]])('can not be %o', (cookies) => {
      expect(() => newFetcher({ cookies: cookies as never })).toThrow(
        expect.objectContaining({ code: 'CRAWL_OPTION_INVALID' }),
      );
    });

    test('leaves streams alone', async () => {
      await using site = await setting({ '/': 's=1' });
      await using fetcher = newFetcher({ cookies: true });
      const { stream } = await fetcher.fetch({ url: site.url('/'), accept: () => 'stream' });
      const [chunk] = await once(stream!, 'data');
      expect(String(chunk)).toBe('page');
    });
  });
});
