import type { CrawlError, CrawlStats, Link, Page } from '../../src/index.ts';
import { Crawler, type CrawlerOptions } from '../../src/index.ts';

export const USER_AGENT = 'testbot/1.0 (+mailto:owner@example.test)';

/** No delays: for tests that prove something else than politeness. */
export const HASTE = { minDelayMs: 0, delayFactor: 0, maxDelayMs: 0, ipDelayMs: 0, backoffMs: 50 } as const;

/** All that a crawl said, in order and by kind. */
export interface Heard {
  readonly events: string[];
  readonly pages: Page[];
  readonly urls: string[];
  readonly errors: { readonly error: CrawlError; readonly url: string | undefined }[];
  readonly skips: { readonly url: string; readonly reason: string; readonly from: string | undefined }[];
  readonly redirects: { readonly from: string; readonly to: string; readonly status: number }[];
  readonly retries: { readonly url: string; readonly error: CrawlError; readonly afterMs: number }[];
  readonly duplicates: { readonly url: string; readonly firstUrl: string }[];
  readonly offers: Link[];
  readonly ends: CrawlStats[];
}

// biome-ignore format: one list
const EVENTS = [
  'start', 'offer', 'skip', 'request', 'redirect', 'retry', 'page', 'duplicate', 'error', 'pause', 'resume', 'end',
] as const;

/** Listens to everything. */
export function hear(crawler: Crawler): Heard {
  const heard: Heard = {
    events: [],
    pages: [],
    urls: [],
    errors: [],
    skips: [],
    redirects: [],
    retries: [],
    duplicates: [],
    offers: [],
    ends: [],
  };
  for (const name of EVENTS) crawler.on(name, () => void heard.events.push(name));
  crawler.on('offer', (link) => void heard.offers.push(link));
  crawler.on('skip', (url, reason, from) => void heard.skips.push({ url, reason, from }));
  crawler.on('redirect', (from, to, status) => void heard.redirects.push({ from, to, status }));
  crawler.on('retry', (url, error, afterMs) => void heard.retries.push({ url, error, afterMs }));
  crawler.on('page', (page) => void heard.pages.push(page));
  crawler.on('page', (page) => void heard.urls.push(page.url));
  crawler.on('duplicate', (page, firstUrl) => void heard.duplicates.push({ url: page.url, firstUrl }));
  crawler.on('error', (error, url) => void heard.errors.push({ error, url }));
  crawler.on('end', (stats) => void heard.ends.push(stats));
  return heard;
}

/** A crawler in haste that allows loopback, and what it says. */
export function listeningCrawler(options: Partial<CrawlerOptions> = {}): { crawler: Crawler; heard: Heard } {
  const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', ...options });
  return { crawler, heard: hear(crawler) };
}

/** Crawls to the end. */
export async function crawl(
  seeds: string | readonly string[],
  options: Partial<CrawlerOptions> = {},
): Promise<Heard & { readonly stats: CrawlStats }> {
  const { crawler, heard } = listeningCrawler(options);
  const stats = await crawler.run(seeds);
  return { ...heard, stats };
}

/** A page of links. */
export function linkPage(links: readonly string[], title = 'page'): string {
  return `<!doctype html><title>${title}</title>${links.map((href) => `<a href="${href}">${href}</a>`).join('\n')}`;
}

/** The path of a URL, for short expectations. */
export const pathOf = (url: string): string => {
  const { pathname, search } = new URL(url);
  return pathname + search;
};
