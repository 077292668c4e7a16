import assert from 'node:assert/strict';
import type { HostPatch } from '../../ports.ts';
import { type CaseOn, known, pathOf, requests, type Subject, T0, TTL } from '../fixture.ts';
import { range } from './offers.ts';

/** Clocks of hosts, and leases that run out. */
export const clocks: readonly CaseOn<Subject>[] = [
  [
    'a host is not asked before its next time, nor while it is blocked',
    async (s) => {
      await s.offer('/1', '/2', '/3');
      await s.turn(T0, { nextAt: T0 + 1_000 });
      assert.deepEqual(await s.lease(T0 + 999, 10), []);
      assert.equal(await s.nextDueAt(), T0 + 1_000);
      await s.turn(T0 + 1_000, { nextAt: T0 + 2_000, blockedUntil: T0 + 9_000 });
      assert.equal(await s.nextDueAt(T0 + 1_000), T0 + 9_000);
      assert.deepEqual(await s.lease(T0 + 8_999, 10), []);
      assert.equal(pathOf(await s.one(T0 + 9_000)), '/3');
    },
  ],
  ['a settlement sets what it gives of a host and leaves the rest', hostPatches],
  [
    'a settlement never moves times back',
    async (s) => {
      await s.offer('/1');
      await s.store.setHost('host.test', { nextAt: T0, blockedUntil: T0 });
      const lease = await s.one();
      await s.store.setHost('host.test', { nextAt: T0 + 5_000, blockedUntil: T0 + 6_000 });
      await s.settle(lease, { host: { nextAt: T0 + 1_000, blockedUntil: 0 } });
      const host = await s.store.getHost('host.test');
      assert.deepEqual([host?.nextAt, host?.blockedUntil], [T0 + 5_000, T0 + 6_000]);
    },
  ],
  [
    'upcoming, where a store has it, names hosts that wait, the next one first, and changes nothing',
    async (s) => {
      if (s.store.upcoming === undefined) return;
      assert.deepEqual(await s.store.upcoming(10), []);
      for (const n of range(20)) {
        await s.offer(`http://h${n}.test/1`, `http://h${n}.test/2`);
        await s.store.setHost(`h${n}.test`, { nextAt: T0 + 10_000 - n });
      }
      const named = await s.store.upcoming(8);
      assert.equal(named[0], 'h19.test');
      assert.equal(new Set(named).size, 8);
      for (const name of named) assert.match(name, /^h\d+\.test$/);
      assert.equal((await s.store.upcoming(100)).length, 20);
      const lease = await s.one(T0 + 10_000);
      assert.equal(lease.request.host, 'h19.test');
      assert.ok(!(await s.store.upcoming(100)).includes('h19.test'));
      await s.settle(lease, { host: { nextAt: T0 + 20_000 } });
      assert.equal(await s.nextDueAt(), T0 + 10_000 - 18);
    },
  ],
  [
    'setHost moves times forth and back',
    async (s) => {
      await s.offer('/1');
      await s.store.setHost('host.test', { blockedUntil: T0 + 60_000 });
      assert.deepEqual(await s.lease(), []);
      await s.store.setHost('host.test', { blockedUntil: T0 + 10 });
      assert.equal(await s.nextDueAt(), T0 + 10);
      await s.store.setHost('host.test', { blockedUntil: 0 });
      assert.equal(pathOf(await s.one()), '/1');
    },
  ],
  [
    'setHost makes a host known that has no URL yet, and its clock holds for the first',
    async (s) => {
      assert.equal(await s.store.getHost('host.test'), undefined);
      await s.store.setHost('host.test', { nextAt: T0 + 100 });
      assert.equal((await s.store.getHost('host.test'))?.nextAt, T0 + 100);
      await s.offer('/1');
      assert.deepEqual(await s.lease(T0 + 99), []);
      assert.equal(pathOf(await s.one(T0 + 100)), '/1');
    },
  ],
  [
    "a host's clock outlives its queue",
    async (s) => {
      await s.offer('/1');
      await s.turn(T0, { nextAt: T0 + 1_000, delayMs: 1_000 });
      assert.equal(await s.nextDueAt(), undefined);
      await s.store.offer(requests('/2'), T0 + 10);
      assert.deepEqual(await s.lease(T0 + 999), []);
      assert.equal((await s.store.getHost('host.test'))?.delayMs, 1_000);
      assert.equal(pathOf(await s.one(T0 + 1_000)), '/2');
    },
  ],
  [
    'nextDueAt is the earliest of many hosts, and not after now where something is due',
    async (s) => {
      const moments = range(20).map((n) => T0 + 100 + ((n * 37) % 20) * 10);
      for (const [n, nextAt] of moments.entries()) {
        await s.offer(`https://h${n}.test/`);
        await s.store.setHost(`h${n}.test`, { nextAt });
      }
      for (const moment of [...moments].sort((a, b) => a - b)) {
        assert.equal(await s.nextDueAt(moment - 1), moment);
        assert.deepEqual(await s.lease(moment - 1), []);
        assert.ok(((await s.nextDueAt(moment + 5)) ?? Number.NaN) <= moment + 5);
        assert.equal((await s.one(moment)).host.nextAt, moment);
      }
      assert.equal(await s.nextDueAt(), undefined);
    },
  ],
  ['a lease that ran out is handed out again, and the settlement of the old one refused', expiry],
  [
    'the host of a lease that ran out counts as asked until then',
    async (s) => {
      await s.offer('/1', '/2');
      await s.store.setHost('host.test', { delayMs: 2_000, crawlDelayMs: 3_000 });
      const { expiresAt } = await s.one();
      const due = expiresAt + 3_000;
      assert.deepEqual(await s.lease(expiresAt, 10, { startGapMs: 1_000 }), []);
      assert.equal(await s.nextDueAt(expiresAt, { startGapMs: 1_000 }), due);
      assert.deepEqual(await s.lease(due - 1, 10, { startGapMs: 1_000 }), []);
      assert.equal(pathOf(await s.one(due)), '/1');
    },
  ],
  [
    'a host that was never settled keeps the start gap when its lease runs out',
    async (s) => {
      await s.offer('/1');
      const { expiresAt } = await s.one();
      assert.deepEqual(await s.lease(expiresAt + 999, 10, { startGapMs: 1_000 }), []);
      assert.equal(pathOf(await s.one(expiresAt + 1_000, { startGapMs: 1_000 })), '/1');
    },
  ],
  [
    'renew holds a lease for longer',
    async (s) => {
      await s.offer('/1');
      const lease = await s.one();
      assert.equal(await s.store.renew(lease, T0 + TTL - 1, TTL), true);
      assert.deepEqual(await s.lease(T0 + TTL), []);
      assert.deepEqual(await s.lease(T0 + 2 * TTL - 2), []);
      assert.equal((await s.settle(lease, {}, T0 + 2 * TTL - 2)).accepted, true);
      assert.equal(await s.store.renew(lease, T0, TTL), false);
    },
  ],
  [
    'a lease that ran out unnoticed may still be settled or renewed',
    async (s) => {
      await s.offer('/1', 'https://other.test/2');
      const [first, second] = await s.lease(T0, 2);
      assert.equal(await s.store.renew(first!, T0 + TTL + 5, TTL), true);
      assert.equal((await s.settle(second!, {}, T0 + TTL + 5)).accepted, true);
      assert.deepEqual(await s.lease(T0 + TTL + 5), []);
    },
  ],
];

async function hostPatches(s: Subject): Promise<void> {
  await s.offer('/1', '/2');
  const patch: HostPatch = {
    nextAt: T0 + 1,
    blockedUntil: T0 + 2,
    delayMs: 3.5,
    crawlDelayMs: 4,
    backoff: 5,
    successes: 6,
    failures: 7,
    refusals: 8,
  };
  const lease = await s.one();
  await s.settle(lease, { host: patch });
  const expected = { ...patch, host: 'host.test', pages: 0, inFlight: 0 };
  const { address, ...state } = (await s.store.getHost('host.test'))!;
  assert.equal(address, undefined);
  assert.deepEqual(state, expected);
  const next = await s.one(T0 + 2);
  await s.settle(next, { host: { failures: 0, address: '192.0.2.1' } });
  assert.deepEqual(known((await s.store.getHost('host.test')) ?? {}), {
    ...expected,
    failures: 0,
    address: '192.0.2.1',
  });
}

async function expiry(s: Subject): Promise<void> {
  await s.offer('/1', '/2');
  const old = await s.one();
  assert.deepEqual(await s.lease(T0 + TTL - 1), []);
  const again = await s.one(T0 + TTL);
  assert.equal(pathOf(again), '/1');
  assert.ok(again.fence > old.fence);
  assert.deepEqual(await s.settle(old, { outlinks: requests('/3') }, T0 + TTL), { accepted: false, offered: 0 });
  assert.equal(await s.store.renew(old, T0 + TTL, TTL), false);
  assert.deepEqual(await s.lease(T0 + TTL, 10), []);
  assert.equal((await s.settle(again, {}, T0 + TTL)).accepted, true);
  assert.deepEqual(await s.drain(T0 + TTL), ['/2']);
  const { done, seen, leased, queued } = await s.store.stats();
  assert.deepEqual({ done, seen, leased, queued }, { done: 2, seen: 2, leased: 0, queued: 0 });
}
