import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import type { StoreStats } from '../src/ports.ts';
import { createRequest } from '../src/request.ts';
import { LmdbStore } from '../src/store/lmdb/index.ts';
import { Random } from '../src/testing/random.ts';
import { RULES, T0 } from './helpers/lease-rules.ts';

const machine = vi.hoisted(() => ({ boot: 'first' }));

vi.mock('../src/store/lmdb/machine.ts', async (original) => ({
  ...(await original<typeof import('../src/store/lmdb/machine.ts')>()),
  bootId: () => machine.boot,
}));

const PAGE = 4_096;

const root = mkdtempSync(join(tmpdir(), 'lmdb-power-'));

afterAll(() => rmSync(root, { recursive: true }));

let now = T0;

/** Offers, leases and settlements here and there. */
async function crawl(store: LmdbStore, random: Random, steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    now += 10;
    const links = Array.from({ length: random.below(20) }, () =>
      createRequest({ url: `https://h${random.below(50)}.test/${random.below(1e6)}`, level: random.below(3) }),
    );
    const outlinks = links.flatMap((link) => (link === null ? [] : [link]));
    if (step % 5 === 0) await store.offer(outlinks, now);
    for (const lease of await store.lease(now, 4, 60_000, RULES)) {
      const outcome = random.pick(['done', 'done', 'failed', 'retry'] as const);
      await store.settle(lease, { outcome, outlinks, record: { status: 200 }, host: { nextAt: now + 20 } }, now);
    }
  }
}

async function drain(store: LmdbStore): Promise<string[]> {
  const urls: string[] = [];
  for (let at = now + 1e6; ; at += 1e6) {
    const leases = await store.lease(at, 100, 60_000, RULES);
    if (leases.length === 0) return urls.sort();
    for (const lease of leases) {
      urls.push(lease.url);
      await store.settle(lease, { outcome: 'done' }, at);
    }
  }
}

/** A disk on which each page of the file is as it was at the checkpoint, or as it was written since. */
function mixed(before: Buffer, after: Buffer, random: Random): Buffer {
  const pages = after.length / PAGE;
  const result = Buffer.alloc(after.length);
  for (let page = 0; page < pages; page++) {
    const source = random.chance(0.5) && page * PAGE < before.length ? before : after;
    if (source === after && page * PAGE >= before.length && random.chance(0.3)) continue; // Never written: zeros.
    source.copy(result, page * PAGE, page * PAGE, (page + 1) * PAGE);
  }
  return result;
}

describe('a power cut', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'leaves the store as it was at the last checkpoint (seed %i)',
    { timeout: 60_000 },
    async (seed) => {
      machine.boot = 'first';
      const random = new Random(seed);
      const directory = join(root, String(seed));
      const file = join(directory, 'data.mdb');
      const store = await LmdbStore.open(directory, { checkpointEveryMs: 3_600_000 });
      await crawl(store, random, 40);
      await store.flush();
      await crawl(store, random, 40);
      await store.flush();
      const stats = await store.stats();
      const before = readFileSync(file);
      cpSync(directory, `${directory}-then`, { recursive: true });
      rmSync(join(`${directory}-then`, 'crawl.lock'));

      // Much is written and committed, and none of it is on the disk for sure.
      const commits = 3 + random.below(10);
      for (let n = 0; n < commits; n++) {
        await crawl(store, random, 10);
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
      const after = readFileSync(file);
      const left = `${directory}-left`;
      cpSync(directory, left, { recursive: true });
      rmSync(join(left, 'crawl.lock'));
      await store.close();

      machine.boot = 'second';
      const then = await LmdbStore.open(`${directory}-then`);
      const expected = await drain(then);
      await then.close();
      for (let n = 0; n < 5; n++) {
        writeFileSync(join(left, 'data.mdb'), mixed(before, after, random));
        const copy = `${left}-${n}`;
        cpSync(left, copy, { recursive: true });
        const again = await LmdbStore.open(copy);
        expect(await again.stats()).toEqual({
          ...stats,
          queued: stats.queued + stats.leased,
          leased: 0,
        } satisfies StoreStats);
        expect(await drain(again)).toEqual(expected);
        await again.close();
      }
    },
  );

  test('the same files without a new start of the machine keep every commit', async () => {
    machine.boot = 'first';
    const directory = join(root, 'killed');
    const store = await LmdbStore.open(directory, { checkpointEveryMs: 3_600_000, commitEveryMs: 0 });
    await store.flush();
    await crawl(store, new Random(9), 30);
    const stats = await store.stats();
    const left = `${directory}-left`;
    cpSync(directory, left, { recursive: true });
    rmSync(join(left, 'crawl.lock'));
    const again = await LmdbStore.open(left);
    expect((await again.stats()).done).toBe(stats.done);
    expect(stats.done).toBeGreaterThan(20);
    await again.close();
    await store.close();
  });

  test('a checkpoint is made again and again while there is something new', async () => {
    machine.boot = 'first';
    const directory = join(root, 'often');
    const store = await LmdbStore.open(directory, { checkpointEveryMs: 10, commitEveryMs: 1 });
    const checkpoint = (): Buffer => readFileSync(join(directory, 'crawl.checkpoint'));
    const first = checkpoint();
    await store.offer([createRequest({ url: 'https://a.test/' })!], T0);
    await expect.poll(() => checkpoint().equals(first)).toBe(false);
    await store.close();
  });

  test('a data file older than its checkpoint, as from a copy, is taken as it is', async () => {
    machine.boot = 'first';
    const directory = join(root, 'copied');
    const store = await LmdbStore.open(directory);
    await store.offer([createRequest({ url: 'https://a.test/1' })!], T0);
    await store.close();
    const old = readFileSync(join(directory, 'data.mdb'));
    const more = await LmdbStore.open(directory);
    await more.offer([createRequest({ url: 'https://a.test/2' })!], T0);
    await more.close();
    writeFileSync(join(directory, 'data.mdb'), Buffer.concat([old, Buffer.alloc(64 * PAGE)]));
    machine.boot = 'second';
    const again = await LmdbStore.open(directory);
    expect((await again.stats()).queued).toBe(1);
    await again.close();
  });
});
