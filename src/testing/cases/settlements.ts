import assert from 'node:assert/strict';
import { type CaseOn, pathOf, request, requests, type Subject, sameRequest, T0 } from '../fixture.ts';
import { range } from './offers.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

/** The commit that ends a lease. */
export const settlements: readonly CaseOn<Subject>[] = [
  [
    'final outcomes are counted, and their URLs never leased again',
    async (s) => {
      await s.offer('/1', '/2', '/3', '/4', '/5');
      for (const outcome of ['done', 'failed', 'skipped', 'redirected'] as const) {
        assert.deepEqual(await s.settle(await s.one(), { outcome }), { accepted: true, offered: 0 });
      }
      const { done, failed, skipped, redirected, queued, leased, seen, hosts, pages } = await s.store.stats();
      assert.deepEqual({ done, failed, skipped, redirected }, { done: 1, failed: 1, skipped: 1, redirected: 1 });
      assert.deepEqual({ queued, leased, seen, hosts, pages }, { queued: 1, leased: 0, seen: 5, hosts: 1, pages: 0 });
      assert.deepEqual(await s.drain(), ['/5']);
    },
  ],
  ['a second settlement of a lease is refused and changes nothing', secondSettlement],
  [
    'of two settlements at once one is accepted',
    async (s) => {
      await s.offer('/a');
      const lease = await s.one();
      const both = await Promise.all(range(2).map(() => s.settle(lease, { outlinks: requests('/b') })));
      assert.deepEqual(both.map((one) => one.accepted).sort(), [false, true]);
      assert.equal((await s.store.stats()).done, 1);
      assert.deepEqual(await s.drain(), ['/b']);
    },
  ],
  [
    'out-links are offered with the settlement: seen test, count and onKnown as in offer',
    async (s) => {
      await s.offer('/a', '/b');
      const known: number[] = [];
      const outlinks = requests('/a', '/c', 'https://other.test/', '/c', '/b');
      const settled = await s.store.settle(await s.one(), { outcome: 'done', outlinks }, T0, (i) => known.push(i));
      assert.deepEqual(settled, { accepted: true, offered: 2 });
      assert.deepEqual(known, [0, 3, 4]);
      assert.deepEqual((await s.drain()).sort(), ['/', '/b', '/c']);
    },
  ],
  [
    'robots files among out-links are queued and not counted',
    async (s) => {
      await s.offer('/a', '/b');
      const outlinks = [request({ url: '/robots.txt', kind: 'robots' })];
      assert.deepEqual(await s.settle(await s.one(), { outlinks }), { accepted: true, offered: 0 });
      const robots = await s.one();
      assert.equal(robots.request.kind, 'robots');
      await s.settle(robots);
      const { done, seen } = await s.store.stats();
      assert.deepEqual({ done, seen }, { done: 1, seen: 2 });
    },
  ],
  [
    'a deferred URL keeps its place',
    async (s) => {
      await s.offer('/1', '/2', { url: '/high', level: 3 });
      assert.equal(await s.turn(), '/high');
      const lease = await s.one();
      assert.equal(pathOf(lease), '/1');
      await s.offer('/3');
      await s.settle(lease, {
        outcome: 'deferred',
        requeue: { request: lease.request, dueAt: T0 },
        outlinks: requests('/4'),
      });
      assert.deepEqual(await s.drain(), ['/1', '/2', '/3', '/4']);
    },
  ],
  [
    'deferred URLs of a level come back in the order of their first leases',
    async (s) => {
      await s.offer('/1', '/2', '/3', '/4');
      const out = await s.lease(T0, 3, { connectionsPerHost: 0 });
      for (const i of [1, 2, 0]) await s.settle(out[i]!, { outcome: i === 1 ? 'retry' : 'deferred' });
      assert.deepEqual(await s.drain(), ['/1', '/2', '/3', '/4']);
    },
  ],
  [
    'a deferred robots file stays before all else',
    async (s) => {
      await s.offer({ url: '/page', level: 7 }, { url: '/robots.txt', kind: 'robots' });
      await s.settle(await s.one(), { outcome: 'deferred' });
      assert.deepEqual(await s.drain(), ['/robots.txt', '/page']);
    },
  ],
  [
    'a retry waits for its own due time and holds up nothing',
    async (s) => {
      await s.offer('/1', '/2', '/3');
      const lease = await s.one();
      await s.settle(lease, { outcome: 'retry', requeue: { request: lease.request, dueAt: T0 + 1_000 } });
      assert.equal(await s.turn(), '/2');
      assert.equal(await s.turn(T0 + 1_000), '/1');
      assert.equal(await s.turn(T0 + 1_000), '/3');
    },
  ],
  [
    'nextDueAt tells when a retry is due, and the clock of its host counts as well',
    async (s) => {
      await s.offer('/1');
      const lease = await s.one();
      await s.settle(lease, { outcome: 'retry', requeue: { request: lease.request, dueAt: T0 + 1_000 } });
      assert.equal(await s.nextDueAt(), T0 + 1_000);
      await s.store.setHost('host.test', { nextAt: T0 + 3_000 });
      assert.equal(await s.nextDueAt(), T0 + 3_000);
      assert.deepEqual(await s.lease(T0 + 2_999), []);
      assert.equal(pathOf(await s.one(T0 + 3_000)), '/1');
    },
  ],
  [
    'what is queued again is the request of the settlement',
    async (s) => {
      await s.offer({ url: '/a', referrer: 'https://host.test/' });
      const lease = await s.one();
      const redirects = [{ url: lease.url, status: 302 }];
      const again = { ...lease.request, attempts: 1, redirects, delivered: true };
      await s.settle(lease, { outcome: 'retry', requeue: { request: again, dueAt: T0 } });
      sameRequest((await s.one()).request, again);
    },
  ],
  [
    'deferred without a request queues that of the lease',
    async (s) => {
      await s.offer('/a');
      const lease = await s.one();
      await s.settle(lease, { outcome: 'deferred' });
      sameRequest((await s.one()).request, lease.request);
    },
  ],
  [
    'pages delivered count for their host and for the crawl',
    async (s) => {
      await s.offer('/1', '/2', 'https://other.test/');
      for (const lease of await s.lease(T0, 2)) await s.settle(lease, { delivered: true });
      await s.settle(await s.one(), { delivered: false });
      assert.equal((await s.store.stats()).pages, 2);
      assert.equal((await s.store.getHost('host.test'))?.pages, 1);
    },
  ],
  [
    'meta is written with the settlement; undefined removes',
    async (s) => {
      await s.offer('/a');
      await s.store.setMeta('old', bytes(1));
      await s.settle(await s.one(), {
        meta: [
          ['old', undefined],
          ['new', bytes(0, 255)],
        ],
      });
      assert.equal(await s.store.getMeta('old'), undefined);
      assert.deepEqual([...((await s.store.getMeta('new')) ?? [])], [0, 255]);
    },
  ],
];

async function secondSettlement(s: Subject): Promise<void> {
  await s.offer('/a');
  const lease = await s.one();
  await s.settle(lease);
  const host = await s.store.getHost('host.test');
  const stats = await s.store.stats();
  const refused = await s.settle(lease, {
    outcome: 'retry',
    outlinks: requests('/b'),
    host: { nextAt: T0 + 9_000 },
    delivered: true,
    meta: [['late', bytes(1)]],
    record: { reason: 'late' },
  });
  assert.deepEqual(refused, { accepted: false, offered: 0 });
  assert.deepEqual(await s.store.getHost('host.test'), host);
  assert.deepEqual(await s.store.stats(), stats);
  assert.equal(await s.store.getMeta('late'), undefined);
  assert.equal((await s.store.record(lease.request.key))?.reason, undefined);
  assert.equal(await s.store.has(request('/b').key), false);
  assert.equal(await s.store.renew(lease, T0, 1_000), false);
}
