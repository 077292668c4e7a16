// However many servers send large bodies at once, few are kept at a time.
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Deadlines } from '../src/fetcher/deadline.ts';
import type { Transport } from '../src/index.ts';
import { systemClock } from '../src/ports.ts';
import { LargeBodies } from '../src/visit/large-bodies.ts';
import { crawl, listeningCrawler } from './helpers/crawl.ts';
import { fetcherOver, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { gate, NAMES } from './helpers/pages.ts';
import { startSite } from './helpers/site.ts';

const MIB = 2 ** 20;

/** Passes that have asked, and which of them have begun. */
function asking(bodies: LargeBodies, count: number) {
  const begun: number[] = [];
  const passes = Array.from({ length: count }, (_, n) => {
    const pass = bodies.pass(systemClock);
    void pass.wait().then(() => begun.push(n));
    return pass;
  });
  return { begun, passes };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('LargeBodies', () => {
  test('lets so many begin as may be, and the next when one is done, in order', async () => {
    const { begun, passes } = asking(new LargeBodies(2, 10_000), 4);
    await settled();
    expect(begun).toEqual([0, 1]);
    passes[1]!.done();
    await settled();
    expect(begun).toEqual([0, 1, 2]);
    passes[0]!.done();
    passes[0]!.done();
    await settled();
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  test('lets the next begin where one takes too long, and counts that one once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { begun, passes } = asking(new LargeBodies(1, 5000), 3);
    vi.advanceTimersByTime(4999);
    await settled();
    expect(begun).toEqual([0]);
    vi.advanceTimersByTime(1);
    await settled();
    expect(begun).toEqual([0, 1]);
    passes[0]!.done();
    await settled();
    expect(begun).toEqual([0, 1]);
    passes[1]!.done();
    await settled();
    expect(begun).toEqual([0, 1, 2]);
  });

  test('tells how long each waited, by the clock of the crawl', async () => {
    let now = 1000;
    const clock = { now: () => now };
    const bodies = new LargeBodies(1, 10_000);
    const [first, second, third] = [bodies.pass(clock), bodies.pass(clock), bodies.pass(clock)];
    await first.wait();
    void second.wait();
    now += 700;
    void third.wait();
    first.done();
    // A clock may be set back.
    now -= 100;
    second.done();
    expect([first, second, third].map(({ waitedMs }) => waitedMs)).toEqual([0, 700, 0]);
    third.done();
  });

  test('forgets who is done before its turn came, and who never asked', async () => {
    const bodies = new LargeBodies(1, 10_000);
    const { begun, passes } = asking(bodies, 3);
    bodies.pass(systemClock).done();
    passes[1]!.done();
    passes[0]!.done();
    await settled();
    expect(begun).toEqual([0, 2]);
  });
});

describe('LargeBodies of a crawl', () => {
  test.each([
    ['sitemaps', LargeBodies.ofSitemaps(), 2, 10_000],
    ['pages', LargeBodies.ofPages(), 8, 3000],
  ])('are of %s so many at a time, and as many more after a while', async (_, bodies, atOnce, turnMs) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { begun, passes } = asking(bodies, 3 * atOnce);
    vi.advanceTimersByTime(turnMs - 1);
    await settled();
    expect(begun).toHaveLength(atOnce);
    vi.advanceTimersByTime(1);
    await settled();
    expect(begun).toHaveLength(2 * atOnce);
    for (const pass of passes) pass.done();
  });
});

describe.each(TRANSPORTS)('beforeLargeBody over %s', (transport) => {
  const newFetcher = fetcherOver(transport);
  const serve = (bytes: number) => startSite((_, response) => void response.end(Buffer.alloc(bytes, 'x')));

  test('is waited for past 2 MiB, and not before', async () => {
    const { opened, open } = gate();
    await using site = await serve(4 * MIB);
    await using small = await serve(2 * MIB);
    await using fetcher = newFetcher({ maxBodyBytes: 8 * MIB });
    const asked: string[] = [];
    const load = async (url: string) => {
      const beforeLargeBody = () => {
        asked.push(url);
        return opened;
      };
      return (await fetcher.fetch({ url, beforeLargeBody })).body.length;
    };
    expect(await load(small.url('/'))).toBe(2 * MIB);
    expect(asked).toEqual([]);
    const loading = load(site.url('/'));
    await expect.poll(() => asked).toEqual([site.url('/')]);
    open();
    expect(await loading).toBe(4 * MIB);
    expect(asked).toHaveLength(1);
  });

  test('ends the fetch where it rejects, and where it never resolves with its time', async () => {
    await using site = await serve(4 * MIB);
    await using fetcher = newFetcher({ maxBodyBytes: 8 * MIB, timeouts: { page: 500 } });
    const url = site.url('/');
    const failing = fetcher.fetch({ url, beforeLargeBody: () => Promise.reject(new Error('no')) });
    expect(await rejection(failing)).toMatchObject({ code: 'CRAWL_HOOK_FAILED', retryable: false });
    const startedAt = performance.now();
    const waiting = fetcher.fetch({ url, beforeLargeBody: () => new Promise(() => {}) });
    expect(await rejection(waiting)).toMatchObject({ code: 'CRAWL_PAGE_TIMEOUT' });
    // Its own time, and as much again that stands still.
    expect(performance.now() - startedAt).toBeGreaterThan(990);
    await expect.poll(() => site.openSockets).toBe(0);
  });
});

describe('the time of a page', () => {
  const setUp = () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const deadline = new Deadlines().start('http://a.test/', { pageMs: 1000, firstPhaseMs: 1000 }, undefined);
    const { opened, open } = gate();
    return { deadline, opened, open };
  };

  test('stands still while it waits for its turn', async () => {
    const { deadline, opened, open } = setUp();
    vi.advanceTimersByTime(600);
    const waiting = deadline.setAside(opened);
    vi.advanceTimersByTime(900);
    open();
    await waiting;
    vi.advanceTimersByTime(398);
    expect(deadline.reason).toBeUndefined();
    vi.advanceTimersByTime(3);
    expect(deadline.reason?.code).toBe('CRAWL_PAGE_TIMEOUT');
  });

  test('goes on where the wait is longer than all of it', () => {
    const { deadline, opened } = setUp();
    void deadline.setAside(opened);
    vi.advanceTimersByTime(1998);
    expect(deadline.reason).toBeUndefined();
    vi.advanceTimersByTime(3);
    expect(deadline.reason?.code).toBe('CRAWL_PAGE_TIMEOUT');
  });

  test('sets no timer any more where the fetch was over first', async () => {
    const { deadline, opened, open } = setUp();
    const waiting = deadline.setAside(opened);
    vi.advanceTimersByTime(900);
    deadline.end();
    vi.runAllTimers();
    open();
    await waiting;
    expect(vi.getTimerCount()).toBe(0);
  });
});

/** Answers each page with bodies of which the end waits for the test, and counts those that are read beyond 2 MiB. */
function heldPages(body: () => AsyncIterable<Buffer>): Transport {
  return {
    request: async () => ({
      status: 200,
      headers: { 'content-type': 'text/html' },
      body: Readable.from(body(), { objectMode: false }),
      timings: {},
      remoteAddress: '127.0.0.1',
    }),
    close: async () => {},
  };
}

test('of the large pages of many hosts eight are read at a time, and the wait is no time of theirs', async () => {
  const HOSTS = 20;
  const ends: (() => void)[] = [];
  let asked = 0;
  async function* body() {
    asked++;
    yield Buffer.alloc(2 * MIB + 1, 'x');
    // What is read ahead.
    yield Buffer.alloc(MIB, 'y');
    const { opened, open } = gate();
    ends.push(open);
    await opened;
    yield Buffer.from('z');
  }
  let now = Date.now();
  const { crawler, heard } = listeningCrawler({
    transport: heldPages(body),
    clock: { now: () => now },
    maxBodyBytes: 8 * MIB,
    concurrency: HOSTS,
    respectRobots: false,
    ...NAMES,
  });
  const running = crawler.run(Array.from({ length: HOSTS }, (_, n) => `http://h${n}.example.test/`));
  await expect.poll(() => [asked, ends.length], { interval: 1 }).toEqual([HOSTS, 8]);
  for (let turn = 0; turn < 20; turn++) await settled();
  expect(ends).toHaveLength(8);
  now += 60_000;
  for (let n = 0; n < HOSTS; n++) {
    await expect.poll(() => ends.length, { interval: 1 }).toBeGreaterThan(n);
    ends[n]!();
  }
  const { latencyMs, pages } = await running;
  expect(heard.errors).toEqual([]);
  expect(pages).toBe(HOSTS);
  // A minute of those that were read meanwhile; the 12 that waited for it took none.
  expect(latencyMs.p50).toBeLessThan(1000);
  expect(latencyMs.p99).toBeGreaterThan(50_000);
});

test('of the large sitemaps of many hosts two are read at a time', async () => {
  const HOSTS = 8;
  // Well past what a connection holds on its way, with 2 MiB that are kept before it is asked.
  const FAR = 16 * MIB;
  const entry = '<url><loc>http://elsewhere.example.test/</loc></url>\n';
  const piece = Buffer.from(entry.repeat(Math.ceil(MIB / entry.length)));
  let far = 0;
  let most = 0;
  const send = async (response: ServerResponse) => {
    response.setMaxListeners(0);
    response.writeHead(200, { 'content-type': 'application/xml' }).write('<urlset>');
    let isFar = false;
    for (let sent = 0; sent < 2 * FAR && !response.destroyed; sent += piece.length) {
      if (!response.write(piece))
        await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
      if (isFar || sent <= FAR) continue;
      isFar = true;
      most = Math.max(most, ++far);
    }
    if (isFar) far--;
    response.end('</urlset>');
  };
  await using site = await startSite((request, response) => {
    const { host = '' } = request.headers;
    if (request.url === '/robots.txt') response.end(`Sitemap: http://${host}/map.xml\n`);
    else if (request.url === '/map.xml') void send(response);
    else response.writeHead(200, { 'content-type': 'text/html' }).end(host);
  });
  const seeds = Array.from({ length: HOSTS }, (_, n) => site.url('/', `h${n}.example.test`));
  const { stats } = await crawl(seeds, { ...NAMES, sitemaps: 'robots', transport: 'lean' });
  expect(stats.pages).toBe(HOSTS);
  expect(stats.errorCodes).toEqual({});
  expect(site.paths.filter((path) => path === '/map.xml')).toHaveLength(HOSTS);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(2);
});
