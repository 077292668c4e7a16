import assert from 'node:assert/strict';
import { isCrawlError } from '../../errors.ts';
import { type CaseOn, RULES, request, type Subject, T0, TTL } from '../fixture.ts';

/** Records, meta, and the end. */
export const knowledge: readonly CaseOn<Subject>[] = [
  ['a record tells the life of a URL', life],
  ['a record tells how a URL was found first, also when it is visited again', foundFirst],
  [
    'a note tells why a URL was refused, and does not make it seen',
    async (s) => {
      const { key, url } = request('/refused');
      await s.store.note(key, { url, reason: 'off-host', foundOn: 'https://host.test/' });
      const record = await s.store.record(key);
      assert.equal(record?.state, 'skipped');
      assert.equal(record?.reason, 'off-host');
      assert.equal(record?.foundOn, 'https://host.test/');
      assert.equal(record?.url, url);
      assert.equal(await s.store.has(key), false);
      assert.equal(await s.offer('/refused'), 1);
      assert.equal((await s.store.record(key))?.state, 'queued');
    },
  ],
  [
    'a note changes nothing of a URL that was offered',
    async (s) => {
      await s.offer('/a');
      await s.store.note(request('/a').key, { url: 'https://host.test/a', reason: 'depth' });
      assert.equal((await s.store.record(request('/a').key))?.state, 'queued');
    },
  ],
  [
    'nothing is known of a URL that was never met',
    async (s) => {
      assert.equal(await s.store.record(request('/never').key), undefined);
    },
  ],
  [
    'meta keeps bytes under any name, and no bytes are not nothing',
    async (s) => {
      const value = Uint8Array.from({ length: 256 }, (_, n) => n);
      for (const name of ['a', 'robots:https://ü.test', 'x'.repeat(300)]) await s.store.setMeta(name, value);
      await s.store.setMeta('empty', new Uint8Array());
      value[0] = 99;
      for (const name of ['a', 'robots:https://ü.test', 'x'.repeat(300)]) {
        const kept = await s.store.getMeta(name);
        assert.deepEqual(
          [...(kept ?? [])],
          Array.from({ length: 256 }, (_, n) => n),
        );
      }
      assert.equal((await s.store.getMeta('empty'))?.length, 0);
      assert.equal(await s.store.getMeta('never'), undefined);
      await s.store.setMeta('a', undefined);
      assert.equal(await s.store.getMeta('a'), undefined);
    },
  ],
  [
    'stats of an empty store are zeros',
    async (s) => {
      const stats = await s.store.stats();
      for (const [name, value] of Object.entries(stats)) assert.equal(value, 0, name);
    },
  ],
  [
    'flush resolves, and a second close does nothing',
    async (s) => {
      await s.offer('/a');
      await s.store.flush();
      await s.store.close();
      await s.store.close();
    },
  ],
  [
    'a closed store refuses work with CRAWL_CLOSED',
    async (s) => {
      await s.offer('/a');
      const lease = await s.one();
      await s.store.close();
      const calls = [
        () => s.offer('/b'),
        () => s.store.lease(T0, 1, TTL, RULES),
        () => s.settle(lease),
        () => s.store.stats(),
        () => s.store.getMeta('a'),
        () => s.store.nextDueAt(T0, RULES),
      ];
      for (const call of calls) await assert.rejects(call, (error) => isCrawlError(error, 'CRAWL_CLOSED'));
    },
  ],
];

async function life(s: Subject): Promise<void> {
  const { key } = request('/a');
  await s.offer({ url: '/a', depth: 2, level: 3, referrer: 'https://host.test/', source: 'a/href' });
  const queued = await s.store.record(key);
  assert.deepEqual(
    [queued?.state, queued?.url, queued?.foundOn, queued?.source, queued?.depth, queued?.level],
    ['queued', 'https://host.test/a', 'https://host.test/', 'a/href', 2, 3],
  );
  const first = await s.one();
  assert.equal((await s.store.record(key))?.state, 'leased');
  const requeue = { request: { ...first.request, attempts: 1 }, dueAt: T0 + 500 };
  await s.settle(first, { outcome: 'retry', requeue, record: { status: 500, ms: 12 } }, T0 + 20);
  const retried = await s.store.record(key);
  assert.deepEqual([retried?.state, retried?.nextDueAt], ['queued', T0 + 500]);
  const second = await s.one(T0 + 500);
  await s.settle(second, { record: { status: 200, ms: 34, duplicateOf: 'https://host.test/b' } }, T0 + 600);
  const done = await s.store.record(key);
  assert.deepEqual([done?.state, done?.leases, done?.duplicateOf], ['done', 2, 'https://host.test/b']);
  assert.deepEqual(
    done?.fetches?.map(({ at, status, ms }) => [at, status, ms]),
    [
      [T0, 500, 12],
      [T0 + 500, 200, 34],
    ],
  );
  await s.offer('/skipped');
  await s.settle(await s.one(T0 + 700), { outcome: 'skipped', record: { reason: 'robots' } });
  const skipped = await s.store.record(request('/skipped').key);
  assert.deepEqual([skipped?.state, skipped?.reason], ['skipped', 'robots']);
}

async function foundFirst(s: Subject): Promise<void> {
  const { key } = request('/a');
  const found = async (): Promise<unknown[]> => {
    const { foundOn, source, depth, level } = (await s.store.record(key)) ?? {};
    return [foundOn, source, depth, level];
  };
  const first = ['https://host.test/', 'a/href', 2, 3];
  await s.store.note(key, { url: request('/a').url, reason: 'depth', foundOn: 'https://host.test/deep' });
  await s.offer({ url: '/a', depth: 2, level: 3, referrer: 'https://host.test/', source: 'a/href' });
  assert.deepEqual(await found(), first);
  await s.settle(await s.one());
  assert.equal(await s.offer({ url: '/a', depth: 0, level: 1, source: 'seed', revisit: true }), 1);
  assert.deepEqual(await found(), first, 'while the second visit waits');
  const again = await s.one();
  assert.deepEqual(await found(), first, 'while it is leased');
  await s.settle(again, { record: { status: 200 } });
  assert.deepEqual(await found(), first, 'when it has ended');
  assert.equal((await s.store.record(key))?.leases, 2);
}
