import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { ByteReader, ByteWriter } from '../src/store/lmdb/bytes.ts';
import { loadLmdb } from '../src/store/lmdb/dependency.ts';
import { Environment } from '../src/store/lmdb/environment.ts';
import { Host } from '../src/store/lmdb/host.ts';
import { MergeOrder } from '../src/store/lmdb/merge-order.ts';
import { RecentIndex } from '../src/store/lmdb/recent-index.ts';
import { SmallSites } from '../src/store/lmdb/small-sites.ts';
import { StoreState } from '../src/store/lmdb/state.ts';
import type { Table } from '../src/store/lmdb/table.ts';
import { UrlRecords } from '../src/store/lmdb/url-records.ts';

const root = mkdtempSync(join(tmpdir(), 'lmdb-records-'));
const lmdb = await loadLmdb();

afterAll(() => rmSync(root, { recursive: true }));

/** Sites and slots that meet often, also in all that the index knows of a key. */
const keys = fc
  .record({ site: fc.integer({ min: 1, max: 3 }), head: fc.constantFrom(0, 7, 0xffffffff), tail: fc.nat(5) })
  .map(({ site, head, tail }) => {
    const key = Buffer.alloc(10);
    key.writeUInt32BE(site, 0);
    key.writeUInt32BE(head, 4);
    key.writeUInt16BE(tail, 8);
    return key;
  });

const steps = fc.oneof(
  { weight: 6, arbitrary: fc.record({ verb: fc.constantFrom('put', 'add'), key: keys, size: fc.nat(3_000) }) },
  { weight: 3, arbitrary: fc.record({ verb: fc.constantFrom('commit', 'look') }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constantFrom('die', 'reopen') }) },
) as fc.Arbitrary<{ verb: string; key?: Buffer; size?: number }>;

/** Limits so narrow that a few steps see the whole life of a log, and its beginning. */
const LIMITS = { from: 6, part: 1, most: 12, work: 2 };

async function open(directory: string) {
  const environment = Environment.open(lmdb, directory, { readOnly: false, mapSize: undefined });
  const writer = await view(environment);
  const outside = Environment.open(lmdb, directory, { readOnly: true, mapSize: undefined });
  const onlooker = await view(outside);
  environment.begin();
  const close = async (): Promise<void> => {
    environment.abort();
    await outside.close();
    await environment.close();
  };
  return { environment, ...writer, onlooker, close };
}

/** What one process knows of a store. */
async function view(environment: Environment) {
  const state = new StoreState(environment.table('state')!);
  const records = new UrlRecords(environment.table('urls')!, () => environment.table('recent'), state, LIMITS);
  state.load();
  await records.load();
  return { state, records };
}

function commit({ environment, state, records }: Awaited<ReturnType<typeof open>>): void {
  records.save();
  state.all.order++;
  state.save();
  environment.commit();
}

test('records are those that were written last, through merges, deaths, and in the eyes of one who only reads', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 150, size: 'max' }), async (walk) => {
      const directory = join(root, String(run++));
      let store = await open(directory);
      commit(store);
      store.environment.begin();
      let committed = new Map<string, number>();
      let written = new Map<string, number>();
      /** What was there after each commit. */
      const commits = [committed, committed];
      for (const { verb, key = Buffer.alloc(10), size = 0 } of walk) {
        const name = key.toString('hex');
        const record = Buffer.alloc(size + 1, size);
        if (verb === 'put') {
          store.records.put(key, record);
          if (!written.has(name)) store.state.all.seen++;
          written.set(name, size);
        } else if (verb === 'add') {
          expect(store.records.add(key, record)).toBe(!written.has(name));
          if (!written.has(name)) {
            store.state.all.seen++;
            written.set(name, size);
          }
        } else if (verb === 'look') {
          // It reads a snapshot, which is kept for some turns.
          await nextTurn();
          const { state, records } = store.onlooker;
          state.load();
          records.look();
          for (const at of written.keys()) {
            const known = commits[state.all.order]!.get(at);
            expect(records.get(Buffer.from(at, 'hex'))?.length).toBe(known === undefined ? undefined : known + 1);
          }
        } else {
          if (verb === 'die') written = new Map(committed);
          else {
            committed = new Map(written);
            commit(store);
            commits[store.state.all.order] = committed;
          }
          if (verb !== 'commit') {
            await store.close();
            store = await open(directory);
          } else store.environment.begin();
        }
        expect(store.records.get(key)?.length).toBe(written.has(name) ? written.get(name)! + 1 : undefined);
      }
      for (const [at, known] of written) {
        expect(store.records.peek(Buffer.from(at, 'hex'))?.equals(Buffer.alloc(known + 1, known))).toBe(true);
      }
      const { first, next } = store.state.all.recent;
      expect(next - first).toBeLessThan(12 + 150);
      if (store.state.all.seen < LIMITS.from) expect(next).toBe(1);
      await store.close();
    }),
    { numRuns: 60, endOnFailure: true },
  );
}, 120_000);

test('a long log is read with turns of the event loop in between', { timeout: 60_000 }, async () => {
  const rows = 100_000;
  const directory = join(root, 'long');
  const environment = Environment.open(lmdb, directory, { readOnly: false, mapSize: undefined });
  const state = new StoreState(environment.table('state')!);
  const log = (): Table | undefined => environment.table('recent');
  const limits = { from: 0, part: 1, most: 2 * rows, work: 1 };
  const writer = new UrlRecords(environment.table('urls')!, log, state, limits);
  state.load();
  const key = Buffer.alloc(10);
  const record = Buffer.alloc(40);
  environment.begin();
  for (let n = 0; n < rows; n++) {
    key.writeUInt32BE(n, 4);
    record.writeUInt32BE(n, 0);
    writer.put(key, record);
  }
  state.save();
  environment.commit();

  const reader = new UrlRecords(environment.table('urls')!, log, state, limits);
  let turns = 0;
  let isRead = false;
  const count = async (): Promise<void> => {
    for (; !isRead; turns++) await nextTurn();
  };
  const counted = count();
  await reader.load();
  isRead = true;
  await counted;
  expect(turns).toBeGreaterThan(3);
  for (const n of [0, 77_777, rows - 1]) {
    key.writeUInt32BE(n, 4);
    expect(reader.get(key)?.readUInt32BE(0)).toBe(n);
  }
  await environment.close();
});

test('a merge takes all entries there are, each once, in the order of their keys', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(5), fc.nat(9)), { maxLength: 400 }),
      fc.integer({ min: 1, max: 40 }),
      (all, times) => {
        const index = new RecentIndex();
        const ranks = new Map<number, number>();
        let place = 1;
        for (let n = 0; n < times; n++) {
          for (const [site, head] of all) {
            const key = Buffer.alloc(10);
            key.writeUInt32BE(site, 0);
            key.writeUInt32BE(head * 1000 + n, 4);
            ranks.set(place, site * 2 ** 32 + head * 1000 + n);
            index.add(key, place++);
          }
        }
        const end = Math.ceil(place / 2);
        const order = new MergeOrder(index.before(end));
        const got: number[] = [];
        for (let next = order.next(); next !== undefined; next = order.next()) got.push(next);
        expect([...got].sort((a, b) => a - b)).toEqual([...ranks.keys()].filter((one) => one < end));
        for (let n = 1; n < got.length; n++)
          expect(ranks.get(got[n]!)!).toBeGreaterThanOrEqual(ranks.get(got[n - 1]!)!);
        index.forget(end);
        expect(index.size).toBe(place - end);
      },
    ),
    { numRuns: 50 },
  );
});

test('a merge of many keeps the order in which equal ones were given, and looks at each of them a few times only', () => {
  const ranks = Float64Array.from({ length: 60_000 }, (_, n) => (n < 9_000 ? 7 : (n * 48_271) % 20_011));
  const places = Float64Array.from(ranks, (_, n) => n + 1);
  let looks = 0;
  const counted = new Proxy(ranks, {
    get: (target, name) => {
      looks++;
      return Reflect.get(target, name, target) as unknown;
    },
  });
  const order = new MergeOrder({ ranks: counted, places });
  const got: number[] = [];
  for (let next = order.next(); next !== undefined; next = order.next()) got.push(next);
  expect(got).toEqual([...places].sort((a, b) => ranks[a - 1]! - ranks[b - 1]!));
  // Some 22 to sort a piece, and one for each of the five halvings that lead to it.
  expect(looks / ranks.length).toBeLessThan(45);
});

test('a host keeps its last requests in its record, and one of format 1 has none', () => {
  const host = new Host(1, 'host.test');
  host.levels.push({ level: 0, head: 0, offset: 3, tail: 2, filled: 9, recent: [{ site: 5, slot: 2 ** 47 }] });
  const out = new ByteWriter().start();
  host.write(out);
  const record = Buffer.from(out.view());
  expect(Host.read(new ByteReader().over(record), 1).host.levels).toEqual(host.levels);
  const old = record.subarray(0, record.length - 11);
  expect(Host.read(new ByteReader().over(old), 1).host.levels).toEqual([{ ...host.levels[0], recent: [] }]);
});

test('new records of a small site that follow one another go past the log, those of a large one do not', () => {
  const sites = new SmallSites();
  const keyOf = (site: number): Buffer => {
    const key = Buffer.alloc(10);
    key.writeUInt32BE(site);
    return key;
  };
  expect([1, 1, 1, 2, 1, 2, 2].map((site) => sites.follows(keyOf(site)))).toEqual([
    ...[false, true, true, false, false, false, true],
  ]);
  const large = Array.from({ length: 1_500 }, () => sites.follows(keyOf(3)));
  expect([large[0], large[1], large[999], large[1_000], large[1_499]]).toEqual([false, true, true, false, false]);
  // As many sites as there may be, and the store still knows which came last.
  for (let site = 10; site < 70_000; site++) expect(sites.follows(keyOf(site))).toBe(false);
  expect(sites.follows(keyOf(69_999))).toBe(true);
});
