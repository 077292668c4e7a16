import { describe, expect, test } from 'vitest';
import { Crawler } from '../src/index.ts';
import { crawl, pathOf, USER_AGENT } from './helpers/crawl.ts';
import { NAMES } from './helpers/pages.ts';
import { startHttp2Site, startHttpProxy } from './helpers/servers.ts';
import { startSite } from './helpers/site.ts';
import { CERTIFICATE } from './helpers/tls.ts';

const HOST = 'secure.example.test';

describe('a crawl', () => {
  test('KF-03: with cookies gets past a page that redirects to itself to set one', async () => {
    await using site = await startSite((request, response) => {
      const known = request.headers.cookie === 's=1';
      response.setHeader('content-type', 'text/html');
      if (request.url === '/robots.txt') response.writeHead(404).end();
      else if (request.url !== '/') response.end('next');
      else if (known) response.end('<a href="/next">next</a>');
      else response.writeHead(302, { location: '/', 'set-cookie': 's=1; Path=/' }).end();
    });
    const heard = await crawl(site.url('/'), { cookies: true });
    expect(heard.urls.map(pathOf)).toEqual(['/', '/next']);
    expect(site.paths).toEqual(['/', '/', '/next']);
    expect(heard.errors).toEqual([]);
  });

  test.each(['got', 'lean'] as const)(
    'over %s speaks HTTP/2, through a proxy, with an authority of its own',
    async (transport) => {
      await using site = await startHttp2Site((request, response) => {
        response.setHeader('content-type', 'text/html');
        if (request.url === '/robots.txt') response.writeHead(404);
        response.end(request.url === '/' ? '<a href="/next">next</a>' : 'next');
      });
      await using proxy = await startHttpProxy();
      const heard = await crawl(site.url('/', HOST), {
        ...NAMES,
        transport,
        http2: true,
        tls: { ca: CERTIFICATE },
        proxy: `http://127.0.0.1:${proxy.port}`,
      });
      expect(heard.errors).toEqual([]);
      expect(heard.urls.map(pathOf)).toEqual(['/', '/next']);
      expect(site.log).toEqual(['2.0 /robots.txt', '2.0 /', '2.0 /next']);
      expect(proxy.log).toMatchObject([{ method: 'CONNECT', target: `${HOST}:${site.port}` }]);
    },
  );

  test.each([
    { cookies: 'yes' },
    { http2: 'yes' },
    { transport: 'undici' },
    { proxy: 'ftp://example.test/' },
    { tls: { cert: 'none' } },
  ])('takes no %o, and says so at once', (option) => {
    expect(() => new Crawler({ userAgent: USER_AGENT, ...(option as object) })).toThrow(
      expect.objectContaining({ code: 'CRAWL_OPTION_INVALID' }),
    );
  });
});
