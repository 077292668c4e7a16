import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { acceptPages, Crawler, type CrawlerOptions, FileSink, type Page, type Sink } from '../src/index.ts';
import { HASTE, hear, linkPage, listeningCrawler, pathOf, USER_AGENT } from './helpers/crawl.ts';
import { type Answer, serve } from './helpers/pages.ts';

const LARGE = Buffer.alloc(3_000_000);

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'streamed-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const streaming: Partial<CrawlerOptions> = {
  accept: (head) => (head.contentType.startsWith('image/') ? 'stream' : acceptPages(head)),
  maxBodyBytes: { other: 10_000_000 },
};

const image =
  (body: Buffer) =>
  (response: ServerResponse): void =>
    void response.writeHead(200, { 'content-type': 'image/png' }).end(body);

/** Sends ten bytes of a hundred, and is gone. */
function cut(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'image/png', 'content-length': 100 });
  response.write(Buffer.alloc(10), () => response.destroy());
}

const read = async ({ stream }: Page): Promise<void> => {
  for await (const _ of stream ?? []);
};

/** Resolves once the stream is closed, without having asked for any of it. */
const closed = async ({ stream }: Page): Promise<void> => {
  const body = stream as Readable | undefined;
  // `once` would reject with the error.
  if (body !== undefined && !body.closed) await new Promise<void>((resolve) => void body.on('close', resolve));
};

class Visiting extends Crawler {
  readonly #work: (page: Page) => Promise<void>;

  constructor(options: Partial<CrawlerOptions>, work: (page: Page) => Promise<void>) {
    super({ userAgent: USER_AGENT, ...HASTE, network: 'any', ...streaming, ...options });
    this.#work = work;
  }

  override visit(page: Page): Promise<void> {
    return this.#work(page);
  }
}

const sinkOf = (write: Sink['write']): Sink => ({ write, close: () => Promise.resolve() });

type Place = 'a sink' | 'a listener' | 'visit';

/** A crawler whose pages are given to a reader there. */
function readingCrawler(
  place: Place,
  work: (page: Page) => Promise<void>,
  options: Partial<CrawlerOptions> = {},
  later: readonly Sink[] = [],
) {
  const sinks = place === 'a sink' ? [sinkOf(work), ...later] : later;
  const crawler =
    place === 'visit'
      ? new Visiting({ ...options, sinks }, work)
      : listeningCrawler({ ...streaming, ...options, sinks }).crawler;
  if (place === 'a listener') crawler.on('page', work);
  return { crawler, heard: hear(crawler) };
}

const codes = {
  'a sink': 'CRAWL_SINK_FAILED',
  'a listener': 'CRAWL_LISTENER_FAILED',
  visit: 'CRAWL_HOOK_FAILED',
} as const;
const PLACES = Object.keys(codes) as Place[];

describe('A streamed page that its reader refuses', () => {
  test.each(PLACES)('is delivered, counted and told once, of whatever size, by %s', async (place) => {
    for (const body of [LARGE, Buffer.alloc(5000)]) {
      const paths = Array.from({ length: 12 }, (_, i) => `/${i}.png`);
      const images = Object.fromEntries(paths.map((path) => [path, image(body)]));
      await using site = await serve({ '/': linkPage(paths), ...images });
      const files = new FileSink({ directory, maxBytes: 1000 });
      const { crawler, heard } = readingCrawler(place, (page) => files.write(page), { maxPages: 3, retries: 2 });
      const stats = await crawler.run(site.url('/'));
      expect(heard.urls).toHaveLength(3);
      expect(stats.pages).toBe(3);
      expect(heard.errors.map(({ error }) => error.code)).toEqual([codes[place], codes[place]]);
      expect(heard.errors[0]?.error.cause).toMatchObject({ code: 'CRAWL_BODY_TOO_LARGE' });
      expect(heard.retries).toEqual([]);
      expect(stats.errors).toBe(2);
      expect(await crawler.explain(heard.urls[1] ?? '')).toMatchObject({ state: 'done', fetches: [{ status: 200 }] });
    }
  });

  test('holds its place among maxPages with many hosts in flight', async () => {
    const paths = Array.from({ length: 4 }, (_, i) => `/${i}.png`);
    const images = Object.fromEntries(paths.map((path) => [path, image(LARGE)]));
    await using site = await serve(images, '0.0.0.0');
    const files = new FileSink({ directory, maxBytes: 1000 });
    const { crawler, heard } = readingCrawler('a sink', (page) => files.write(page), {
      maxPages: 5,
      concurrency: 20,
    });
    const hosts = Array.from({ length: 6 }, (_, i) => `127.0.0.${i + 1}`);
    const { port } = new URL(site.url('/'));
    const stats = await crawler.run(hosts.flatMap((host) => paths.map((path) => `http://${host}:${port}${path}`)));
    expect(heard.urls).toHaveLength(5);
    expect(stats.pages).toBe(5);
  });

  test.each(PLACES)('is not fetched again where the body breaks after %s has failed', async (place) => {
    await using site = await serve({ '/a.png': cut });
    const work = async ({ stream }: Page): Promise<void> => {
      stream?.once('data', () => stream.pause());
      throw new Error('mine');
    };
    const { crawler, heard } = readingCrawler(place, work, { retries: 2 }, [sinkOf(closed)]);
    const stats = await crawler.run(site.url('/a.png'));
    expect(heard.errors.map(({ error }) => error.code)).toEqual([codes[place]]);
    expect(heard.retries).toEqual([]);
    expect(heard.urls).toHaveLength(1);
    expect(stats.pages).toBe(1);
  });
});

describe('A streamed page whose body breaks while it is read', () => {
  test.each(PLACES)('comes again, counts once, and is told as one error, by %s', async (place) => {
    await using site = await serve({ '/': linkPage(['/a.png']), '/a.png': cut });
    const { crawler, heard } = readingCrawler(place, read, { retries: 1 });
    const stats = await crawler.run(site.url('/'));
    expect(heard.urls.map(pathOf)).toEqual(['/', '/a.png', '/a.png']);
    expect(stats.pages).toBe(2);
    expect(heard.retries.map(({ error }) => error.code)).toEqual(['CRAWL_BODY_TRUNCATED']);
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_BODY_TRUNCATED']);
    expect(stats.errors).toBe(1);
    const fetched = { status: 200, error: 'CRAWL_BODY_TRUNCATED', ms: expect.any(Number) };
    expect(await crawler.explain(site.url('/a.png'))).toMatchObject({ state: 'failed', fetches: [fetched, fetched] });
  });

  test('comes whole the second time, also where the host has given all the pages that it may', async () => {
    let asked = 0;
    const answer: Answer = (response) => (++asked === 1 ? cut(response) : image(Buffer.alloc(100))(response));
    await using site = await serve({ '/a.png': answer });
    const files = new FileSink({ directory, layout: 'flat', index: false });
    const { crawler, heard } = readingCrawler('a sink', (page) => files.write(page), { maxPagesPerHost: 1 });
    const stats = await crawler.run(site.url('/a.png'));
    expect(heard.urls).toHaveLength(2);
    expect(heard.errors).toEqual([]);
    expect(heard.skips).toEqual([]);
    expect(stats).toMatchObject({ pages: 1, retries: 1, errors: 0 });
    const [file = ''] = readdirSync(directory);
    expect(readFileSync(join(directory, file))).toHaveLength(100);
    expect(await crawler.explain(site.url('/a.png'))).toMatchObject({ state: 'done' });
  });

  test('is given up at once where it was the last page that may be fetched', async () => {
    await using site = await serve({ '/a.png': cut });
    const { crawler, heard } = readingCrawler('a sink', read, { maxPages: 1, retries: 3 });
    const stats = await crawler.run(site.url('/a.png'));
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_BODY_TRUNCATED']);
    expect(stats).toMatchObject({ pages: 1, retries: 0, queued: 0 });
  });

  test('had broken before its reader began', async () => {
    await using site = await serve({ '/a.png': cut });
    const files = new FileSink({ directory });
    const { crawler, heard } = readingCrawler('a sink', (page) => files.write(page), { retries: 0 });
    crawler.on('page', closed);
    await crawler.run(site.url('/a.png'));
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_BODY_TRUNCATED']);
  });

  test('is told besides where its reader has something else to say of it', async () => {
    await using site = await serve({ '/a.png': cut });
    const work = async (page: Page): Promise<void> => {
      await read(page).catch(() => {});
      throw new Error('half of it is nothing');
    };
    const { crawler, heard } = readingCrawler('a listener', work, { retries: 0 });
    await crawler.run(site.url('/a.png'));
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_LISTENER_FAILED', 'CRAWL_BODY_TRUNCATED']);
  });

  test('counts once where the crawl was stopped in the middle of it', async () => {
    const held: ServerResponse[] = [];
    const answer: Answer = (response) => {
      if (held.push(response) > 1) return image(Buffer.alloc(100))(response);
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 100 });
      response.write(Buffer.alloc(10));
    };
    await using site = await serve({ '/a.png': answer });
    const work = async (page: Page): Promise<void> => {
      const stream = page.stream as Readable;
      if (held.length === 1) {
        await once(stream, 'data');
        void crawler.stop({ now: true });
      }
      await read(page);
    };
    // Also where nothing but this page may be fetched.
    const { crawler, heard } = readingCrawler('a sink', work, { maxPages: 1 });
    await crawler.run(site.url('/a.png'));
    expect(heard.errors).toEqual([]);
    const stats = await crawler.run();
    expect(heard.urls).toHaveLength(2);
    expect(stats).toMatchObject({ pages: 1, errors: 0, queued: 0 });
  });

  test('is told before the end where others use up the limit while it waits to come again', async () => {
    await using site = await serve({ '/a.png': cut, '/b': linkPage([]), '/c': linkPage([]) });
    const { crawler, heard } = readingCrawler('a sink', read, { maxPages: 2, retries: 3 });
    const stats = await crawler.run(['/a.png', '/b', '/c'].map((path) => site.url(path)));
    expect(heard.urls.map(pathOf)).toEqual(['/a.png', '/b']);
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_BODY_TRUNCATED']);
    expect(stats).toMatchObject({ pages: 2, retries: 1, queued: 2 });
  });

  test('before a byte of it came is noticed where its reader only lets it flow', async () => {
    let asked = 0;
    const answer: Answer = (response) => {
      if (++asked > 1) return image(Buffer.alloc(100))(response);
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 100 });
      response.flushHeaders();
      held = response;
    };
    let held: ServerResponse | undefined;
    await using site = await serve({ '/a.png': answer });
    const { crawler, heard } = listeningCrawler({ ...streaming, retries: 1 });
    for await (const { stream } of crawler.pages(site.url('/a.png'))) {
      (stream as Readable).resume();
      held?.destroy();
      held = undefined;
      await finished(stream as Readable).catch(() => {});
    }
    expect(heard.retries.map(({ error }) => error.code)).toEqual(['CRAWL_BODY_TRUNCATED']);
    expect(asked).toBe(2);
  });

  test('since its reader was too slow is one error', async () => {
    const answer: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 100 });
      response.write(Buffer.alloc(10));
    };
    await using site = await serve({ '/a.png': answer });
    const { crawler, heard } = readingCrawler('a listener', read, { handlerTimeoutMs: 100, retries: 0 });
    const late: string[] = [];
    await crawler.run(site.url('/a.png'));
    crawler.on('error', ({ code }) => late.push(code));
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_HANDLER_TIMEOUT']);
    expect(late).toEqual([]);
  });
});

test('A stream that nobody reads is closed with its delivery, and nobody learns what would have become of it', async () => {
  await using site = await serve({ '/a.png': cut });
  const { crawler, heard } = listeningCrawler({ ...streaming, retries: 2 });
  // It breaks while the page is being delivered.
  crawler.on('page', closed);
  const stats = await crawler.run(site.url('/a.png'));
  expect(heard.errors).toEqual([]);
  expect(heard.urls).toHaveLength(1);
  expect(stats).toMatchObject({ pages: 1, retries: 0 });
});
