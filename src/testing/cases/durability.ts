import assert from 'node:assert/strict';
import type { Lease, OutcomeKind } from '../../ports.ts';
import { type CaseOn, hostsOf, pathOf, request, Subject, sameRequest, T0, TTL } from '../fixture.ts';
import { Random } from '../random.ts';
import { range } from './offers.ts';

/** A store that can be let go of and opened again: by `close`, or as a process does that is killed. */
export interface Reopened {
  readonly subject: Subject;
  /** Whether one process at a time has the store, so that at its opening no lease can be held by another. */
  readonly exclusive: boolean;
  /** The same store, opened again. */
  again(): Promise<Subject>;
}

/** What outlives the process. */
export const durability: readonly CaseOn<Reopened>[] = [
  [
    'queue, seen test, order and counts are there again',
    async ({ subject, again }) => {
      await subject.offer('/1', '/2', { url: '/high', level: 7 }, '/3');
      assert.equal(await subject.turn(), '/high');
      await subject.settle(await subject.one(), { delivered: true });
      await subject.store.flush();
      const before = await subject.store.stats();
      const s = await again();
      assert.deepEqual(await s.store.stats(), before);
      assert.equal(await s.offer('/1', '/2', '/4'), 1);
      assert.deepEqual(await s.drain(), ['/2', '/3', '/4']);
    },
  ],
  [
    'a revisit is there again as it was, waiting and leased',
    async ({ subject, again, exclusive }) => {
      await subject.offer('/a', '/b');
      await subject.drain();
      const revisit = { url: '/a', revisit: true, depth: 3 };
      assert.equal(await subject.offer(revisit, { url: '/b', revisit: true }), 2);
      await subject.store.flush();
      const second = await again();
      assert.equal(await second.offer(revisit), 0);
      sameRequest((await second.one()).request, request(revisit));
      await second.store.flush();
      const third = await again();
      sameRequest((await third.one(exclusive ? T0 : T0 + TTL)).request, request(revisit));
      const { queued, leased, seen, done } = await third.store.stats();
      assert.deepEqual({ queued, leased, seen, done }, { queued: 1, leased: 1, seen: 2, done: 2 });
    },
  ],
  [
    'the levels go on where they stood',
    async ({ subject, again }) => {
      const levels = range(60).map((n) => ({ url: `/${n % 3}/${n}`, level: (n % 3) - 1 }));
      await subject.offer(...levels);
      const first: string[] = [];
      for (const _ of range(7)) first.push(await subject.turn());
      await subject.store.flush();
      const s = await again();
      const got = [...first, ...(await s.drain())];
      const { MemoryStore } = await import('../../store/memory/index.ts');
      const whole = new Subject(new MemoryStore());
      await whole.offer(...levels);
      assert.deepEqual(got, await whole.drain());
    },
  ],
  [
    'clocks and states of hosts and addresses hold',
    async ({ subject, again }) => {
      await subject.offer('https://a.test/1', 'https://a.test/2', 'https://b.test/1');
      await subject.store.setHost('b.test', { nextAt: T0 + 1, address: '192.0.2.1' });
      const lease = await subject.one();
      await subject.store.claimAddress(lease, '192.0.2.1', T0);
      await subject.settle(lease, { host: { nextAt: T0 + 1_000, delayMs: 77, backoff: 3 }, addressNextAt: T0 + 500 });
      const state = await subject.store.getHost('a.test');
      await subject.store.flush();
      const s = await again();
      assert.deepEqual(await s.store.getHost('a.test'), state);
      assert.deepEqual(await s.lease(T0 + 499, 10), []);
      assert.equal(await s.nextDueAt(T0 + 499), T0 + 500);
      assert.deepEqual(hostsOf(await s.lease(T0 + 500, 10)), ['b.test']);
    },
  ],
  [
    'deferred URLs and retries keep their place and due time',
    async ({ subject, again }) => {
      await subject.offer('/1', '/2', '/3');
      const out = await subject.lease(T0, 2, { connectionsPerHost: 0 });
      const retry = { ...out[0]!.request, attempts: 1 };
      await subject.settle(out[0]!, { outcome: 'retry', requeue: { request: retry, dueAt: T0 + 1_000 } });
      await subject.settle(out[1]!, { outcome: 'deferred' });
      await subject.store.flush();
      const s = await again();
      assert.equal(await s.turn(), '/2');
      sameRequest((await s.one(T0 + 1_000)).request, retry);
    },
  ],
  [
    'leases that were out come back, after the gap of their host at once where nobody else can hold them, else by their expiry',
    async ({ subject, exclusive, again }) => {
      await subject.offer('/1', '/2');
      await subject.store.setHost('host.test', { delayMs: 2_000 });
      const lease = await subject.one();
      await subject.store.flush();
      const s = await again();
      const rules = { startGapMs: 1_000 };
      // Whether to wait or to end is decided by nextDueAt: a crawl that is resumed must not end here.
      if (exclusive) assert.equal(await s.nextDueAt(T0, rules), T0 + 2_000);
      assert.deepEqual(await s.lease(T0, 10, rules), []);
      assert.deepEqual(await s.lease(T0 + 1_999, 10, rules), []);
      const due = exclusive ? T0 + 2_000 : T0 + TTL + 2_000;
      const back = await s.one(due, rules);
      assert.equal(pathOf(back), '/1');
      assert.ok(back.fence > lease.fence);
      assert.equal((await s.settle(lease, {}, due)).accepted, false);
    },
  ],
  [
    'meta and records are there again',
    async ({ subject, again }) => {
      await subject.offer('/1', '/2');
      await subject.store.setMeta('a', Uint8Array.of(1, 2));
      await subject.settle(await subject.one(), {
        record: { status: 200 },
        meta: [['b', Uint8Array.of(3)]],
      });
      await subject.store.flush();
      const s = await again();
      assert.deepEqual([...((await s.store.getMeta('a')) ?? [])], [1, 2]);
      assert.deepEqual([...((await s.store.getMeta('b')) ?? [])], [3]);
      assert.equal((await s.store.record(request('/1').key))?.state, 'done');
      assert.equal((await s.store.record(request('/2').key))?.state, 'queued');
    },
  ],
  [
    'every URL comes to its end once, whatever is asked and written between many crashes',
    async ({ subject, again }) => {
      for (const seed of range(3)) subject = await endless(subject, again, new Random(seed));
    },
  ],
];

/** Works a store at random, with slow and quick hosts, through many crashes; then works off what is left. */
async function endless(subject: Subject, again: () => Promise<Subject>, random: Random): Promise<Subject> {
  const rules = { startGapMs: 100 };
  const name = random.below(1e9);
  const ended = new Set<string>();
  let s = subject;
  let offered = 0;
  let now = T0;
  const end = async (lease: Lease): Promise<void> => {
    assert.ok(!ended.has(lease.url), `${lease.url} came again after its end`);
    const outcome = random.pick<OutcomeKind>(['done', 'done', 'failed', 'retry', 'deferred']);
    const delayMs = random.pick([0, 0, 300, 2_000]);
    const host = { nextAt: now + Math.max(100, delayMs), delayMs };
    const { accepted } = await s.settle(lease, { outcome, host }, now);
    assert.ok(accepted, `the lease of ${lease.url} was refused`);
    if (outcome === 'done' || outcome === 'failed') ended.add(lease.url);
  };
  for (const _ of range(12)) {
    const out: Lease[] = [];
    for (const _ of range(40)) {
      const verb = random.below(6);
      if (verb === 0) offered += await s.offer(`https://${name}-${random.below(12)}.test/${offered}`);
      else if (verb === 1) out.push(...(await s.lease(now, random.below(4), rules)));
      else if (verb === 2 && out.length > 0) await end(out.splice(random.below(out.length), 1)[0]!);
      else if (verb === 3) await s.store.flush();
      else if (verb === 4) now = Math.max(now, (await s.nextDueAt(now, rules)) ?? now);
      else now += random.below(400);
    }
    await s.store.flush();
    s = await again();
    // Leases of a dead process run out, where they don't come back at once.
    now += random.pick([0, 50, TTL]);
  }
  for (let idle = 0; ended.size < offered; ) {
    const leases = await s.lease(now, 5, rules);
    idle = leases.length === 0 ? idle + 1 : 0;
    assert.ok(idle < 5, `${offered - ended.size} URLs are lost`);
    for (const lease of leases) await end(lease);
    if (leases.length === 0) now = Math.max(now + 1, (await s.nextDueAt(now, rules)) ?? now + TTL);
  }
  const { queued, leased } = await s.store.stats();
  assert.deepEqual({ queued, leased }, { queued: 0, leased: 0 });
  return s;
}

/** Two workers on one store. */
export const sharing: readonly CaseOn<{ readonly one: Subject; readonly other: Subject }>[] = [
  [
    'what one worker offers the other leases and settles',
    async ({ one, other }) => {
      await one.offer('/1');
      const lease = await other.one();
      assert.deepEqual(await one.lease(), []);
      assert.equal(await other.offer('/1'), 0);
      assert.equal((await other.settle(lease)).accepted, true);
      assert.equal((await one.store.stats()).done, 1);
    },
  ],
  [
    'two workers never hold one URL or one host',
    async ({ one, other }) => {
      await one.offer(...range(60).map((n) => `https://h${n % 20}.test/${n}`));
      const given = (await Promise.all(range(10).map((n) => (n % 2 === 0 ? one : other).lease(T0, 4)))).flat();
      assert.equal(new Set(hostsOf(given)).size, 20);
      assert.equal(given.length, 20);
      assert.equal(new Set(given.map((lease) => lease.fence)).size, 20);
    },
  ],
  [
    'a lease that ran out is taken over by the other worker',
    async ({ one, other }) => {
      await one.offer('/1');
      const lost = await one.one();
      const taken = await other.one(T0 + TTL);
      assert.equal(taken.url, lost.url);
      assert.equal((await one.settle(lost, {}, T0 + TTL)).accepted, false);
      assert.equal((await other.settle(taken, {}, T0 + TTL)).accepted, true);
    },
  ],
  [
    'two workers do not ask one address by two names',
    async ({ one, other }) => {
      await one.offer('https://a.test/', 'https://b.test/');
      const a = await one.one();
      const b = await other.one();
      const answers = await Promise.all([
        one.store.claimAddress(a, '192.0.2.1', T0),
        other.store.claimAddress(b, '192.0.2.1', T0),
      ]);
      assert.equal(answers.filter((moment) => moment === 0).length, 1);
    },
  ],
];
