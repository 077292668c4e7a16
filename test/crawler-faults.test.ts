import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Crawler, type CrawlStore, isCrawlError, LinkExtractor, MemoryStore, UrlFilter } from '../src/index.ts';
import { LmdbStore } from '../src/store/lmdb/index.ts';
import { crawl, HASTE, hear, linkPage, listeningCrawler, pathOf, USER_AGENT } from './helpers/crawl.ts';
import { html, moved, serve } from './helpers/pages.ts';
import { loopbackLookup, startSite } from './helpers/site.ts';

/** A store whose verb fails from the nth call on. */
function failing(store: CrawlStore, verb: keyof CrawlStore, from: number): CrawlStore {
  let calls = 0;
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== verb) return value.bind(target);
      return async (...args: unknown[]) => {
        if (++calls >= from) throw new Error('the disk is gone');
        return value.apply(target, args);
      };
    },
  });
}

describe('a store that fails', () => {
  const pages = { '/': linkPage(['/1', '/2', '/3', '/4']), '/1': '1', '/2': '2', '/3': '3', '/4': '4' };

  test.each(['lease', 'nextDueAt', 'settle', 'stats', 'setMeta'] as const)(
    'in %s ends the run with its error, whatever is in flight',
    async (verb) => {
      await using site = await serve(pages);
      for (const from of [1, 2, 3]) {
        const store = failing(new MemoryStore(), verb, from);
        const { crawler, heard } = listeningCrawler({ store, connectionsPerHost: 2, statsEveryPages: 1 });
        await expect(crawler.run(site.url('/'))).rejects.toSatisfy((error) =>
          isCrawlError(error, 'CRAWL_STORE_FAILED'),
        );
        expect(heard.ends).toHaveLength(0);
        expect(crawler.running).toBe(false);
      }
    },
  );

  test('does not keep its directory locked', async () => {
    await using site = await serve(pages);
    const directory = await mkdtemp(join(tmpdir(), 'polite-crawler-faults-'));
    try {
      const { crawler } = listeningCrawler({ store: directory });
      crawler.on('page', () => {
        // As a full disk would, once the crawl is under way.
        failWrites();
      });
      const original = LmdbStore.prototype.settle;
      function failWrites() {
        LmdbStore.prototype.settle = () => Promise.reject(new Error('no space left'));
      }
      await expect(crawler.run(site.url('/'))).rejects.toThrow();
      LmdbStore.prototype.settle = original;
      const again = await listeningCrawler({ store: directory }).crawler.run(site.url('/'));
      expect(again.pages).toBe(5);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

describe('origins and hosts', () => {
  test('a robots.txt that leads to a host without an address refuses its origin’s URLs, and the crawl ends', async () => {
    await using site = await serve({ '/': 'x', '/robots.txt': moved('http://nowhere.example.test/robots.txt') });
    const found = loopbackLookup();
    const heard = await crawl(site.url('/', 'a.example.test'), {
      dnsLookup: (hostname, options, callback) => {
        if (hostname === 'nowhere.example.test')
          callback(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), '', 4);
        else found(hostname, options, callback);
      },
      minDelayMs: 5,
      ipDelayMs: 5,
    });
    expect(heard.pages).toHaveLength(0);
    expect(heard.stats.skips).toEqual({ 'robots-unreachable': 1 });
  });

  test('a robots.txt that leads to an address that may not be asked is asked for once', async () => {
    await using site = await serve({ '/': 'x', '/robots.txt': moved('http://10.0.0.1/robots.txt') });
    const heard = await crawl(site.url('/'), { network: 'seeds', scope: 'any' });
    expect(heard.pages).toHaveLength(0);
    expect(heard.stats.skips).toEqual({ 'robots-unreachable': 1 });
    expect(site.log.map((entry) => entry.path)).toEqual(['/robots.txt']);
  });

  test('an origin whose robots.txt fails does not hold up the other origins of its host', async () => {
    await using broken = await startSite((_, response) => response.writeHead(500).end());
    await using site = await serve({
      '/': linkPage(['/1', broken.url('/x'), 'http://127.0.0.1:1/', '/2']),
      '/1': '1',
      '/2': '2',
    });
    const heard = await crawl([broken.url('/seed'), site.url('/')], { scope: 'any' });
    expect(heard.urls.map(pathOf).sort()).toEqual(['/', '/1', '/2']);
    expect(heard.stats.skips['robots-unreachable']).toBe(2);
    expect(heard.stats.elapsedMs).toBeLessThan(10_000);
    expect(heard.errors.map(({ error }) => error.code)).toContain('CRAWL_PORT_REFUSED');
  });

  test('a seed that moves to another spelling of its host widens the scope, not what may be connected to', async () => {
    await using site = await startSite((request, response) => {
      if (request.url === '/robots.txt') return void response.writeHead(404).end();
      if (request.headers.host?.startsWith('www.') === true)
        return void html(response, linkPage(['/next'], request.url));
      response.writeHead(301, { location: `http://www.a.example.test:${site.port}/` }).end();
    });
    const options = { dnsLookup: loopbackLookup(), scope: 'host' } as const;
    const open = await crawl(site.url('/', 'a.example.test'), options);
    expect(open.urls.map(pathOf)).toEqual(['/', '/next']);
    const guarded = await crawl(site.url('/', 'a.example.test'), { ...options, network: 'seeds' });
    expect(guarded.pages).toHaveLength(0);
    expect(guarded.errors.map(({ error }) => error.code)).toEqual(['CRAWL_ADDRESS_REFUSED']);
  });

  test.each(['got', 'lean'] as const)(
    'an address that is refused is an error that names its URL, by %s',
    async (transport) => {
      for (const [respectRobots, url] of [
        [true, 'http://127.0.0.1:8080/robots.txt'],
        [false, 'http://127.0.0.1:8080/a'],
      ] as const) {
        const seed = 'http://127.0.0.1:8080/a';
        const heard = await crawl(seed, { network: 'public', transport, respectRobots });
        expect(heard.errors).toMatchObject([{ error: { code: 'CRAWL_ADDRESS_REFUSED', url }, url: seed }]);
        expect(heard.errors[0]?.error.message).toContain(url);
      }
    },
  );
});

describe('redirects within one canonical form', () => {
  test.each([
    ['/wiki/%d8%a7', '/wiki/%D8%A7', {}],
    ['/%7Euser', '/~user', {}],
    ['/a?utm_source=x', '/a', { canonical: { stripTracking: true } }],
    ['/s?b=1&a=2', '/s?a=2&b=1', { canonical: { sortQuery: true } }],
  ])('%s to %s gives the page', async (from, to, options) => {
    await using site = await serve({ [from]: moved(to), [to]: 'here' });
    const heard = await crawl(site.url(from), options);
    expect(heard.pages.map((page) => [page.status, pathOf(page.finalUrl)])).toEqual([[200, to]]);
    expect(site.paths).toEqual([from, to]);
  });
});

describe('a clock that jumps', () => {
  test('by more than a lease lasts, in the middle of a request, makes nobody ask twice', async () => {
    let jumped = 0;
    await using site = await serve({
      '/': linkPage(['/1']),
      '/1': (response) => {
        jumped = 600_000;
        setTimeout(() => html(response, '1'), 60);
      },
    });
    const heard = await crawl(site.url('/'), { clock: { now: () => Date.now() + jumped }, concurrency: 4 });
    expect(heard.urls.map(pathOf)).toEqual(['/', '/1']);
    expect(site.paths).toEqual(['/', '/1']);
  });
});

describe('many seeds', () => {
  test('are taken without deep stacks', async () => {
    const { crawler } = listeningCrawler({ maxPages: 1, dnsLookup: loopbackLookup() });
    const seeds = Array.from({ length: 150_000 }, (_, i) => `http://h${i}.example.test/`);
    crawler.once('request', () => void crawler.stop({ now: true }));
    const stats = await crawler.run(seeds);
    expect(stats.offered).toBe(150_000);
  });

  test('add right after run is judged by a scope that knows the seeds', async () => {
    await using site = await serve({ '/': '0', '/added': '1' });
    const { crawler, heard } = listeningCrawler();
    const running = crawler.run(site.url('/'));
    expect(await crawler.add(site.url('/added'))).toBe(1);
    await running;
    expect(heard.urls.map(pathOf).sort()).toEqual(['/', '/added']);
  });
});

describe('hooks that give nonsense', () => {
  test('cost their page the hook, and the crawl goes on', async () => {
    class Odd extends Crawler {
      override expand() {
        return [
          { url: '/1', source: null, rel: 5 },
          { url: 7 },
          {
            get url(): string {
              throw new Error('no');
            },
          },
        ] as never;
      }
      override prioritize() {
        return 5n as never;
      }
    }
    await using site = await serve({ '/': linkPage(['/2']), '/1': '1' });
    for (const store of [new MemoryStore()]) {
      const crawler = new Odd({ userAgent: USER_AGENT, ...HASTE, network: 'any', store });
      const heard = hear(crawler);
      await crawler.run(site.url('/'));
      expect(heard.urls.map(pathOf)).toEqual(['/']);
      expect(new Set(heard.errors.map(({ error }) => error.code))).toEqual(new Set(['CRAWL_HOOK_FAILED']));
    }
  });

  test('options changed later change nothing', async () => {
    await using site = await serve({ '/': '0' });
    const headers: Record<string, string> = { 'x-mine': 'first' };
    const { crawler } = listeningCrawler({ headers });
    headers['x-mine'] = 'later';
    await crawler.run(site.url('/'));
    expect(site.log.at(-1)?.headers['x-mine']).toBe('first');
  });
});

describe('the URLs of an error', () => {
  test('are the hop that failed, and where its chain began; explain tells where that was found', async () => {
    await using site = await startSite((request, response) => {
      const to = { '/a': '/b', '/b': '/c', '/c': '/a' }[String(request.url)];
      if (to !== undefined) return void response.writeHead(302, { location: to }).end();
      if (request.url === '/lost') return void request.socket.destroy();
      if (request.url === '/') return void html(response, linkPage(['/a', '/lost'], 'home'));
      response.writeHead(404).end();
    });
    const { crawler, heard } = listeningCrawler({ retries: 0 });
    await crawler.run(site.url('/'));
    const found = new Map(heard.errors.map(({ error, url }) => [error.code, { error, url }]));
    expect(found.get('CRAWL_TOO_MANY_REDIRECTS')).toMatchObject({
      url: site.url('/c'),
      error: { url: site.url('/a') },
    });
    expect(found.get('CRAWL_CONNECTION_LOST')).toMatchObject({
      url: site.url('/lost'),
      error: { url: site.url('/lost') },
    });
    for (const path of ['/c', '/lost'])
      expect(await crawler.explain(site.url(path))).toMatchObject({ foundOn: site.url('/') });
  });

  test('of rules that can’t be had are those of robots.txt, and the page is a skip', async () => {
    await using site = await startSite((request) => void request.socket.destroy());
    const heard = await crawl(site.url('/a'), { retries: 0 });
    const robots = site.url('/robots.txt');
    expect(heard.errors).toMatchObject([{ url: robots, error: { url: robots, code: 'CRAWL_CONNECTION_LOST' } }]);
    expect(heard.stats.skips['robots-unreachable']).toBe(1);
  });
});

describe('streamed pages', () => {
  test('count with the whole time they took, for the delay and in the statistics', async () => {
    await using site = await startSite((request, response) => {
      if (request.url === '/robots.txt') return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': 'application/x-thing' });
      response.write('begun');
      setTimeout(() => response.end('done'), 120);
    });
    const { crawler, heard } = listeningCrawler({
      accept: () => 'stream',
      delayFactor: 3,
      maxDelayMs: 10_000,
      minDelayMs: 1,
    });
    crawler.on('page', async (page) => {
      expect(page.fingerprint).toBeUndefined();
      for await (const _ of page.stream ?? []);
      expect(page.bytes).toBe(9);
      expect(page.fingerprint).toBeUndefined();
    });
    const stats = await crawler.run([site.url('/1'), site.url('/2')]);
    expect(heard.pages).toHaveLength(2);
    const [, first, second] = site.log;
    expect(second!.at - first!.endedAt!).toBeGreaterThanOrEqual(3 * 118);
    expect(stats.bytes).toBeGreaterThanOrEqual(18);
  });
});

describe('nofollow', () => {
  test('holds for links that the user’s own code found', async () => {
    class Own extends LinkExtractor {
      override extract(document: Parameters<LinkExtractor['extract']>[0]) {
        return super.extract(document).map((link) => ({ ...link, nofollow: false }));
      }
    }
    class Expanding extends Crawler {
      override expand() {
        return ['/made-up'] as never;
      }
    }
    await using site = await serve({
      '/': `<meta name="robots" content="nofollow">${linkPage(['/1'])}`,
      '/1': '1',
      '/made-up': 'x',
    });
    const own = await crawl(site.url('/'), { extract: new Own() });
    expect(own.stats.skips).toEqual({ nofollow: 1 });
    const crawler = new Expanding({ userAgent: USER_AGENT, ...HASTE, network: 'any' });
    const heard = hear(crawler);
    await crawler.run(site.url('/'));
    expect(heard.urls).toHaveLength(1);
  });
});

describe('An extractor of the user’s own that scans', () => {
  class Scanning extends LinkExtractor {
    scans = 0;
    override scan(document: Parameters<LinkExtractor['scan']>[0]): ReturnType<LinkExtractor['scan']> {
      this.scans++;
      const found = super.scan(document);
      const url = new URL('/made-up', document.url).href;
      const own = [{ url, source: 'own', rel: [], nofollow: false }, 'mailto:x', 7] as typeof found.links;
      return { ...found, title: 'mine', links: [...found.links, ...own], tooLong: 3 };
    }
  }

  test('gives title and links in one pass, and what is no link is told and left out', async () => {
    await using site = await serve({ '/': linkPage(['/1'], 'theirs'), '/1': '1', '/made-up': 'x' });
    const extract = new Scanning();
    const heard = await crawl(site.url('/'), { extract, maxDepth: 1 });
    expect(heard.pages[0]).toMatchObject({ title: 'mine' });
    expect(heard.urls.map(pathOf).sort()).toEqual(['/', '/1', '/made-up']);
    expect(heard.stats.skips).toMatchObject({ 'url-invalid': 3, 'links-per-page': 9 });
    expect(heard.errors.map(({ error }) => error.code)).toEqual(Array(3).fill('CRAWL_HOOK_FAILED'));
    expect(extract.scans).toBe(3);
  });
});

describe('filters and statuses', () => {
  test('a filter is told the text of a link', async () => {
    await using site = await serve({ '/': '<a href="/1">take me</a><a href="/2">leave me</a>', '/1': '1', '/2': '2' });
    const filter = UrlFilter.from((_, { text }) => (text === 'leave me' ? 'said so' : undefined));
    const heard = await crawl(site.url('/'), { filter });
    expect(heard.urls.map(pathOf)).toEqual(['/', '/1']);
    expect(heard.stats.skips).toEqual({ 'said so': 1 });
  });

  test.each([206, 305, 306])('an answer %i, which nobody asked for, is an error', async (status) => {
    await using site = await serve({ '/': (response) => void response.writeHead(status).end('part') });
    const heard = await crawl(site.url('/'));
    expect(heard.pages).toHaveLength(0);
    expect(heard.errors.map(({ error }) => [error.code, error.status])).toEqual([['CRAWL_HTTP_STATUS', status]]);
  });
});

describe('sitemaps', () => {
  test('speak for their own host and for the host whose robots.txt names them, and for no other', async () => {
    const port = { of: 0 };
    await using site = await startSite((request, response) => {
      const host = request.headers.host?.split(':')[0] ?? '';
      const on = (name: string, path: string) => `http://${name}.example.test:${port.of}${path}`;
      if (request.url === '/robots.txt') {
        return void (host === 'a.example.test'
          ? response.end(`Sitemap: ${on('cdn', '/s.txt')}`)
          : response.writeHead(404).end());
      }
      if (request.url !== '/s.txt') return void html(response, request.url ?? '');
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.end([on('a', '/1'), on('cdn', '/2'), on('b', '/3')].join('\n'));
    });
    port.of = site.port;
    const heard = await crawl(site.url('/', 'a.example.test'), {
      scope: 'any',
      sitemaps: 'robots',
      dnsLookup: loopbackLookup(),
    });
    expect(heard.urls.map(pathOf).sort()).toEqual(['/', '/1', '/2']);
    expect(heard.skips).toContainEqual({
      url: site.url('/3', 'b.example.test'),
      reason: 'off-host',
      from: site.url('/s.txt', 'cdn.example.test'),
    });
  });
});

describe('a crawl on disk', () => {
  test('keeps the validators of its pages, for a later visit', async () => {
    const written: string[] = [];
    class Watching extends MemoryStore {
      readonly durable = true;
      override settle(...[lease, settlement, ...rest]: Parameters<MemoryStore['settle']>) {
        for (const [name, value] of settlement.meta ?? []) {
          if (name.startsWith('validators:')) written.push(Buffer.from(value ?? []).toString());
        }
        return super.settle(lease, settlement, ...rest);
      }
    }
    await using site = await serve({
      '/': (response) => void response.writeHead(200, { 'content-type': 'text/html', etag: 'W/"7"' }).end('x'),
    });
    await crawl(site.url('/'), { store: new Watching() });
    expect(written.map((text) => JSON.parse(text))).toEqual([{ etag: 'W/"7"', at: expect.any(Number) }]);
  });
});

describe('pausing', () => {
  const pages = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`/${i}`, linkPage([`/${i + 1}`])]));

  test('holds also before the first request', async () => {
    await using site = await serve(pages);
    const { crawler, heard } = listeningCrawler();
    const running = crawler.run(site.url('/0'));
    await crawler.pause();
    await pause(30);
    expect(site.log).toHaveLength(0);
    expect(heard.events.filter((event) => event !== 'offer')).toEqual(['start', 'pause']);
    crawler.resume();
    await running;
    expect(heard.pages).toHaveLength(9);
    expect(heard.events.filter((event) => event === 'pause' || event === 'resume')).toEqual(['pause', 'resume']);
  });

  test('asked for twice is one pause, and a resume takes it back before it is told', async () => {
    await using site = await serve(pages);
    const { crawler, heard } = listeningCrawler();
    const running = crawler.run(site.url('/0'));
    await new Promise<void>((resolve) => crawler.once('request', () => resolve()));
    const first = crawler.pause();
    const second = crawler.pause();
    crawler.resume();
    await Promise.all([first, second]);
    await running;
    expect(heard.events).not.toContain('pause');
    expect(heard.pages).toHaveLength(9);
  });
});

describe('at the end', () => {
  test('a listener of end may add URLs and run again', async () => {
    await using site = await serve({ '/': '0', '/1': '1' });
    const { crawler, heard } = listeningCrawler();
    let second: Promise<unknown> | undefined;
    crawler.once('end', () => {
      second = crawler.add(site.url('/1')).then(() => crawler.run());
    });
    await crawler.run(site.url('/'));
    await second;
    expect(heard.urls.map(pathOf)).toEqual(['/', '/1']);
  });

  test('the queue’s length is told while the crawl runs', async () => {
    await using site = await serve({ '/': linkPage(['/1', '/2', '/3']), '/1': '1', '/2': '2', '/3': '3' });
    const { crawler } = listeningCrawler({ minDelayMs: 60 });
    const lengths: (number | undefined)[] = [];
    crawler.on('page', () => void lengths.push(crawler.stats()?.queued));
    await crawler.run(site.url('/'));
    expect(Math.max(...lengths.map(Number))).toBeGreaterThan(0);
    expect(crawler.stats()?.queued).toBe(0);
  });
});
