// Where a crawl begins: sitemaps, in every form and with every trick that sites play with them.
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { Admission } from '../src/admission.ts';
import { Offering } from '../src/crawler/offering.ts';
import { Crawler, Frontier, MemoryStore } from '../src/index.ts';
import { admitSitemaps } from '../src/seeding.ts';
import { SitemapFiles } from '../src/sitemap/file-count.ts';
import { StatsCollector } from '../src/stats.ts';
import { crawl, HASTE, linkPage, pathOf, USER_AGENT } from './helpers/crawl.ts';
import {
  type Answer,
  moved,
  NAMES,
  type Pages,
  rules,
  serve,
  serveHosts,
  sitemapIndex,
  urlset,
} from './helpers/pages.ts';
import type { Site } from './helpers/site.ts';

/** Pages of a site that have to know its address. */
async function site(make: (at: (path: string) => string) => Pages): Promise<Site> {
  let started: Site | undefined;
  const pages: Record<string, Answer> = {};
  started = await serve(pages);
  Object.assign(
    pages,
    make((path) => started.url(path)),
  );
  return started;
}

const bytes = (body: Buffer | string, headers: Readonly<Record<string, string>>): Answer => {
  return (response) => void response.writeHead(200, headers).end(body);
};
const robots = (...sitemaps: string[]) => rules('User-agent: *', ...sitemaps.map((url) => `Sitemap: ${url}`));
const urlsetText = (urls: readonly string[]): string =>
  `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.map((url) => `<url><loc>${url}</loc></url>`).join('')}</urlset>`;

describe('Sitemaps', () => {
  const small = (at: (path: string) => string): Pages => ({
    '/': 'home',
    '/named': 'named',
    '/usual': 'usual',
    '/s.xml': urlset([at('/named')]),
    '/sitemap.xml': urlset([at('/usual')]),
  });

  test.each([
    ['off', ['/']],
    ['robots', ['/', '/named', '/s.xml']],
    ['auto', ['/', '/named', '/s.xml']],
  ] as const)("'%s', where robots.txt names one: %j", async (sitemaps, asked) => {
    await using server = await site((at) => ({ ...small(at), '/robots.txt': robots(at('/s.xml')) }));
    const heard = await crawl(server.url('/'), { sitemaps });
    expect(server.paths.toSorted()).toEqual(asked);
    expect(heard.stats.offered).toBe(asked.length);
    expect(heard.errors).toEqual([]);
  });

  test.each([
    ['off', true, ['/']],
    ['robots', true, ['/']],
    ['auto', true, ['/', '/sitemap.xml', '/usual']],
    ['robots', false, ['/']],
    ['auto', false, ['/', '/sitemap.xml', '/usual']],
  ] as const)("'%s', where robots.txt names none (obeyed: %s): %j", async (sitemaps, respectRobots, asked) => {
    await using server = await site(small);
    const heard = await crawl(server.url('/'), { sitemaps, respectRobots });
    expect(server.paths.toSorted()).toEqual(asked);
    expect(heard.stats.offered).toBe(asked.length);
  });

  test('that are not there are no error, and no page', async () => {
    await using server = await serve({ '/': 'home' });
    const heard = await crawl(server.url('/'), { sitemaps: 'auto' });
    expect(server.paths.toSorted()).toEqual(['/', '/sitemap.xml']);
    expect(heard.errors).toEqual([]);
    expect(heard.urls.map(pathOf)).toEqual(['/']);
    expect(heard.stats).toMatchObject({ queued: 0, pages: 1 });
  });

  test('list pages that count as seeds, whatever their depth on the site', async () => {
    await using server = await site((at) => ({
      '/': linkPage(['/too-deep']),
      '/robots.txt': robots(at('/i.xml')),
      '/i.xml': sitemapIndex([at('/s.xml')]),
      '/s.xml': urlset([at('/listed')]),
      '/listed': linkPage(['/below']),
    }));
    const heard = await crawl(server.url('/'), { sitemaps: 'robots', maxDepth: 0 });
    expect(heard.pages.map((page) => [pathOf(page.url), page.depth, page.referrer && pathOf(page.referrer)])).toEqual(
      expect.arrayContaining([
        ['/', 0, undefined],
        ['/listed', 0, '/s.xml'],
      ]),
    );
    expect(heard.stats.skips).toEqual({ depth: 2 });
  });

  test('are read before pages, and count as none of them', async () => {
    await using server = await site((at) => ({
      '/': linkPage(['/a', '/b', '/c']),
      '/robots.txt': robots(at('/s.xml')),
      '/s.xml': urlset([at('/listed')]),
      '/listed': 'listed',
    }));
    const heard = await crawl(server.url('/'), { sitemaps: 'robots', maxPages: 2, concurrency: 1 });
    expect(server.paths.indexOf('/s.xml')).toBeLessThanOrEqual(1);
    expect(heard.pages).toHaveLength(2);
  });

  const listed = ['/1', '/2'];
  const pages = Object.fromEntries(listed.map((path) => [path, path]));
  const text = (at: (path: string) => string): string => urlsetText(listed.map(at));

  test.each<[name: string, file: string, make: (at: (path: string) => string) => Answer]>([
    ['gzip by its type', '/m.xml.gz', (at) => bytes(gzipSync(text(at)), { 'content-type': 'application/gzip' })],
    ['plain by the name of gzip', '/m.xml.gz', (at) => bytes(text(at), { 'content-type': 'application/gzip' })],
    [
      'packed once, and called so twice',
      '/m.xml.gz',
      (at) => bytes(gzipSync(text(at)), { 'content-type': 'application/gzip', 'content-encoding': 'gzip' }),
    ],
    [
      'packed twice',
      '/m.xml.gz',
      (at) => bytes(gzipSync(gzipSync(text(at))), { 'content-type': 'application/gzip', 'content-encoding': 'gzip' }),
    ],
    ['gzip without a hint', '/m.xml', (at) => bytes(gzipSync(text(at)), {})],
    [
      'a gzipped list',
      '/m.txt.gz',
      (at) => bytes(gzipSync(listed.map(at).join('\n')), { 'content-type': 'application/gzip' }),
    ],
    ['a list', '/m.txt', (at) => bytes(listed.map(at).join('\n'), { 'content-type': 'text/plain' })],
    [
      'a feed',
      '/feed',
      (at) =>
        bytes(
          `<rss version="2.0"><channel>${listed.map((path) => `<item><link>${at(path)}</link></item>`).join('')}</channel></rss>`,
          { 'content-type': 'application/rss+xml' },
        ),
    ],
  ])('KF-30: give the same pages as %s', async (_name, file, make) => {
    await using server = await site((at) => ({
      '/': 'home',
      ...pages,
      '/robots.txt': robots(at(file)),
      [file]: make(at),
    }));
    const heard = await crawl(server.url('/'), { sitemaps: 'robots' });
    expect(heard.errors).toEqual([]);
    expect(heard.urls.map(pathOf).toSorted()).toEqual(['/', ...listed]);
  });

  test('that can’t be read are one typed error, and the crawl goes on', async () => {
    await using server = await site((at) => ({
      '/': linkPage(['/1']),
      '/1': '1',
      '/robots.txt': robots(at('/bad.xml'), at('/good.xml')),
      '/bad.xml': bytes('<html><body>no sitemap</body></html>', { 'content-type': 'text/html' }),
      '/good.xml': urlset([at('/2')]),
      '/2': '2',
    }));
    const heard = await crawl(server.url('/'), { sitemaps: 'robots' });
    expect(heard.errors.map(({ error, url }) => [error.code, url])).toEqual([
      ['CRAWL_SITEMAP_INVALID', server.url('/bad.xml')],
    ]);
    expect(heard.urls.map(pathOf).toSorted()).toEqual(['/', '/1', '/2']);
  });

  test('give what they list under robots rules and filters like any link', async () => {
    await using server = await site((at) => ({
      '/': 'home',
      '/robots.txt': rules(
        'User-agent: *',
        'Disallow: /private',
        'Disallow: /hidden.xml',
        `Sitemap: ${at('/s.xml')}`,
        `Sitemap: ${at('/hidden.xml')}`,
      ),
      '/s.xml': urlset([
        at('/private'),
        at('/'),
        'http://elsewhere.example.test/',
        'ftp://elsewhere.example.test/',
        at('/ok#x'),
      ]),
      '/hidden.xml': urlset([at('/never')]),
      '/private': 'private',
      '/ok': 'ok',
    }));
    const heard = await crawl(server.url('/'), { sitemaps: 'robots' });
    expect(server.paths.toSorted()).toEqual(['/', '/ok', '/s.xml']);
    const skips = heard.skips.map(({ url, reason, from }) => [url, reason, from && pathOf(from)]);
    expect(skips).toEqual(
      expect.arrayContaining([
        [server.url('/private'), 'robots', '/s.xml'],
        [server.url('/'), 'seen', '/s.xml'],
        ['http://elsewhere.example.test/', 'off-host', '/s.xml'],
        [server.url('/hidden.xml'), 'robots', undefined],
      ]),
    );
  });

  test('on a host out of scope are not read, and it is said so', async () => {
    await using web = await serveHosts({
      'a.example.test': {
        '/': 'home',
        '/robots.txt': (response, request) => robots(web.at('b.example.test', '/a.xml'))(response, request),
      },
      'b.example.test': {
        '/a.xml': (response, request) => urlset([web.at('a.example.test', '/1')])(response, request),
      },
    });
    const heard = await crawl(web.at('a.example.test'), { ...NAMES, network: 'any', sitemaps: 'robots' });
    expect(web.asked('b.example.test')).toEqual([]);
    expect(heard.skips.map(({ url, reason }) => [url, reason])).toEqual([
      [web.at('b.example.test', '/a.xml'), 'off-host'],
    ]);
  });

  test('speak for the host that names them, and of their own host for their folder and below', async () => {
    await using web = await serveHosts({
      'a.example.test': {
        '/': 'home',
        '/robots.txt': (response, request) => robots(web.at('b.example.test', '/maps/a.xml'))(response, request),
        '/deep/1': 'listed elsewhere',
      },
      'b.example.test': {
        '/maps/a.xml': (response, request) =>
          urlset([
            web.at('a.example.test', '/deep/1'),
            web.at('b.example.test', '/maps/more/2'),
            web.at('b.example.test', '/other/3'),
            web.at('c.example.test', '/4'),
          ])(response, request),
        '/maps/more/2': 'below',
        '/other/3': 'not to be had',
      },
    });
    const heard = await crawl(web.at('a.example.test'), { ...NAMES, network: 'any', scope: 'any', sitemaps: 'robots' });
    expect(heard.urls.map(pathOf).toSorted()).toEqual(['/', '/deep/1', '/maps/more/2']);
    expect(heard.skips.map(({ url, reason }) => [url, reason])).toEqual([
      [web.at('b.example.test', '/other/3'), 'sitemap-location'],
      [web.at('c.example.test', '/4'), 'off-host'],
    ]);
  });

  test('are 10,000 of a host at most', async () => {
    const files = new SitemapFiles();
    const named = Array.from({ length: 10_002 }, (_, n) => `http://a.example.test/${n}.xml`);
    const admission = new Admission({ scope: 'any', maxDepth: 20, maxUrlLength: 2048 });
    const { requests, refused } = await admitSitemaps(named, admission, 'http://a.example.test', {
      files,
      known: undefined,
    });
    expect(requests).toHaveLength(10_000);
    expect(refused).toEqual([
      { url: 'http://a.example.test/10000.xml', reason: 'sitemaps-per-host' },
      { url: 'http://a.example.test/10001.xml', reason: 'sitemaps-per-host' },
    ]);
    expect(files.take('http://a.example.test')).toBe(false);
    expect(files.take('http://b.example.test')).toBe(true);
  });

  test('count once, however often the rules that name them are had anew', async () => {
    const frontier = await Frontier.open({ store: await MemoryStore.open() });
    const admission = new Admission({ scope: 'any', maxDepth: 20, maxUrlLength: 2048 });
    const session = { admission, frontier, sitemapFiles: new SitemapFiles(), stats: new StatsCollector() };
    const skips: string[] = [];
    const user = { emit: (_: string, ...[, reason]: unknown[]) => skips.push(String(reason)) > 0, wants: () => true };
    const offering = new Offering(session as never, 'robots', user as never, undefined);
    const origin = 'http://a.example.test';
    const named = Array.from({ length: 4_000 }, (_, n) => `${origin}/${n}.xml`);
    for (const count of [4_000, 0, 0, 1]) {
      if (count === 1) named.push(`${origin}/new.xml`);
      const requests = await offering.sitemapsOf(origin, named);
      expect(requests).toHaveLength(count);
      await frontier.offer(requests);
    }
    expect(new Set(skips)).toEqual(new Set(['seen']));
    expect(session.stats.snapshot({ queued: 0, inFlight: 0 }).skips).toEqual({ seen: 12_000 });
  });
});

describe('Seeds', () => {
  test('of which there are many are all taken, as they were when they were given', async () => {
    await using server = await serve({ '/': 'home' });
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', maxPages: 1, respectRobots: false });
    const seeds = Array.from({ length: 2500 }, (_, n) => server.url(`/${n}`));
    const running = crawler.run(seeds);
    seeds.fill('no URL');
    const { queued, pages } = await running;
    expect(queued + pages).toBe(2500);
  });

  test('of which there are many are refused together where one is none, early or late', async () => {
    const seeds = Array.from({ length: 2500 }, (_, n) => `http://127.0.0.1:9/${n}`).concat('nothing here');
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any' });
    await expect(crawler.add(seeds)).rejects.toMatchObject({ code: 'CRAWL_URL_INVALID', url: 'nothing here' });
    await expect(crawler.run(seeds)).rejects.toMatchObject({ code: 'CRAWL_URL_INVALID', url: 'nothing here' });
    expect(crawler.running).toBe(false);
    const { queued, pages } = await crawler.run();
    expect(queued + pages).toBe(0);
  });
});

describe('KF-29: sitemaps that lead back to themselves', () => {
  test('are each read once, and pages listed elsewhere are found', async () => {
    await using server = await site((at) => ({
      '/': 'home',
      '/robots.txt': robots('/robots.txt', at('/u.xml')),
      '/u.xml': moved('/s.xml'),
      '/s.xml': sitemapIndex([at('/s.xml'), at('/t.xml'), at('/pages.xml')]),
      '/t.xml': sitemapIndex([at('/s.xml')]),
      '/pages.xml': urlset([at('/1')]),
      '/1': '1',
    }));
    const heard = await crawl(server.url('/'), { sitemaps: 'robots' });
    const asked = server.log.map(({ path }) => path);
    expect(asked.toSorted()).toEqual(['/', '/1', '/pages.xml', '/robots.txt', '/s.xml', '/t.xml', '/u.xml']);
    expect(heard.urls.map(pathOf).toSorted()).toEqual(['/', '/1']);
    expect(heard.errors).toEqual([]);
    expect(heard.stats.skips).toEqual({ seen: 3 });
  });

  test('through ever new indexes are cut at a depth, and it is said so', async () => {
    await using server = await site((at) => ({
      '/': 'home',
      '/robots.txt': robots(at('/i0.xml')),
      ...Object.fromEntries(
        Array.from({ length: 20 }, (_, i) => [`/i${i}.xml`, sitemapIndex([at(`/i${i + 1}.xml`), at(`/p${i}.xml`)])]),
      ),
      ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`/p${i}.xml`, urlset([at(`/${i}`)])])),
    }));
    const heard = await crawl(server.url('/'), { sitemaps: 'robots' });
    const indexes = server.paths.filter((path) => path.startsWith('/i'));
    expect(indexes).toEqual(['/i0.xml', '/i1.xml', '/i2.xml', '/i3.xml']);
    expect(heard.urls.map(pathOf).toSorted()).toEqual(['/', '/0', '/1', '/2']);
    expect(heard.skips.map(({ url, reason }) => [pathOf(url), reason])).toEqual([
      ['/i4.xml', 'depth'],
      ['/p3.xml', 'depth'],
    ]);
  });

  test('by redirects end like any chain', async () => {
    await using server = await site((at) => ({
      '/': 'home',
      '/robots.txt': robots(at('/a.xml')),
      '/a.xml': moved('/b.xml'),
      '/b.xml': moved('/a.xml'),
    }));
    const heard = await crawl(server.url('/'), { sitemaps: 'robots' });
    expect(server.paths.toSorted()).toEqual(['/', '/a.xml', '/b.xml']);
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_TOO_MANY_REDIRECTS']);
  });
});
