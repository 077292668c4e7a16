import { describe, expect, test } from 'vitest';
import { CrashingCrawl, type Kill, type Line, startCrashWeb } from './helpers/crash.ts';
import type { Seen } from './helpers/site.ts';

const DELAY_MS = 40;
const CONCURRENCY = 8;
/** Two clocks take part, the crawler's and the server's, and both count whole or nearly whole milliseconds. */
const TOLERANCE_MS = 3;
const OPTIONS = {
  minDelayMs: DELAY_MS,
  delayFactor: 0,
  maxDelayMs: DELAY_MS,
  ipDelayMs: 0,
  concurrency: CONCURRENCY,
  statsEveryMs: 100,
} as const;
/** Kills of each random walk; `CRASH_KILLS` for more. */
const KILLS = Number(process.env.CRASH_KILLS ?? 12);

const LABELS = [
  ...['offer', 'lease', 'settle', 'setMeta', 'getMeta', 'nextDueAt', 'stats', 'flush'].flatMap((verb) => [
    `before ${verb}`,
    `after ${verb}`,
  ]),
  ...['after open', 'start', 'offer', 'skip', 'request', 'redirect', 'before page', 'after page', 'page handled'],
  ...['stats', 'checkpoint', 'end', 'before close'],
];

const delivered = (lines: readonly Line[]) => lines.flatMap((line) => (line.kind === 'page' ? [line.url ?? ''] : []));
const hostOf = (url: string) => new URL(url).hostname;

/** First deliveries, host by host. */
function orderByHost(urls: readonly string[]): Map<string, string[]> {
  const order = new Map<string, string[]>();
  for (const url of new Set(urls)) order.set(hostOf(url), [...(order.get(hostOf(url)) ?? []), url]);
  return order;
}

function smallestGap(log: readonly Seen[]): number {
  let smallest = Number.POSITIVE_INFINITY;
  const ended = new Map<string, number>();
  for (const { host, at, endedAt = at } of log) {
    smallest = Math.min(smallest, at - (ended.get(host) ?? Number.NEGATIVE_INFINITY));
    ended.set(host, endedAt);
  }
  return smallest;
}

async function crawlWithKills(kills: Iterable<Kill>) {
  await using web = await startCrashWeb(4, 10);
  await using whole = await CrashingCrawl.create(web.seeds, OPTIONS);
  expect(await whole.run()).toBe(true);
  const unbroken = await whole.lines();
  web.site.log.length = 0;

  await using broken = await CrashingCrawl.create(web.seeds, OPTIONS);
  let killed = 0;
  for (const kill of kills) {
    if (await broken.run(kill)) break;
    killed++;
  }
  while (!(await broken.run()));
  return { web, unbroken, lines: await broken.lines(), killed, log: [...web.site.log] };
}

function expectNothingLost({ web, unbroken, lines, killed, log }: Awaited<ReturnType<typeof crawlWithKills>>): void {
  const urls = delivered(lines);
  const expected = delivered(unbroken);
  expect([...new Set(urls)].sort(), 'no URL is lost, none invented').toEqual([...new Set(expected)].sort());
  expect(new Set(expected).size).toBeGreaterThanOrEqual(web.pages.length);
  expect(urls.length - new Set(urls).size, 'only what was in flight comes twice').toBeLessThanOrEqual(
    killed * CONCURRENCY,
  );
  expect(smallestGap(log), 'no host is asked too early').toBeGreaterThanOrEqual(DELAY_MS - TOLERANCE_MS);
  for (const [host, order] of orderByHost(expected)) expect(orderByHost(urls).get(host), host).toEqual(order);
  expect(lines.filter((line) => line.kind === 'error')).toEqual([]);
  const stats = lines.findLast((line) => line.kind === 'done')?.stats;
  expect(stats?.queued).toBe(0);
  // Counted through: what one process delivered the next one knows of, but for what was in flight.
  expect(stats?.pages).toBeGreaterThanOrEqual(new Set(urls).size - killed * CONCURRENCY);
  expect(stats?.pages).toBeLessThanOrEqual(urls.length);
}

describe('a crawl whose process is killed', () => {
  test.each(LABELS)('at the step "%s", early and late, goes on without loss', { timeout: 120_000 }, async (label) => {
    const result = await crawlWithKills([
      { label, count: 1 },
      { label, count: 2 },
      { label, count: 7 },
    ]);
    expect(result.killed, 'the step was passed').toBeGreaterThan(0);
    expectNothingLost(result);
  });

  test(`at ${KILLS} random moments goes on without loss`, { timeout: 20_000 + KILLS * 5_000 }, async () => {
    let seed = 20_261_130;
    const random = () => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
      return seed / 0x7fffffff;
    };
    for (let done = 0; done < KILLS; ) {
      const kills = Array.from({ length: Math.min(30, KILLS - done) }, () => ({ afterMs: Math.floor(random() * 180) }));
      const result = await crawlWithKills(kills);
      expect(result.killed).toBeGreaterThan(0);
      done += result.killed;
      expectNothingLost(result);
    }
  });

  test('delivers no more than maxPages pages over all its processes', { timeout: 120_000 }, async () => {
    await using web = await startCrashWeb(3, 20);
    await using crawl = await CrashingCrawl.create(web.seeds, { ...OPTIONS, maxPages: 12, concurrency: 2 });
    let killed = 0;
    for (const count of [2, 3, 4]) if (!(await crawl.run({ label: 'after page', count }))) killed++;
    while (!(await crawl.run()));
    const lines = await crawl.lines();
    const stats = lines.findLast((line) => line.kind === 'done')?.stats;
    expect(killed).toBe(3);
    expect(stats?.pages).toBe(12);
    expect(new Set(delivered(lines)).size).toBeLessThanOrEqual(12 + killed * 2);
    // Those in flight at a kill may come again, and are counted once.
    expect(delivered(lines).length).toBeLessThanOrEqual(12 + killed * 2);
  });
});
