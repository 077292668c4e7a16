// A thousand pages on twenty hosts; the hosts' own logs say whether they were crawled politely.
import { expect, test } from 'vitest';
import { crawl, linkPage } from './helpers/crawl.ts';
import { type Answer, gaps, rules, serve, TOLERANCE_MS } from './helpers/pages.ts';
import type { Site } from './helpers/site.ts';

const HOSTS = 20;
const PAGES = 50;
const DELAY_MS = 20;

/** Every page is reached by a short way, and by many more: ring, jumps, and links to the same page of other hosts. */
function linksOf(sites: readonly Site[], host: number, page: number): string[] {
  const jumps = [page + 1, page * 2 + 1, page * 2 + 2, page * 7 + 3].map((n) => `/p/${n % PAGES}`);
  const abroad = [host + 1, host * 3 + page].map((n) => sites[n % HOSTS]!.url(`/p/${page}`));
  return [...jumps, ...abroad, `/private/${page}`, `/p/${page}#again`, `/gone/${page % 5}`];
}

async function startWeb(): Promise<Site[]> {
  const sites: Site[] = [];
  for (let host = 0; host < HOSTS; host++) {
    const pages: Record<string, Answer> = {
      '/robots.txt': rules('User-agent: *', 'Disallow: /private/', '', 'User-agent: otherbot', 'Disallow: /'),
    };
    for (let page = 0; page < PAGES; page++) {
      pages[`/p/${page}`] = (response) => {
        const body = linkPage(linksOf(sites, host, page), `page ${page} of host ${host}`);
        response.writeHead(200, { 'content-type': 'text/html' }).end(body);
      };
      pages[`/private/${page}`] = 'private';
    }
    sites.push(await serve(pages, `127.0.0.${100 + host}`));
  }
  return sites;
}

test('each page is fetched once, each host asked for its rules first, one request at a time, never below the delay', async () => {
  const sites = await startWeb();
  try {
    const heard = await crawl(sites[0]!.url('/p/0'), {
      scope: 'any',
      minDelayMs: DELAY_MS,
      ipDelayMs: 10,
      delayFactor: 1,
      maxDelayMs: 2 * DELAY_MS,
    });
    expect(heard.errors).toEqual([]);
    expect(heard.pages.filter((page) => page.status === 200)).toHaveLength(HOSTS * PAGES);
    const expected = [
      '/robots.txt',
      ...Array.from({ length: PAGES }, (_, i) => `/p/${i}`),
      ...[0, 1, 2, 3, 4].map((i) => `/gone/${i}`),
    ];
    for (const site of sites) {
      const asked = site.log.map(({ path }) => path);
      expect(asked[0]).toBe('/robots.txt');
      expect(asked.toSorted()).toEqual(expected.toSorted());
      expect(site.maxInFlight).toBe(1);
      expect(Math.min(...gaps(site.log))).toBeGreaterThanOrEqual(DELAY_MS - TOLERANCE_MS);
      expect(new Set(site.log.map(({ method, headers }) => `${method} ${headers['user-agent']}`)).size).toBe(1);
    }
    // The crawl's own account agrees with the logs.
    const requests = sites.reduce((sum, site) => sum + site.log.length, 0);
    expect(requests).toBe(HOSTS * (1 + PAGES + 5));
    expect(heard.stats).toMatchObject({
      requests,
      pages: HOSTS * (PAGES + 5),
      hosts: HOSTS,
      queued: 0,
      inFlight: 0,
      offered: HOSTS * (PAGES * 2 + 5),
    });
    expect(heard.stats.skips.robots).toBe(HOSTS * PAGES);
    for (const { smallestGapMs } of Object.values(heard.stats.perHost)) {
      expect(smallestGapMs).toBeGreaterThanOrEqual(DELAY_MS);
    }
    // Hosts were crawled side by side: one after the other would take twenty times as long.
    const first = Math.min(...sites.map((site) => site.log[0]!.at));
    const last = Math.max(...sites.map((site) => site.log.at(-1)!.at));
    expect(last - first).toBeLessThan(HOSTS * PAGES * DELAY_MS);
  } finally {
    await Promise.all(sites.map((site) => site.close()));
  }
});
