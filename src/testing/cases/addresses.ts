import assert from 'node:assert/strict';
import type { Lease } from '../../ports.ts';
import { type CaseOn, hostsOf, type Subject, T0, TTL } from '../fixture.ts';

const IP = '192.0.2.7';

/** Leases two hosts at once, before anything is known of their addresses. */
async function two(s: Subject): Promise<[Lease, Lease]> {
  await s.offer('https://a.test/1', 'https://a.test/2', 'https://b.test/1', 'https://b.test/2');
  const leases = await s.lease(T0, 2);
  leases.sort((x, y) => (x.url < y.url ? -1 : 1));
  return [leases[0]!, leases[1]!];
}

/** One IP address under several names. */
export const addresses: readonly CaseOn<Subject>[] = [
  [
    'of two hosts at one address one is asked at a time',
    async (s) => {
      const [a, b] = await two(s);
      assert.equal(await s.store.claimAddress(a, IP, T0), 0);
      assert.ok((await s.store.claimAddress(b, IP, T0)) > T0);
      await s.settle(b, { outcome: 'deferred' });
      assert.deepEqual(await s.lease(T0, 10), []);
      assert.equal(await s.nextDueAt(), undefined);
      await s.settle(a);
      assert.equal((await s.lease(T0, 10)).length, 1);
    },
  ],
  [
    'an address is not asked before its clock, whatever the name',
    async (s) => {
      const [a, b] = await two(s);
      await s.store.claimAddress(a, IP, T0);
      await s.store.claimAddress(b, IP, T0);
      await s.settle(b, { outcome: 'deferred' });
      await s.settle(a, { addressNextAt: T0 + 250 });
      assert.deepEqual(await s.lease(T0 + 249, 10), []);
      assert.equal(await s.nextDueAt(), T0 + 250);
      assert.equal((await s.lease(T0 + 250, 10)).length, 1);
      assert.deepEqual(await s.lease(T0 + 250, 10), []);
    },
  ],
  [
    'claimAddress tells when an address comes due',
    async (s) => {
      const [a, b] = await two(s);
      assert.equal(await s.store.claimAddress(a, IP, T0), 0);
      await s.settle(a, { addressNextAt: T0 + 250 });
      assert.equal(await s.store.claimAddress(b, IP, T0), T0 + 250);
      assert.equal((await s.store.getHost('b.test'))?.address, IP);
    },
  ],
  [
    'claiming again is no second hold',
    async (s) => {
      const [a, b] = await two(s);
      assert.equal(await s.store.claimAddress(a, IP, T0), 0);
      assert.equal(await s.store.claimAddress(a, IP, T0), 0);
      await s.settle(a);
      assert.equal(await s.store.claimAddress(b, IP, T0), 0);
    },
  ],
  [
    'hosts whose address is known take it with the lease',
    async (s) => {
      await s.offer('https://a.test/', 'https://b.test/', 'https://c.test/');
      await s.store.setHost('a.test', { address: IP });
      await s.store.setHost('b.test', { address: IP });
      const leases = await s.lease(T0, 10);
      assert.equal(leases.length, 2);
      assert.ok(hostsOf(leases).includes('c.test'));
      const shared = leases.find((lease) => lease.request.host !== 'c.test');
      assert.equal(shared?.host.address, IP);
      assert.equal(await s.store.claimAddress(shared!, IP, T0), 0);
      await s.settle(shared!);
      assert.equal((await s.lease(T0, 10)).length, 1);
    },
  ],
  [
    'without shareAddress hosts of one address do not know of each other',
    async (s) => {
      await s.offer('https://a.test/', 'https://b.test/');
      await s.store.setHost('a.test', { address: IP });
      await s.store.setHost('b.test', { address: IP });
      assert.equal((await s.lease(T0, 10, { shareAddress: false })).length, 2);
    },
  ],
  [
    'a host that may have several leases has them at one address',
    async (s) => {
      await s.offer('https://a.test/1', 'https://a.test/2', 'https://b.test/1');
      await s.store.setHost('a.test', { address: IP });
      await s.store.setHost('b.test', { address: IP, nextAt: T0 + 1 });
      const rules = { connectionsPerHost: 2 };
      const leases = await s.lease(T0, 10, rules);
      assert.deepEqual(hostsOf(leases), ['a.test', 'a.test']);
      await s.settle(leases[0]!);
      assert.deepEqual(await s.lease(T0 + 1, 10, rules), []);
      await s.settle(leases[1]!);
      assert.deepEqual(hostsOf(await s.lease(T0 + 1, 10, rules)), ['b.test']);
    },
  ],
  [
    'a host that has moved lets go of its old address',
    async (s) => {
      const [a, b] = await two(s);
      assert.equal(await s.store.claimAddress(a, IP, T0), 0);
      assert.equal(await s.store.claimAddress(a, '192.0.2.8', T0), 0);
      assert.equal(await s.store.claimAddress(b, IP, T0), 0);
      assert.equal((await s.store.getHost('a.test'))?.address, '192.0.2.8');
    },
  ],
  [
    'an address is free again when its lease ran out, after the start gap',
    async (s) => {
      const [a, b] = await two(s);
      await s.store.claimAddress(a, IP, T0);
      await s.store.claimAddress(b, IP, T0);
      await s.settle(b, { outcome: 'deferred' });
      const rules = { startGapMs: 300 };
      assert.deepEqual(await s.lease(T0 + TTL + 299, 10, rules), []);
      assert.equal((await s.lease(T0 + TTL + 300, 10, rules)).length, 1);
    },
  ],
  [
    'a lease that is no longer held takes no address',
    async (s) => {
      const [a, b] = await two(s);
      await s.settle(a);
      assert.notEqual(await s.store.claimAddress(a, IP, T0), 0);
      assert.equal(await s.store.claimAddress(b, IP, T0), 0);
    },
  ],
  [
    "an address's clock outlives the queues of its hosts",
    async (s) => {
      await s.offer('https://a.test/');
      const a = await s.one();
      await s.store.claimAddress(a, IP, T0);
      await s.settle(a, { addressNextAt: T0 + 500 });
      await s.store.setHost('b.test', { address: IP });
      await s.offer('https://b.test/');
      assert.deepEqual(await s.lease(T0 + 499, 10), []);
      assert.deepEqual(hostsOf(await s.lease(T0 + 500, 10)), ['b.test']);
    },
  ],
];
