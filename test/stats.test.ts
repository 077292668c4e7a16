import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isCrawlError } from '../src/errors.ts';
import { OTHERS, STATS_COLLECTOR_DEFAULTS, StatsCollector, type StatsCollectorOptions } from '../src/stats.ts';

const IDLE = { queued: 0, inFlight: 0 };

function collector(options: StatsCollectorOptions = {}) {
  const clock = { at: 1_000_000, now: () => clock.at };
  const stats = new StatsCollector({ clock, ...options });
  return { clock, stats };
}

/** One request and its answer. */
function visit(stats: StatsCollector, host: string, from: number, to: number, bytes = 10) {
  stats.requested(host, from);
  stats.answered(host, 200, 'text/html', bytes, to - from, to);
  stats.delivered(host);
}

describe('StatsCollector counts', () => {
  test('every event, by total and by name', () => {
    const { stats } = collector();
    stats.started(1_000_000);
    stats.offered();
    stats.offered(4);
    stats.skipped('robots');
    stats.skipped('seen', 3);
    stats.requested('a.example', 1_000_000);
    stats.answered('a.example', 301, '', 0, 5, 1_000_005);
    stats.redirected();
    stats.requested('a.example', 1_001_005);
    stats.answered('a.example', 200, 'text/html', 1234, 20, 1_001_025);
    stats.delivered('a.example');
    stats.duplicate();
    stats.requested('b.example', 1_002_000);
    stats.failed('CRAWL_CONNECT_FAILED', 'b.example', 1_002_100);
    stats.retried();
    stats.failed('CRAWL_LISTENER_FAILED');
    expect(stats.snapshot({ queued: 7, inFlight: 2, hosts: 9 })).toMatchObject({
      startedAt: new Date(1_000_000),
      pages: 1,
      requests: 3,
      offered: 5,
      queued: 7,
      inFlight: 2,
      redirects: 1,
      retries: 1,
      duplicates: 1,
      errors: 2,
      skipped: 4,
      bytes: 1234,
      hosts: 9,
      statuses: { 200: 1, 301: 1 },
      contentTypes: { '(none)': 1, 'text/html': 1 },
      skips: { robots: 1, seen: 3 },
      errorCodes: { CRAWL_CONNECT_FAILED: 1, CRAWL_LISTENER_FAILED: 1 },
      perHost: {
        'a.example': { pages: 1, requests: 2, errors: 0, bytes: 1234, smallestGapMs: 1000 },
        'b.example': { pages: 0, requests: 1, errors: 1, bytes: 0 },
      },
    });
  });

  test('a snapshot does not change any more', () => {
    const { stats } = collector();
    visit(stats, 'a.example', 0, 1);
    const before = stats.snapshot(IDLE);
    const copy = structuredClone(before);
    visit(stats, 'a.example', 2, 3);
    stats.skipped('robots');
    expect(before).toEqual(copy);
    expect(stats.snapshot(IDLE).pages).toBe(2);
  });

  test('without a number of hosts, those counted one by one are meant', () => {
    const { stats } = collector();
    visit(stats, 'a.example', 0, 1);
    visit(stats, 'b.example', 0, 1);
    expect(stats.snapshot(IDLE).hosts).toBe(2);
  });

  test('names from the network are names like any other', () => {
    const { stats } = collector();
    for (const name of ['__proto__', 'constructor', 'toString', '']) {
      stats.requested(name, 0);
      stats.answered(name, 200, name, 1, 1, 1);
      stats.skipped(name);
      stats.failed(name, name);
    }
    const { contentTypes, skips, errorCodes, perHost } = stats.snapshot(IDLE);
    expect(Object.keys(contentTypes).sort()).toEqual(['(none)', '__proto__', 'constructor', 'toString']);
    const proto = (record: Readonly<Record<string, unknown>>) => new Map(Object.entries(record)).get('__proto__');
    expect(proto(skips)).toBe(1);
    expect(errorCodes.constructor).toBe(1);
    expect(proto(perHost)).toEqual({ pages: 0, requests: 1, errors: 1, bytes: 1 });
    expect('hasOwnProperty' in skips, 'nothing is inherited').toBe(false);
    expect(({} as Record<string, unknown>).requests, 'no prototype was touched').toBeUndefined();
    expect(proto(restored(stats).snapshot(IDLE).perHost)).toEqual(proto(perHost));
  });

  test('twenty thousand distinct names and hosts take the room of the first few, and no count is lost', () => {
    const { stats } = collector({ maxNames: 10, maxHosts: 20 });
    const n = 20_000;
    for (let i = 0; i < n; i++) {
      stats.requested(`${i}.example`, i);
      stats.answered(`${i}.example`, i, `type/${i}`, 2, 1, i);
      stats.delivered(`${i}.example`);
      stats.skipped(`${'x'.repeat(1000)}${i}`);
    }
    const { statuses, contentTypes, skips, perHost } = stats.snapshot(IDLE);
    const sum = (record: Readonly<Record<string, number>>) => Object.values(record).reduce((a, b) => a + b, 0);
    for (const record of [statuses, contentTypes]) {
      expect(Object.keys(record).length).toBe(11);
      expect(record[OTHERS]).toBe(n - 10);
      expect(sum(record)).toBe(n);
    }
    expect(
      Object.keys(skips).map((name) => name.length),
      'long names are cut',
    ).toEqual([100]);
    expect(sum(skips)).toBe(n);
    expect(Object.keys(perHost).length).toBe(21);
    expect(Object.values(perHost).reduce((all, host) => all + host.requests, 0)).toBe(n);
    expect(Object.values(perHost).reduce((all, host) => all + host.bytes, 0)).toBe(2 * n);
    expect(JSON.stringify(stats).length).toBeLessThan(5000);
  });

  test('the hosts that are asked most stay, whenever they came', () => {
    const { stats } = collector({ maxHosts: 3 });
    for (let i = 0; i < 1000; i++) {
      visit(stats, `rare-${i}.example`, i, i);
      if (i >= 500) for (const host of ['x.example', 'y.example', 'z.example']) visit(stats, host, i, i);
    }
    const { perHost } = stats.snapshot(IDLE);
    expect(Object.keys(perHost).sort()).toEqual([OTHERS, 'x.example', 'y.example', 'z.example']);
    expect(perHost['z.example']?.pages).toBe(500);
    expect(perHost[OTHERS]?.pages).toBe(1000);
  });

  test('sums, of all counts, stay right whatever the order (property)', () => {
    const host = fc.nat(12).map((i) => `${i}.example`);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(host, fc.nat(1000)), { maxLength: 200 }),
        fc.integer({ min: 1, max: 5 }),
        (visits, maxHosts) => {
          const { stats } = collector({ maxHosts });
          for (const [i, [name, bytes]] of visits.entries()) visit(stats, name, i, i, bytes);
          for (const each of [stats, restored(stats, { maxHosts })]) {
            const { perHost, pages, bytes } = each.snapshot(IDLE);
            expect(Object.keys(perHost).length).toBeLessThanOrEqual(maxHosts + 1);
            expect(Object.values(perHost).reduce((all, entry) => all + entry.pages, 0)).toBe(pages);
            expect(Object.values(perHost).reduce((all, entry) => all + entry.bytes, 0)).toBe(bytes);
            expect(pages).toBe(visits.length);
          }
        },
      ),
    );
  });
});

describe('the smallest gap of a host', () => {
  const gap = (stats: StatsCollector, host = 'a.example') => stats.snapshot(IDLE).perHost[host]?.smallestGapMs;

  test('runs from the end of a response to the next request', () => {
    const { stats } = collector();
    visit(stats, 'a.example', 0, 500);
    expect(gap(stats), 'one request has no gap').toBeUndefined();
    visit(stats, 'a.example', 2500, 2600);
    expect(gap(stats)).toBe(2000);
    visit(stats, 'a.example', 3600, 3700);
    expect(gap(stats)).toBe(1000);
    visit(stats, 'a.example', 9000, 9100);
    expect(gap(stats)).toBe(1000);
  });

  test('is each host’s own', () => {
    const { stats } = collector();
    visit(stats, 'a.example', 0, 10);
    visit(stats, 'b.example', 11, 20);
    expect(gap(stats)).toBeUndefined();
  });

  test('counts from a failure and from a request called off, as from an answer', () => {
    const { stats } = collector();
    stats.requested('a.example', 0);
    stats.failed('CRAWL_PAGE_TIMEOUT', 'a.example', 100);
    stats.requested('a.example', 400);
    expect(gap(stats)).toBe(300);
    stats.ended('a.example', 500);
    stats.requested('a.example', 700);
    expect(gap(stats)).toBe(200);
  });

  test('is 0 where a request was sent while another was under way', () => {
    const { stats } = collector();
    visit(stats, 'a.example', 0, 10);
    stats.requested('a.example', 1000);
    stats.requested('a.example', 5000);
    expect(gap(stats)).toBe(0);
  });

  test('ignores a clock that was set back', () => {
    const { stats } = collector();
    visit(stats, 'a.example', 5000, 5100);
    visit(stats, 'a.example', 100, 200);
    expect(gap(stats)).toBeUndefined();
  });

  test('is measured across a restart too', () => {
    const { stats } = collector();
    visit(stats, 'a.example', 0, 100);
    const resumed = restored(stats);
    resumed.requested('a.example', 350);
    expect(gap(resumed)).toBe(250);
  });

  test('is not lost when a host is under way while the table is full', () => {
    const { stats } = collector({ maxHosts: 2 });
    stats.requested('a.example', 0);
    for (let i = 0; i < 50; i++) {
      visit(stats, `${i}.example`, i, i);
      visit(stats, `${i}.example`, i, i);
    }
    stats.answered('a.example', 200, 'text/html', 1, 100, 100);
    stats.requested('a.example', 200);
    stats.requested('a.example', 300);
    stats.requested('a.example', 300);
    expect(gap(stats)).toBe(0);
    expect(stats.snapshot(IDLE).perHost['a.example']?.requests).toBe(4);
  });
});

describe('latency', () => {
  test('is 0 where nothing was measured', () => {
    expect(collector().stats.snapshot(IDLE).latencyMs).toEqual({ p50: 0, p95: 0, p99: 0 });
  });

  test('percentiles are within 5 % of those of the sorted durations (property)', () => {
    const duration = fc.oneof(
      fc.double({ min: 0.1, max: 10, noNaN: true }),
      fc.double({ min: 1, max: 200_000, noNaN: true }),
    );
    fc.assert(
      fc.property(fc.array(duration, { minLength: 1, maxLength: 300 }), (durations) => {
        const { stats } = collector();
        for (const ms of durations) stats.answered('a.example', 200, 'text/html', 0, ms, 0);
        const sorted = [...durations].sort((a, b) => a - b);
        const { latencyMs } = stats.snapshot(IDLE);
        for (const [share, value] of [
          [0.5, latencyMs.p50],
          [0.95, latencyMs.p95],
          [0.99, latencyMs.p99],
        ] as const) {
          const exact = sorted[Math.ceil(share * sorted.length) - 1]!;
          expect(Math.abs(value - exact) / exact).toBeLessThanOrEqual(0.05);
        }
      }),
    );
  });

  test.each([
    [0, 0],
    [0.05, 0],
    [Number.NaN, 0],
    [-5, 0],
  ])('a duration of %s ms shows as %s', (ms, shown) => {
    const { stats } = collector();
    stats.answered('a.example', 200, 'text/html', 0, ms, 0);
    expect(stats.snapshot(IDLE).latencyMs.p50).toBe(shown);
  });

  test('a duration beyond all bounds does no harm', () => {
    const { stats } = collector();
    stats.answered('a.example', 200, 'text/html', 0, Number.POSITIVE_INFINITY, 0);
    expect(stats.snapshot(IDLE).latencyMs.p99).toBeGreaterThan(8 * 3_600_000);
  });
});

function restored(stats: StatsCollector, options: StatsCollectorOptions = {}): StatsCollector {
  const next = collector(options).stats;
  expect(next.restore(JSON.parse(JSON.stringify(stats)))).toBe(true);
  return next;
}

describe('time, rates and resuming', () => {
  test('rates are those of this run, the time is that of all runs', () => {
    const { stats, clock } = collector();
    stats.started(clock.at);
    for (let i = 0; i < 10; i++) visit(stats, 'a.example', clock.at, clock.at, 100);
    clock.at += 5000;
    expect(stats.snapshot(IDLE)).toMatchObject({ elapsedMs: 5000, pagesPerSecond: 2, bytesPerSecond: 200 });
    stats.stopped(clock.at);
    clock.at += 60_000;
    expect(stats.snapshot(IDLE), 'time stands still between runs').toMatchObject({
      elapsedMs: 5000,
      pagesPerSecond: 2,
    });
    stats.started(clock.at);
    expect(stats.snapshot(IDLE)).toMatchObject({ pages: 10, elapsedMs: 5000, pagesPerSecond: 0 });
    visit(stats, 'a.example', clock.at, clock.at, 100);
    clock.at += 1000;
    expect(stats.snapshot(IDLE)).toMatchObject({ pages: 11, elapsedMs: 6000, pagesPerSecond: 1, bytesPerSecond: 100 });
    expect(stats.snapshot(IDLE).startedAt).toEqual(new Date(1_000_000));
  });

  test('nothing is measured before the start', () => {
    const { stats } = collector();
    expect(stats.snapshot(IDLE)).toMatchObject({ elapsedMs: 0, pagesPerSecond: 0, startedAt: new Date(1_000_000) });
  });

  test('all counts go on after a restart', () => {
    const { stats, clock } = collector();
    stats.started(clock.at);
    stats.offered(3);
    visit(stats, 'a.example', 0, 120);
    visit(stats, 'a.example', 1120, 1200);
    stats.skipped('robots', 2);
    stats.redirected();
    stats.retried();
    stats.duplicate();
    stats.failed('CRAWL_DNS_FAILED', 'b.example');
    clock.at += 4000;
    const before = stats.snapshot(IDLE);
    const resumed = restored(stats);
    const after = resumed.snapshot(IDLE);
    expect(after).toEqual({ ...before, pagesPerSecond: 0, bytesPerSecond: 0 });
    resumed.started(clock.at);
    visit(resumed, 'a.example', clock.at, clock.at + 1);
    expect(resumed.snapshot(IDLE)).toMatchObject({ pages: 3, statuses: { 200: 3 }, offered: 3 });
    expect(restored(resumed).snapshot(IDLE).pages, 'and after a second one').toBe(3);
  });

  test('restore() replaces what was counted', () => {
    const { stats } = collector();
    visit(stats, 'a.example', 0, 1);
    const other = collector().stats;
    visit(other, 'b.example', 0, 1);
    other.skipped('robots');
    other.restore(JSON.parse(JSON.stringify(stats)));
    expect(other.snapshot(IDLE)).toEqual(stats.snapshot(IDLE));
  });

  test.each([
    undefined,
    null,
    'x',
    7,
    [],
    {},
    { version: 2, totals: [] },
    { version: 1 },
    { version: 1, totals: ['x'] },
  ])('restore(%j) is refused and changes nothing', (state) => {
    const { stats } = collector();
    visit(stats, 'a.example', 0, 1);
    const before = stats.snapshot(IDLE);
    expect(stats.restore(state)).toBe(false);
    expect(stats.snapshot(IDLE)).toEqual(before);
  });

  test('restore() never throws, and gives numbers, whatever it is given (property)', () => {
    const state = fc.record({
      version: fc.constant(1),
      totals: fc.array(fc.nat(), { maxLength: 12 }),
      startedAt: fc.anything(),
      elapsedMs: fc.anything(),
      statuses: fc.anything(),
      skips: fc.array(fc.anything()),
      hosts: fc.array(fc.array(fc.anything())),
      latency: fc.array(fc.array(fc.anything())),
    });
    fc.assert(
      fc.property(state, (value) => {
        const { stats } = collector();
        expect(stats.restore(value)).toBe(true);
        const { pages, elapsedMs, latencyMs, perHost } = stats.snapshot(IDLE);
        for (const number of [pages, elapsedMs, latencyMs.p50, ...Object.values(perHost).map((host) => host.bytes)]) {
          expect(number).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});

test('options are checked, and their defaults are those documented', () => {
  expect(STATS_COLLECTOR_DEFAULTS).toMatchObject({ maxHosts: 1000, maxNames: 200 });
  for (const options of [{ maxHosts: 0 }, { maxNames: 1.5 }, { maxHost: 1 }]) {
    let thrown: unknown;
    try {
      new StatsCollector(options as StatsCollectorOptions);
    } catch (error) {
      thrown = error;
    }
    expect(isCrawlError(thrown)).toBe(true);
  }
});
