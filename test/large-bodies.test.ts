// However many servers send large bodies at once, few are kept at a time.
import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { LargeBodies } from '../src/visit/large-bodies.ts';
import { crawl } from './helpers/crawl.ts';
import { fetcherOver, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { gate, NAMES } from './helpers/pages.ts';
import { startSite } from './helpers/site.ts';

const MIB = 2 ** 20;

describe('LargeBodies', () => {
  /** Passes that have asked, and which of them have begun. */
  function asking(bodies: LargeBodies, count: number) {
    const begun: number[] = [];
    const passes = Array.from({ length: count }, (_, n) => {
      const pass = bodies.pass();
      void pass.wait().then(() => begun.push(n));
      return pass;
    });
    return { begun, passes };
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve));

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

  test('forgets who is done before its turn came, and who never asked', async () => {
    const bodies = new LargeBodies(1, 10_000);
    const { begun, passes } = asking(bodies, 3);
    bodies.pass().done();
    passes[1]!.done();
    passes[0]!.done();
    await settled();
    expect(begun).toEqual([0, 2]);
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
    const waiting = fetcher.fetch({ url, beforeLargeBody: () => new Promise(() => {}) });
    expect(await rejection(waiting)).toMatchObject({ code: 'CRAWL_PAGE_TIMEOUT' });
    await expect.poll(() => site.openSockets).toBe(0);
  });
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
