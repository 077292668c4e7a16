import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { ByteReader, ByteWriter } from '../src/store/lmdb/bytes.ts';
import { loadLmdb } from '../src/store/lmdb/dependency.ts';
import { Environment } from '../src/store/lmdb/environment.ts';
import { Host } from '../src/store/lmdb/host.ts';
import { MergeOrder } from '../src/store/lmdb/merge-order.ts';
import { RecentIndex } from '../src/store/lmdb/recent-index.ts';
import { StoreState } from '../src/store/lmdb/state.ts';
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

/** Limits so narrow that a few steps see the whole life of a log. */
const LIMITS = { from: 1, part: 1, most: 12, work: 2 };

function open(directory: string) {
  const environment = Environment.open(lmdb, directory, { readOnly: false, mapSize: undefined });
  const writer = view(environment);
  writer.state.all.seen = 12;
  const onlooker = view(environment);
  environment.begin();
  return { environment, ...writer, onlooker };
}

/** What one process knows of a store. */
function view(environment: Environment) {
  const state = new StoreState(environment.table('state')!);
  const records = new UrlRecords(environment.table('urls')!, environment.table('recent'), state, LIMITS);
  state.load();
  records.load();
  return { state, records };
}

function commit({ environment, state, records }: ReturnType<typeof open>): void {
  records.save();
  state.save();
  environment.commit();
}

test('records are those that were written last, through merges, deaths, and in the eyes of another process', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 150, size: 'max' }), async (walk) => {
      const directory = join(root, String(run++));
      let store = open(directory);
      commit(store);
      store.environment.begin();
      let committed = new Map<string, number>();
      let written = new Map<string, number>();
      for (const { verb, key = Buffer.alloc(10), size = 0 } of walk) {
        const name = key.toString('hex');
        const record = Buffer.alloc(size + 1, size);
        if (verb === 'put') {
          store.records.put(key, record);
          written.set(name, size);
        } else if (verb === 'add') {
          expect(store.records.add(key, record)).toBe(!written.has(name));
          if (!written.has(name)) written.set(name, size);
        } else if (verb === 'look') {
          commit(store);
          committed = new Map(written);
          store.environment.begin();
          const { state, records } = store.onlooker;
          state.load();
          records.look();
          for (const [at, known] of committed) expect(records.get(Buffer.from(at, 'hex'))?.length).toBe(known + 1);
        } else {
          if (verb === 'die') written = new Map(committed);
          else {
            committed = new Map(written);
            commit(store);
          }
          if (verb !== 'commit') {
            await store.environment.close();
            store = open(directory);
          } else store.environment.begin();
        }
        expect(store.records.get(key)?.length).toBe(written.has(name) ? written.get(name)! + 1 : undefined);
      }
      for (const [at, known] of written) {
        expect(store.records.peek(Buffer.from(at, 'hex'))?.equals(Buffer.alloc(known + 1, known))).toBe(true);
      }
      const { first, next } = store.state.all.recent;
      expect(next - first).toBeLessThan(12 + 150);
      await store.environment.close();
    }),
    { numRuns: 60, endOnFailure: true },
  );
}, 120_000);

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
