// What users get wrong, and what the web gives instead of pages: each is told by a typed error or an event.
import { describe, expect, test } from 'vitest';
import { type CrawlError, Crawler, type CrawlerOptions, isCrawlError, UrlFilter } from '../src/index.ts';
import { crawl, HASTE, hear, linkPage, listeningCrawler, USER_AGENT } from './helpers/crawl.ts';
import { rejection } from './helpers/fetcher.ts';
import { NAMES, rules, serve } from './helpers/pages.ts';
import { startSite } from './helpers/site.ts';

function thrownBy(options: unknown): CrawlError {
  try {
    new Crawler(options as CrawlerOptions);
  } catch (thrown) {
    if (isCrawlError(thrown)) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

describe('The constructor', () => {
  test.each([
    undefined,
    '',
    'mybot',
    'mybot/1.0',
    'mybot/1.0 (please be kind)',
    'got (+mailto:owner@example.test)',
    'Mozilla/5.0 (Windows NT 10.0) owner@example.test',
    42,
  ])('refuses a user agent without a name and a contact, and says what to write: %j', (userAgent) => {
    const error = thrownBy({ userAgent });
    expect(error.code).toBe('CRAWL_CONTACT_MISSING');
    expect(error.message).toContain('name/1.0 (+mailto:you@site.example)');
  });

  test.each([
    'mybot/1.0 (+mailto:owner@example.test)',
    'mybot/1.0 (+https://example.test/bot)',
    'mybot/1.0 (owner@example.test)',
    'Mozilla/5.0 (compatible; mybot/1.0; +https://example.test/bot)',
  ])('takes %s', (userAgent) => {
    expect(new Crawler({ userAgent })).toBeInstanceOf(Crawler);
  });

  test.each([
    ['maxDelayMS', 'maxDelayMs'],
    ['minDelay', 'minDelayMs'],
    ['concurency', 'concurrency'],
    ['useragent', 'userAgent'],
    ['respectRobotsTxt', 'respectRobots'],
    ['maxPage', 'maxPages'],
  ])('refuses the option %s and asks whether %s was meant', (written, meant) => {
    const error = thrownBy({ userAgent: USER_AGENT, [written]: 1 });
    expect(error.code).toBe('CRAWL_OPTION_UNKNOWN');
    expect(error.message).toContain(`"${written}"`);
    expect(error.message).toContain(`Did you mean "${meant}"?`);
  });

  test('names all options where none is like the one written', () => {
    const error = thrownBy({ userAgent: USER_AGENT, colour: 'red' });
    expect(error.message).toContain('minDelayMs');
  });

  test.each([null, 'options', 7, []])('refuses %j in place of options', (options) => {
    expect(['CRAWL_OPTION_INVALID', 'CRAWL_CONTACT_MISSING']).toContain(thrownBy(options).code);
  });

  const wrong: [option: string, ...values: unknown[]][] = [
    ['scope', 'page', 7, {}, null],
    ['filter', 'x', () => undefined, null],
    ['store', 7, '', {}, null],
    ['maxDepth', -1, 1.5, '3', Number.NaN, null],
    ['maxPages', 0, -1, 1.5, '10', Number.NaN],
    ['maxPagesPerHost', 0, -1, 1.5],
    ['maxDurationMs', 0, -1, '1s', Number.NaN],
    ['concurrency', 0, -1, 1.5, 10_001, Number.POSITIVE_INFINITY, '8'],
    ['minDelayMs', -1, '1000', Number.NaN, null],
    ['delayFactor', -1, '5', Number.NaN],
    ['maxDelayMs', -1, '5', Number.NaN],
    ['connectionsPerHost', -1, 1.5, '1'],
    ['ipDelayMs', -1, '1', Number.NaN],
    ['maxCrawlDelayMs', -1, '1', Number.NaN],
    ['backoffMs', 0, -1, '1', Number.NaN],
    ['respectRobots', 'yes', 1, null],
    ['robots', { robots401403: 'ignore' }, { after30Days: true }, { tooManyRedirects: 1 }],
    ['timeouts', { page: 0 }, { connect: -1 }, { headers: '1' }, { page: Number.POSITIVE_INFINITY }, 5],
    ['maxBodyBytes', -1, 1.5, { html: -1 }, { other: 'x' }, 'x'],
    ['maxRedirects', -1, 1.5, '10'],
    ['retries', -1, 1.5, '2'],
    ['network', 'all', 7, null],
    ['dnsLookup', 7, 'system', {}],
    ['headers', 7, { 'bad name': 'x' }, { good: 'bad\r\nvalue' }, { good: 7 }],
    ['cookies', 7, 'yes', {}],
    ['from', '', 7, 'bad\r\nvalue'],
    ['acceptLanguage', '', 7, 'bad\nvalue'],
    ['extract', 'links', 7, {}],
    ['accept', 'buffer', 7, {}],
    ['sitemaps', 'yes', true],
    ['sinks', {}, [{}], 7, null],
    ['canonical', { stripTracking: 'yes' }, { sortQuery: 1 }, 7],
    ['statsEveryPages', 0, 1.5, -1],
    ['statsEveryMs', 0, -1, 'x'],
    ['maxUrlLength', 0, 15, 1.5, 'x'],
    ['clock', 7, {}, null],
  ];

  test.each(wrong.flatMap(([option, ...values]) => values.map((value): [string, unknown] => [option, value])))(
    'refuses %s = %j and names it',
    (option, value) => {
      const error = thrownBy({ userAgent: USER_AGENT, [option]: value });
      expect(error.code).toBe('CRAWL_OPTION_INVALID');
      expect(error.message).toContain(option);
      expect(error.retryable).toBe(false);
    },
  );

  test.each([
    ['timeouts', { conect: 1 }, 'connect'],
    ['maxBodyBytes', { hmtl: 1 }, 'html'],
    ['robots', { after30days: 'allow' }, 'after30Days'],
    ['canonical', { stripTraking: true }, 'stripTracking'],
  ])('looks into %s, too: %j', (option, value, meant) => {
    const error = thrownBy({ userAgent: USER_AGENT, [option]: value });
    expect(error.code).toBe('CRAWL_OPTION_UNKNOWN');
    expect(error.message).toContain(`Did you mean "${meant}"?`);
  });

  test('takes undefined for “not given”, and 0 and false for what they are', () => {
    const options = Object.fromEntries(wrong.map(([option]) => [option, undefined]));
    expect(new Crawler({ userAgent: USER_AGENT, ...options })).toBeInstanceOf(Crawler);
    const zero = { maxDepth: 0, minDelayMs: 0, delayFactor: 0, maxDelayMs: 0, connectionsPerHost: 0, ipDelayMs: 0 };
    expect(
      new Crawler({
        userAgent: USER_AGENT,
        ...zero,
        retries: 0,
        maxRedirects: 0,
        respectRobots: false,
        cookies: false,
      }),
    ).toBeInstanceOf(Crawler);
  });
});

describe('Seeds', () => {
  test.each([
    ['example.org', 'Did you mean "https://example.org"?'],
    ['www.example.org/path', 'Did you mean "https://www.example.org/path"?'],
    ['', 'absolute http: or https: URLs'],
    ['/path', 'absolute http: or https: URLs'],
    ['ftp://example.org/', 'absolute http: or https: URLs'],
    ['mailto:owner@example.test', 'absolute http: or https: URLs'],
    ['http://', 'absolute http: or https: URLs'],
    ['http://exa mple.org/', 'absolute http: or https: URLs'],
  ])('that are no URLs are refused before anything happens: %j', async (seed, hint) => {
    await using site = await serve({ '/': 'home' });
    const { crawler, heard } = listeningCrawler();
    const error = await rejection(crawler.run([site.url('/'), seed]));
    expect(isCrawlError(error, 'CRAWL_URL_INVALID')).toBe(true);
    expect(String(error)).toContain(hint);
    expect(heard.events).toEqual([]);
    expect(site.log).toEqual([]);
    // Nothing is left of it: the crawler can be used.
    await crawler.run(site.url('/'));
    expect(heard.pages).toHaveLength(1);
    await expect(crawler.add(seed)).rejects.toSatisfy((thrown) => isCrawlError(thrown, 'CRAWL_URL_INVALID'));
  });

  test.each([null, 7, {}, [null], [7]])('that are not even texts are refused, too: %j', async (seeds) => {
    const error = await rejection(listeningCrawler().crawler.run(seeds as unknown as string));
    expect(isCrawlError(error, 'CRAWL_URL_INVALID')).toBe(true);
  });

  test('pages() refuses them at its first step', async () => {
    const error = await rejection(listeningCrawler().crawler.pages('example.org').next());
    expect(isCrawlError(error, 'CRAWL_URL_INVALID')).toBe(true);
  });

  test('where nobody listens are a typed error each', async () => {
    const site = await startSite(() => {});
    await site.close();
    const heard = await crawl(site.url('/'), { retries: 0, respectRobots: false });
    expect(heard.errors.map(({ error, url }) => [error.code, error.retryable, url])).toEqual([
      ['CRAWL_CONNECT_FAILED', true, site.url('/')],
    ]);
    expect(heard.stats).toMatchObject({ pages: 0, errors: 1, queued: 0 });
  });

  test('where nobody listens, with robots rules: the error names robots.txt, and the seed is skipped by name', async () => {
    const site = await startSite(() => {});
    await site.close();
    const heard = await crawl(site.url('/'), { retries: 0 });
    expect(heard.errors.map(({ error, url }) => [error.code, url])).toEqual([
      ['CRAWL_CONNECT_FAILED', site.url('/robots.txt')],
    ]);
    expect(heard.skips).toEqual([{ url: site.url('/'), reason: 'robots-unreachable', from: undefined }]);
    expect(heard.ends).toHaveLength(1);
  });

  test('whose name nobody knows are a typed error', async () => {
    const heard = await crawl('http://nowhere.example.test/', {
      retries: 0,
      respectRobots: false,
      dnsLookup: (hostname, _options, callback) =>
        callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' }), []),
    });
    expect(heard.errors.map(({ error, url }) => [error.code, url])).toEqual([
      ['CRAWL_DNS_FAILED', 'http://nowhere.example.test/'],
    ]);
  });

  test('that robots rules forbid are skipped by name, all of them', async () => {
    await using site = await serve({ '/robots.txt': rules('User-agent: *', 'Disallow: /'), '/': 'home' });
    const heard = await crawl([site.url('/'), site.url('/other')]);
    expect(site.paths).toEqual([]);
    expect(heard.skips.map(({ url, reason }) => [url, reason]).toSorted()).toEqual([
      [site.url('/'), 'robots'],
      [site.url('/other'), 'robots'],
    ]);
    expect(heard.stats).toMatchObject({ pages: 0, errors: 0 });
  });

  test('that a filter refuses are skipped with its reason, and asked of nobody', async () => {
    await using site = await serve({ '/': 'home' });
    const heard = await crawl(site.url('/'), { scope: UrlFilter.domainSuffix('example.org') });
    expect(heard.skips).toEqual([{ url: site.url('/'), reason: 'off-domain', from: undefined }]);
    expect(site.log).toEqual([]);
    expect(heard.ends).toHaveLength(1);
  });

  test('at addresses that are not allowed are refused before a byte is sent', async () => {
    await using site = await serve({ '/': 'home' });
    for (const [seed, options] of [
      [site.url('/'), {}],
      [site.url('/', 'a.example.test'), NAMES],
    ] as const) {
      const heard = await crawl(seed, { ...options, network: 'public', retries: 0, respectRobots: false });
      expect(heard.errors.map(({ error, url }) => [error.code, error.retryable, url])).toEqual([
        ['CRAWL_ADDRESS_REFUSED', false, seed],
      ]);
    }
    expect(site.log).toEqual([]);
    expect(site.openSockets).toBe(0);
  });

  test('at ports of other protocols are refused', async () => {
    const heard = await crawl('http://127.0.0.1:25/', { respectRobots: false });
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_PORT_REFUSED']);
  });

  test('given twice, or in two spellings, are crawled once', async () => {
    await using site = await serve({ '/': 'home' });
    const heard = await crawl([site.url('/'), new URL(site.url('/#x')).href, site.origin]);
    expect(site.paths).toEqual(['/']);
    expect(heard.stats.skips).toEqual({ seen: 2 });
  });
});

describe('Code of the user’s', () => {
  test('a filter that throws refuses the URL, and the fault is told with it', async () => {
    await using site = await serve({ '/': linkPage(['/1', '/2']), '/1': '1', '/2': '2' });
    const fault = new Error('own fault');
    const filter = UrlFilter.from((url) => {
      if (url.pathname === '/1') throw fault;
      return undefined;
    });
    const heard = await crawl(site.url('/'), { filter });
    expect(site.paths).toEqual(['/', '/2']);
    expect(heard.errors.map(({ error, url }) => [error.code, error.cause, url])).toEqual([
      ['CRAWL_FILTER_FAILED', fault, site.url('/1')],
    ]);
    expect(heard.stats.skips).toEqual({ 'filter-failed': 1 });
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('own fault');
      },
    ],
    ['answers what it must not', () => 'maybe' as 'buffer'],
  ])('accept that %s leaves the body alone, and the fault is told', async (_name, accept) => {
    await using site = await serve({ '/': 'home' });
    const heard = await crawl(site.url('/'), { accept });
    expect(heard.pages).toEqual([]);
    expect(heard.errors.map(({ error, url }) => [error.code, url])).toEqual([['CRAWL_HOOK_FAILED', site.url('/')]]);
    expect(heard.skips.map(({ reason }) => reason)).toEqual(['not-accepted']);
  });

  test('hooks that fail are told each, and cost the page nothing else', async () => {
    await using site = await serve({ '/': linkPage(['/1']), '/1': '1' });
    class Faulty extends Crawler {
      override visit(): Promise<void> {
        return Promise.reject(new Error('visit'));
      }
      override expand(): never {
        throw new Error('expand');
      }
      override prioritize(): number {
        throw new Error('prioritize');
      }
    }
    const crawler = new Faulty({ userAgent: USER_AGENT, ...HASTE, network: 'any' });
    const heard = hear(crawler);
    const stats = await crawler.run(site.url('/'));
    expect(heard.errors.map(({ error }) => error.code)).toEqual(Array(3).fill('CRAWL_HOOK_FAILED'));
    expect(heard.errors.map(({ error }) => (error.cause as Error).message).toSorted()).toEqual([
      'expand',
      'prioritize',
      'visit',
    ]);
    expect(heard.pages).toHaveLength(1);
    expect(stats).toMatchObject({ pages: 1, errors: 3, offered: 1 });
  });

  test('a sink that fails is told, and the page counts', async () => {
    await using site = await serve({ '/': 'home' });
    const fault = new Error('disk full');
    const sinks = [{ write: () => Promise.reject(fault), close: () => Promise.resolve() }];
    const heard = await crawl(site.url('/'), { sinks });
    expect(heard.errors.map(({ error, url }) => [error.code, error.cause, url])).toEqual([
      ['CRAWL_SINK_FAILED', fault, site.url('/')],
    ]);
    expect(heard.stats.pages).toBe(1);
  });

  test('a store that is lost ends the crawl with what it threw', async () => {
    await using site = await serve({ '/': linkPage(['/1']) });
    const { MemoryStore } = await import('../src/index.ts');
    const store = await MemoryStore.open();
    const { crawler, heard } = listeningCrawler({ store });
    crawler.on('page', () => store.close());
    const error = await rejection(crawler.run(site.url('/')));
    expect(isCrawlError(error)).toBe(true);
    expect(heard.ends).toEqual([]);
    expect(crawler.running).toBe(false);
  });
});
