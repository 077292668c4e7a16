import assert from 'node:assert/strict';
import { type CaseOn, request, requests, type Subject, sameRequest, T0 } from '../fixture.ts';

/** Queueing and the seen test. */
export const offers: readonly CaseOn<Subject>[] = [
  [
    'offer queues what is new and returns how many that were',
    async (s) => {
      assert.equal(await s.offer('/a', '/b', '/c'), 3);
      assert.equal(await s.offer('/c', '/d'), 1);
      assert.deepEqual(await s.drain(), ['/a', '/b', '/c', '/d']);
    },
  ],
  [
    'offer knows a URL that comes twice in one batch, and calls onKnown with the index of each that was known',
    async (s) => {
      await s.offer('/b');
      const known: number[] = [];
      const batch = requests('/a', '/b', '/a', '/c');
      assert.equal(await s.store.offer(batch, T0, (index) => known.push(index)), 2);
      assert.deepEqual(known, [1, 2]);
    },
  ],
  [
    'what is seen is the key, not the URL',
    async (s) => {
      const first = { ...request('/a?utm_source=x'), key: 'https://host.test/a' };
      const second = { ...request('/a?utm_source=y'), key: 'https://host.test/a' };
      assert.equal(await s.store.offer([first, second], T0), 1);
      sameRequest((await s.one()).request, first);
    },
  ],
  [
    'a URL stays seen while it is leased and when it is done, failed, skipped or redirected',
    async (s) => {
      for (const outcome of ['done', 'failed', 'skipped', 'redirected'] as const) {
        assert.equal(await s.offer(`/${outcome}`), 1);
        const lease = await s.one();
        assert.equal(await s.offer(`/${outcome}`), 0);
        await s.settle(lease, { outcome });
        assert.equal(await s.offer(`/${outcome}`), 0);
        assert.equal(await s.store.has(request(`/${outcome}`).key), true);
      }
      assert.equal(await s.store.has(request('/never').key), false);
      assert.deepEqual(await s.drain(), []);
    },
  ],
  [
    'a revisit is queued where the URL has come to its end, and not while it waits or is leased',
    async (s) => {
      const revisit = { url: '/a', level: 3, revisit: true, source: 'again' };
      assert.equal(await s.offer('/a', revisit, '/b'), 2);
      const first = await s.one();
      assert.equal(await s.offer(revisit), 0);
      for (const outcome of ['done', 'failed', 'skipped', 'redirected'] as const) {
        const lease = outcome === 'done' ? first : await s.one();
        await s.settle(lease, { outcome, record: { status: 200, reason: outcome } });
        assert.equal(await s.offer('/a'), 0);
        assert.equal(await s.offer(revisit, revisit), 1);
        const { state, reason, fetches } = (await s.store.record(request('/a').key)) ?? {};
        assert.deepEqual([state, reason], ['queued', undefined]);
        assert.ok((fetches ?? []).length > 0, 'the fetches before are remembered');
      }
      const { queued, seen, done, failed, skipped, redirected } = await s.store.stats();
      const totals = { queued: 2, seen: 2, done: 1, failed: 1, skipped: 1, redirected: 1 };
      assert.deepEqual({ queued, seen, done, failed, skipped, redirected }, totals);
      sameRequest((await s.one()).request, request(revisit));
    },
  ],
  [
    'a URL in whose place another was queued again may be visited again, and so may that other',
    async (s) => {
      await s.offer('/a');
      await s.settle(await s.one(), { outcome: 'redirected', outlinks: [request('/wall')] });
      const requeue = { request: request('/a'), dueAt: T0 };
      await s.settle(await s.one(), { outcome: 'deferred', requeue });
      const again = await s.one();
      sameRequest(again.request, requeue.request);
      await s.settle(again, { outcome: 'done' });
      assert.equal(await s.offer({ url: '/wall', revisit: true }, { url: '/a', revisit: true }), 2);
    },
  ],
  [
    'a URL offered first as a revisit is new, and is seen from then on',
    async (s) => {
      assert.equal(await s.offer({ url: '/new', revisit: true }), 1);
      assert.equal(await s.offer('/new'), 0);
      assert.deepEqual(await s.drain(), ['/new']);
      assert.equal((await s.store.stats()).seen, 1);
    },
  ],
  [
    'offers made at once count every URL once',
    async (s) => {
      const batches = Array.from({ length: 8 }, (_, i) => requests(...range(20).map((n) => `/${(n + i) % 20}`)));
      const counts = await Promise.all(batches.map((batch) => s.store.offer(batch, T0)));
      assert.equal(
        counts.reduce((sum, n) => sum + n, 0),
        20,
      );
      assert.equal((await s.drain()).length, 20);
    },
  ],
  [
    'a large batch is queued whole and in order',
    async (s) => {
      const paths = range(5_000).map((n) => `/page/${n}`);
      assert.equal(await s.offer(...paths), 5_000);
      assert.deepEqual(await s.drain(), paths);
    },
  ],
  ['a request comes back with every field it had', everyField],
  [
    'a robots file is queued each time it is offered, is neither new, known, seen nor recorded',
    async (s) => {
      const robots = request({ url: '/robots.txt', kind: 'robots', origin: 'https://other.test' });
      const known: number[] = [];
      assert.equal(await s.store.offer([robots, robots], T0, (index) => known.push(index)), 0);
      assert.deepEqual(known, []);
      assert.equal((await s.store.stats()).queued, 2);
      assert.equal((await s.store.stats()).seen, 0);
      assert.equal(await s.store.has(robots.key), false);
      sameRequest((await s.one()).request, robots);
      assert.equal(await s.store.record(robots.key), undefined);
      assert.equal(await s.offer('/robots.txt'), 1);
    },
  ],
  [
    'robots files go before all else of their host, the first offered first',
    async (s) => {
      await s.offer({ url: '/top', level: 7 });
      await s.offer({ url: '/1/robots.txt', kind: 'robots', level: -8 }, { url: '/2/robots.txt', kind: 'robots' });
      await s.offer({ url: '/3/robots.txt', kind: 'robots' });
      assert.deepEqual(await s.drain(), ['/1/robots.txt', '/2/robots.txt', '/3/robots.txt', '/top']);
    },
  ],
  [
    'a sitemap is seen like a page',
    async (s) => {
      assert.equal(await s.offer({ url: '/sitemap.xml', kind: 'sitemap' }, '/sitemap.xml'), 1);
      assert.equal((await s.one()).request.kind, 'sitemap');
    },
  ],
];

async function everyField(s: Subject): Promise<void> {
  const long = `/${'segment/'.repeat(2_500)}?q=${'x'.repeat(3_000)}`;
  const offered = requests(
    { url: '/plain' },
    { url: '/deep', depth: 123_456, referrer: 'https://host.test/', source: 'a/href' },
    { url: '/same', depth: 1, referrer: 'https://host.test/', source: 'a/href' },
    { url: '/none', depth: 1 },
    { url: '/other', referrer: 'https://elsewhere.test/é', source: 'img/srcset' },
    { url: '/again', attempts: 2, redirects: [{ url: 'https://host.test/from', status: 302 }] },
    { url: '/sitemap.xml', kind: 'sitemap', source: 'sitemap' },
    { url: '/revisit', revisit: true },
    { url: '/%C3%A9?q=ü&q=%20' },
    { url: 'http://host.test:8080/port' },
    { url: 'https://host.test./dot' },
    { url: long, referrer: `https://host.test${long}` },
  );
  assert.equal(await s.store.offer(offered, T0), offered.length);
  for (const expected of offered) {
    const lease = await s.one();
    sameRequest(lease.request, expected);
    assert.equal(lease.url, expected.url);
    await s.settle(lease);
  }
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}
