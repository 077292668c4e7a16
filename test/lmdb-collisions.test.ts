import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { createRequest } from '../src/request.ts';
import { LmdbStore } from '../src/store/lmdb/index.ts';

// A hash by which any ten URLs are alike, and the last slot is among those that are taken.
vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof import('node:crypto')>();
  const hash = (_: string, text: string): Buffer => {
    const bytes = Buffer.alloc(32, 0xff);
    bytes[5] = 0xff - (text.length % 2);
    return bytes;
  };
  return { ...crypto, hash };
});

const root = mkdtempSync(join(tmpdir(), 'lmdb-collisions-'));

afterAll(() => rmSync(root, { recursive: true }));

test('URLs of one hash are told apart: the seen test compares whole URLs', async () => {
  const store = await LmdbStore.open(root);
  const urls = Array.from({ length: 60 }, (_, n) => createRequest({ url: `https://host.test/${n}`, depth: n })!);
  expect(await store.offer(urls, 1)).toBe(60);
  expect(await store.offer([...urls].reverse(), 1)).toBe(0);
  await store.note('https://host.test/no', { url: 'https://host.test/no', reason: 'depth' });
  for (const [n, { key }] of urls.entries()) {
    expect(await store.has(key)).toBe(true);
    expect(await store.record(key)).toMatchObject({ key, depth: n, state: 'queued' });
  }
  expect(await store.has('https://host.test/no')).toBe(false);
  expect(await store.has('https://host.test/never')).toBe(false);
  const rules = { connectionsPerHost: 0, pagesPerHost: Number.POSITIVE_INFINITY, startGapMs: 0, shareAddress: false };
  const leases = await store.lease(1, 100, 1_000, rules);
  expect(leases.map(({ url }) => url)).toEqual(urls.map(({ url }) => url));
  for (const lease of leases) await store.settle(lease, { outcome: 'done', record: { status: 200 } }, 1);
  for (const { key } of urls) expect((await store.record(key))?.state).toBe('done');
  await store.close();
});
