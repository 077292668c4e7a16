import { type LookupAddress, lookup as nodeLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AddressGuard } from '../src/address-guard.ts';
import { DnsCache, type DnsLookup } from '../src/dns.ts';
import { isCrawlError } from '../src/errors.ts';
import { rejection } from './helpers/fetcher.ts';

const MINUTE = 60_000;

/** A lookup that notes its questions, and a clock to be moved by hand. */
function setUp(answer: (hostname: string) => unknown = () => ['192.0.2.1']) {
  const asked: string[] = [];
  const clock = { time: 0, now: () => clock.time };
  const lookup = (async (hostname: string) => {
    asked.push(hostname);
    return answer(hostname);
  }) as DnsLookup;
  return { asked, clock, lookup };
}

/** Calls a socket's lookup as `net.connect` does. */
function dial(lookup: LookupFunction, hostname: string, options: object): Promise<unknown[]> {
  return new Promise((resolve) => lookup(hostname, options as never, (...args) => resolve(args)));
}

describe('DnsCache.resolve()', () => {
  test.each<[string, DnsLookup]>([
    ['a promise of one address', async () => '192.0.2.1'],
    ['a promise of several', async () => ['192.0.2.1', '2001:db8::1']],
    ['a promise of objects', async () => [{ address: '192.0.2.1', family: 4 }, { address: '2001:db8::1' }]],
    ["Node's callback with one", (_host, _options, callback) => callback(null, '192.0.2.1', 4)],
    [
      "Node's callback with all",
      (_host, _options, callback) => setImmediate(callback, null, [{ address: '192.0.2.1', family: 4 }]),
    ],
    [
      'a callback called by an async function',
      (async (_host: string, _options: object, callback: (error: null, address: string) => void) => {
        await null;
        callback(null, '192.0.2.1');
      }) as unknown as DnsLookup,
    ],
  ])('understands a lookup that answers by %s', async (_, lookup) => {
    const addresses = await new DnsCache({ lookup }).resolve('a.example.test');
    expect(addresses[0]).toEqual({ address: '192.0.2.1', family: 4 });
    if (addresses.length > 1) expect(addresses[1]).toEqual({ address: '2001:db8::1', family: 6 });
  });

  test('asks a lookup in the way of dns.lookup', async () => {
    const seen: unknown[] = [];
    const lookup: DnsLookup = (host, options, callback) => {
      seen.push(host, options);
      callback(null, '192.0.2.1');
    };
    await new DnsCache({ lookup }).resolve('A.Example.Test');
    expect(seen).toEqual(['a.example.test', { all: true, family: 0 }]);
  });

  test.each<[string, DnsLookup]>([
    ['rejects', () => Promise.reject(new Error('ENOTFOUND'))],
    ['calls back with an error', (_host, _options, callback) => callback(new Error('ENOTFOUND'))],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['finds nothing', async () => []],
    ['answers undefined', (async () => undefined) as unknown as DnsLookup],
    ['answers a name', async () => ['b.example.test']],
    ['answers nonsense', (async () => [{ family: 4 }, null]) as unknown as DnsLookup],
    ['never answers', () => new Promise(() => {})],
  ])('is CRAWL_DNS_FAILED and retryable where the lookup %s', async (_, lookup) => {
    const error = await rejection(new DnsCache({ lookup, timeoutMs: 50 }).resolve('a.example.test'));
    expect(error).toMatchObject({ code: 'CRAWL_DNS_FAILED', retryable: true });
    expect(String(error)).toContain('a.example.test');
  });

  test('answers for an IP address itself, brackets and all', async () => {
    const { asked, lookup } = setUp();
    const cache = new DnsCache({ lookup });
    expect(await cache.resolve('192.0.2.9')).toEqual([{ address: '192.0.2.9', family: 4 }]);
    expect(await cache.resolve('[2001:DB8::1]')).toEqual([{ address: '2001:db8::1', family: 6 }]);
    expect(asked).toEqual([]);
  });

  test('remembers an answer for its time to live, whatever the case and the trailing dot of the name', async () => {
    const { asked, clock, lookup } = setUp();
    const cache = new DnsCache({ lookup, clock, ttlMs: 2 * MINUTE });
    for (const name of ['a.example.test', 'A.EXAMPLE.test', 'a.example.test.']) await cache.resolve(name);
    clock.time = 2 * MINUTE - 1;
    await cache.resolve('a.example.test');
    expect(asked).toHaveLength(1);
    clock.time = 2 * MINUTE;
    await cache.resolve('a.example.test');
    expect(asked).toHaveLength(2);
  });

  test.each([
    [0, MINUTE],
    [24 * 60 * MINUTE, 60 * MINUTE],
  ])('keeps a time to live of %i ms within its bounds: %i', async (ttlMs, kept) => {
    const { asked, clock, lookup } = setUp();
    const cache = new DnsCache({ lookup, clock, ttlMs });
    await cache.resolve('a.example.test');
    clock.time = kept - 1;
    await cache.resolve('a.example.test');
    expect(asked).toHaveLength(1);
    clock.time = kept;
    await cache.resolve('a.example.test');
    expect(asked).toHaveLength(2);
  });

  test('remembers a failure, but not for long', async () => {
    let healthy = false;
    const { asked, clock, lookup } = setUp(() => {
      if (!healthy) throw new Error('SERVFAIL');
      return '192.0.2.1';
    });
    const cache = new DnsCache({ lookup, clock, negativeTtlMs: 1000 });
    await rejection(cache.resolve('a.example.test'));
    healthy = true;
    await rejection(cache.resolve('a.example.test'));
    expect(asked).toHaveLength(1);
    clock.time = 1000;
    expect(await cache.resolve('a.example.test')).toHaveLength(1);
  });

  test.each([
    ['ENOTFOUND', 30_000],
    ['ENODATA', 30_000],
    ['EAI_AGAIN', 500],
    ['ESERVFAIL', 500],
    ['ETIMEOUT', 500],
    ['ECONNREFUSED', 500],
  ])('believes %s for %i ms', async (code, ms) => {
    const { asked, clock, lookup } = setUp(() => {
      throw Object.assign(new Error(`queryA ${code}`), { code });
    });
    const cache = new DnsCache({ lookup, clock });
    expect(await rejection(cache.resolve('a.example.test'))).toMatchObject({ retryable: true, cause: { code } });
    clock.time = ms - 1;
    await rejection(cache.resolve('a.example.test'));
    expect(asked).toHaveLength(1);
    clock.time = ms;
    await rejection(cache.resolve('a.example.test'));
    expect(asked).toHaveLength(2);
    cache.forgetFailure('a.example.test');
    await rejection(cache.resolve('a.example.test'));
    expect(asked).toHaveLength(3);
  });

  test('known() tells what is in the cache, for as long as it is good, and asks nobody', async () => {
    const { asked, clock, lookup } = setUp();
    const cache = new DnsCache({ lookup, clock });
    expect(cache.known('a.example.test')).toBeUndefined();
    const asking = cache.resolve('a.example.test');
    expect(cache.known('a.example.test')).toBeUndefined();
    cache.forgetFailure('a.example.test');
    const addresses = await asking;
    expect(cache.known('a.example.test')).toBe(addresses);
    cache.forgetFailure('a.example.test');
    clock.time = 5 * MINUTE;
    expect(cache.known('a.example.test')).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  test('waitedMs() tells how long a question has been open', async () => {
    let answer: ((address: string) => void) | undefined;
    const cache = new DnsCache({ lookup: () => new Promise((resolve) => (answer = resolve)) });
    expect(cache.waitedMs('a.example.test')).toBe(0);
    const asking = cache.resolve('a.example.test');
    await expect.poll(() => cache.waitedMs('a.example.test')).toBeGreaterThan(5);
    answer?.('192.0.2.1');
    await asking;
    expect(cache.waitedMs('a.example.test')).toBe(0);
  });

  test('prefetch() has no more than 64 questions open, asks none twice, and holds up nobody', async () => {
    const answers: (() => void)[] = [];
    const asked: string[] = [];
    const cache = new DnsCache({
      lookup: (hostname) => {
        asked.push(hostname);
        return hostname.startsWith('now')
          ? Promise.resolve('192.0.2.1')
          : new Promise((r) => answers.push(() => r('192.0.2.2')));
      },
    });
    for (let n = 0; n < 500; n++) cache.prefetch(`h${n % 100}.example.test`);
    expect(asked).toHaveLength(64);
    expect(new Set(asked).size).toBe(64);
    expect(await cache.resolve('now.example.test')).toHaveLength(1);
    for (const tell of answers) tell();
    await cache.resolve('h0.example.test');
    await new Promise(setImmediate);
    for (let n = 0; n < 100; n++) cache.prefetch(`h${n}.example.test`);
    expect(asked).toHaveLength(101);
  });

  test('asks once for many who ask at the same time', async () => {
    const { asked, lookup } = setUp();
    const cache = new DnsCache({ lookup });
    const answers = await Promise.all(Array.from({ length: 50 }, () => cache.resolve('a.example.test')));
    expect(asked).toHaveLength(1);
    expect(new Set(answers).size).toBe(1);
  });

  test('lets a host that is not found in time hold up no other', async () => {
    const cache = new DnsCache({
      lookup: (hostname) => (hostname.startsWith('slow') ? new Promise(() => {}) : Promise.resolve('192.0.2.1')),
      timeoutMs: 200,
    });
    const slow = Array.from({ length: 20 }, (_, n) => rejection(cache.resolve(`slow${n}.example.test`)));
    expect(await cache.resolve('fast.example.test')).toHaveLength(1);
    for (const error of await Promise.all(slow)) expect(error).toMatchObject({ code: 'CRAWL_DNS_FAILED' });
  });

  test('forgets the host that was not asked for longest', async () => {
    const { asked, lookup } = setUp();
    const cache = new DnsCache({ lookup, maxHosts: 2 });
    for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) await cache.resolve(`${name}.example.test`);
    expect(asked.map((name) => name[0])).toEqual(['a', 'b', 'c', 'b']);
    expect(cache.size).toBe(2);
  });

  test('prefetch() has the answer ready, and keeps a failure to itself', async () => {
    const { asked, lookup } = setUp((hostname) => {
      if (hostname.startsWith('bad')) throw new Error('NXDOMAIN');
      return '192.0.2.1';
    });
    const cache = new DnsCache({ lookup });
    cache.prefetch('a.example.test');
    cache.prefetch('bad.example.test');
    await cache.resolve('a.example.test');
    await rejection(cache.resolve('bad.example.test'));
    expect(asked).toEqual(['a.example.test', 'bad.example.test']);
  });

  test('asks the system where no lookup is given', async () => {
    const addresses = await new DnsCache().resolve('localhost');
    expect(['127.0.0.1', '::1']).toContain(addresses[0]?.address);
    const error = await rejection(new DnsCache({ timeoutMs: 4000 }).resolve('no-such-host.invalid'));
    expect(error).toMatchObject({ code: 'CRAWL_DNS_FAILED', retryable: true });
  });

  test("takes Node's own dns.lookup", async () => {
    const addresses = await new DnsCache({ lookup: nodeLookup }).resolve('localhost');
    expect(['127.0.0.1', '::1']).toContain(addresses[0]?.address);
  });

  test('opens nothing when it is made', () => {
    const before = process.getActiveResourcesInfo();
    new DnsCache();
    expect(process.getActiveResourcesInfo()).toEqual(before);
  });

  test.each([{ lookup: 5 }, { ttl: 5 }, { timeoutMs: 0 }, { maxHosts: 0 }, { ttlMs: Number.NaN }])(
    'refuses options of %o',
    (options) => {
      expect(() => new DnsCache(options as never)).toThrow(
        expect.toSatisfy((error) => isCrawlError(error) && error.code.startsWith('CRAWL_OPTION_')),
      );
    },
  );
});

describe('DnsCache.lookupFor()', () => {
  const cache = new DnsCache({ lookup: async () => ['10.0.0.1', '8.8.8.8', '2606:4700:4700::1111', '127.0.0.1'] });

  test('hands out only what the guard lets pass, in the form that was asked for', async () => {
    const lookup = cache.lookupFor(new AddressGuard('public'));
    expect(await dial(lookup, 'a.example.test', { all: true })).toEqual([
      null,
      [
        { address: '8.8.8.8', family: 4 },
        { address: '2606:4700:4700::1111', family: 6 },
      ],
    ]);
    expect(await dial(lookup, 'a.example.test', {})).toEqual([null, '8.8.8.8', 4]);
    expect(await dial(lookup, 'a.example.test', { family: 6 })).toEqual([null, '2606:4700:4700::1111', 6]);
    expect(await dial(lookup, 'a.example.test', { family: 'IPv4', all: true })).toEqual([
      null,
      [{ address: '8.8.8.8', family: 4 }],
    ]);
  });

  test("gives the guard's refusal where nothing passes", async () => {
    const shut = new DnsCache({ lookup: async () => ['10.0.0.1', '127.0.0.1'] });
    const [error] = await dial(shut.lookupFor(new AddressGuard('public')), 'a.example.test', { all: true });
    expect(error).toMatchObject({ code: 'CRAWL_ADDRESS_REFUSED' });
    expect(String(error)).toContain('10.0.0.1');
  });

  test('gives an error where there is no address of the family', async () => {
    const old = new DnsCache({ lookup: async () => '8.8.8.8' });
    const [error] = await dial(old.lookup, 'a.example.test', { family: 6 });
    expect(error).toMatchObject({ code: 'CRAWL_DNS_FAILED' });
  });

  test('never lets pass what the guard would refuse', async () => {
    const guard = new AddressGuard('public');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fc.ipV4(), fc.ipV6()), { minLength: 1, maxLength: 5 }), async (addresses) => {
        const any = new DnsCache({ lookup: async () => addresses });
        const [error, found] = await dial(any.lookupFor(guard), 'a.example.test', { all: true });
        if (error !== null) {
          expect(error).toMatchObject({ code: 'CRAWL_ADDRESS_REFUSED' });
          return;
        }
        for (const { address } of found as LookupAddress[]) guard.check(address, 'a.example.test');
      }),
    );
  });
});

test('close() ends what is being looked for', async () => {
  const cache = new DnsCache({ lookup: () => new Promise(() => {}), timeoutMs: 60_000 });
  const answer = cache.resolve('a.example.test');
  cache.prefetch('b.example.test');
  cache.close();
  await expect(answer).rejects.toMatchObject({ code: 'CRAWL_CLOSED' });
});
