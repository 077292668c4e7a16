import { expect, test } from 'vitest';
import type { CrawlerOptions } from '../src/index.ts';
import { linkPage, listeningCrawler } from './helpers/crawl.ts';
import { moved, serve } from './helpers/pages.ts';
import { loopbackLookup } from './helpers/site.ts';

/** A crawl, and the requests that it told of. */
async function asking(seeds: string | readonly string[], options: Partial<CrawlerOptions> = {}) {
  const { crawler, heard } = listeningCrawler({ retries: 2, ...options });
  const requests: string[] = [];
  crawler.on('request', (url) => void requests.push(url));
  const stats = await crawler.run(seeds);
  const perHost = Object.values(stats.perHost).reduce((sum, host) => sum + host.requests, 0);
  return { heard, requests, stats, perHost };
}

test.each([
  ['a port of another protocol', 'http://127.0.0.1:25/', 'any', 'PORT'],
  ['an address', 'http://127.0.0.1:8080/', 'public', 'ADDRESS'],
  ['an address of IPv6', 'http://[::1]:8080/', 'public', 'ADDRESS'],
  ['a local name', 'http://localhost:8080/', 'public', 'ADDRESS'],
] as const)('What is refused by %s is no request, with and without robots.txt', async (_, url, network, what) => {
  for (const respectRobots of [true, false]) {
    const { heard, requests, stats, perHost } = await asking(url, { network, respectRobots });
    expect(heard.errors.map(({ error }) => error.code)).toEqual([`CRAWL_${what}_REFUSED`]);
    expect(heard.errors[0]?.error.url).toBe(respectRobots ? `${url}robots.txt` : url);
    expect(requests).toEqual([]);
    expect([stats.requests, perHost]).toEqual([0, 0]);
  }
});

test('What is refused leaves the clock of its host alone', async () => {
  const seeds = ['/1', '/2', '/3', '/4'].map((path) => `http://127.0.0.1:25${path}`);
  const { heard, stats } = await asking(seeds, { minDelayMs: 30_000, respectRobots: false });
  expect(heard.errors).toHaveLength(4);
  expect(stats.elapsedMs).toBeLessThan(30_000);
});

test('Links, redirects and robots.txt files that lead to what is refused are counted by what was sent', async () => {
  await using site = await serve({
    '/': linkPage(['/moved', 'http://127.0.0.1:25/x']),
    '/moved': moved('http://127.0.0.1:22/'),
  });
  const { heard, requests, stats, perHost } = await asking(site.url('/'), { scope: 'any' });
  expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_PORT_REFUSED', 'CRAWL_PORT_REFUSED']);
  expect(requests).toHaveLength(site.log.length);
  expect([stats.requests, perHost]).toEqual([site.log.length, site.log.length]);
});

test('Rules that lead to what is refused are not asked for there', async () => {
  await using site = await serve({ '/': 'home', '/robots.txt': moved('http://10.1.2.3/robots.txt') });
  const { heard, requests, stats } = await asking(site.url('/'), { network: 'seeds' });
  expect(heard.errors).toMatchObject([
    { error: { code: 'CRAWL_ADDRESS_REFUSED', url: 'http://10.1.2.3/robots.txt' }, url: 'http://10.1.2.3/robots.txt' },
  ]);
  expect(requests).toEqual([site.url('/robots.txt')]);
  expect(stats.requests).toBe(1);
});

test('A name that turns out to lead to what is refused has been counted', async () => {
  await using site = await serve({ '/': 'home' });
  const options = { network: 'public', respectRobots: false, dnsLookup: loopbackLookup() } as const;
  const { heard, requests, stats } = await asking(site.url('/', 'a.example.test'), options);
  expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_ADDRESS_REFUSED']);
  expect(requests).toHaveLength(1);
  expect(stats.requests).toBe(1);
  expect(site.log).toEqual([]);
});
