// What a crawl opens it closes, whatever happened in between.
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, test, vi } from 'vitest';
import { linkPage, listeningCrawler } from './helpers/crawl.ts';
import { type Answer, html, moved, serve } from './helpers/pages.ts';

const PAGES = 300;

/** What goes wrong on the web, in turn. */
const accidents: Answer[] = [
  (response) => void response.writeHead(404, { 'content-type': 'text/html' }).end('gone'),
  (response) => void response.writeHead(500).end(),
  (response) => void response.socket?.resetAndDestroy(),
  (response) => void response.destroy(),
  (response) =>
    void response
      .writeHead(200, { 'content-type': 'text/html', 'content-length': '999' })
      .write('half', () => response.destroy()),
  (response) =>
    void response
      .writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' })
      .end(gzipSync('x'.repeat(9000)).subarray(0, 30)),
  (response) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<p>never ends'),
  () => {},
  (response) => void response.writeHead(200, { 'content-type': 'video/mp4' }).write(Buffer.alloc(100_000)),
  moved('/page/1'),
  moved('http://elsewhere.example.test/'),
  moved('/loop'),
  (response) => void response.socket?.end('nonsense\r\n\r\n'),
  (response) => void response.writeHead(503, { 'retry-after': '0' }).end(),
  (response) => html(response, 'x'.repeat(50_000)),
];

async function startRoughSite() {
  const pages: Record<string, Answer> = { '/loop': moved('/loop2'), '/loop2': moved('/loop') };
  for (let i = 0; i < PAGES; i++) {
    const accident = accidents[(i >> 1) % accidents.length]!;
    const links = [2 * i + 1, 2 * i + 2, i + 7].filter((n) => n < PAGES).map((n) => `/page/${n}`);
    // Every other page is sound, and leads on to all others.
    pages[`/page/${i}`] =
      i % 2 === 0 ? linkPage([...links, `/page/${i + 1}`], createHash('sha1').update(`${i}`).digest('hex')) : accident;
  }
  pages['/'] = linkPage(Array.from({ length: PAGES }, (_, i) => `/page/${i}`));
  return serve(pages);
}

const options = {
  connectionsPerHost: 16,
  concurrency: 16,
  retries: 0,
  backoffMs: 1,
  timeouts: { headers: 1000, page: 1500 },
  maxBodyBytes: 20_000,
} as const;

const resources = (): string[] => process.getActiveResourcesInfo().toSorted();

// What is loaded with the first request is neither a leak nor a matter of its time limits.
beforeAll(async () => {
  {
    await using site = await serve({ '/': 'home' });
    await listeningCrawler().crawler.run(site.url('/'));
  }
  await vi.waitUntil(() => resources().every((name) => !name.startsWith('TCP')));
});

test('hundreds of pages with errors mixed in leave no socket, timer or listener behind', async () => {
  const before = resources();
  const listeners = process.eventNames().map((name) => [name, process.listenerCount(name as string)]);
  {
    await using site = await startRoughSite();
    const { crawler, heard } = listeningCrawler(options);
    const stats = await crawler.run(site.url('/'));
    expect(stats.pages).toBeGreaterThanOrEqual(PAGES / 3);
    expect(Object.keys(stats.errorCodes).length).toBeGreaterThanOrEqual(6);
    expect(stats).toMatchObject({ queued: 0, inFlight: 0 });
    expect(heard.ends).toHaveLength(1);
    await expect.poll(() => site.openSockets).toBe(0);
  }
  await expect.poll(resources).toEqual(before);
  expect(process.eventNames().map((name) => [name, process.listenerCount(name as string)])).toEqual(listeners);
});

test.each([
  ['stopped', { now: false }],
  ['stopped at once', { now: true }],
])('a crawl that is %s in the middle leaves nothing behind', async (_name, how) => {
  const before = resources();
  {
    await using site = await startRoughSite();
    const { crawler, heard } = listeningCrawler(options);
    crawler.on('page', () => {
      if (heard.pages.length === 20) void crawler.stop(how);
    });
    await crawler.run(site.url('/'));
    await expect.poll(() => site.openSockets).toBe(0);
  }
  await expect.poll(resources).toEqual(before);
});

test('a loop over pages() that is left, and a signal that is aborted, leave nothing behind', async () => {
  const before = resources();
  {
    await using site = await startRoughSite();
    let read = 0;
    for await (const _page of listeningCrawler(options).crawler.pages(site.url('/'))) if (++read === 10) break;
    const controller = new AbortController();
    for await (const _page of listeningCrawler(options).crawler.pages(site.url('/'), { signal: controller.signal })) {
      if (++read === 20) controller.abort();
    }
    expect(read).toBe(20);
    await expect.poll(() => site.openSockets).toBe(0);
  }
  await expect.poll(resources).toEqual(before);
});

test('streams that nobody reads, or not to their end, leave nothing behind', async () => {
  const before = resources();
  {
    const large: Answer = (response) =>
      void response.writeHead(200, { 'content-type': 'text/plain' }).end(Buffer.alloc(3_000_000));
    await using site = await serve({ '/': linkPage(['/1', '/2', '/3']), '/1': large, '/2': large, '/3': large });
    const { crawler, heard } = listeningCrawler({
      accept: (head) => (head.contentType === 'text/html' ? 'buffer' : 'stream'),
      maxBodyBytes: { other: 10_000_000 },
    });
    const lengths: number[] = [];
    crawler.on('page', async (page) => {
      if (page.stream === undefined || page.url.endsWith('/1')) return;
      let length = 0;
      for await (const chunk of page.stream) {
        length += (chunk as Buffer).length;
        if (page.url.endsWith('/2')) break;
      }
      lengths.push(length);
    });
    await crawler.run(site.url('/'));
    expect(heard.pages).toHaveLength(4);
    expect(lengths[0]).toBeLessThan(3_000_000);
    expect(lengths[1]).toBe(3_000_000);
    expect(heard.errors).toEqual([]);
    await expect.poll(() => site.openSockets).toBe(0);
  }
  await expect.poll(resources).toEqual(before);
});
