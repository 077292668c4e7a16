// Failures that other crawlers had with delays; the servers' own logs are the witnesses.
import { describe, expect, test } from 'vitest';
import { crawl, linkPage, listeningCrawler, pathOf } from './helpers/crawl.ts';
import {
  type Answer,
  gaps,
  html,
  moved,
  type Pages,
  rules,
  serve,
  smallestGap,
  TOLERANCE_MS,
  urlset,
} from './helpers/pages.ts';
import type { Site } from './helpers/site.ts';

const DELAY = { minDelayMs: 100, delayFactor: 0, maxDelayMs: 60_000, concurrency: 5, backoffMs: 150 } as const;
const ten = Array.from({ length: 10 }, (_, i) => `/${i}`);
const tenPages: Pages = { '/': linkPage(ten), ...Object.fromEntries(ten.map((path) => [path, path])) };

function expectPolite(site: Site, delayMs: number): void {
  expect(site.maxInFlight).toBe(1);
  expect(smallestGap(site.log)).toBeGreaterThanOrEqual(delayMs - TOLERANCE_MS);
}

describe('KF-31: concurrency does not defeat the delay of a host', () => {
  test('ten pages, five workers', async () => {
    await using site = await serve(tenPages);
    await crawl(site.url('/'), DELAY);
    expect(site.paths).toEqual(['/', ...ten]);
    expectPolite(site, 100);
  });

  test('half of the pages are redirects within the host: each hop waits its turn', async () => {
    const hops = Object.fromEntries(ten.slice(0, 5).map((path) => [path, moved(`${path}/moved`)]));
    const targets = Object.fromEntries(ten.slice(0, 5).map((path) => [`${path}/moved`, `${path} moved`]));
    await using site = await serve({ ...tenPages, ...hops, ...targets });
    const heard = await crawl(site.url('/'), DELAY);
    expect(site.paths).toHaveLength(16);
    expect(heard.pages).toHaveLength(11);
    expectPolite(site, 100);
  });

  test('a page that is retried after a 503 waits its turn, and longer', async () => {
    let asked = 0;
    const shaky: Answer = (response) => (++asked > 1 ? html(response, 'at last') : response.writeHead(503).end());
    await using site = await serve({ ...tenPages, '/3': shaky });
    const heard = await crawl(site.url('/'), DELAY);
    expect(heard.pages).toHaveLength(11);
    expect(asked).toBe(2);
    expectPolite(site, 100);
    const refused = site.log.findIndex(({ path }) => path === '/3');
    expect(gaps(site.log)[refused]).toBeGreaterThanOrEqual(150 - TOLERANCE_MS);
  });

  test('robots.txt and sitemaps count, too', async () => {
    await using site = await serve({
      ...tenPages,
      '/robots.txt': (response, request) => rules('User-agent: *', `Sitemap: ${site.url('/s.xml')}`)(response, request),
      '/s.xml': (response, request) => urlset([site.url('/listed')])(response, request),
      '/listed': 'listed',
    });
    await crawl(site.url('/'), { ...DELAY, sitemaps: 'robots' });
    expect(site.log).toHaveLength(14);
    expectPolite(site, 100);
  });

  test('connections that break count, too', async () => {
    let asked = 0;
    const breaks: Answer = (response) => (++asked > 1 ? html(response, 'at last') : response.socket?.resetAndDestroy());
    await using site = await serve({ ...tenPages, '/3': breaks, '/5': (response) => void response.destroy() });
    const heard = await crawl(site.url('/'), { ...DELAY, retries: 1 });
    expect(heard.pages).toHaveLength(10);
    expect(asked).toBe(2);
    expectPolite(site, 100);
  });

  test('a second host is not slowed by the first', async () => {
    await using slow = await serve(tenPages, '127.0.0.1');
    await using quick = await serve(tenPages, '127.0.0.2');
    await crawl([slow.url('/'), quick.url('/')], DELAY);
    expectPolite(slow, 100);
    expectPolite(quick, 100);
    // Side by side: each had begun long before the other ended.
    expect(quick.log[1]!.at).toBeLessThan(slow.log[5]!.at);
    expect(slow.log[1]!.at).toBeLessThan(quick.log[5]!.at);
  });
});

describe('KF-32: Retry-After in all its forms', () => {
  test('a date and seconds are waited for, nonsense means the usual back-off, and a day holds no worker', async () => {
    const values: [value: () => string, leastGapMs: number][] = [
      [() => new Date(Date.now() + 2000).toUTCString(), 2000],
      [() => new Date(Date.now() - 60_000).toUTCString(), 150],
      [() => '1', 1000],
      [() => '0', 150],
      [() => '-5', 150],
      [() => '1.5', 150],
      [() => 'soon', 150],
    ];
    const unavailable = (value: () => string): Answer => {
      let asked = 0;
      return (response) => {
        if (++asked > 2) return html(response, 'at last');
        response.writeHead(503, { 'retry-after': value() }).end();
      };
    };
    const sites = await Promise.all(
      values.map(([value], i) => serve({ '/': unavailable(value) }, `127.0.0.${10 + i}`)),
    );
    const never = await serve({ '/': unavailable(() => '99999') }, '127.0.0.30');
    try {
      const { crawler, heard } = listeningCrawler({ ...DELAY, concurrency: 2, minDelayMs: 20 });
      let blockedFor = 0;
      crawler.on('host', (host, { nextAt }) => {
        if (host === '127.0.0.30') blockedFor = nextAt - Date.now();
      });
      crawler.on('page', () => {
        if (heard.pages.length === sites.length) void crawler.stop();
      });
      const stats = await crawler.run([...sites, never].map((site) => site.url('/')));
      expect(heard.pages.map((page) => page.text)).toEqual(sites.map(() => 'at last'));
      for (const [i, [, leastGapMs]] of values.entries()) {
        const [, first, second, third] = sites[i]!.log;
        expect(sites[i]!.paths).toHaveLength(3);
        for (const gap of gaps([first!, second!, third!]))
          expect(gap).toBeGreaterThanOrEqual(leastGapMs - TOLERANCE_MS);
      }
      // Above the cap of a day: back in its place, and the two workers were free for the others.
      expect(never.paths).toHaveLength(1);
      expect(blockedFor / 3_600_000).toBeCloseTo(24, 1);
      expect(stats).toMatchObject({ queued: 1, inFlight: 0, errors: 0 });
    } finally {
      await Promise.all([...sites, never].map((site) => site.close()));
    }
  });
});

describe('KF-33: 429 is said to the whole crawl, not of one URL', () => {
  test('a host that wants 0.15 s slows the crawl down until all pages have come', { timeout: 60_000 }, async () => {
    const twenty = Array.from({ length: 20 }, (_, i) => `/${i}`);
    let last = Number.NEGATIVE_INFINITY;
    const strict = (text: string): Answer => {
      return (response) => {
        const sinceLast = performance.now() - last;
        last = performance.now();
        if (sinceLast < 150) response.writeHead(429).end();
        else html(response, text);
      };
    };
    const pages = Object.fromEntries(twenty.map((path) => [path, strict(path)]));
    await using site = await serve({ '/': strict(linkPage(twenty)), ...pages }, '127.0.0.1');
    await using other = await serve(tenPages, '127.0.0.2');
    const heard = await crawl([site.url('/'), other.url('/')], { ...DELAY, minDelayMs: 50, backoffMs: 100 });
    const delivered = heard.pages.filter((page) => page.url.startsWith(site.origin));
    expect(delivered.map(({ url }) => pathOf(url)).sort()).toEqual(['/', ...twenty].sort());
    expect(heard.errors).toEqual([]);
    expect(heard.stats.statuses['429']).toBeGreaterThanOrEqual(1);
    expect(heard.stats.statuses['429']).toBeLessThanOrEqual(10);
    expectPolite(site, 50);
    // Meanwhile the other host was crawled at its own pace.
    expect(other.paths).toHaveLength(11);
    expect(other.log.at(-1)!.at).toBeLessThan(site.log.at(-1)!.at);
    expect(other.log.at(-1)!.at - other.log[0]!.at).toBeLessThan((site.log.at(-1)!.at - site.log[0]!.at) / 2);
  });
});
