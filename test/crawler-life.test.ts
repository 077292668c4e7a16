import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Crawler, type CrawlerOptions, isCrawlError, type Lease, MemoryStore } from '../src/index.ts';
import { crawl, HASTE, hear, linkPage, listeningCrawler, pathOf, USER_AGENT } from './helpers/crawl.ts';
import { gate } from './helpers/pages.ts';
import { type Site, startSite } from './helpers/site.ts';

/** A site without robots rules whose pages are `pages[path]`: HTML, or a function of the response. */
type Pages = Record<string, string | ((response: import('node:http').ServerResponse) => void)>;

function serve(pages: Pages, rules?: string): Promise<Site> {
  return startSite((request, response) => {
    const path = request.url ?? '';
    if (path === '/robots.txt') return void (rules === undefined ? response.writeHead(404).end() : response.end(rules));
    const page = pages[path];
    if (page === undefined) return void response.writeHead(404, { 'content-type': 'text/html' }).end('not here');
    if (typeof page === 'function') return void page(response);
    response.writeHead(200, { 'content-type': 'text/html' }).end(page);
  });
}

const html = (response: import('node:http').ServerResponse, text: string): void =>
  void response.writeHead(200, { 'content-type': 'text/html' }).end(text);

test('every page of a site is fetched once, robots.txt first, and the events are in the order of a URL’s life', async () => {
  await using site = await serve({
    '/': linkPage(['/a', '/b', '/a', '#top', '/a#x']),
    '/a': linkPage(['/', '/b', '/missing']),
    '/b': linkPage(['/a']),
  });
  const heard = await crawl(site.url('/'));
  expect(site.log[0]?.path).toBe('/robots.txt');
  expect([...site.paths].sort()).toEqual(['/', '/a', '/b', '/missing']);
  expect(heard.urls.map(pathOf).sort()).toEqual(['/', '/a', '/b', '/missing']);
  expect(heard.pages.find((page) => pathOf(page.url) === '/missing')?.status).toBe(404);
  expect(heard.events[0]).toBe('start');
  expect(heard.events.at(-1)).toBe('end');
  expect(heard.ends).toHaveLength(1);
  expect(heard.stats).toMatchObject({ pages: 4, queued: 0, inFlight: 0, errors: 0, offered: 4 });
});

test('a chain of 30 pages is followed to its end though handlers dawdle before and after adding links', async () => {
  const pages: Pages = {};
  for (let i = 0; i < 30; i++) pages[`/${i}`] = linkPage(i < 29 ? [`/${i + 1}`] : []);
  await using site = await serve(pages);
  for (let round = 0; round < 5; round++) {
    const { crawler, heard } = listeningCrawler({ maxDepth: 0, concurrency: 10 });
    crawler.on('page', async (page) => {
      await nextTurn();
      for (const link of page.links) await crawler.add(link.url);
      await nextTurn();
    });
    await crawler.run(site.url('/0'));
    expect(heard.urls.map(pathOf)).toHaveLength(30);
  }
});

test.each([
  ['is a 404', (response: import('node:http').ServerResponse) => void response.writeHead(404).end(), {}],
  ['resets the connection', (response: import('node:http').ServerResponse) => void response.destroy(), { retries: 0 }],
  [
    'repeats an earlier body',
    (response: import('node:http').ServerResponse) => html(response, linkPage([], 'twin')),
    {},
  ],
])('one end and one settled run where the last page %s', async (_name, last, options) => {
  await using site = await serve({ '/': linkPage(['/twin', '/last']), '/twin': linkPage([], 'twin'), '/last': last });
  const heard = await crawl(site.url('/'), options);
  expect(heard.ends).toHaveLength(1);
  expect(site.paths).toHaveLength(3);
  expect(heard.stats.offered).toBe(3);
  expect(heard.pages.length + heard.errors.length).toBe(3);
});

test('one end where the last page is refused by robots, and the counts add up', async () => {
  await using site = await serve({ '/': linkPage(['/private']) }, 'User-agent: *\nDisallow: /private');
  const heard = await crawl(site.url('/'));
  expect(heard.skips).toEqual([{ url: site.url('/private'), reason: 'robots', from: site.url('/') }]);
  expect(heard.stats).toMatchObject({ pages: 1, offered: 2, skips: { robots: 1 } });
  expect(heard.ends).toHaveLength(1);
});

test('a crawl without seeds, or with none in scope, ends at once', async () => {
  const nothing = await crawl([]);
  expect(nothing.events.filter((event) => event === 'end')).toHaveLength(1);
  const { UrlFilter } = await import('../src/index.ts');
  const refused = await crawl('http://127.0.0.1:9/', { scope: UrlFilter.from(() => 'no') });
  expect(refused.skips).toEqual([{ url: 'http://127.0.0.1:9/', reason: 'no', from: undefined }]);
  expect(refused.ends).toHaveLength(1);
});

test('exactly maxPages pages are delivered and no further one is asked for', async () => {
  const pages: Pages = {};
  for (let i = 0; i < 100; i++)
    pages[`/${i}`] = linkPage(Array.from({ length: 10 }, (_, k) => `/${(i * 7 + k) % 100}`));
  await using site = await serve(pages);
  const { crawler, heard } = listeningCrawler({ maxPages: 10, concurrency: 3, connectionsPerHost: 3 });
  crawler.on('page', () => {
    if (heard.pages.length === 4) void crawler.stop();
  });
  await crawler.run(site.url('/0'));
  expect(heard.pages.length).toBeGreaterThanOrEqual(4);
  expect(heard.pages.length).toBeLessThan(10);
  await crawler.run();
  expect(heard.pages).toHaveLength(10);
  expect(site.paths).toHaveLength(10);
  // Another crawler counts for itself.
  const second = await crawl(site.url('/0'), { maxPages: 10, concurrency: 8, connectionsPerHost: 8 });
  expect(second.pages).toHaveLength(10);
  expect(site.paths).toHaveLength(20);
});

test('a seed that redirects costs no page of the limit', async () => {
  await using site = await serve({
    '/start': (response) => void response.writeHead(301, { location: '/0' }).end(),
    '/0': linkPage(['/1', '/2', '/3']),
    '/1': 'one',
    '/2': 'two',
    '/3': 'three',
  });
  const heard = await crawl(site.url('/start'), { maxPages: 2 });
  expect(heard.pages).toHaveLength(2);
  expect(heard.pages[0]).toMatchObject({ url: site.url('/start'), finalUrl: site.url('/0') });
});

test('after pause nothing new is asked for, after resume the crawl goes on', async () => {
  await using site = await serve({ '/': linkPage(['/1', '/2', '/3']), '/1': '1', '/2': '2', '/3': '3' });
  const { crawler, heard } = listeningCrawler({ concurrency: 1 });
  let atPause = 0;
  crawler.once('page', () => void crawler.pause());
  crawler.once('pause', () => {
    atPause = site.paths.length;
    setImmediate(() => {
      expect(site.paths).toHaveLength(atPause);
      crawler.resume();
    });
  });
  await crawler.run(site.url('/'));
  expect(atPause).toBe(1);
  expect(heard.pages).toHaveLength(4);
  expect(heard.events.filter((event) => event === 'pause' || event === 'resume')).toEqual(['pause', 'resume']);
});

test.each(['pause', 'stop'] as const)(
  'what a store is asked for at the time of a %s is not requested',
  async (verb) => {
    await using site = await serve({ '/': linkPage(['/1']), '/1': '1' });
    const asked = gate();
    const answered = gate();
    class Slow extends MemoryStore {
      override async lease(...args: Parameters<MemoryStore['lease']>): Promise<Lease[]> {
        asked.open();
        await answered.opened;
        return super.lease(...args);
      }
    }
    const store = new Slow();
    const { crawler, heard } = listeningCrawler({ store, respectRobots: false });
    const running = crawler.run(site.url('/'));
    await asked.opened;
    const quiet = crawler[verb]();
    if (verb === 'pause') await quiet;
    answered.open();
    await nextTurn();
    expect(heard.events).not.toContain('request');
    crawler.resume();
    await Promise.all([quiet, running]);
    if (verb === 'stop') await crawler.run();
    expect(heard.urls.map(pathOf)).toEqual(['/', '/1']);
    expect((await store.stats()).done).toBe(2);
  },
);

test('what is added while a run is ending is refused and not half queued', async () => {
  await using site = await serve({ '/': 'x', '/late': 'y' });
  const added: Promise<unknown>[] = [];
  class Closing extends MemoryStore {
    override async flush(): Promise<void> {
      added.push(crawler.add(site.url('/late')).catch((error: unknown) => error));
      await super.flush();
    }
  }
  class Ranking extends Crawler {
    override async prioritize(): Promise<number> {
      return new Promise((resolve) => setTimeout(resolve, 5, 0));
    }
  }
  const store = new Closing();
  const crawler = new Ranking({ userAgent: USER_AGENT, ...HASTE, network: 'any', store });
  const heard = hear(crawler);
  await crawler.run(site.url('/'));
  const [first] = await Promise.all(added);
  expect(isCrawlError(first, 'CRAWL_CLOSED')).toBe(true);
  expect(heard.errors).toEqual([]);
  expect(await store.has(site.url('/late'))).toBe(false);
});

test('a second run while one runs is refused, and the first is unharmed', async () => {
  await using site = await serve({ '/': linkPage(['/1']), '/1': '1' });
  const { crawler, heard } = listeningCrawler();
  const first = crawler.run(site.url('/'));
  await expect(crawler.run(site.url('/'))).rejects.toSatisfy((error) => isCrawlError(error, 'CRAWL_ALREADY_RUNNING'));
  await first;
  expect(heard.pages).toHaveLength(2);
});

test('stop with now aborts what is in flight and emits nothing more; a later run goes on without overlap', async () => {
  let stalled = true;
  await using site = await serve({
    '/': linkPage(['/slow', '/1']),
    '/slow': (response) => void (stalled ? response.write('<p>') : html(response, 'at last')),
    '/1': '1',
  });
  const { crawler, heard } = listeningCrawler({ connectionsPerHost: 4 });
  const running = crawler.run(site.url('/'));
  await new Promise<void>((resolve) => crawler.on('request', (url) => url.endsWith('/slow') && setImmediate(resolve)));
  await crawler.stop({ now: true });
  const events = heard.events.length;
  expect(heard.events.at(-1)).toBe('end');
  await running;
  stalled = false;
  expect(heard.events).toHaveLength(events);
  await crawler.run();
  expect(heard.urls.map(pathOf).sort()).toEqual(['/', '/1', '/slow']);
});

test('pause, resume, pause, stop and run within one tick leave a crawl that ends once', async () => {
  await using site = await serve({ '/': linkPage(['/1', '/2']), '/1': '1', '/2': '2' });
  const { crawler, heard } = listeningCrawler();
  const running = crawler.run(site.url('/'));
  void crawler.pause();
  crawler.resume();
  void crawler.pause();
  const stopped = crawler.stop();
  await Promise.all([running, stopped]);
  expect(heard.ends).toHaveLength(1);
  await crawler.run(site.url('/'));
  expect(heard.urls.map(pathOf).sort()).toEqual(['/', '/1', '/2']);
  expect(site.paths.sort()).toEqual(['/', '/1', '/2']);
});

test('stop and pause may be awaited from a listener and from the loop over pages', async () => {
  await using site = await serve({ '/': linkPage(['/1', '/2']), '/1': '1', '/2': '2' });
  const { crawler, heard } = listeningCrawler({ concurrency: 1 });
  crawler.on('page', async () => {
    await nextTurn();
    await crawler.pause();
    crawler.resume();
    await crawler.stop();
  });
  await crawler.run(site.url('/'));
  expect(heard.urls.map(pathOf)).toEqual(['/']);
  const read: string[] = [];
  const reader = listeningCrawler({ concurrency: 1 }).crawler;
  for await (const page of reader.pages(site.url('/'))) {
    read.push(pathOf(page.url));
    await reader.pause();
    reader.resume();
    await reader.stop();
  }
  expect(read).toEqual(['/']);
});

test('a listener that throws or rejects is reported once with the URL, and the others still run', async () => {
  await using site = await serve({ '/': linkPage(['/1']), '/1': '1' });
  const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any' });
  let calls = 0;
  crawler.on('page', () => {
    calls++;
    if (calls === 1) throw new Error('sync');
    return Promise.reject(new Error('async'));
  });
  const heard = hear(crawler);
  const stats = await crawler.run(site.url('/'));
  expect(heard.pages).toHaveLength(2);
  expect(heard.errors.map(({ error, url }) => [error.code, url && pathOf(url)])).toEqual([
    ['CRAWL_LISTENER_FAILED', '/'],
    ['CRAWL_LISTENER_FAILED', '/1'],
  ]);
  expect(stats.pages).toBe(2);
});

test('a throwing error listener, or none at all, does not stop the crawl or the process', async () => {
  await using site = await serve({ '/': linkPage(['/1']), '/1': (response) => void response.destroy() });
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  try {
    for (const listens of [true, false]) {
      const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', retries: 0 });
      if (listens) {
        crawler.on('error', () => {
          throw new Error('the handler of errors fails');
        });
      }
      const stats = await crawler.run(site.url('/'));
      expect(stats.pages).toBe(1);
      expect(stats.errors).toBe(listens ? 2 : 1);
    }
    await nextTurn();
    expect(warnings.length).toBeGreaterThanOrEqual(2);
  } finally {
    process.off('warning', onWarning);
  }
});

test('pages() gives every page, keeps the crawl to the reader’s pace, and stops it when the reader leaves', async () => {
  const pages: Pages = { '/': linkPage(Array.from({ length: 20 }, (_, i) => `/${i}`)) };
  for (let i = 0; i < 20; i++) pages[`/${i}`] = `${i}`;
  await using site = await serve(pages);
  const all: string[] = [];
  for await (const page of listeningCrawler().crawler.pages(site.url('/'))) all.push(pathOf(page.url));
  expect(all).toHaveLength(21);

  const { crawler, heard } = listeningCrawler({ concurrency: 2 });
  const asked = site.paths.length;
  for await (const page of crawler.pages([site.url('/')])) {
    // The one being read and those that wait for it: never more than the pool holds beyond what was read.
    expect(site.paths.length - asked).toBeLessThanOrEqual(heard.pages.length + 1 + 2);
    if (pathOf(page.url) !== '/') break;
  }
  expect(crawler.running).toBe(false);
  expect(heard.ends).toHaveLength(1);
  // What was fetched but not read is crawled again, so that no page is lost.
  const rest: string[] = [];
  for await (const page of crawler.pages()) rest.push(pathOf(page.url));
  expect(rest).toHaveLength(19);
});

test('an abort signal ends run() and pages() without an exception', async () => {
  await using site = await serve({ '/': (response) => void response.write('<p>') });
  const controller = new AbortController();
  const { crawler } = listeningCrawler();
  crawler.on('request', (url) => url.endsWith('/') && setImmediate(() => controller.abort()));
  const stats = await crawler.run(site.url('/'), { signal: controller.signal });
  expect(stats.pages).toBe(0);
  const read: unknown[] = [];
  for await (const page of listeningCrawler().crawler.pages(site.url('/'), { signal: AbortSignal.abort() }))
    read.push(page);
  expect(read).toEqual([]);
});

test('hooks of a subclass decide what is visited, expanded and first; one that fails costs only itself', async () => {
  await using site = await serve({ '/': linkPage(['/a', '/b', '/c']), '/a': 'a', '/b': 'b', '/c': 'c', '/extra': 'x' });
  class Picky extends Crawler {
    override shouldVisit(link: { url: string }): boolean {
      return !link.url.endsWith('/a');
    }
    override async expand(page: import('../src/index.ts').Page) {
      return [...page.links, { url: '/extra', source: 'mine', rel: [], nofollow: false }];
    }
    override prioritize(request: { url: string }): number {
      return request.url.endsWith('/c') ? 5 : 0;
    }
    override visit(page: import('../src/index.ts').Page): void {
      if (page.url.endsWith('/b')) throw new Error('b is bad');
    }
  }
  const crawler = new Picky({ userAgent: USER_AGENT, ...HASTE, network: 'any', concurrency: 1 });
  const heard = hear(crawler);
  await crawler.run(site.url('/'));
  expect(heard.urls.map(pathOf)).toEqual(['/', '/c', '/b', '/extra']);
  expect(heard.skips).toContainEqual({ url: site.url('/a'), reason: 'should-visit', from: site.url('/') });
  expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_HOOK_FAILED']);
});

test('limits of depth, of pages per host and of time hold', async () => {
  const pages: Pages = {};
  for (let i = 0; i < 10; i++) pages[`/${i}`] = linkPage([`/${i + 1}`]);
  await using site = await serve(pages);
  const deep = await crawl(site.url('/0'), { maxDepth: 3 });
  expect(deep.urls.map(pathOf)).toEqual(['/0', '/1', '/2', '/3']);
  expect(deep.stats.skips).toEqual({ depth: 1 });
  const few = await crawl(site.url('/0'), { maxPagesPerHost: 2 });
  expect(few.urls.map(pathOf)).toEqual(['/0', '/1']);
  expect(few.stats.skips).toEqual({ 'host-limit': 1 });
  const short = await crawl(site.url('/0'), { maxDurationMs: 300, minDelayMs: 200 });
  expect(short.pages.length).toBeLessThan(4);
  expect(short.ends).toHaveLength(1);
});

test('a store is held to the canonical form that it was begun with', async () => {
  await using site = await serve({ '/': 'x' });
  const store = await MemoryStore.open();
  const on = (options: Partial<CrawlerOptions>) =>
    new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', store, ...options });
  await on({ canonical: { sortQuery: true } }).run(site.url('/'));
  for (const canonical of [undefined, {}, { stripTracking: true }, { sortQuery: true, stripTracking: true }]) {
    const failure = await on(canonical === undefined ? {} : { canonical })
      .run()
      .catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: 'CRAWL_OPTION_INVALID' });
    const { message } = failure as Error;
    expect(message).toContain('{"stripTracking":false,"sortQuery":true}');
    expect(message).toContain(`"stripTracking":${canonical?.stripTracking ?? false}`);
    expect(message).toContain('a new store');
  }
  const { pages } = await on({ canonical: { stripTracking: false, sortQuery: true } }).run(site.url('/'));
  expect(pages).toBe(1);
});
