import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createRequest } from '../src/request.ts';
import { LmdbStore, type LmdbStoreOptions } from '../src/store/lmdb/index.ts';
import type { CrawlRequest } from '../src/types.ts';
import { RULES, T0 } from './helpers/lease-rules.ts';

const root = mkdtempSync(join(tmpdir(), 'lmdb-store-'));
let directories = 0;

afterAll(() => rmSync(root, { recursive: true }));

function newDirectory(): string {
  return join(root, `store.${directories++}`);
}

function request(url: string, rest: Partial<CrawlRequest> = {}): CrawlRequest {
  return { ...createRequest({ url: new URL(url, 'https://host.test/') })!, ...rest };
}

/** What another process finds that looks now: only what is committed. */
async function committed<T>(directory: string, look: (store: LmdbStore) => Promise<T>): Promise<T> {
  const viewer = await LmdbStore.open(directory, { readOnly: true });
  try {
    return await look(viewer);
  } finally {
    await viewer.close();
  }
}

describe('a batch', () => {
  test('of 200,000 URLs of one host is queued whole and in order', { timeout: 120_000 }, async () => {
    const store = await LmdbStore.open(newDirectory());
    const one = request('/');
    const batch = Array.from({ length: 200_000 }, (_, n) => {
      const url = `https://host.test/${n}`;
      return { ...one, url, key: url };
    });
    expect(await store.offer(batch, T0)).toBe(200_000);
    expect(await store.stats()).toMatchObject({ queued: 200_000, seen: 200_000 });
    for (let n = 0; n < 100; n++) {
      const [lease] = await store.lease(T0, 1, 1_000, RULES);
      expect(lease?.url).toBe(batch[n]!.url);
      await store.settle(lease!, { outcome: 'done' }, T0);
    }
    const known: number[] = [];
    expect(await store.offer(batch, T0, (index) => known.push(index))).toBe(0);
    expect(known).toHaveLength(200_000);
    await store.close();
  });
});

describe('commits', () => {
  test('a settlement is committed after commitEveryMs at the latest, and is there for its own process at once', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory, { commitEveryMs: 20 });
    await store.offer([request('/a')], T0);
    const [lease] = await store.lease(T0, 1, 1_000, RULES);
    await store.settle(lease!, { outcome: 'done' }, T0);
    expect((await store.stats()).done).toBe(1);
    await expect.poll(() => committed(directory, async (viewer) => (await viewer.stats()).done)).toBe(1);
    await store.close();
  });

  test('with commitEveryMs 0 a settlement is committed when its promise resolves', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory, { commitEveryMs: 0 });
    await store.offer([request('/a'), request('https://other.test/b')], T0);
    const leases = await store.lease(T0, 2, 1_000, RULES);
    await Promise.all(leases.map((lease) => store.settle(lease, { outcome: 'done' }, T0)));
    expect(await committed(directory, (viewer) => viewer.stats())).toMatchObject({ done: 2, leased: 0, seen: 2 });
    await store.close();
  });

  test.each<[string, (store: LmdbStore) => Promise<unknown>, (viewer: LmdbStore) => Promise<unknown>, unknown]>([
    ['an offer', (store) => store.offer([request('/new')], T0), (viewer) => viewer.has(request('/new').key), true],
    [
      'setHost',
      (store) => store.setHost('host.test', { blockedUntil: 77 }),
      async (viewer) => (await viewer.getHost('host.test'))?.blockedUntil,
      77,
    ],
    [
      'a settlement that makes its host wait longer',
      async (store) => {
        const [lease] = await store.lease(T0, 1, 1_000, RULES);
        await store.settle(lease!, { outcome: 'done', host: { crawlDelayMs: 5_000 } }, T0);
      },
      async (viewer) => (await viewer.getHost('host.test'))?.crawlDelayMs,
      5_000,
    ],
    ['flush', (store) => store.flush(), (viewer) => viewer.has(request('/a').key), true],
  ])('%s is committed when its promise resolves, however seldom commits are', async (_, write, look, expected) => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory, { commitEveryMs: 60_000 });
    await store.offer([request('/a')], T0);
    await write(store);
    expect(await committed(directory, look)).toBe(expected);
    await store.close();
  });

  test('calls that follow each other without a pause are committed all the same', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory, { commitEveryMs: 10 });
    // Timers can't fire between two promises that are resolved.
    const until = performance.now() + 100;
    for (let n = 0; performance.now() < until; n++) await store.setMeta('n', Buffer.from(String(n)));
    expect(await committed(directory, (viewer) => viewer.getMeta('n'))).not.toBe(undefined);
    await store.close();
  });

  test('calls made at once share a commit', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory, { commitEveryMs: 0 });
    const offers = Array.from({ length: 200 }, (_, n) => store.offer([request(`/${n}`)], T0));
    expect((await Promise.all(offers)).every((fresh) => fresh === 1)).toBe(true);
    expect(await committed(directory, async (viewer) => (await viewer.stats()).queued)).toBe(200);
    await store.close();
  });
});

describe('what is known of a URL', () => {
  test('any URL ever met can be told of, by the store that met it and by one opened later', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory);
    const count = 3_000;
    const urls = Array.from({ length: count }, (_, n) =>
      request(`/${n}`, { depth: n, referrer: 'https://host.test/' }),
    );
    await store.offer(urls, T0);
    await store.note('https://no.test/', {
      url: 'https://no.test/#x',
      reason: 'off-host',
      foundOn: 'https://host.test/',
    });
    for (let n = 0; n < count; n++) {
      const [lease] = await store.lease(T0 + n, 1, 1_000, RULES);
      await store.settle(lease!, { outcome: 'done', record: { status: 200 + (n % 5), ms: n / 2 } }, T0 + n);
    }
    await store.close();
    const again = await LmdbStore.open(directory);
    for (const n of [0, 1, 1_499, count - 1]) {
      expect(await again.record(urls[n]!.key)).toMatchObject({
        url: urls[n]!.url,
        state: 'done',
        depth: n,
        foundOn: 'https://host.test/',
        leases: 1,
        fetches: [{ at: T0 + n, status: 200 + (n % 5), ms: n / 2 }],
      });
    }
    expect(await again.record('https://no.test/')).toMatchObject({
      url: 'https://no.test/#x',
      state: 'skipped',
      reason: 'off-host',
      foundOn: 'https://host.test/',
    });
    expect((await again.stats()).seen).toBe(count);
    await again.close();
  });

  test('a lease that was out when the process died is told of as queued, and was one', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory);
    await store.offer([request('/a')], T0);
    await store.lease(T0, 1, 1_000, RULES);
    await store.close();
    const again = await LmdbStore.open(directory);
    expect(await again.record(request('/a').key)).toMatchObject({ state: 'queued', leases: 1 });
    expect(await again.stats()).toMatchObject({ queued: 1, leased: 0 });
    await again.close();
  });

  test('URLs whose hashes begin alike are told apart', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory);
    // Names of sites that look alike, keys that are no URLs, keys longer than any key of the database.
    const keys = [
      'https://a.test/b',
      'https://a.tes/t/b',
      'no url',
      'https://',
      'https:///',
      `https://${'x'.repeat(3_000)}/`,
    ];
    const batch = keys.map((key) => ({ ...request('/x'), key, url: key }));
    expect(await store.offer(batch, T0)).toBe(keys.length);
    expect(await store.offer(batch, T0)).toBe(0);
    for (const key of keys) expect((await store.record(key))?.url).toBe(key);
    expect(await store.has('https://a.test/')).toBe(false);
    await store.close();
  });
});

describe('after a crash', () => {
  test('no host is leased before its gap has passed since the store was opened, also one that was never leased', async () => {
    const directory = newDirectory();
    const rules = { ...RULES, startGapMs: 1_000 };
    const store = await LmdbStore.open(directory);
    await store.offer([request('/a'), request('https://slow.test/'), request('https://third.test/')], T0);
    await store.setHost('slow.test', { crawlDelayMs: 7_000 });
    await store.lease(T0, 1, 60_000, rules);
    // A lease is out, so that nobody knows until when its host was asked.
    await store.close();
    const again = await LmdbStore.open(directory);
    const opened = T0 + 500;
    expect(await again.lease(opened, 10, 60_000, rules)).toEqual([]);
    expect(await again.nextDueAt(opened, rules)).toBe(opened + 1_000);
    expect(await again.lease(opened + 999, 10, 60_000, rules)).toEqual([]);
    const hosts = (leases: Awaited<ReturnType<LmdbStore['lease']>>): string[] => leases.map((one) => one.request.host);
    const given = await again.lease(opened + 1_000, 10, 60_000, rules);
    expect(hosts(given).sort()).toEqual(['host.test', 'third.test']);
    expect(await again.nextDueAt(opened + 1_000, rules)).toBe(opened + 7_000);
    expect(hosts(await again.lease(opened + 7_000, 10, 60_000, rules))).toEqual(['slow.test']);
    for (const lease of given) await again.settle(lease, { outcome: 'done' }, opened + 7_000);
    await again.close();
  });

  test('a store that was closed with nothing out goes on at once', async () => {
    const directory = newDirectory();
    const rules = { ...RULES, startGapMs: 1_000 };
    const store = await LmdbStore.open(directory);
    await store.offer([request('/a')], T0);
    await store.close();
    const again = await LmdbStore.open(directory);
    expect(await again.lease(T0, 1, 60_000, rules)).toHaveLength(1);
    await again.close();
  });

  test('a question that moves a waiting host, and nothing else before the next commit, leaves no trace of where it was', async () => {
    const directory = newDirectory();
    const rules = { ...RULES, startGapMs: 100 };
    const options = { commitEveryMs: 60_000, checkpointEveryMs: 3_600_000 };
    const store = await LmdbStore.open(directory, options);
    await store.offer([request('https://a.test/'), request('https://slow.test/'), request('https://c.test/')], T0);
    await store.setHost('slow.test', { delayMs: 500 });
    await store.lease(T0, 1, 60_000, rules);
    await store.close();
    const again = await LmdbStore.open(directory, options);
    const came: string[] = [];
    for (let now = T0 + 1_000; now <= T0 + 2_000; now += 50) {
      for (const lease of await again.lease(now, 1, 60_000, rules)) {
        came.push(`${lease.request.host} +${now - T0 - 1_000}`);
        await again.settle(lease, { outcome: 'done' }, now);
      }
      await again.flush();
      await again.nextDueAt(now, rules);
      await again.flush();
    }
    expect(came).toEqual(['c.test +100', 'a.test +150', 'slow.test +500']);
    await again.close();
  });
});

describe('growing', () => {
  test('the map grows by itself', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory, { mapSize: 2 ** 20 });
    for (let n = 0; n < 40; n++) {
      const batch = Array.from({ length: 500 }, (_, i) => request(`https://h${n}.test/${i}/${'x'.repeat(200)}`));
      expect(await store.offer(batch, T0)).toBe(500);
    }
    expect((await store.stats()).queued).toBe(20_000);
    await store.close();
    const again = await LmdbStore.open(directory, { mapSize: 2 ** 20 });
    expect((await again.stats()).queued).toBe(20_000);
    await again.close();
  });

  test('more hosts than are kept in memory lose nothing of their clocks and queues', async () => {
    const store = await LmdbStore.open(newDirectory());
    const hosts = 3_000;
    for (let n = 0; n < hosts; n += 500) {
      const batch = Array.from({ length: 1_000 }, (_, i) => request(`https://h${n + (i % 500)}.test/${i}`));
      await store.offer(batch, T0);
    }
    let now = T0;
    const left = new Map<string, number>();
    for (let done = 0; done < hosts * 2; ) {
      const leases = await store.lease(now, 100, 60_000, RULES);
      for (const lease of leases) {
        const { host } = lease.request;
        expect(now).toBeGreaterThanOrEqual(left.get(host) ?? 0);
        left.set(host, now + 1_000);
        await store.settle(
          lease,
          { outcome: 'done', host: { nextAt: now + 1_000, address: `10.0.${done % 200}.${done % 250}` } },
          now,
        );
      }
      done += leases.length;
      now += leases.length === 0 ? 100 : 1;
    }
    expect(await store.stats()).toMatchObject({ queued: 0, done: hosts * 2, hosts });
    await store.close();
  });

  test('other rules are applied to hosts that are on disk only', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory);
    const urls = Array.from({ length: 3_000 }, (_, n) => request(`https://h${n}.test/`));
    await store.offer(urls, T0);
    for (let n = 0; n < 3_000; n++) await store.setHost(`h${n}.test`, { address: '192.0.2.1' });
    await store.close();
    const again = await LmdbStore.open(directory);
    expect(await again.lease(T0, 5_000, 60_000, RULES)).toHaveLength(1);
    expect(await again.lease(T0, 5_000, 60_000, { ...RULES, shareAddress: false })).toHaveLength(2_999);
    await again.close();
  });
});

describe('options and the end', () => {
  test.each<[string, unknown, unknown, string]>([
    ['a misspelled option', 'x', { commitEveryMS: 1 }, 'CRAWL_OPTION_UNKNOWN'],
    ['a time that is none', 'x', { commitEveryMs: -1 }, 'CRAWL_OPTION_INVALID'],
    ['an empty path', '', {}, 'CRAWL_OPTION_INVALID'],
    ['no path', undefined, {}, 'CRAWL_OPTION_INVALID'],
    ['a file', new URL(import.meta.url).pathname, {}, 'CRAWL_OPTION_INVALID'],
  ])('%s is refused', async (_, path, options, code) => {
    await expect(LmdbStore.open(path as string, options as LmdbStoreOptions)).rejects.toMatchObject({ code });
  });

  test('what is no request is refused, and nothing of its batch is queued', async () => {
    const store = await LmdbStore.open(newDirectory());
    const batch = [request('/a'), { url: 'https://host.test/b' } as CrawlRequest];
    await expect(store.offer(batch, T0)).rejects.toMatchObject({ code: 'CRAWL_OPTION_INVALID' });
    expect((await store.stats()).seen).toBe(0);
    expect(await store.offer([request('/a')], T0)).toBe(1);
    await store.close();
  });

  test('a listener that throws finds the batch queued, and the store goes on', async () => {
    const store = await LmdbStore.open(newDirectory());
    await store.offer([request('/a')], T0);
    const offer = store.offer([request('/a'), request('/b')], T0, () => {
      throw new Error('mine');
    });
    await expect(offer).rejects.toThrow('mine');
    expect((await store.stats()).queued).toBe(2);
    await store.close();
  });

  test('closing while calls are under way loses none of them', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory, { commitEveryMs: 60_000 });
    const offers = Array.from({ length: 50 }, (_, n) => store.offer([request(`/${n}`)], T0));
    await Promise.all([...offers, store.close(), store.close()]);
    expect(await committed(directory, async (viewer) => (await viewer.stats()).queued)).toBe(50);
  });

  test('it says that it is durable', async () => {
    const store = await LmdbStore.open(newDirectory());
    expect(store.durable).toBe(true);
    await store.close();
  });
});
