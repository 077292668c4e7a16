import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CrawlErrorCode } from '../src/errors.ts';
import { type Observation, POLITENESS_DEFAULTS, Politeness, type PolitenessOptions } from '../src/politeness.ts';
import type { HostState } from '../src/ports.ts';

const T = 1_700_000_000_000;
const HOUR = 3_600_000;
const FRESH: HostState = {
  host: 'host.test',
  nextAt: 0,
  blockedUntil: 0,
  delayMs: 0,
  crawlDelayMs: 0,
  backoff: 0,
  successes: 0,
  failures: 0,
  refusals: 0,
  pages: 0,
  inFlight: 1,
};

/** Observations one after the other on one host, each a while after the one before has let it go. */
function follow(politeness: Politeness, seen: readonly Omit<Observation, 'endedAt'>[], from: HostState = FRESH) {
  let host = from;
  let endedAt = T;
  return seen.map((one) => {
    endedAt = Math.max(endedAt, host.nextAt, host.blockedUntil) + 10;
    const { status, ...patch } = politeness.after(host, { ...one, endedAt }, endedAt);
    host = { ...host, ...patch };
    return { ...host, status, endedAt, gap: host.nextAt - endedAt, block: host.blockedUntil - endedAt };
  });
}

const steady = (options: PolitenessOptions = {}) => new Politeness(options, () => 0);
const last = <T>(list: readonly T[]): T => list.at(-1)!;
const repeat = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);
const failure = (code: CrawlErrorCode) => ({ error: { code, retryable: true } });

describe('The gap after an answer', () => {
  test.each([
    { durationMs: 100, gap: 1_000, because: 'minDelayMs is the least' },
    { durationMs: 400, gap: 2_000, because: 'a slow host is asked less often: 5 times its response time' },
    { durationMs: 30_000, gap: 60_000, because: 'maxDelayMs is the most that slowness makes of it' },
    { durationMs: undefined, gap: 1_000, because: 'an unknown duration counts as none' },
  ])('is $gap ms after $durationMs ms: $because', ({ durationMs, gap }) => {
    expect(steady().after(FRESH, { endedAt: T, durationMs, status: 200 }, T).nextAt).toBe(T + gap);
  });

  test('counts from the end of the answer, not from when it is told', () => {
    expect(steady().after(FRESH, { endedAt: T - 400, durationMs: 1, status: 200 }, T).nextAt).toBe(T + 600);
  });

  test('is not below the Crawl-delay, which maxDelayMs never cuts', () => {
    const verdict = steady().after(FRESH, { endedAt: T, status: 200, crawlDelayMs: 90_000 }, T);
    expect(verdict.nextAt).toBe(T + 90_000);
    expect(verdict.crawlDelayMs).toBe(90_000);
    expect(verdict.delayMs).toBe(1_000);
  });

  test('keeps to a Crawl-delay that was learnt before, cut at maxCrawlDelayMs', () => {
    const host = { ...FRESH, crawlDelayMs: 400_000 };
    expect(steady().after(host, { endedAt: T, status: 200 }, T).nextAt).toBe(T + 300_000);
    expect(steady().after(host, { endedAt: T, status: 200, crawlDelayMs: 0 }, T).nextAt).toBe(T + 1_000);
  });

  test.each([404, 403, 301, 304, 429, 500, 503])('is not shortened by a quick %i', (status) => {
    const [slow, quick] = follow(steady(), [
      { status: 200, durationMs: 1_000 },
      { status, durationMs: 1 },
    ]);
    expect(slow?.gap).toBe(5_000);
    expect(quick?.delayMs).toBeGreaterThanOrEqual(5_000);
  });

  test('is not shortened by an error, nor by a good answer that broke off', () => {
    const broken = { status: 200, durationMs: 1, ...failure('CRAWL_BODY_TRUNCATED') };
    for (const bad of [failure('CRAWL_CONNECTION_LOST'), broken, {}]) {
      expect(last(follow(steady(), [{ status: 200, durationMs: 1_000 }, bad])).delayMs).toBeGreaterThanOrEqual(5_000);
    }
  });

  test('is shortened by the next good answer', () => {
    expect(
      last(
        follow(steady(), [
          { status: 200, durationMs: 9_000 },
          { status: 200, durationMs: 1 },
        ]),
      ).gap,
    ).toBe(1_000);
  });

  test('doubles with each server error, up to maxDelayMs', () => {
    const gaps = follow(steady(), repeat(8, { status: 500, durationMs: 1 })).map(({ gap }) => gap);
    expect(gaps).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test('never moves the clock of a host back', () => {
    const host = { ...FRESH, nextAt: T + 9_000, blockedUntil: T + 8_000 };
    expect(steady().after(host, { endedAt: T, status: 200 }, T)).toMatchObject({
      nextAt: T + 9_000,
      blockedUntil: T + 8_000,
    });
  });

  test('is nothing at all where all is 0, also after errors and with a delay from before', () => {
    const politeness = steady({ minDelayMs: 0, delayFactor: 0, maxDelayMs: 0 });
    for (const status of [200, 404, 500]) {
      const verdict = politeness.after({ ...FRESH, delayMs: 700 }, { endedAt: T, durationMs: 5_000, status }, T);
      expect(verdict).toMatchObject({ nextAt: T, blockedUntil: 0, delayMs: 0 });
    }
    expect(politeness.ipDelayMs).toBe(0);
    expect(politeness.leaseRules().shareAddress).toBe(false);
  });
});

describe('Back-off', () => {
  test.each([
    ['429', { status: 429 }],
    ['503', { status: 503 }],
  ])('after %s blocks the host for 30 s, and twice as long each time, up to an hour', (_, seen) => {
    const blocks = follow(steady(), repeat(10, seen)).map(({ block }) => block / 1_000);
    expect(blocks).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
  });

  test.each(['CRAWL_CONNECT_TIMEOUT', 'CRAWL_HEADERS_TIMEOUT', 'CRAWL_PAGE_TIMEOUT'] as const)('follows %s', (code) => {
    const [first] = follow(steady(), [failure(code)]);
    expect(first).toMatchObject({ block: 30_000, backoff: 1, status: 'backing-off' });
  });

  test('is taken back by one step for five good answers', () => {
    const steps = follow(steady(), [...repeat(3, { status: 503 }), ...repeat(15, { status: 200 })]);
    expect(steps.map(({ backoff }) => backoff)).toEqual([1, 2, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0]);
    expect(last(steps).status).toBe('recovered');
  });

  test('leaves a longer gap behind, which goes half the way back with each step', () => {
    const told = [...repeat(3, { status: 429 }), ...repeat(16, { status: 200, durationMs: 1 })];
    const gaps = follow(steady(), told).map(({ delayMs }) => delayMs);
    expect(gaps).toEqual([
      ...[2_000, 4_000, 8_000],
      ...repeat(4, 8_000),
      ...repeat(5, 4_500),
      ...repeat(5, 2_750),
      ...[1_875, 1_000],
    ]);
  });

  test('starts the five anew with each bad answer', () => {
    const seen = [{ status: 503 }, ...repeat(4, { status: 200 }), { status: 503 }, ...repeat(5, { status: 200 })];
    expect(last(follow(steady(), seen)).backoff).toBe(1);
  });

  test('takes what was in flight when the block began for the same step', () => {
    const politeness = steady();
    const { status: _, ...patch } = politeness.after(FRESH, { endedAt: T, status: 503 }, T);
    const again = politeness.after({ ...FRESH, ...patch }, { endedAt: T + 500, status: 503 }, T + 500);
    expect(again).toMatchObject({ backoff: 1, blockedUntil: T + 30_500 });
  });

  test('varies upwards only, by a fifth at most', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (draw) => {
        const [first] = follow(new Politeness({}, () => draw), [{ status: 503 }]);
        return first!.block >= 30_000 && first!.block <= 36_000;
      }),
    );
  });

  test('is none where backoffMs is 0; the normal gap stays', () => {
    expect(last(follow(steady({ backoffMs: 0 }), repeat(3, { status: 503 })))).toMatchObject({
      blockedUntil: 0,
      gap: 8_000,
    });
  });
});

describe('Retry-After', () => {
  test.each([429, 503, 301, 302, 413])('on %i blocks the host for so long', (status) => {
    const [first] = follow(steady(), [{ status, retryAfterMs: 7_000 }]);
    expect(first).toMatchObject({ block: 7_000, status: 'backing-off' });
  });

  test('stands for the back-off, and takes no step of it', () => {
    const [first, second] = follow(steady(), [{ status: 503, retryAfterMs: 7_000 }, { status: 503 }]);
    expect(first?.backoff).toBe(0);
    expect(second).toMatchObject({ backoff: 1, block: 30_000 });
  });

  test('of 0 or in the past is none: the normal back-off applies', () => {
    for (const retryAfterMs of [0, -5, Number.NaN]) {
      expect(follow(steady(), [{ status: 429, retryAfterMs }])[0]?.block).toBe(30_000);
    }
  });

  test('is cut at a day', () => {
    expect(follow(steady(), [{ status: 503, retryAfterMs: 1e12 }])[0]?.block).toBe(86_400_000);
    expect(follow(steady(), [{ status: 503, retryAfterMs: Number.POSITIVE_INFINITY }])[0]?.block).toBe(86_400_000);
  });

  test('shorter than the normal gap does not shorten it', () => {
    expect(follow(steady(), [{ status: 503, retryAfterMs: 1 }])[0]?.gap).toBe(2_000);
  });

  test('on a good answer means nothing', () => {
    expect(follow(steady(), [{ status: 200, retryAfterMs: 7_000 }])[0]?.blockedUntil).toBe(0);
  });
});

describe('A host that fails', () => {
  test('is parked for an hour at the fifth transport failure in a row, and comes back', () => {
    const steps = follow(steady(), repeat(7, failure('CRAWL_CONNECT_FAILED')));
    expect(steps.map(({ status }) => status)).toEqual([...repeat(4, undefined), ...repeat(3, 'parked')]);
    expect(steps.slice(4).map(({ block }) => block)).toEqual(repeat(3, HOUR));
    const back = follow(steady(), [{ status: 200 }], last(steps));
    expect(back[0]).toMatchObject({ failures: 0, status: 'recovered' });
    expect(back[0]!.blockedUntil).toBeLessThan(back[0]!.endedAt);
  });

  test('starts to count anew with any answer, whatever its status', () => {
    const seen = [
      ...repeat(4, failure('CRAWL_DNS_FAILED')),
      { status: 404 },
      ...repeat(4, failure('CRAWL_DNS_FAILED')),
    ];
    expect(follow(steady(), seen).some(({ status }) => status === 'parked')).toBe(false);
  });

  test('is not blamed for what is no failure of the transport', () => {
    for (const code of ['CRAWL_BODY_TOO_LARGE', 'CRAWL_REDIRECT_INVALID', 'CRAWL_ABORTED'] as const) {
      expect(last(follow(steady(), repeat(9, failure(code)))).failures).toBe(0);
    }
  });

  test('is never parked where parkAfterFailures is 0', () => {
    expect(last(follow(steady({ parkAfterFailures: 0 }), repeat(50, failure('CRAWL_TLS_FAILED')))).blockedUntil).toBe(
      0,
    );
  });
});

describe('A host that refuses', () => {
  test.each([401, 403, 407])('with ten %i in a row is paused for an hour, and again after ten more', (status) => {
    const steps = follow(steady(), repeat(20, { status }));
    expect(steps.flatMap((step, i) => (step.status === 'parked' ? [i] : []))).toEqual([9, 19]);
    expect(steps[9]).toMatchObject({ block: HOUR, refusals: 0 });
  });

  test('but for one page is not paused', () => {
    const seen = [...repeat(9, { status: 403 }), { status: 200 }, ...repeat(9, { status: 403 })];
    expect(last(follow(steady(), seen)).blockedUntil).toBe(0);
  });

  test('is never paused where refusalsBeforePause is 0', () => {
    expect(last(follow(steady({ refusalsBeforePause: 0 }), repeat(50, { status: 403 }))).blockedUntil).toBe(0);
  });
});

test('whatever is observed, the next request is no sooner than the rule says, and numbers stay numbers', () => {
  const anything = fc.record(
    {
      durationMs: fc.oneof(fc.nat(200_000), fc.double()),
      status: fc.integer({ min: 100, max: 599 }),
      error: fc.record({
        code: fc.constantFrom<CrawlErrorCode>('CRAWL_DNS_FAILED', 'CRAWL_PAGE_TIMEOUT', 'CRAWL_BODY_TRUNCATED'),
        retryable: fc.boolean(),
      }),
      retryAfterMs: fc.oneof(fc.nat(), fc.double()),
      crawlDelayMs: fc.oneof(fc.nat(1_000_000), fc.double()),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 40 }), (seen) => {
      for (const [i, step] of follow(new Politeness(), seen).entries()) {
        const { durationMs = 0, crawlDelayMs } = seen[i]!;
        const slow = Math.min(5 * (Number.isNaN(durationMs) ? 0 : durationMs), 60_000);
        const told = Math.min(Number.isNaN(crawlDelayMs ?? Number.NaN) ? 0 : (crawlDelayMs ?? 0), 300_000);
        expect(step.nextAt).toBeGreaterThanOrEqual(step.endedAt + Math.max(1_000, slow, told));
        for (const value of [step.nextAt, step.blockedUntil, step.delayMs, step.crawlDelayMs, step.backoff]) {
          expect(Number.isFinite(value)).toBe(true);
        }
      }
    }),
  );
});

describe('Options', () => {
  test('have the defaults that are documented', () => {
    expect(new Politeness().options).toEqual(POLITENESS_DEFAULTS);
    expect(new Politeness({ minDelayMs: undefined } as object).options.minDelayMs).toBe(1_000);
  });

  test('ipDelayMs is never more than minDelayMs', () => {
    expect(new Politeness().ipDelayMs).toBe(250);
    expect(new Politeness({ minDelayMs: 100 }).ipDelayMs).toBe(100);
    expect(new Politeness({ ipDelayMs: 0 }).leaseRules().shareAddress).toBe(false);
  });

  test('give the store its rules', () => {
    expect(new Politeness({ connectionsPerHost: 0, minDelayMs: 50 }).leaseRules(7)).toEqual({
      connectionsPerHost: 0,
      pagesPerHost: 7,
      startGapMs: 50,
      shareAddress: true,
    });
  });

  test('are refused where they are misspelt or no numbers', () => {
    expect(() => new Politeness({ minDelay: 5 } as never)).toThrow(/Did you mean "minDelayMs"/);
    expect(() => new Politeness({ connectionsPerHost: 1.5 })).toThrow(/whole number/);
    expect(() => new Politeness({ minDelayMs: Number.POSITIVE_INFINITY })).toThrow(/from 0 to/);
  });
});
