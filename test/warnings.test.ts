import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import {
  Crawler,
  type CrawlerOptions,
  type CrawlWarning,
  EventLog,
  MemoryStore,
  RobotsTxt,
  UrlFilter,
} from '../src/index.ts';
import { HASTE, linkPage, listeningCrawler, pathOf, USER_AGENT } from './helpers/crawl.ts';
import { type Answer, html, rules, serve } from './helpers/pages.ts';

interface Warned {
  readonly warnings: readonly (CrawlWarning & { readonly path: string })[];
  readonly pages: readonly string[];
}

/** A crawl of one page, and what it was warned of. */
async function warned(pages: Readonly<Record<string, Answer>>, options: Partial<CrawlerOptions> = {}): Promise<Warned> {
  await using site = await serve({ '/': 'x', ...pages });
  const { crawler, heard } = listeningCrawler(options);
  const warnings: Warned['warnings'][number][] = [];
  crawler.on('warning', (warning, url) => void warnings.push({ ...warning, path: pathOf(url ?? '') }));
  await crawler.run(site.url('/'));
  return { warnings, pages: heard.urls.map(pathOf) };
}

const robots = (...lines: string[]) => ({ '/robots.txt': rules('User-agent: *', ...lines) });
const answer =
  (status: number, headers: Record<string, string>): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'text/html', ...headers }).end('<p>é</p>');

describe('a warning event', () => {
  test.each(['-3', '', 'abc', '1,5', 'Infinity', '0'])(
    'tells of Crawl-delay "%s", which counts for nothing',
    async (value) => {
      const { warnings, pages } = await warned(robots(`Crawl-delay: ${value}`));
      expect(warnings).toEqual([
        {
          code: 'crawl-delay-ignored',
          message: `"Crawl-delay: ${value}" is no time to wait, and is left aside`,
          path: '/robots.txt',
        },
      ]);
      expect(pages).toEqual(['/']);
    },
  );

  test('tells of a Crawl-delay that is cut, and of none that is kept', async () => {
    const { warnings } = await warned(robots('Crawl-delay: 1e9'), { maxCrawlDelayMs: 20 });
    expect(warnings).toMatchObject([{ code: 'crawl-delay-cut', path: '/robots.txt' }]);
    expect(warnings[0]?.message).toContain('1000000000 s');
    expect(warnings[0]?.message).toContain('0.02 s');
    expect((await warned(robots('Crawl-delay: 0.02'))).warnings).toEqual([]);
  });

  test('is not for what is said to others', async () => {
    const file = rules('User-agent: other', 'Crawl-delay: abc', 'Disallow: /x', 'User-agent: *', 'Allow: /');
    expect((await warned({ '/robots.txt': file })).warnings).toEqual([]);
  });

  test('tells of a robots.txt that is longer than what is read', async () => {
    const { warnings } = await warned(robots('Allow: /', `# ${'x'.repeat(600_000)}`));
    expect(warnings).toMatchObject([{ code: 'robots-cut', path: '/robots.txt' }]);
  });

  test.each([
    ['soon', 'retry-after-ignored'],
    ['-5', 'retry-after-ignored'],
    ['1e3', 'retry-after-ignored'],
  ])('tells of Retry-After "%s"', async (value, code) => {
    const options = { retries: 0, respectRobots: false };
    const { warnings } = await warned({ '/': answer(503, { 'retry-after': value }) }, options);
    expect(warnings).toMatchObject([{ code, path: '/' }]);
    expect(warnings[0]?.message).toContain(value);
  });

  test('tells of a Retry-After of more than a day', async () => {
    const options = { retries: 0, respectRobots: false };
    const { warnings } = await warned({ '/': answer(503, { 'retry-after': '99999999' }) }, options);
    expect(warnings).toMatchObject([{ code: 'retry-after-cut', path: '/' }]);
  });

  test('is not for a Retry-After that counts as it stands, nor for one in a good answer', async () => {
    const options = { retries: 0, respectRobots: false };
    expect((await warned({ '/': answer(404, { 'retry-after': '0' }) }, options)).warnings).toEqual([]);
    expect((await warned({ '/': answer(200, { 'retry-after': 'soon' }) }, options)).warnings).toEqual([]);
  });

  test.each([
    ['the header', { 'content-type': 'text/html; charset=ISO-88509-1' }, '<a href="/n">é</a>', 'iso-88509-1'],
    ['the markup', { 'content-type': 'text/html' }, '<meta charset="x-nope"><a href="/n">é</a>', 'x-nope'],
  ])('tells of an encoding in %s that does not exist', async (_, headers, body, label) => {
    const { warnings } = await warned({ '/': (response) => html(response, body, headers) });
    expect(warnings).toEqual([
      {
        code: 'charset-unknown',
        message: `"${label}" is the name of no encoding; the text was read as utf-8`,
        path: '/',
      },
    ]);
  });

  test('tells of a body that is not in the coding that its header names', async () => {
    const { warnings, pages } = await warned({
      '/': (response) => html(response, linkPage(['/next']), { 'content-encoding': 'gzip' }),
      '/next': 'next',
    });
    expect(warnings).toMatchObject([{ code: 'coding-mislabelled', path: '/' }]);
    expect(pages).toEqual(['/', '/next']);
  });

  test('is a line of the event log', async () => {
    await using site = await serve({ '/': 'x', ...robots('Crawl-delay: abc') });
    const stream = new PassThrough();
    const { crawler } = listeningCrawler();
    const log = new EventLog({ stream, events: ['warning'] }).monitor(crawler);
    await crawler.run(site.url('/'));
    await log.close();
    stream.end();
    expect(await text(stream)).toMatch(
      / {2}warning {5}http:\/\/127.*\/robots\.txt {2}crawl-delay-ignored {2}"Crawl-delay: abc" is no time to wait/,
    );
  });
});

describe('RobotsTxt.ignoredDelays()', () => {
  const parse = (...lines: string[]) => RobotsTxt.parse(lines.join('\n'), 'https://a.example.test/robots.txt');

  test('gives what is meant for the agent, at most five, each cut', () => {
    const many = parse(
      'User-agent: bot',
      ...Array.from({ length: 9 }, (_, i) => `Crawl-delay: x${i}${'y'.repeat(500)}`),
    );
    const found = many.ignoredDelays('bot/1.0');
    expect(found).toHaveLength(5);
    expect(found.every((line) => line.length < 130)).toBe(true);
    expect(many.ignoredDelays('other')).toEqual([]);
  });

  test('gives Request-rate as well, and leaves the delay that counts', () => {
    const robots = parse('User-agent: bot', 'Request-rate: often', 'Crawl-delay: 2', 'Crawl-delay: soon');
    expect(robots.ignoredDelays('bot')).toEqual(['Request-rate: often', 'Crawl-delay: soon']);
    expect(robots.crawlDelay('bot')).toBe(2);
    expect(parse('').ignoredDelays('bot')).toEqual([]);
  });
});

describe('A run over a store whose limit is used up', () => {
  const on = (store: MemoryStore, options: Partial<CrawlerOptions>) => {
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', store, ...options });
    const told: (readonly [CrawlWarning, string | undefined])[] = [];
    crawler.on('warning', (...args) => void told.push(args));
    return { crawler, told };
  };

  test.each([
    ['maxPages', { maxPages: 2 }, '"maxPages" is 2', 'came to 2 pages'],
    ['maxDurationMs', { maxDurationMs: 1 }, '"maxDurationMs" is 1', / came to \d+ ms/],
  ] as const)('by %s tells once why nothing is fetched', async (_, options, limit, count) => {
    await using site = await serve({ '/': linkPage(['/1', '/2']), '/1': '1', '/2': '2' });
    const store = await MemoryStore.open();
    const first = on(store, { maxPages: 2 });
    await first.crawler.run(site.url('/'));
    expect(first.told).toEqual([]);
    const asked = site.paths.length;
    for (const run of ['on', 'revisit']) {
      const { crawler, told } = on(store, options);
      await crawler.run(run === 'on' ? [] : site.url('/'), { revisit: run === 'revisit' });
      expect(told).toEqual([[{ code: 'limit-reached', message: expect.stringContaining(limit) }, undefined]]);
      expect(told[0]?.[0].message).toMatch(count);
      expect(told[0]?.[0].message).toContain('over all runs of a store');
    }
    expect(site.paths).toHaveLength(asked);
    const { crawler, told } = on(store, {});
    await crawler.run();
    expect(told).toEqual([]);
    expect(site.paths).toContain('/2');
  });

  test('says nothing where there is nothing left to do', async () => {
    await using site = await serve({ '/': 'x' });
    const store = await MemoryStore.open();
    await on(store, { maxPages: 1 }).crawler.run(site.url('/'));
    const { crawler, told } = on(store, { maxPages: 1 });
    await crawler.run();
    expect(told).toEqual([]);
  });
});

describe('A run without seeds', () => {
  const told = async (run: (crawler: Crawler) => Promise<unknown>, options: Partial<CrawlerOptions> = {}) => {
    const { crawler, heard } = listeningCrawler(options);
    const warnings: string[] = [];
    crawler.on('warning', ({ code }, url) => {
      expect(url).toBeUndefined();
      expect(heard.ends).toEqual([]);
      warnings.push(code);
    });
    await run(crawler);
    expect(heard.ends).toHaveLength(1);
    return warnings;
  };
  const missing: string | undefined = process.argv[1_000_000];

  test.each<[string, (crawler: Crawler) => Promise<unknown>]>([
    ['run()', (crawler) => crawler.run()],
    ['run([])', (crawler) => crawler.run([])],
    ['run() with an argument that is missing', (crawler) => crawler.run(missing)],
    [
      'pages([])',
      async (crawler) => {
        for await (const page of crawler.pages([])) throw new Error(page.url);
      },
    ],
    ['add([]) and run()', (crawler) => crawler.add([]).then(() => crawler.run())],
  ])('and with nothing in its store is told of, by %s', async (_, run) => {
    expect(await told(run)).toEqual(['no-seeds']);
  });

  test('says nothing where there was something to do, or once was', async () => {
    await using site = await serve({ '/': linkPage(['/1']), '/1': '1' });
    const store = await MemoryStore.open();
    const seed = site.url('/');
    const added = async (crawler: Crawler) => {
      await crawler.add(seed);
      await crawler.run();
    };
    const addedMeanwhile = async (crawler: Crawler) => {
      crawler.on('start', () => void crawler.add(seed));
      await crawler.run();
    };
    const stopped = async (crawler: Crawler) => {
      crawler.on('start', () => void crawler.stop());
      await crawler.run();
    };
    expect(await told(added, { store })).toEqual([]);
    expect(await told((crawler) => crawler.run(), { store })).toEqual([]);
    expect(await told(addedMeanwhile)).toEqual([]);
    expect(await told(stopped)).toEqual([]);
    expect(await told((crawler) => crawler.run(seed), { filter: UrlFilter.from(() => 'no') })).toEqual([]);
  });
});
