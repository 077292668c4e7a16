import assert from 'node:assert/strict';
import { LEVELS } from '../../request.ts';
import { chooseLevel } from '../../store/levels.ts';
import { type CaseOn, hostsOf, pathOf, requests, type Subject, T0, TTL } from '../fixture.ts';
import { range } from './offers.ts';

/** Who is leased, and in which order. */
export const leases: readonly CaseOn<Subject>[] = [
  [
    'an empty store leases nothing',
    async (s) => {
      assert.deepEqual(await s.lease(), []);
      assert.equal(await s.nextDueAt(), undefined);
    },
  ],
  [
    'a lease tells its URL, its times and its host with this lease in flight',
    async (s) => {
      await s.offer('/a');
      const lease = await s.one(T0 + 5);
      assert.equal(lease.url, 'https://host.test/a');
      assert.equal(lease.leasedAt, T0 + 5);
      assert.equal(lease.expiresAt, T0 + 5 + TTL);
      assert.equal(lease.host.host, 'host.test');
      assert.equal(lease.host.inFlight, 1);
      assert.equal(lease.host.pages, 0);
    },
  ],
  [
    'fencing numbers grow',
    async (s) => {
      await s.offer('/1', '/2', 'https://other.test/3', 'https://third.test/4');
      const first = await s.lease(T0, 2);
      await s.settle(first[0]!);
      const fences = [...first, ...(await s.lease(T0, 2))].map((lease) => lease.fence);
      assert.deepEqual(
        fences,
        [...new Set(fences)].sort((a, b) => a - b),
      );
      assert.equal(fences.length, 4);
    },
  ],
  [
    'a host is closed to others until its lease is settled',
    async (s) => {
      await s.offer('/a', '/b');
      const lease = await s.one();
      assert.deepEqual(await s.lease(T0, 10), []);
      assert.equal(await s.nextDueAt(), undefined);
      await s.settle(lease);
      assert.equal(pathOf(await s.one()), '/b');
    },
  ],
  [
    'leases asked for at once never hand out a host twice',
    async (s) => {
      await s.offer(...range(40).map((n) => `https://h${n % 10}.test/${n}`));
      const given = (await Promise.all(range(8).map(() => s.lease(T0, 3)))).flat();
      assert.deepEqual(
        hostsOf(given),
        range(10).map((n) => `h${n}.test`),
      );
    },
  ],
  [
    'a call gives up to its limit, and none for 0',
    async (s) => {
      await s.offer(...range(5).map((n) => `https://h${n}.test/`));
      assert.deepEqual(await s.lease(T0, 0), []);
      assert.equal((await s.lease(T0, 3)).length, 3);
      assert.equal((await s.lease(T0, 3)).length, 2);
    },
  ],
  [
    'within a level the first offered is first',
    async (s) => {
      await s.offer('/1', '/2');
      assert.equal(await s.turn(), '/1');
      await s.offer('/3', '/4');
      assert.deepEqual(await s.drain(), ['/2', '/3', '/4']);
    },
  ],
  ['the levels of a host take turns as chooseLevel says, so that none starves', levelOrder],
  [
    'robots files take no turn of the levels',
    async (s) => {
      await s.offer('/0', { url: '/high/0', level: 7 }, '/1', { url: '/high/1', level: 7 });
      await s.offer({ url: '/robots.txt', kind: 'robots' });
      const expected = levelsOf([7, 7, 0, 0]);
      assert.equal(await s.turn(), '/robots.txt');
      const got = (await s.drain()).map((path) => (path.startsWith('/high') ? 7 : 0));
      assert.deepEqual(got, expected);
    },
  ],
  [
    'of hosts that are due the one that waits longest is first, and a new one waits its turn',
    async (s) => {
      for (const [name, at] of [
        ['b', 200],
        ['a', 100],
        ['c', 300],
      ] as const) {
        await s.offer(`https://${name}.test/`);
        await s.store.setHost(`${name}.test`, { nextAt: T0 + at });
      }
      await s.store.offer(requests('https://new.test/'), T0 + 250);
      const order: string[] = [];
      for (const lease of await s.lease(T0 + 1_000, 10)) order.push(lease.request.host);
      assert.deepEqual(order, ['a.test', 'b.test', 'new.test', 'c.test']);
    },
  ],
  [
    'hosts without delays take turns',
    async (s) => {
      await s.offer(...range(30).map((n) => `https://h${n % 3}.test/${n}`));
      const order: string[] = [];
      for (const n of range(30)) {
        const lease = await s.one(T0 + n);
        order.push(lease.request.host);
        await s.settle(lease, {}, T0 + n);
      }
      for (const n of range(10)) assert.equal(new Set(order.slice(n * 3, n * 3 + 3)).size, 3);
    },
  ],
  [
    'connectionsPerHost lets so many leases of a host be out, in one call or in several',
    async (s) => {
      await s.offer(...range(5).map((n) => `/${n}`));
      assert.equal((await s.lease(T0, 10, { connectionsPerHost: 2 })).length, 2);
      assert.equal((await s.lease(T0, 10, { connectionsPerHost: 2 })).length, 0);
      const [third] = await s.lease(T0, 10, { connectionsPerHost: 3 });
      assert.equal(third?.host.inFlight, 3);
      assert.equal((await s.lease(T0, 10, { connectionsPerHost: 0 })).length, 2);
    },
  ],
  [
    'where a host may have several leases, each puts the start gap on its clock',
    async (s) => {
      await s.offer(...range(4).map((n) => `/${n}`));
      const rules = { connectionsPerHost: 3, startGapMs: 1_000 };
      assert.equal((await s.lease(T0, 10, rules)).length, 1);
      assert.equal(await s.nextDueAt(T0, rules), T0 + 1_000);
      assert.equal((await s.lease(T0 + 999, 10, rules)).length, 0);
      assert.equal((await s.lease(T0 + 1_000, 10, rules)).length, 1);
      await s.store.setHost('host.test', { crawlDelayMs: 5_000, delayMs: 2_000 });
      assert.equal((await s.lease(T0 + 2_000, 10, rules)).length, 1);
      assert.equal((await s.store.getHost('host.test'))?.nextAt, T0 + 7_000);
    },
  ],
  [
    'leases in flight count as pages of their host, and past the limit URLs come one at a time',
    async (s) => {
      await s.offer(...range(6).map((n) => `/${n}`));
      const rules = { connectionsPerHost: 0, pagesPerHost: 3 };
      const first = await s.lease(T0, 10, rules);
      assert.equal(first.length, 3);
      await s.settle(first[0]!, { outcome: 'failed' });
      const again = await s.lease(T0, 10, rules);
      assert.equal(again.length, 1);
      for (const lease of [first[1]!, first[2]!, again[0]!]) await s.settle(lease, { delivered: true });
      for (const _ of range(2)) {
        const past = await s.lease(T0, 10, rules);
        assert.equal(past.length, 1);
        assert.equal(past[0]?.host.pages, 3);
        await s.settle(past[0]!, { outcome: 'skipped' });
      }
      assert.equal(await s.nextDueAt(T0, rules), undefined);
    },
  ],
];

async function levelOrder(s: Subject): Promise<void> {
  const levels = range(320).map((n) => LEVELS.lowest + ((n * 7) % 16));
  await s.offer(...levels.map((level, n) => ({ url: `/${level}/${n}`, level })));
  const got = (await s.drain()).map((path) => Number(path.split('/')[1]));
  assert.deepEqual(got, levelsOf(levels));
}

/** The order in which requests of these levels are to come. */
function levelsOf(levels: readonly number[]): number[] {
  const left = new Map<number, number>();
  for (const level of levels) left.set(level, (left.get(level) ?? 0) + 1);
  return levels.map((_, turn) => {
    let waiting = 0;
    for (const [level, count] of left) if (count > 0) waiting |= 1 << (level - LEVELS.lowest);
    const level = chooseLevel(turn, waiting);
    left.set(level, left.get(level)! - 1);
    return level;
  });
}
