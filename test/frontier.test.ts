import { describe, expect, test } from 'vitest';
import { isCrawlError } from '../src/errors.ts';
import { FRONTIER_DEFAULTS, Frontier, type FrontierOptions, type Outcome } from '../src/frontier.ts';
import { Politeness } from '../src/politeness.ts';
import type { Lease } from '../src/ports.ts';
import { createRequest } from '../src/request.ts';
import { MemoryStore } from '../src/store/memory/index.ts';

const T = 1_700_000_000_000;

/** A frontier in memory, and the time that it lives in. */
async function setUp(options: Partial<FrontierOptions> = {}) {
  const time = { now: T };
  const store = options.store ?? (await MemoryStore.open());
  const clock = { now: () => time.now };
  const politeness = options.politeness ?? new Politeness({}, () => 0);
  const frontier = await Frontier.open({ store, clock, ...options, politeness });
  return { frontier, store, time };
}

async function one(frontier: Frontier): Promise<Lease> {
  const [lease] = await frontier.lease();
  if (lease === undefined) throw new Error('nothing is due');
  return lease;
}

/** A good answer that took 100 ms and ended now. */
const good = (time: { now: number }): Outcome => ({
  outcome: 'done',
  observation: { endedAt: time.now, durationMs: 100, status: 200 },
});

describe('Frontier.offer()', () => {
  test('takes strings, URLs, plain objects and requests, and counts those that are new', async () => {
    const { frontier } = await setUp();
    const made = createRequest({ url: 'https://host.test/made', depth: 3 });
    const offered = ['https://host.test/a#x', new URL('https://host.test/b'), { url: 'https://host.test/c' }, made!];
    expect(await frontier.offer(offered)).toBe(4);
    expect(await frontier.offer(new Set(['HTTPS://HOST.test/a', 'https://host.test/d']))).toBe(1);
    expect(await frontier.stats()).toMatchObject({ queued: 5, seen: 5, hosts: 1 });
  });

  test('calls onKnown with the index of each that was known', async () => {
    const { frontier } = await setUp();
    const known: number[] = [];
    const urls = ['https://host.test/a', 'https://host.test/b', 'https://host.test/a#again'];
    await frontier.offer(urls, (index) => known.push(index));
    expect(known).toEqual([2]);
  });

  test.each(['mailto:me@host.test', 'no url', '/relative', '', undefined, 5, null, {}, { url: 7 }])(
    'rejects %j with CRAWL_URL_INVALID and queues nothing of the batch',
    async (bad) => {
      const { frontier } = await setUp();
      const offered = frontier.offer(['https://host.test/a', bad as string]);
      await expect(offered).rejects.toSatisfy((error) => isCrawlError(error, 'CRAWL_URL_INVALID'));
      expect((await frontier.stats()).seen).toBe(0);
    },
  );

  test('asks for the same resource in whatever spelling it was found', async () => {
    const { frontier } = await setUp();
    await frontier.offer(['https://host.test/%7Ea']);
    expect(await frontier.offer(['https://host.test/~a'])).toBe(0);
    expect((await one(frontier)).url).toBe('https://host.test/%7Ea');
  });

  test('leaves out of the key what canonical says', async () => {
    const { frontier } = await setUp({ canonical: { stripTracking: true } });
    expect(await frontier.offer(['https://host.test/?utm_source=a', 'https://host.test/?utm_source=b'])).toBe(1);
    expect(await frontier.has('https://host.test/')).toBe(true);
  });

  test('lets prioritize give a level to what comes without one', async () => {
    const { frontier } = await setUp({ prioritize: ({ url }) => (url.endsWith('top') ? 99 : -3.4) });
    await frontier.offer(['https://a.test/top', 'https://b.test/', { url: 'https://c.test/top', level: 2 }]);
    const levels = (await frontier.lease(3)).map(({ request }) => [request.host, request.level]);
    expect(Object.fromEntries(levels)).toEqual({ 'a.test': 7, 'b.test': -3, 'c.test': 2 });
  });

  test('rejects with CRAWL_HOOK_FAILED where prioritize throws', async () => {
    const { frontier } = await setUp({
      prioritize: () => {
        throw new TypeError('bad hook');
      },
    });
    await expect(frontier.offer(['https://a.test/'])).rejects.toMatchObject({
      code: 'CRAWL_HOOK_FAILED',
      cause: expect.any(TypeError),
    });
  });
});

describe('Frontier.settle()', () => {
  test('keeps the host closed for the delay after the end of the answer', async () => {
    const { frontier, time } = await setUp();
    await frontier.offer(['https://host.test/1', 'https://host.test/2']);
    const lease = await one(frontier);
    time.now += 400;
    await frontier.settle(lease, { outcome: 'done', observation: { endedAt: T + 400, durationMs: 400, status: 200 } });
    expect(await frontier.nextDueAt()).toBe(T + 2_400);
    time.now = T + 2_399;
    expect(await frontier.lease()).toEqual([]);
    time.now = T + 2_400;
    expect((await one(frontier)).url).toBe('https://host.test/2');
  });

  test('leaves the clock of a host that was not asked', async () => {
    const { frontier } = await setUp();
    await frontier.offer(['https://host.test/1', 'https://host.test/2']);
    await frontier.settle(await one(frontier), { outcome: 'skipped', record: { reason: 'robots' } });
    expect((await one(frontier)).url).toBe('https://host.test/2');
    expect((await frontier.record('https://host.test/1'))?.reason).toBe('robots');
  });

  test('offers out-links, tells which were known, and how the host turned', async () => {
    const { frontier } = await setUp();
    await frontier.offer(['https://host.test/1']);
    const known: number[] = [];
    const outlinks = ['https://host.test/1', { url: 'https://host.test/2' }, 'https://other.test/'];
    const observation = { endedAt: T, status: 503 };
    const settled = await frontier.settle(await one(frontier), { outcome: 'retry', observation, outlinks }, (i) =>
      known.push(i),
    );
    expect(settled).toEqual({
      accepted: true,
      offered: 2,
      host: { status: 'backing-off', nextAt: T + 30_000, delayMs: 2_000 },
    });
    expect(known).toEqual([0]);
  });

  test('with an out-link that is no URL is refused whole, and the lease is still held', async () => {
    const { frontier, time } = await setUp();
    await frontier.offer(['https://host.test/1']);
    const lease = await one(frontier);
    const outlinks = ['https://host.test/2', 'javascript:void(0)'];
    await expect(frontier.settle(lease, { ...good(time), outlinks })).rejects.toMatchObject({
      code: 'CRAWL_URL_INVALID',
    });
    expect(await frontier.stats()).toMatchObject({ leased: 1, seen: 1 });
    expect((await frontier.settle(lease, good(time))).accepted).toBe(true);
    expect((await frontier.settle(lease, good(time))).accepted).toBe(false);
  });

  test('blocks the whole host by Retry-After and loses no URL', async () => {
    const { frontier, time } = await setUp();
    await frontier.offer(['https://host.test/1', 'https://host.test/2', 'https://other.test/']);
    const leases = await frontier.lease(5);
    const busy = leases.find((lease) => lease.request.host === 'host.test')!;
    await frontier.settle(busy, { outcome: 'retry', observation: { endedAt: T, status: 429, retryAfterMs: 9_000 } });
    time.now += 8_999;
    expect(await frontier.lease()).toEqual([]);
    time.now += 1;
    expect((await one(frontier)).url).toBe('https://host.test/1');
  });

  test('lets a retry wait for its own time while the host goes on', async () => {
    const { frontier, time } = await setUp();
    await frontier.offer(['https://host.test/1', 'https://host.test/2']);
    const lease = await one(frontier);
    const request = { ...lease.request, attempts: 1 };
    const observation = { endedAt: T, durationMs: 10, status: 500 };
    await frontier.settle(lease, { outcome: 'retry', observation, request, dueAt: T + 60_000 });
    time.now += 2_000;
    const second = await one(frontier);
    expect(second.url).toBe('https://host.test/2');
    await frontier.settle(second, good(time));
    expect(await frontier.nextDueAt()).toBe(T + 60_000);
    time.now = T + 60_000;
    expect((await one(frontier)).request.attempts).toBe(1);
  });

  test('puts off the host of a lease that asked nothing, and never moves its clock back by that', async () => {
    const { frontier, time } = await setUp({
      politeness: { connectionsPerHost: 2, minDelayMs: 0, maxDelayMs: 60_000 },
    });
    await frontier.offer(['https://host.test/1', 'https://host.test/2', 'https://host.test/3']);
    const [first, second] = await frontier.lease(2);
    await frontier.settle(first!, { outcome: 'deferred', hostNextAt: T + 500.5 });
    expect(await frontier.nextDueAt()).toBe(T + 501);
    // The answer took 4 s: the host is to be left alone for five times as long.
    await frontier.settle(second!, { outcome: 'done', observation: { endedAt: T, durationMs: 4_000, status: 200 } });
    expect(await frontier.nextDueAt()).toBe(T + 20_000);
    time.now = T + 20_000;
    const [again] = await frontier.lease(1);
    expect(again?.url).toBe(first?.url);
    await frontier.settle(again!, { outcome: 'deferred', hostNextAt: T + 5_000 });
    // With several connections to a host, the lease itself puts the gap on its clock.
    expect((await frontier.getHost('host.test'))?.nextAt).toBe(T + 40_000);
  });

  test('blocks the host of a lease that asked nothing, and takes back no block that is longer', async () => {
    const { frontier } = await setUp({ politeness: { connectionsPerHost: 2, minDelayMs: 0 } });
    await frontier.offer(['https://host.test/1', 'https://host.test/2', 'https://host.test/3']);
    const [first, second, third] = await frontier.lease(3);
    expect(third).toBeUndefined();
    await frontier.settle(first!, { outcome: 'deferred', hostBlockedUntil: T + 300_000 });
    expect(await frontier.getHost('host.test')).toMatchObject({ nextAt: T, blockedUntil: T + 300_000 });
    const observation = { endedAt: T, status: 503, retryAfterMs: 3_600_000 };
    await frontier.settle(second!, { outcome: 'deferred', observation, hostBlockedUntil: T + 300_000 });
    expect((await frontier.getHost('host.test'))?.blockedUntil).toBe(T + 3_600_000);
  });

  test('counts a Crawl-delay that was set between lease and settlement', async () => {
    const { frontier, time } = await setUp();
    await frontier.offer(['https://host.test/1', 'https://host.test/2']);
    const lease = await one(frontier);
    await frontier.setHost('host.test', { crawlDelayMs: 20_000 });
    await frontier.settle(lease, good(time));
    expect(await frontier.nextDueAt()).toBe(T + 20_000);
  });

  test('adds up what several connections to one host show', async () => {
    const { frontier } = await setUp({ politeness: { connectionsPerHost: 3, minDelayMs: 0 } });
    await frontier.offer(['https://host.test/1', 'https://host.test/2', 'https://host.test/3']);
    const error = { code: 'CRAWL_CONNECT_FAILED', retryable: true } as const;
    const leases = await frontier.lease(3);
    await Promise.all(
      leases.map((lease) => frontier.settle(lease, { outcome: 'failed', observation: { endedAt: T, error } })),
    );
    expect((await frontier.getHost('host.test'))?.failures).toBe(3);
  });

  test('writes meta and counts pages in the same commit', async () => {
    const { frontier, store, time } = await setUp();
    await frontier.offer(['https://host.test/1']);
    await frontier.settle(await one(frontier), { ...good(time), delivered: true, meta: [['x', Uint8Array.of(1)]] });
    expect(await store.getMeta('x')).toEqual(Uint8Array.of(1));
    expect((await frontier.stats()).pages).toBe(1);
  });
});

describe('More requests than a store takes at once', () => {
  const urls = (count: number, from = 0) =>
    Array.from({ length: count }, (_, n) => `http://a.example.test/${from + n}`);

  test('are offered in parts, and those known are told by their index', async () => {
    const { frontier } = await setUp();
    expect(await frontier.offer(urls(10, 1995))).toBe(10);
    const known: number[] = [];
    expect(await frontier.offer(urls(2500), (index) => known.push(index))).toBe(2490);
    expect(known).toEqual(Array.from({ length: 10 }, (_, n) => 1995 + n));
    expect((await frontier.stats()).queued).toBe(2500);
  });

  test('are out-links of one settlement all the same', async () => {
    const { frontier } = await setUp();
    await frontier.offer(['http://a.example.test/start', ...urls(3, 999)]);
    const lease = await one(frontier);
    const known: number[] = [];
    const settled = await frontier.settle(lease, { outcome: 'done', outlinks: urls(2001) }, (index) =>
      known.push(index),
    );
    expect(settled).toMatchObject({ accepted: true, offered: 1998 });
    expect(known).toEqual([999, 1000, 1001]);
    expect(await frontier.stats()).toMatchObject({ queued: 2001, leased: 0, done: 1 });
  });

  test('are refused together where one is no URL', async () => {
    const { frontier } = await setUp();
    await expect(frontier.offer([...urls(2500), 'no URL'])).rejects.toMatchObject({ code: 'CRAWL_URL_INVALID' });
    expect((await frontier.stats()).queued).toBe(0);
  });
});

describe('Hosts at one address', () => {
  test('are asked one at a time, ipDelayMs apart, whatever their names', async () => {
    const { frontier, time } = await setUp();
    await frontier.offer(['https://a.test/', 'https://b.test/']);
    const [first, second] = await frontier.lease(2);
    expect(await frontier.claimAddress(first!, '192.0.2.1')).toBe(0);
    expect(await frontier.claimAddress(second!, '192.0.2.1')).toBeGreaterThan(T);
    await frontier.settle(second!, { outcome: 'deferred' });
    expect(await frontier.nextDueAt()).toBeUndefined();
    await frontier.settle(first!, good(time));
    expect(await frontier.nextDueAt()).toBe(T + 250);
    time.now += 250;
    expect((await one(frontier)).url).toBe(second!.url);
  });

  test('do not matter where the delays are 0', async () => {
    const { frontier } = await setUp({ politeness: { minDelayMs: 0 } });
    await frontier.offer(['https://a.test/', 'https://b.test/']);
    for (const lease of await frontier.lease(2)) expect(await frontier.claimAddress(lease, '192.0.2.1')).toBe(0);
  });
});

describe('A lease', () => {
  test('is lost after leaseTtlMs unless renewed, and its host keeps the delay', async () => {
    const { frontier, time } = await setUp({ leaseTtlMs: 5_000 });
    await frontier.offer(['https://host.test/1']);
    const lease = await one(frontier);
    time.now += 4_000;
    expect(await frontier.renew(lease)).toBe(true);
    time.now += 5_000;
    expect(await frontier.lease()).toEqual([]);
    time.now += 1_000;
    expect((await one(frontier)).url).toBe(lease.url);
    expect(await frontier.renew(lease)).toBe(false);
    expect((await frontier.settle(lease, good(time))).accepted).toBe(false);
  });

  test('past maxPagesPerHost is still given, one at a time', async () => {
    const { frontier, time } = await setUp({
      maxPagesPerHost: 1,
      politeness: { connectionsPerHost: 0, minDelayMs: 0, delayFactor: 0 },
    });
    await frontier.offer(['https://host.test/1', 'https://host.test/2', 'https://host.test/3']);
    const first = await frontier.lease(3);
    expect(first).toHaveLength(1);
    await frontier.settle(first[0]!, { ...good(time), delivered: true });
    const past = await frontier.lease(3);
    expect(past.map(({ host }) => host.pages)).toEqual([1]);
  });

  test('takes a whole number as limit', async () => {
    const { frontier } = await setUp();
    await expect(frontier.lease(1.5)).rejects.toMatchObject({ code: 'CRAWL_OPTION_INVALID' });
    expect(await frontier.lease(0)).toEqual([]);
  });
});

describe('What is known of a URL', () => {
  test('is found by any spelling of it', async () => {
    const { frontier } = await setUp();
    await frontier.offer([{ url: 'https://host.test/%7Ea', referrer: 'https://host.test/' }]);
    expect(await frontier.record('https://host.test/~a#x')).toMatchObject({
      state: 'queued',
      foundOn: 'https://host.test/',
    });
    expect(await frontier.has(new URL('https://host.test/~a'))).toBe(true);
    expect(await frontier.has('mailto:x')).toBe(false);
    expect(await frontier.record('mailto:x')).toBeUndefined();
  });

  test('is the reason of a note where it was never offered', async () => {
    const { frontier } = await setUp();
    await frontier.note('https://other.test/', { reason: 'off-host', foundOn: 'https://host.test/' });
    await frontier.note('no url', { reason: 'url-invalid' });
    expect(await frontier.record('https://other.test/')).toMatchObject({ state: 'skipped', reason: 'off-host' });
  });
});

describe('Frontier.close()', () => {
  test('gives leases back without hurrying their hosts, leaves the store open, and a second call does nothing', async () => {
    const { frontier, store, time } = await setUp();
    await frontier.offer(['https://host.test/1']);
    await frontier.lease();
    await frontier.close();
    await frontier.close();
    const { frontier: next } = await setUp({ store, clock: { now: () => time.now } });
    expect(await next.lease()).toEqual([]);
    expect(await next.nextDueAt()).toBe(T + 1_000);
    time.now += 1_000;
    expect((await one(next)).url).toBe('https://host.test/1');
  });

  test('makes all calls reject with CRAWL_CLOSED', async () => {
    const { frontier } = await setUp();
    await frontier.close();
    for (const call of [
      frontier.lease(),
      frontier.offer([]),
      frontier.stats(),
      frontier.flush(),
      frontier.nextDueAt(),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'CRAWL_CLOSED' });
    }
  });
});

describe('Frontier.open()', () => {
  test.each([
    [{ store: undefined }, 'CRAWL_OPTION_INVALID'],
    [{ store: {} }, 'CRAWL_OPTION_INVALID'],
    [{ stor: 1 }, 'CRAWL_OPTION_UNKNOWN'],
    [{ leaseTtlMs: 0 }, 'CRAWL_OPTION_INVALID'],
    [{ politeness: { minDelay: 1 } }, 'CRAWL_OPTION_UNKNOWN'],
  ])('refuses %j with %s', async (options, code) => {
    const store = await MemoryStore.open();
    await expect(Frontier.open({ store, ...options } as never)).rejects.toMatchObject({ code });
  });

  test('has the defaults that are documented', async () => {
    const { frontier } = await setUp();
    await frontier.offer(['https://host.test/']);
    const lease = await one(frontier);
    expect(lease.expiresAt - lease.leasedAt).toBe(FRONTIER_DEFAULTS.leaseTtlMs);
  });
});
