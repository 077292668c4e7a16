import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type Crawler, type CrawlerOptions, type CrawlStore, MemoryStore, type PageVersion } from '../src/index.ts';
import { LmdbStore } from '../src/store/lmdb/index.ts';
import { crawl, linkPage, listeningCrawler, pathOf } from './helpers/crawl.ts';
import { html, serve } from './helpers/pages.ts';
import { type Site, startSite } from './helpers/site.ts';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function openLmdb(): Promise<LmdbStore> {
  const folder = await mkdtemp(join(tmpdir(), 'polite-crawler-revisit-'));
  folders.push(folder);
  return LmdbStore.open(folder);
}

const STORES: readonly (readonly [string, () => Promise<CrawlStore>])[] = [
  ['a MemoryStore', () => MemoryStore.open()],
  ['an LmdbStore', openLmdb],
];
const TRANSPORTS = ['got', 'lean'] as const;

/** A page that knows its version, and what it answered. */
class Versioned {
  body = 'first';
  etag: string | undefined = '"1"';
  lastModified: string | undefined;
  more: Record<string, string> = {};
  readonly statuses: number[] = [];

  answer(request: IncomingMessage, response: ServerResponse): void {
    const { etag, lastModified } = this;
    const headers = {
      'content-type': 'text/html',
      ...(etag === undefined ? {} : { etag }),
      ...(lastModified === undefined ? {} : { 'last-modified': lastModified }),
      ...this.more,
    };
    const asked = request.headers['if-none-match'] ?? request.headers['if-modified-since'];
    const holds =
      asked !== undefined && asked === (request.headers['if-none-match'] === undefined ? lastModified : etag);
    this.statuses.push(holds ? 304 : 200);
    if (holds) response.writeHead(304, headers).end();
    else response.writeHead(200, headers).end(this.body);
  }
}

async function versionedSite(page: Versioned): Promise<Site> {
  return startSite((request, response) => {
    if (request.url === '/') page.answer(request, response);
    else if (request.url === '/robots.txt') response.writeHead(404).end();
    else html(response, `<p>${request.url}`);
  });
}

/** One run, and what it said of versions. */
async function visit(
  site: Site,
  options: Partial<CrawlerOptions>,
  revisit = true,
): Promise<{ pages: string[]; unchanged: { url: string; version: PageVersion }[]; crawler: Crawler }> {
  const { crawler, heard } = listeningCrawler(options);
  const unchanged: { url: string; version: PageVersion }[] = [];
  crawler.on('unchanged', (url, version) => void unchanged.push({ url, version }));
  await crawler.run(site.url('/'), { revisit });
  return { pages: heard.urls.map(pathOf), unchanged, crawler };
}

describe.each(STORES)('on %s', (_, open) => {
  describe.each(TRANSPORTS)('by %s', (transport) => {
    test('a page that has not changed is told as unchanged and not delivered; one that has is', async () => {
      const page = new Versioned();
      page.lastModified = 'Sun, 06 Nov 1994 08:49:37 GMT';
      await using site = await versionedSite(page);
      const store = await open();
      try {
        expect((await visit(site, { store, transport }, false)).pages).toEqual(['/']);
        const second = await visit(site, { store, transport });
        expect(second.pages).toEqual([]);
        expect(second.unchanged).toEqual([
          {
            url: site.url('/'),
            version: { etag: '"1"', lastModified: page.lastModified, fetchedAt: expect.any(Date) },
          },
        ]);
        expect(second.crawler.stats()).toMatchObject({ pages: 1, unchanged: 1, duplicates: 0, queued: 0 });
        expect(site.log.at(-1)?.headers).toMatchObject({
          'if-none-match': '"1"',
          'if-modified-since': page.lastModified,
        });
        expect(await second.crawler.explain(site.url('/'))).toMatchObject({
          state: 'done',
          leases: expect.any(Number),
          fetches: [{ status: 200 }, { status: 304 }],
        });
        page.body = linkPage(['/new']);
        page.etag = '"2"';
        const third = await visit(site, { store, transport });
        expect([third.pages, third.unchanged]).toEqual([['/', '/new'], []]);
        const fourth = await visit(site, { store, transport });
        expect(fourth.unchanged[0]?.version.etag).toBe('"2"');
        expect(page.statuses).toEqual([200, 304, 200, 304]);
      } finally {
        await store.close();
      }
    });
  });

  test('without `revisit` a page is visited once, whatever is known of it', async () => {
    const page = new Versioned();
    await using site = await versionedSite(page);
    const store = await open();
    try {
      await visit(site, { store }, false);
      const again = await visit(site, { store }, false);
      expect([again.pages, again.unchanged]).toEqual([[], []]);
      expect(page.statuses).toEqual([200]);
    } finally {
      await store.close();
    }
  });

  test('a page with no validators is fetched whole', async () => {
    const page = new Versioned();
    page.etag = undefined;
    await using site = await versionedSite(page);
    const store = await open();
    try {
      for (let run = 0; run < 2; run++) expect((await visit(site, { store })).pages).toEqual(['/']);
      expect(site.log.at(-1)?.headers['if-none-match']).toBeUndefined();
    } finally {
      await store.close();
    }
  });

  test('a page that lost its validators is asked for by the old ones no more', async () => {
    const page = new Versioned();
    await using site = await versionedSite(page);
    const store = await open();
    try {
      await visit(site, { store });
      page.etag = undefined;
      await visit(site, { store });
      page.etag = '"1"';
      await visit(site, { store });
      expect(page.statuses).toEqual([200, 200, 200]);
    } finally {
      await store.close();
    }
  });

  test.each([
    ['accept-language', { acceptLanguage: 'en' }, { acceptLanguage: 'de' }, [200, 304, 200]],
    ['Accept-Encoding, X-Kind', { headers: { 'x-kind': 'a' } }, { headers: { 'x-kind': 'b' } }, [200, 304, 200]],
    ['Accept-Encoding', { headers: { 'x-kind': 'a' } }, { headers: { 'x-kind': 'b' } }, [200, 304, 304]],
    ['*', {}, {}, [200, 200, 200]],
    ['Cookie', { cookies: true }, { cookies: true }, [200, 200, 200]],
  ])('Vary: %s decides whether the old version can be asked by', async (vary, first, second, statuses) => {
    const page = new Versioned();
    page.more = { vary };
    await using site = await versionedSite(page);
    const store = await open();
    try {
      await visit(site, { store, ...first });
      await visit(site, { store, ...first });
      await visit(site, { store, ...second });
      expect(page.statuses).toEqual(statuses);
    } finally {
      await store.close();
    }
  });

  test('a server that always says 304 is asked for the whole page every tenth time', async () => {
    const statuses: number[] = [];
    await using site = await startSite((request, response) => {
      if (request.url === '/robots.txt') return void response.writeHead(404).end();
      const status = request.headers['if-none-match'] === undefined ? 200 : 304;
      statuses.push(status);
      response.writeHead(status, { 'content-type': 'text/html', etag: '"x"' }).end();
    });
    const store = await open();
    try {
      for (let run = 0; run < 12; run++) await visit(site, { store });
      expect(statuses).toEqual([200, ...Array(9).fill(304), 200, 304]);
    } finally {
      await store.close();
    }
  });

  test('a seed that is redirected is followed to what it leads to now, and what many lead to is asked for once', async () => {
    const page = new Versioned();
    await using site = await startSite((request, response) => {
      if (request.url === '/target') page.answer(request, response);
      else if (request.url === '/robots.txt') response.writeHead(404).end();
      else response.writeHead(301, { location: '/target' }).end();
    });
    const store = await open();
    try {
      const seeds = ['/a', '/b', '/c'].map((path) => site.url(path));
      await crawl(seeds, { store });
      const { crawler, heard } = listeningCrawler({ store });
      const unchanged: string[] = [];
      crawler.on('unchanged', (url) => void unchanged.push(pathOf(url)));
      await crawler.run(seeds, { revisit: true });
      expect(page.statuses).toEqual([200, 304]);
      expect(unchanged).toEqual(['/a']);
      expect(heard.redirects).toHaveLength(3);
      expect(heard.skips.map(({ reason }) => reason)).toEqual(['seen', 'seen']);
    } finally {
      await store.close();
    }
  });

  test('a page behind a page that sets a cookie is visited again each time', async () => {
    await using site = await serve({
      '/': (response, { headers }) => {
        if (headers.cookie === undefined) response.writeHead(302, { location: '/wall' }).end();
        else html(response, 'let in');
      },
      '/wall': (response) => void response.writeHead(302, { location: '/', 'set-cookie': 'seen=1; Path=/' }).end(),
    });
    const store = await open();
    try {
      for (let run = 0; run < 3; run++)
        expect((await visit(site, { store, cookies: true }, run > 0)).pages).toEqual(['/']);
    } finally {
      await store.close();
    }
  });
});

describe('a 304', () => {
  test('that nobody asked for is asked once more, without conditions, and then an error', async () => {
    await using site = await serve({ '/': (response) => void response.writeHead(304).end() });
    const heard = await crawl(site.url('/'));
    expect(site.paths).toEqual(['/', '/']);
    expect(heard.pages).toHaveLength(0);
    expect(heard.errors.map(({ error }) => [error.code, error.status])).toEqual([['CRAWL_HTTP_STATUS', 304]]);
    expect(site.log.some(({ headers }) => 'if-none-match' in headers)).toBe(false);
  });

  test('that nobody asked for may be followed by the page', async () => {
    let asked = 0;
    await using site = await serve({
      '/': (response) => (asked++ === 0 ? void response.writeHead(304).end() : html(response, 'here')),
    });
    const heard = await crawl(site.url('/'));
    expect(heard.urls.map(pathOf)).toEqual(['/']);
    expect(heard.errors).toEqual([]);
  });

  test('may bring newer validators, which the next visit asks by', async () => {
    const asked: (string | undefined)[] = [];
    await using site = await serve({
      '/': (response, { headers }) => {
        asked.push(headers['if-none-match']);
        const status = headers['if-none-match'] === undefined ? 200 : 304;
        response.writeHead(status, { 'content-type': 'text/html', etag: `"${asked.length}"` }).end();
      },
    });
    const store = new MemoryStore();
    for (let run = 0; run < 3; run++) await visit(site, { store });
    expect(asked).toEqual([undefined, '"1"', '"2"']);
  });
});

describe('a page that was not delivered', () => {
  test('is asked for without conditions when it is fetched again after a crash', async () => {
    const page = new Versioned();
    await using site = await versionedSite(page);
    const store = await openLmdb();
    try {
      const { crawler } = listeningCrawler({ store });
      // The process "dies" with the page in hand: its settlement never comes.
      const settle = store.settle.bind(store);
      let broken = true;
      store.settle = (...args) => (broken && args[1].delivered ? Promise.reject(new Error('dead')) : settle(...args));
      await expect(crawler.run(site.url('/'))).rejects.toThrow('dead');
      broken = false;
      expect((await visit(site, { store })).pages).toEqual(['/']);
      expect(page.statuses).toEqual([200, 200]);
      expect(site.log.at(-1)?.headers['if-none-match']).toBeUndefined();
    } finally {
      await store.close();
    }
  });

  test('is not skipped for good where its reader was gone', async () => {
    const page = new Versioned();
    await using site = await versionedSite(page);
    const store = new MemoryStore();
    const { crawler } = listeningCrawler({ store });
    crawler.on('request', () => void crawler.stop({ now: true }));
    await crawler.run(site.url('/'));
    expect((await visit(site, { store })).pages).toEqual(['/']);
    expect(site.log.at(-1)?.headers['if-none-match']).toBeUndefined();
  });
});

describe('add() and pages()', () => {
  test('take `revisit`, and tell how many URLs are queued again', async () => {
    const page = new Versioned();
    await using site = await versionedSite(page);
    const { crawler } = listeningCrawler();
    const unchanged: string[] = [];
    crawler.on('unchanged', (url) => void unchanged.push(pathOf(url)));
    await crawler.add(site.url('/'), { revisit: true });
    await crawler.run();
    const added: number[] = [];
    crawler.once('start', async () => {
      added.push(await crawler.add([site.url('/'), site.url('/')], { revisit: true }));
      added.push(await crawler.add(site.url('/')));
    });
    await crawler.run();
    expect(added).toEqual([1, 0]);
    for await (const { url } of crawler.pages(site.url('/'), { revisit: true })) throw new Error(url);
    expect(unchanged).toEqual(['/', '/']);
    expect(page.statuses).toEqual([200, 304, 304]);
  });

  test('refuse another value of it', async () => {
    const { crawler } = listeningCrawler();
    const invalid = { code: 'CRAWL_OPTION_INVALID' };
    await expect(crawler.run([], { revisit: 'yes' as never })).rejects.toMatchObject(invalid);
    await expect(crawler.add([], { revisit: 1 as never })).rejects.toMatchObject(invalid);
    await expect(crawler.add([], { revisited: true } as never)).rejects.toMatchObject({ code: 'CRAWL_OPTION_UNKNOWN' });
  });
});
