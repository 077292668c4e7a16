import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import * as lmdb from 'lmdb';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { isCrawlError } from '../src/errors.ts';
import type { LeaseRules, StoreStats, UrlRecord } from '../src/ports.ts';
import { createRequest } from '../src/request.ts';
import { LmdbStore, type StoredHost } from '../src/store/lmdb/index.ts';
import { compile } from './helpers/compiled.ts';
import { mountMemory } from './helpers/mounts.ts';

const RULES: LeaseRules = {
  connectionsPerHost: 0,
  pagesPerHost: Number.POSITIVE_INFINITY,
  startGapMs: 0,
  shareAddress: true,
};
const T0 = 1_700_000_000_000;

const root = mkdtempSync(join(tmpdir(), 'lmdb-files-'));
const holder = new URL('helpers/lmdb-holder.mjs', import.meta.url).pathname;
let directories = 0;
let built: ReturnType<typeof compile>;

beforeAll(() => {
  built = compile('lmdb-files-dist');
}, 120_000);

afterAll(() => {
  built.remove();
  rmSync(root, { recursive: true, force: true });
});

function newDirectory(): string {
  const directory = join(root, String(directories++));
  mkdirSync(directory);
  return directory;
}

function batch(from: number, count: number): NonNullable<ReturnType<typeof createRequest>>[] {
  return Array.from(
    { length: count },
    (_, n) => createRequest({ url: `https://h${(from + n) % 7}.test/${from + n}` })!,
  );
}

/** A store with some URLs in it, closed. */
async function filled(directory: string = newDirectory(), count = 2_000): Promise<string> {
  const store = await LmdbStore.open(directory);
  await store.offer(batch(0, count), T0);
  await store.close();
  return directory;
}

interface Format1 {
  /** Base64 of all keys and values, as version 1 of the format wrote them. */
  readonly tables: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** What that version said of the store, and the order in which it leased what waited. */
  readonly expected: {
    readonly stats: StoreStats;
    readonly hosts: readonly StoredHost[];
    readonly records: Readonly<Record<string, UrlRecord>>;
    readonly leased: readonly string[];
  };
}

/** A store with what the code of format 1 had written after some offers, leases and settlements. */
async function ofFormat1(): Promise<Format1['expected'] & { readonly directory: string }> {
  const directory = newDirectory();
  const text = readFileSync(new URL('helpers/lmdb-format-1.json', import.meta.url), 'utf8');
  const { tables, expected } = JSON.parse(text) as Format1;
  const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const inside = lmdb.open({ path: directory, noSubdir: false, overlappingSync: false, maxDbs: 16, ...binary });
  for (const [name, entries] of Object.entries(tables)) {
    const table = inside.openDB<Buffer, Buffer>({ name, ...binary });
    for (const [key, value] of Object.entries(entries)) {
      table.putSync(Buffer.from(key, 'base64'), Buffer.from(value, 'base64'));
    }
  }
  await inside.close();
  return { directory, ...expected };
}

function digest(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** Holds a store in a process of its own. */
async function hold(directory: string, links = 0): Promise<ChildProcess> {
  const args = [holder, built.dist, directory, String(links)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    child.stdout!.once('data', () => resolve());
    child.once('exit', (code) => reject(new Error(`The holder ended with ${code}`)));
  });
  return child;
}

test('a directory that can not be made is told as such', async () => {
  const directory = newDirectory();
  const file = join(directory, 'file');
  writeFileSync(file, 'x');
  const failure = await LmdbStore.open(join(file, 'store')).catch((thrown: unknown) => thrown);
  expect(failure).toMatchObject({ code: 'CRAWL_STORE_FAILED', message: expect.stringContaining('choose another one') });
  expect((failure as Error).message).not.toContain('last commit');
});

describe('one process at a time', () => {
  test('a store that another process has open is refused with its pid, and is free at once when that is killed', async () => {
    const directory = newDirectory();
    const child = await hold(directory);
    await expect(LmdbStore.open(directory)).rejects.toMatchObject({
      code: 'CRAWL_STORE_LOCKED',
      message: expect.stringContaining(`pid ${child.pid}`),
    });
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    await (await LmdbStore.open(directory)).close();
  });

  test('the same process is refused as well, until the store is closed', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory);
    await expect(LmdbStore.open(directory)).rejects.toMatchObject({
      code: 'CRAWL_STORE_LOCKED',
      message: expect.stringContaining(`pid ${process.pid}`),
    });
    const { message } = (await LmdbStore.open(directory).catch((thrown: unknown) => thrown)) as Error;
    expect(message).toContain('its close()');
    expect(message).not.toContain('end that process');
    expect(await store.offer(batch(0, 1), T0)).toBe(1);
    await store.close();
    await (await LmdbStore.open(directory)).close();
  });

  test('of several that open it at once one has it', async () => {
    const directory = newDirectory();
    const opened = await Promise.allSettled(Array.from({ length: 5 }, () => LmdbStore.open(directory)));
    const stores = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(stores).toHaveLength(1);
    for (const one of opened) if (one.status === 'rejected') expect(one.reason.code).toBe('CRAWL_STORE_LOCKED');
    await stores[0]?.close();
  });

  test('of several that find a dead owner at once one has it', async () => {
    const directory = newDirectory();
    const lock = join(directory, 'crawl.lock');
    const owner = lockOf(await LmdbStore.open(directory), lock);
    writeFileSync(lock, JSON.stringify({ ...(await owner), pid: 2 ** 22 + 1, token: 'dead' }));
    const opened = await Promise.allSettled(Array.from({ length: 5 }, () => LmdbStore.open(directory)));
    const stores = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(stores).toHaveLength(1);
    await stores[0]?.close();
    expect(readdirSync(directory).filter((name) => name.startsWith('crawl.lock'))).toEqual([]);
  });

  test('a process that lives and has the number of the dead owner is not the owner', async () => {
    const directory = newDirectory();
    const lock = join(directory, 'crawl.lock');
    const owner = await lockOf(await LmdbStore.open(directory), lock);
    writeFileSync(lock, JSON.stringify({ ...owner, pid: process.ppid, started: '1', token: 'dead' }));
    await (await LmdbStore.open(directory)).close();
  });

  test('an owner that can not be seen from here is believed as long as it gives signs of life', async () => {
    const directory = newDirectory();
    const lock = join(directory, 'crawl.lock');
    const owner = await lockOf(await LmdbStore.open(directory), lock);
    const system = { host: 'elsewhere', boot: 'another', ids: 'others' };
    writeFileSync(lock, JSON.stringify({ ...owner, system, token: 'far' }));
    await expect(LmdbStore.open(directory)).rejects.toMatchObject({
      code: 'CRAWL_STORE_LOCKED',
      message: expect.stringContaining('on elsewhere'),
    });
    const before = new Date(Date.now() - 60_000);
    utimesSync(lock, before, before);
    await (await LmdbStore.open(directory)).close();
  });

  test('an owner from before the machine was started is dead', async () => {
    const directory = newDirectory();
    const lock = join(directory, 'crawl.lock');
    const owner = await lockOf(await LmdbStore.open(directory), lock);
    const system = { host: hostname(), boot: 'before', ids: 'others' };
    writeFileSync(lock, JSON.stringify({ ...owner, system, token: 'old' }));
    await (await LmdbStore.open(directory)).close();
  });

  test('a lock file of which nothing was written belongs to nobody after a while', async () => {
    const directory = newDirectory();
    writeFileSync(join(directory, 'crawl.lock'), '');
    await (await LmdbStore.open(directory)).close();
  });

  async function lockOf(store: LmdbStore, path: string): Promise<object> {
    const owner = JSON.parse(readFileSync(path, 'utf8')) as object;
    await store.close();
    expect(existsSync(path)).toBe(false);
    return owner;
  }
});

describe('looking with readOnly', () => {
  test('a crawl that is running can be looked at, in its process and from another', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory, { commitEveryMs: 0 });
    const viewer = await LmdbStore.open(directory, { readOnly: true });
    await store.offer(batch(0, 3), T0);
    expect((await viewer.stats()).queued).toBe(3);
    // What is not urgent is committed a moment later.
    const [lease] = await store.lease(T0, 1, 1_000, RULES);
    await vi.waitFor(async () => expect((await viewer.stats()).leased).toBe(1));
    expect((await viewer.record(lease!.request.key))?.state).toBe('leased');
    await store.settle(lease!, { outcome: 'done' }, T0);
    await vi.waitFor(async () => expect((await viewer.record(lease!.request.key))?.state).toBe('done'));
    expect(await viewer.getHost('h0.test')).toMatchObject({ host: 'h0.test' });
    await viewer.close();
    expect(await store.offer(batch(3, 1), T0)).toBe(1);
    await store.close();
  });

  test('nothing can be written', async () => {
    const viewer = await LmdbStore.open(await filled(), { readOnly: true });
    const calls = [
      () => viewer.offer(batch(0, 1), T0),
      () => viewer.lease(T0, 1, 1_000, RULES),
      () => viewer.setMeta('a', new Uint8Array()),
      () => viewer.setHost('h0.test', {}),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'CRAWL_STORE_READONLY' });
    await viewer.flush();
    await viewer.close();
  });

  test('where there is no store there is nothing to look at, and none is made', async () => {
    const directory = newDirectory();
    await expect(LmdbStore.open(directory, { readOnly: true })).rejects.toMatchObject({ code: 'CRAWL_STORE_FORMAT' });
    expect(readdirSync(directory)).toEqual([]);
  });

  test('a directory that can not be written is refused with CRAWL_STORE_READONLY, and can be looked at', async () => {
    using mount = mountMemory(32 * 2 ** 20);
    if (mount === undefined) return;
    await filled(mount.path);
    mount.remount('ro');
    await expect(LmdbStore.open(mount.path)).rejects.toMatchObject({
      code: 'CRAWL_STORE_READONLY',
      message: expect.stringContaining('readOnly: true'),
    });
    const viewer = await LmdbStore.open(mount.path, { readOnly: true });
    expect((await viewer.stats()).queued).toBe(2_000);
    await viewer.close();
  });
});

describe('files that are no store', () => {
  test.each(['lock.mdb', 'data.mdb'])(
    'a folder in the place of %s is refused, and not handed to LMDB',
    async (name) => {
      const directory = newDirectory();
      mkdirSync(join(directory, name));
      const refused = { code: 'CRAWL_STORE_FORMAT', message: expect.stringContaining(name) };
      await expect(LmdbStore.open(directory)).rejects.toMatchObject(refused);
      await expect(LmdbStore.open(directory, { readOnly: true })).rejects.toMatchObject(refused);
      expect(readdirSync(directory)).toEqual([name]);
    },
  );

  test('a place where nothing can be made is refused at once', async () => {
    await expect(LmdbStore.open('/proc/no-such-folder/store')).rejects.toMatchObject({
      code: expect.stringMatching(/^CRAWL_STORE_/),
    });
  });

  test("another program's database is refused and left as it is", async () => {
    const directory = newDirectory();
    const other = lmdb.open({ path: directory, noSubdir: false });
    await other.put('theirs', 'data');
    await other.close();
    const before = digest(join(directory, 'data.mdb'));
    await expect(LmdbStore.open(directory)).rejects.toMatchObject({ code: 'CRAWL_STORE_FORMAT' });
    await expect(LmdbStore.open(directory, { readOnly: true })).rejects.toMatchObject({ code: 'CRAWL_STORE_FORMAT' });
    expect(digest(join(directory, 'data.mdb'))).toBe(before);
    const again = lmdb.open({ path: directory, noSubdir: false });
    expect(again.get('theirs')).toBe('data');
    await again.close();
  });

  test.each([
    ['text', Buffer.from('what is this?\n'.repeat(1_000))],
    ['zeros', Buffer.alloc(16_384)],
    ['a few bytes', Buffer.from('x')],
  ])('a file of %s is refused and left as it is', async (_, bytes) => {
    const directory = newDirectory();
    const path = join(directory, 'data.mdb');
    writeFileSync(path, bytes);
    await expect(LmdbStore.open(directory)).rejects.toMatchObject({ code: 'CRAWL_STORE_FORMAT' });
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(readdirSync(directory)).toEqual(['data.mdb']);
  });

  test.each([0, 100, 4_096, 8_192, 0.5, 0.99])(
    'a file that was cut to %s is refused and left as it is',
    async (size) => {
      const directory = await filled();
      const path = join(directory, 'data.mdb');
      const whole = readFileSync(path);
      const cut = size > 0 && size < 1 ? Math.floor(whole.length * size) : size;
      truncateSync(path, cut);
      for (const readOnly of [false, true]) {
        await expect(LmdbStore.open(directory, { readOnly })).rejects.toMatchObject({ code: 'CRAWL_STORE_FORMAT' });
        expect(readFileSync(path).equals(whole.subarray(0, cut))).toBe(true);
      }
      writeFileSync(path, whole);
      const store = await LmdbStore.open(directory);
      expect((await store.stats()).queued).toBe(2_000);
      await store.close();
    },
  );

  test('a store of another version is refused, and the message says what to do', async () => {
    const directory = await filled();
    const path = join(directory, 'data.mdb');
    const inside = lmdb.open({
      path: directory,
      noSubdir: false,
      overlappingSync: false,
      encoding: 'binary',
      keyEncoding: 'binary',
    });
    const state = inside.openDB({ name: 'state', encoding: 'binary', keyEncoding: 'binary' });
    await state.put(Buffer.from('format'), Buffer.from('polite-crawler 99'));
    await inside.close();
    const before = digest(path);
    await expect(LmdbStore.open(directory)).rejects.toMatchObject({
      code: 'CRAWL_STORE_FORMAT',
      message: expect.stringMatching(/format 99.*reads 1 and 2.*version that wrote it/),
    });
    expect(digest(path)).toBe(before);
  });

  test('a store that format 1 wrote is read, and goes on as its own version would have', async () => {
    const { directory, stats, hosts, records, leased } = await ofFormat1();
    for (const readOnly of [true, false]) {
      const store = await LmdbStore.open(directory, { readOnly });
      expect(await store.stats()).toEqual(stats);
      expect(await store.hosts()).toEqual(hosts);
      for (const [key, record] of Object.entries(records)) expect(await store.record(key)).toEqual(record);
      await store.close();
    }
    const store = await LmdbStore.open(directory);
    const got: string[] = [];
    for (let now = T0 + 1_000; got.length < stats.queued; now += 100) {
      for (const lease of await store.lease(now, 100, 600_000, RULES)) {
        got.push(lease.url);
        expect(await store.offer([lease.request], now)).toBe(0);
        await store.settle(lease, { outcome: 'done' }, now);
      }
    }
    expect(got).toEqual(leased);
    expect(await store.stats()).toMatchObject({ queued: 0, seen: stats.seen });
    await store.close();
  });

  test('who looks at a store of format 1 goes on looking once another process has brought it to format 2', async () => {
    const { directory, stats } = await ofFormat1();
    const looking = await LmdbStore.open(directory, { readOnly: true });
    expect(await looking.stats()).toEqual(stats);
    const child = await hold(directory, 120);
    await expect.poll(async () => (await looking.stats()).seen).toBe(stats.seen + 120);
    for (let n = 0; n < 120; n++) {
      expect(await looking.record(`https://host.test/${n}`)).toMatchObject({ state: 'queued' });
    }
    await looking.close();
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  });

  test('a store whose directory is deleted while it is open says that all is lost, at the next checkpoint and at the end', async () => {
    const directory = newDirectory();
    const store = await LmdbStore.open(directory, { checkpointEveryMs: 20 });
    await store.offer([createRequest({ url: 'https://host.test/a' })!], T0);
    rmSync(directory, { recursive: true });
    const lost = expect.objectContaining({ code: 'CRAWL_STORE_FAILED', message: expect.stringContaining('deleted') });
    await expect
      .poll(() =>
        store
          .setMeta('a', undefined)
          .then(() => store.flush())
          .catch((thrown: unknown) => thrown),
      )
      .toEqual(lost);
    await store.close();
    const another = newDirectory();
    const other = await LmdbStore.open(another, { checkpointEveryMs: 3_600_000 });
    rmSync(another, { recursive: true });
    await expect(other.close()).rejects.toThrow(lost);
  });

  test('the data file alone is a store', async () => {
    const directory = await filled();
    const copy = newDirectory();
    copyFileSync(join(directory, 'data.mdb'), join(copy, 'data.mdb'));
    const store = await LmdbStore.open(copy);
    expect((await store.stats()).queued).toBe(2_000);
    await store.close();
  });
});

describe('a disk that is full', () => {
  test('the store fails with CRAWL_STORE_FULL, and goes on from the last commit once there is room', async () => {
    using mount = mountMemory(12 * 2 ** 20);
    if (mount === undefined) return;
    let store = await LmdbStore.open(mount.path);
    let offered = 0;
    const failure = await (async () => {
      for (;;) {
        try {
          await store.offer(batch(offered, 500), T0);
          offered += 500;
        } catch (thrown) {
          return thrown;
        }
      }
    })();
    expect(isCrawlError(failure, 'CRAWL_STORE_FULL'), String(failure)).toBe(true);
    expect(String(failure)).toMatch(/make room, open the store again/);
    expect(offered).toBeGreaterThan(1_000);
    await expect(store.stats()).rejects.toMatchObject({ code: 'CRAWL_STORE_FULL' });
    await expect(store.flush()).rejects.toMatchObject({ code: 'CRAWL_STORE_FULL' });
    await store.close();

    mount.remount(`size=${64 * 2 ** 20}`);
    store = await LmdbStore.open(mount.path);
    const { queued, seen } = await store.stats();
    expect([queued, seen]).toEqual([offered, offered]);
    expect(await store.offer(batch(0, offered + 500), T0)).toBe(500);
    let leased = 0;
    for (let leases = await store.lease(T0, 500, 60_000, RULES); leases.length > 0; ) {
      for (const lease of leases) await store.settle(lease, { outcome: 'done' }, T0);
      leased += leases.length;
      leases = await store.lease(T0, 500, 60_000, RULES);
    }
    expect(leased).toBe(offered + 500);
    await store.close();
  });

  test('a store that does not fit at all is refused with CRAWL_STORE_FULL', async () => {
    for (const bytes of [8_192, 65_536, 2 ** 20]) {
      using mount = mountMemory(bytes);
      if (mount === undefined) return;
      await expect(LmdbStore.open(mount.path)).rejects.toMatchObject({ code: 'CRAWL_STORE_FULL' });
    }
  });
});
