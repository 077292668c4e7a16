import { describe, expect, test, vi } from 'vitest';
import { retryAfterOf } from '../src/headers.ts';
import { Crawler, type CrawlerOptions, Politeness } from '../src/index.ts';
import { HASTE, hear, listeningCrawler, USER_AGENT } from './helpers/crawl.ts';
import { startSite } from './helpers/site.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const DAY = 86_400_000;
const YEAR = 365 * DAY;

describe('Retry-After, in one place for pages and robots files', () => {
  test.each<[string, Record<string, string | string[]>, number | undefined]>([
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['a date', { 'retry-after': 'Mon, 30 Nov 2026 12:02:00 GMT' }, 120_000],
    [
      "a date, by the server's own clock",
      { 'retry-after': 'Mon, 30 Nov 2026 12:02:00 GMT', date: 'Mon, 30 Nov 2026 12:01:00 GMT' },
      60_000,
    ],
    ['a date beside a Date that is none', { 'retry-after': 'Mon, 30 Nov 2026 12:02:00 GMT', date: 'today' }, 120_000],
    ['nothing', {}, undefined],
    ['an empty text', { 'retry-after': '' }, undefined],
    ['zero', { 'retry-after': '0' }, undefined],
    ['a negative number', { 'retry-after': '-5' }, undefined],
    ['a fraction', { 'retry-after': '1.5' }, undefined],
    ['an exponent', { 'retry-after': '1e9' }, undefined],
    ['a list', { 'retry-after': '5, 10' }, undefined],
    ['Infinity', { 'retry-after': 'Infinity' }, undefined],
    ['garbage', { 'retry-after': '\u0000\uffff<script>' }, undefined],
    ['fifty days', { 'retry-after': '4320000' }, DAY],
    ['a billion seconds', { 'retry-after': '1000000000' }, DAY],
    ['more digits than a number has', { 'retry-after': '9'.repeat(400) }, DAY],
    ['a date in the past', { 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' }, undefined],
    ['a date in the year 9999', { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }, DAY],
    [
      'a date before a Date that is in the year 9999',
      { 'retry-after': 'Mon, 30 Nov 2026 12:02:00 GMT', date: 'Fri, 31 Dec 9999 23:59:59 GMT' },
      undefined,
    ],
    [
      'a date after a Date of 1970',
      { 'retry-after': 'Mon, 30 Nov 2026 12:02:00 GMT', date: 'Thu, 01 Jan 1970 00:00:00 GMT' },
      DAY,
    ],
    ['several lines', { 'retry-after': ['10', 'nonsense', '30', '20'] }, 30_000],
    ['several lines of nonsense', { 'retry-after': ['-1', ''] }, undefined],
  ])('%s', (_, headers, wait) => expect(retryAfterOf(headers, NOW)).toBe(wait));
});

describe('waits that no timer can wait for', () => {
  /** Crawls for a while, and tells how often the server was asked. */
  async function ask(
    robots: string,
    answer: readonly [status: number, headers: Record<string, string>],
    options: Partial<CrawlerOptions>,
  ): Promise<string[]> {
    await using site = await startSite((request, response) => {
      if (request.url === '/robots.txt') response.end(robots);
      else response.writeHead(answer[0], answer[1]).end('x');
    });
    const { crawler } = listeningCrawler({ maxDurationMs: 500, ...options });
    const slept = vi.spyOn(globalThis, 'setTimeout');
    try {
      await crawler.run([site.url('/a'), site.url('/b')]);
      for (const [, ms] of slept.mock.calls) expect(ms ?? 0).toBeLessThanOrEqual(2 ** 31 - 1);
      // Who does not sleep asks the clock over and over.
      expect(slept.mock.calls.length).toBeLessThan(200);
    } finally {
      slept.mockRestore();
    }
    return site.log.map(({ path }) => path);
  }

  test.each<[string, string, number, Record<string, string>, Partial<CrawlerOptions>, string[]]>([
    ['a crawl delay of 1e12 s', 'User-agent: *\nCrawl-delay: 1000000000000', 200, {}, {}, []],
    [
      'the same where any may be honoured',
      'User-agent: *\nCrawl-delay: 1000000000000',
      200,
      {},
      { maxCrawlDelayMs: Number.POSITIVE_INFINITY },
      [],
    ],
    [
      'a crawl delay of 1e300 s',
      'User-agent: *\nCrawl-delay: 1e300',
      200,
      {},
      { maxCrawlDelayMs: Number.POSITIVE_INFINITY },
      [],
    ],
    ['a Retry-After of fifty days', '', 503, { 'retry-after': '4320000' }, {}, ['/a']],
    ['a gap of a month', '', 200, {}, { minDelayMs: 30 * DAY }, []],
    ['a gap of a year', '', 200, {}, { minDelayMs: YEAR }, []],
    ['a back-off of a year', '', 503, {}, { backoffMs: YEAR }, ['/a']],
  ])('%s', async (_, robots, status, headers, options, paths) => {
    expect(await ask(robots, [status, headers], options)).toEqual(['/robots.txt', ...paths]);
  });

  test('a crawl that may last for ever, and tell of itself never, ends when it is done', async () => {
    await using site = await startSite((_, response) => response.end('x'));
    for (const ms of [2 ** 31, 1e15, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
      const crawler = new Crawler({
        userAgent: USER_AGENT,
        ...HASTE,
        network: 'any',
        maxDurationMs: ms,
        statsEveryMs: ms,
      });
      let told = 0;
      crawler.on('stats', () => told++);
      const heard = hear(crawler);
      await crawler.run(site.url('/'));
      expect(heard.pages).toHaveLength(1);
      expect(told).toBe(0);
    }
  });

  test.each(['minDelayMs', 'backoffMs'])('a "%s" of more than a year is refused when the crawler is made', (name) => {
    const make = () => new Crawler({ userAgent: USER_AGENT, [name]: YEAR + 1 });
    expect(make).toThrow(
      expect.objectContaining({ code: 'CRAWL_OPTION_INVALID', message: expect.stringContaining(name) }),
    );
  });

  test('limits of Politeness may be Infinity, and what comes out is a time all the same', () => {
    const infinite = Number.POSITIVE_INFINITY;
    const politeness = new Politeness({
      maxDelayMs: infinite,
      maxCrawlDelayMs: infinite,
      maxBackoffMs: infinite,
      maxRetryAfterMs: infinite,
      ipDelayMs: infinite,
    });
    const host = {
      host: 'a.test',
      nextAt: 0,
      blockedUntil: 0,
      delayMs: 1000,
      crawlDelayMs: 0,
      backoff: 60,
      successes: 0,
      failures: 0,
      refusals: 0,
      pages: 0,
      inFlight: 1,
    };
    const seen = { endedAt: NOW, durationMs: infinite, crawlDelayMs: infinite, retryAfterMs: infinite };
    for (const status of [200, 429, 503]) {
      const { blockedUntil, nextAt } = politeness.after(host, { ...seen, status }, NOW);
      expect(nextAt).toBeLessThanOrEqual(NOW + YEAR);
      expect(nextAt).toBeGreaterThan(NOW);
      expect(blockedUntil).toBeLessThanOrEqual(NOW + 1.2 * YEAR);
    }
    expect(() => new Politeness({ delayFactor: infinite })).toThrow(/delayFactor/);
  });
});
