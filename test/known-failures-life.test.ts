// Failures that other crawlers had with beginning, ending and stopping.
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Crawler, type CrawlStore, isCrawlError, MemoryStore } from '../src/index.ts';
import { crawl, HASTE, hear, linkPage, listeningCrawler, pathOf, USER_AGENT } from './helpers/crawl.ts';
import { type Answer, html, moved, type Pages, rules, serve } from './helpers/pages.ts';

const chain = (length: number): Pages =>
  Object.fromEntries(Array.from({ length }, (_, i) => [`/${i}`, linkPage(i + 1 < length ? [`/${i + 1}`] : [])]));

/** A store whose URLs take a while to go in. */
function dawdling(store: CrawlStore, ms: number): CrawlStore {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
      if (name !== 'offer' && name !== 'settle') return method;
      return async (...args: unknown[]) => {
        await pause(ms);
        return method(...args);
      };
    },
  });
}

describe('KF-34: the crawl does not end while links are still being found', () => {
  test('thirty pages deep, twenty times over, with a handler and a store that dawdle', async () => {
    await using site = await serve(chain(30));
    const one = async (): Promise<number> => {
      const store = dawdling(await MemoryStore.open(), 2);
      const { crawler, heard } = listeningCrawler({ store, maxDepth: 0, concurrency: 10 });
      crawler.on('page', async (page) => {
        await pause(3);
        await crawler.add(page.links.map((link) => link.url));
        await pause(3);
      });
      await crawler.run(site.url('/0'));
      return heard.pages.length;
    };
    const counts = await Promise.all(Array.from({ length: 20 }, one));
    expect(counts).toEqual(Array(20).fill(30));
  });

  test('a URL added by a listener that nobody waits for is crawled, if it comes before the end', async () => {
    await using site = await serve({ '/': 'home', '/later': 'later' });
    const { crawler, heard } = listeningCrawler();
    let added = false;
    crawler.on('request', () => {
      if (added) return;
      added = true;
      void crawler.add(site.url('/later'));
    });
    await crawler.run(site.url('/'));
    expect(heard.urls.map(pathOf).toSorted()).toEqual(['/', '/later']);
  });
});

describe('KF-35: one end, and counts that add up', () => {
  const last: [name: string, answer: Answer, options: object][] = [
    ['is a 404', (response) => void response.writeHead(404).end(), {}],
    ['resets the connection', (response) => void response.socket?.resetAndDestroy(), { retries: 0 }],
    ['is refused by robots', 'never', {}],
    ['is not wanted', (response) => void response.writeHead(200, { 'content-type': 'image/png' }).end(), {}],
    ['is a duplicate', linkPage([], 'twin'), {}],
    ['redirects out of scope', moved('http://elsewhere.example.test/'), {}],
    ['redirects to a page already seen', moved('/twin'), {}],
    ['is empty', (response) => void response.writeHead(204).end(), {}],
    ['fails for ever', (response) => void response.writeHead(500).end(), { retries: 0 }],
  ];

  test.each(last)('where the last page %s', async (name, answer, options) => {
    const refused = name === 'is refused by robots' ? ['Disallow: /last'] : [];
    await using site = await serve({
      '/': linkPage(['/twin', '/last']),
      '/twin': linkPage([], 'twin'),
      '/last': answer,
      '/robots.txt': rules('User-agent: *', ...refused),
    });
    const store = await MemoryStore.open();
    const heard = await crawl(site.url('/'), { ...options, store });
    expect(heard.ends).toHaveLength(1);
    expect(heard.events.at(-1)).toBe('end');
    const { done, failed, skipped, redirected, queued, leased, seen } = await store.stats();
    expect({ queued, leased, seen }).toEqual({ queued: 0, leased: 0, seen: 3 });
    expect(done + failed + skipped + redirected).toBe(3);
    expect(heard.stats).toMatchObject({ offered: 3, queued: 0, inFlight: 0, pages: done });
  });

  test('where the last page throws in its handler', async () => {
    await using site = await serve({ '/': linkPage(['/last']), '/last': 'last' });
    const { crawler, heard } = listeningCrawler();
    crawler.on('page', (page) => {
      if (page.url.endsWith('/last')) throw new Error('own fault');
    });
    const stats = await crawler.run(site.url('/'));
    expect(heard.ends).toHaveLength(1);
    expect(stats).toMatchObject({ pages: 2, errors: 1, errorCodes: { CRAWL_LISTENER_FAILED: 1 } });
  });
});

describe('KF-38: the page limit is one', () => {
  const hundred: Pages = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [
      `/${i}`,
      linkPage(Array.from({ length: 10 }, (_, k) => `/${(i * 7 + k) % 100}`)),
    ]),
  );

  test('with eight workers, over a stop and another crawler on the same store', async () => {
    await using site = await serve(hundred);
    const store = await MemoryStore.open();
    const options = { store, maxPages: 10, concurrency: 8, connectionsPerHost: 8 };
    const first = listeningCrawler(options);
    first.crawler.on('page', () => {
      if (first.heard.pages.length === 4) void first.crawler.stop();
    });
    await first.crawler.run(site.url('/0'));
    const before = first.heard.pages.length;
    expect(before).toBeGreaterThanOrEqual(4);
    const second = await crawl([], options);
    expect(before + second.pages.length).toBe(10);
    expect(site.paths).toHaveLength(10);
    expect(second.stats.pages).toBe(10);
    // At the limit a further run asks for nothing.
    const third = await crawl(site.url('/99'), options);
    expect(third.pages).toEqual([]);
    expect(site.paths).toHaveLength(10);
  });

  test('failures and redirects are none of its pages', async () => {
    await using site = await serve({
      '/': linkPage(['/gone', '/moved', '/breaks', '/1', '/2', '/3']),
      '/moved': moved('/new'),
      '/new': 'new',
      '/breaks': (response) => void response.destroy(),
      '/1': '1',
      '/2': '2',
      '/3': '3',
    });
    const heard = await crawl(site.url('/'), { maxPages: 4, retries: 0 });
    expect(heard.pages).toHaveLength(4);
    expect(heard.errors).toHaveLength(1);
    expect(heard.redirects).toHaveLength(1);
  });

  test.each([1, 2, 5, 32])('is met exactly with %i workers', async (concurrency) => {
    await using site = await serve(hundred);
    for (const maxPages of [1, 3, 10]) {
      site.log.length = 0;
      const heard = await crawl(site.url('/0'), { maxPages, concurrency, connectionsPerHost: concurrency });
      expect(heard.pages).toHaveLength(maxPages);
      expect(site.paths).toHaveLength(maxPages);
    }
  });
});

describe('KF-39: stop, then start again', () => {
  const pages: Pages = {
    '/': linkPage(Array.from({ length: 12 }, (_, i) => `/${i}`)),
    ...Object.fromEntries(
      Array.from({ length: 12 }, (_, i): [string, Answer] => [
        `/${i}`,
        (response) => void setTimeout(() => html(response, String(i)), 5),
      ]),
    ),
  };
  const commands = fc.constantFrom('pause', 'resume', 'stop', 'stop now', 'run', 'wait') as fc.Arbitrary<
    'pause' | 'resume' | 'stop' | 'stop now' | 'run' | 'wait'
  >;

  test('at random times, in random order: no two runs overlap, each ends once, and every page is delivered once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(commands, { maxLength: 12 }), async (script) => {
        await using site = await serve(pages);
        const { crawler, heard } = listeningCrawler({ concurrency: 3, connectionsPerHost: 3 });
        let runs = 0;
        let refused = 0;
        const run = (): Promise<unknown> => {
          runs++;
          return crawler.run(site.url('/')).catch((thrown) => {
            if (!isCrawlError(thrown, 'CRAWL_ALREADY_RUNNING')) throw thrown;
            refused++;
          });
        };
        const running = [run()];
        for (const command of script) {
          if (command === 'run') running.push(run());
          else if (command === 'pause') void crawler.pause();
          else if (command === 'resume') crawler.resume();
          else if (command === 'wait') await pause(4);
          else void crawler.stop({ now: command === 'stop now' });
        }
        crawler.resume();
        await Promise.all(running);
        expect(crawler.running).toBe(false);
        await crawler.run(site.url('/'));
        const starts = heard.events.filter((event) => event === 'start').length;
        expect(starts).toBe(runs - refused + 1);
        expect(heard.ends).toHaveLength(starts);
        expect(heard.urls).toHaveLength(13);
        expect(new Set(heard.urls).size).toBe(13);
        // A server learns of an aborted request a moment after it is aborted; until then it counts as open.
        const aborted = script.filter((command) => command === 'stop now').length * 3;
        expect(site.maxInFlight).toBeLessThanOrEqual(3 + aborted);
      }),
      { numRuns: 40 },
    );
  });

  test('after pause has resolved nothing is asked for, however long it lasts', async () => {
    await using site = await serve(pages);
    const { crawler, heard } = listeningCrawler({ concurrency: 3, connectionsPerHost: 3 });
    const running = crawler.run(site.url('/'));
    await new Promise<void>((resolve) => crawler.on('page', () => heard.pages.length === 3 && resolve()));
    await crawler.pause();
    const asked = site.log.length;
    const told = heard.events.length;
    expect(crawler.stats()?.inFlight).toBe(0);
    await pause(50);
    expect(site.log).toHaveLength(asked);
    expect(heard.events).toHaveLength(told);
    crawler.resume();
    await running;
    expect(heard.pages).toHaveLength(13);
  });

  test('after stop has resolved nothing is said, and a crawl that is not running can be told anything', async () => {
    await using site = await serve(pages);
    const { crawler, heard } = listeningCrawler({ concurrency: 3, connectionsPerHost: 3 });
    await Promise.all([crawler.pause(), crawler.stop(), crawler.stop({ now: true })]);
    crawler.resume();
    expect(heard.events).toEqual([]);
    const running = crawler.run(site.url('/'));
    await new Promise<void>((resolve) => crawler.on('page', () => heard.pages.length === 2 && resolve()));
    await crawler.stop({ now: true });
    const told = heard.events.length;
    const asked = heard.events.filter((event) => event === 'request').length;
    await running;
    await expect.poll(() => site.openSockets).toBe(0);
    expect(heard.events).toHaveLength(told);
    // The server may have learnt last of what was on its way to it, but not of anything that was not.
    expect(site.log.length).toBeLessThanOrEqual(asked);
  });
});

describe('KF-40: a listener that throws', () => {
  test.each(['throws', 'rejects'] as const)('whatever it listens to, when it %s', async (how) => {
    await using site = await serve({
      '/': linkPage(['/1', '/moved', '/breaks', '/twin', 'ftp://x.example.test/', 'http://y.example.test/']),
      '/1': linkPage([], 'same'),
      '/twin': linkPage([], 'same'),
      '/moved': moved('/1'),
      '/breaks': (response) => void response.destroy(),
    });
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', retries: 1 });
    const names = [
      'start',
      'offer',
      'skip',
      'request',
      'redirect',
      'retry',
      'page',
      'duplicate',
      'stats',
      'end',
    ] as const;
    const called = new Map<string, number>();
    for (const name of names) {
      crawler.on(name, () => {
        called.set(name, (called.get(name) ?? 0) + 1);
        const fault = new Error(`fault of ${name}`);
        if (how === 'throws') throw fault;
        return Promise.reject(fault);
      });
    }
    const heard = hear(crawler);
    const stats = await crawler.run(site.url('/'));
    await nextTurn();
    expect([...called.keys()]).toEqual(
      expect.arrayContaining(['start', 'offer', 'skip', 'request', 'redirect', 'retry', 'page', 'duplicate', 'end']),
    );
    // Those that came after it were called all the same, and each fault was told once.
    const faults = heard.errors.filter(({ error }) => error.code === 'CRAWL_LISTENER_FAILED');
    expect(faults).toHaveLength([...called.values()].reduce((sum, count) => sum + count, 0));
    expect(heard.pages).toHaveLength(3);
    expect(heard.ends).toHaveLength(1);
    expect(stats.pages).toBe(3);
    const ofPages = faults.filter(({ error }) => (error.cause as Error).message === 'fault of page');
    expect(ofPages.map(({ url }) => pathOf(String(url))).toSorted()).toEqual(['/', '/1', '/twin']);
  });
});
