import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LeaseRules } from '../src/ports.ts';
import { MEMORY_STORE_DEFAULTS, MemoryStore } from '../src/store/memory/index.ts';
import { request, requests, Subject, T0 } from '../src/testing/fixture.ts';
import { exerciseStore, storeContract } from '../src/testing/index.ts';

describe('MemoryStore keeps the contract of stores', () => {
  for (const { name, run } of storeContract(() => MemoryStore.open())) test(name, run);
});

describe('the cases on reopening and sharing hold where nothing is ever closed', () => {
  let last: MemoryStore;
  const open = async () => {
    const store = await MemoryStore.open();
    last = new Proxy(store, {
      get: (target, name: keyof MemoryStore) =>
        name === 'close' ? async () => {} : target[name]?.bind(target as never),
    });
    return last;
  };
  const same = async () => last;
  const cases = storeContract(open, { reopen: same, crash: async () => {}, share: same, seeds: [] });
  for (const { name, run } of cases.filter((one) => /^(after|shared)/.test(one.name))) test(name, run);
});

const rules: fc.Arbitrary<LeaseRules> = fc.record({
  connectionsPerHost: fc.integer({ min: 0, max: 4 }),
  pagesPerHost: fc.constantFrom(Number.POSITIVE_INFINITY, 1, 3, 10),
  startGapMs: fc.constantFrom(0, 50, 1_000),
  shareAddress: fc.boolean(),
});

test('walks of any size under any rules agree with the model', async () => {
  const walks = fc.record({
    seed: fc.integer(),
    hosts: fc.integer({ min: 1, max: 12 }),
    addresses: fc.integer({ min: 1, max: 6 }),
    rules,
  });
  const walk = async (options: { seed: number; hosts: number; addresses: number; rules: LeaseRules }) =>
    exerciseStore(await MemoryStore.open(), { ...options, steps: 250 });
  await fc.assert(fc.asyncProperty(walks, walk), { numRuns: 60 });
});

describe('the model and the cases find faults', () => {
  const faults: [name: string, broken: () => Promise<MemoryStore>][] = [
    ['a seen test that forgets', () => brokenStore(forgetful)],
    ['a settlement that is accepted twice', () => brokenStore(acceptsTwice)],
    ['a clock that is not kept', () => brokenStore(dropsHostClock)],
    ['a retry that is lost', () => brokenStore(losesRetries)],
    ['a nextDueAt that is late', () => brokenStore(lateNextDue)],
    ['a lease that leaves work lying', () => brokenStore(lazyLease)],
  ];
  test.each(faults)('%s', async (_, broken) => {
    await expect(exerciseStore(await broken(), { seed: 7, steps: 300 })).rejects.toThrow(/Seed 7/);
    const outcomes = await Promise.allSettled(storeContract(broken, { seeds: [] }).map(({ run }) => run()));
    expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
  });
});

/** A store with some verbs replaced. */
async function brokenStore(faults: (store: MemoryStore) => Partial<MemoryStore>): Promise<MemoryStore> {
  const store = await MemoryStore.open();
  const broken = faults(store);
  return new Proxy(store, {
    get: (target, name: keyof MemoryStore) => broken[name] ?? target[name]?.bind(target as never),
  });
}

function forgetful(store: MemoryStore): Partial<MemoryStore> {
  let n = 0;
  return {
    offer: (batch, now, onKnown) =>
      store.offer(
        batch.map((one) => ({ ...one, key: `${one.key}#${n++}` })),
        now,
        onKnown,
      ),
  };
}

function acceptsTwice(store: MemoryStore): Partial<MemoryStore> {
  return { settle: async (...args) => ({ ...(await store.settle(...args)), accepted: true }) };
}

function dropsHostClock(store: MemoryStore): Partial<MemoryStore> {
  return {
    settle: (lease, settlement, ...rest) =>
      store.settle(lease, { ...settlement, host: { ...settlement.host, nextAt: 0 } }, ...rest),
  };
}

function losesRetries(store: MemoryStore): Partial<MemoryStore> {
  return {
    settle: (lease, settlement, ...rest) =>
      store.settle(lease, settlement.outcome === 'retry' ? { ...settlement, outcome: 'failed' } : settlement, ...rest),
  };
}

function lateNextDue(store: MemoryStore): Partial<MemoryStore> {
  return {
    nextDueAt: async (...args) => {
      const at = await store.nextDueAt(...args);
      return at === undefined ? undefined : at + 1;
    },
  };
}

function lazyLease(store: MemoryStore): Partial<MemoryStore> {
  return { lease: (now, limit, ...rest) => store.lease(now, Math.min(limit, 1), ...rest) };
}

describe('MemoryStore', () => {
  test('new MemoryStore() is a store as well', async () => {
    expect(await new MemoryStore().offer(requests('/a'), T0)).toBe(1);
  });

  test('refuses options it does not know, and a maxRecords that is no number', async () => {
    expect(() => new MemoryStore({ maxRecord: 1 } as never)).toThrow(/maxRecords/);
    await expect(MemoryStore.open({ maxRecords: -1 })).rejects.toMatchObject({ code: 'CRAWL_OPTION_INVALID' });
  });

  test('keeps the records of the URLs touched last', async () => {
    const s = new Subject(await MemoryStore.open({ maxRecords: 3 }));
    await s.offer('/1', '/2', '/3');
    await s.turn();
    await s.offer('/4', '/5');
    const known = await Promise.all(['/1', '/2', '/3', '/4', '/5'].map((path) => s.store.record(request(path).key)));
    expect(known.map((record) => record?.state)).toEqual(['done', undefined, undefined, 'queued', 'queued']);
    expect(await s.store.has(request('/2').key)).toBe(true);
  });

  test('keeps no records at all with maxRecords 0', async () => {
    const s = new Subject(await MemoryStore.open({ maxRecords: 0 }));
    await s.offer('/1');
    await s.turn();
    expect(await s.store.record(request('/1').key)).toBeUndefined();
    expect(MEMORY_STORE_DEFAULTS.maxRecords).toBe(10_000);
  });

  test('takes other rules at any lease', async () => {
    const s = new Subject(await MemoryStore.open());
    await s.offer('/1', '/2', 'https://b.test/', 'https://c.test/');
    await s.store.setHost('b.test', { address: '192.0.2.1' });
    await s.store.setHost('c.test', { address: '192.0.2.1' });
    expect(await s.lease(T0, 9)).toHaveLength(2);
    expect(await s.lease(T0, 9, { shareAddress: false })).toHaveLength(1);
    expect(await s.lease(T0, 9, { connectionsPerHost: 2 })).toHaveLength(1);
    expect((await s.store.stats()).leased).toBe(4);
  });

  test('a batch whose onKnown throws is queued all the same', async () => {
    const s = new Subject(await MemoryStore.open());
    await s.offer('/1');
    const offered = s.store.offer(requests('/1', '/2'), T0, () => {
      throw new Error('from a listener');
    });
    await expect(offered).rejects.toThrow('from a listener');
    expect(await s.drain()).toEqual(['/1', '/2']);
  });
});
