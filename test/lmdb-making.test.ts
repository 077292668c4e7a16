import { spawn } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as lmdb from 'lmdb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRequest } from '../src/request.ts';
import { Checkpoints } from '../src/store/lmdb/checkpoint.ts';
import { Environment } from '../src/store/lmdb/environment.ts';
import { LmdbStore } from '../src/store/lmdb/index.ts';
import { compile } from './helpers/compiled.ts';
import { RULES, T0 } from './helpers/lease-rules.ts';

const BINARY = { encoding: 'binary', keyEncoding: 'binary' } as const;
const META_BYTES = 8_192;
/** All there are, in the order in which they were made one by one. */
const TABLES = [
  ...['state', 'names', 'hosts', 'addresses', 'urls', 'queues', 'schedule', 'leases', 'meta', 'recent'],
] as const;

const root = mkdtempSync(join(tmpdir(), 'lmdb-making-'));
const stepper = new URL('helpers/lmdb-steps.mjs', import.meta.url).pathname;
let directories = 0;

afterAll(() => rmSync(root, { recursive: true, force: true }));

function newDirectory(): string {
  const directory = join(root, String(directories++));
  mkdirSync(directory);
  return directory;
}

/** Opens what is there, and crawls a page twice over a close. */
async function mustBeCrawlable(directory: string, what: string): Promise<void> {
  for (const [at, path] of ['a', 'b'].entries()) {
    const store = await LmdbStore.open(directory).catch((thrown: unknown) => {
      throw new Error(`It can't be opened after ${what}`, { cause: thrown });
    });
    expect(await store.stats(), what).toMatchObject({ seen: at, done: at });
    expect(await store.offer([createRequest({ url: `https://host.test/${path}` })!], T0), what).toBe(1);
    const [lease] = await store.lease(T0 + at * 60_000, 1, 1_000, RULES);
    expect(lease?.url, what).toBe(`https://host.test/${path}`);
    await store.settle(lease!, { outcome: 'done' }, T0 + at * 60_000);
    await store.close();
  }
  expect(readdirSync(directory).sort(), what).toEqual(['crawl.checkpoint', 'data.mdb', 'lock.mdb']);
}

describe('a process that is killed while it makes a store', () => {
  let built: ReturnType<typeof compile>;

  beforeAll(() => {
    built = compile('lmdb-making-dist');
  }, 120_000);

  afterAll(() => built.remove());

  /** @returns the names of all steps, where the process came to the end of them. */
  async function killAt(step: number, directory: string): Promise<readonly string[] | undefined> {
    const args = [stepper, built.dist, directory, String(step)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    const signal = await new Promise((resolve) => child.on('close', (_, by) => resolve(by)));
    expect(signal).toBe('SIGKILL');
    return text === '' ? undefined : (JSON.parse(text) as string[]);
  }

  test('leaves, at whatever step, what the next one goes on with', { timeout: 180_000 }, async () => {
    let steps: readonly string[] | undefined;
    for (let step = 1; steps === undefined; step++) {
      const directory = join(root, `step-${step}`);
      steps = await killAt(step, directory);
      await mustBeCrawlable(directory, `step ${step}`);
    }
    // Steps that are seen no more would leave kills out of this test.
    for (const name of [
      'writeFileSync',
      'half of writeSync',
      'renameSync',
      'table',
      'commit',
      'pin',
      'fdatasyncSync',
    ]) {
      expect(steps).toContain(name);
    }
  });

  test('leaves it to a second one that is killed as well', { timeout: 60_000 }, async () => {
    const all = await killAt(Number.MAX_SAFE_INTEGER, join(root, 'all'));
    const directory = newDirectory();
    for (const name of ['table', 'commit', 'renameSync', 'pin']) {
      expect(await killAt(all!.indexOf(name) + 1, directory)).toBe(undefined);
    }
    await mustBeCrawlable(directory, 'four kills');
  });
});

describe('a data file in which nothing was committed', () => {
  /** The file as it was after the environment was made, and after each table was. */
  async function stages(): Promise<{ readonly files: readonly Buffer[]; readonly checkpoint: Buffer }> {
    const directory = newDirectory();
    const environment = Environment.open(lmdb, directory, { readOnly: false, mapSize: undefined });
    const data = (): Buffer => readFileSync(join(directory, 'data.mdb'));
    const files = [data()];
    for (const name of TABLES) {
      environment.table(name);
      files.push(data());
    }
    const checkpoints = Checkpoints.open(environment, directory);
    const checkpoint = readFileSync(join(directory, 'crawl.checkpoint'));
    files.push(data());
    checkpoints.close();
    await environment.close();
    return { files, checkpoint };
  }

  async function mustGoOn(data: Buffer, what: string, checkpoint?: Buffer): Promise<void> {
    const directory = newDirectory();
    writeFileSync(join(directory, 'data.mdb'), data);
    if (checkpoint !== undefined) writeFileSync(join(directory, 'crawl.checkpoint'), checkpoint);
    await expect(LmdbStore.open(directory, { readOnly: true }), what).rejects.toMatchObject({
      code: 'CRAWL_STORE_FORMAT',
      message: expect.stringContaining('There is no crawl store in'),
    });
    expect(readFileSync(join(directory, 'data.mdb')).equals(data), what).toBe(true);
    await mustBeCrawlable(directory, what);
  }

  test('becomes a store, however many of its tables were made', { timeout: 60_000 }, async () => {
    const { files, checkpoint } = await stages();
    const [made] = files;
    expect(made!.length).toBe(META_BYTES);
    await mustGoOn(Buffer.alloc(0), 'an empty file');
    await mustGoOn(made!.subarray(0, META_BYTES / 2), 'half of an environment');
    for (const [n, file] of files.entries()) {
      await mustGoOn(file, `${n} tables`);
      const [before] = files.slice(n - 1);
      // The pages of a commit are written before the meta page that makes it one.
      const pages = Buffer.concat([before!.subarray(0, META_BYTES), file.subarray(META_BYTES)]);
      if (n > 0) await mustGoOn(pages, `the pages of ${n} tables`);
    }
    const last = files.at(-1)!;
    await mustGoOn(last, 'half of a checkpoint', checkpoint.subarray(0, checkpoint.length / 2));
    await mustGoOn(last, 'a checkpoint', checkpoint);
  });

  test('and one that was cut is refused', async () => {
    const { files } = await stages();
    for (const data of [files[0]!.subarray(0, 100), files[1]!.subarray(0, META_BYTES)]) {
      const directory = newDirectory();
      writeFileSync(join(directory, 'data.mdb'), data);
      await expect(LmdbStore.open(directory)).rejects.toMatchObject({ code: 'CRAWL_STORE_FORMAT' });
      expect(readFileSync(join(directory, 'data.mdb')).equals(data)).toBe(true);
      expect(readdirSync(directory)).not.toContain('crawl.new');
    }
  });
});

describe('an environment that may be of another program', () => {
  type Root = lmdb.RootDatabase<Buffer, Buffer>;
  const ENTRY = Buffer.from('theirs');
  const NOT_OURS =
    /is not a crawl store: another program has entries.*Nothing was changed.*move data\.mdb and lock\.mdb/;

  function put(database: lmdb.Database<Buffer, Buffer>, key = ENTRY): void {
    database.putSync(key, ENTRY);
  }

  function makeTables(inside: Root, names: readonly string[] = TABLES): lmdb.Database<Buffer, Buffer>[] {
    return names.map((name) => inside.openDB<Buffer, Buffer>({ name, ...BINARY }));
  }

  function besideTables(inside: Root): void {
    makeTables(inside);
    put(inside);
  }

  const foreign: readonly [string, (inside: Root) => void, RegExp][] = [
    ['an entry', (inside) => put(inside), NOT_OURS],
    ['an entry named like a table', (inside) => put(inside, Buffer.from('state')), NOT_OURS],
    ['an entry in the place of a table', (inside) => put(inside, Buffer.from('state\0')), /Nothing was changed/],
    ['an empty table of its own', (inside) => makeTables(inside, ['users']), NOT_OURS],
    ['a table of a name that comes later here', (inside) => makeTables(inside, ['urls']), NOT_OURS],
    ['an entry in a table that is named so here, too', (inside) => put(makeTables(inside, ['state'])[0]!), NOT_OURS],
    ['an entry beside all tables', besideTables, NOT_OURS],
    ['an entry in the last of all tables', (inside) => put(makeTables(inside).at(-1)!), NOT_OURS],
    ['a table beside all tables', (inside) => makeTables(inside, [...TABLES, 'users']), NOT_OURS],
  ];

  test.each(foreign)('with %s is refused and left as it is', async (_, fill, message) => {
    const directory = newDirectory();
    const inside = lmdb.open<Buffer, Buffer>({
      path: directory,
      noSubdir: false,
      overlappingSync: false,
      maxDbs: 16,
      ...BINARY,
    });
    fill(inside);
    await inside.close();
    const before = join(newDirectory(), 'before');
    copyFileSync(join(directory, 'data.mdb'), before);
    for (const readOnly of [false, true]) {
      const refused = { code: 'CRAWL_STORE_FORMAT', message: expect.stringMatching(message) };
      await expect(LmdbStore.open(directory, { readOnly })).rejects.toMatchObject(refused);
      expect(readFileSync(join(directory, 'data.mdb')).equals(readFileSync(before))).toBe(true);
      expect(readdirSync(directory).sort()).toEqual(['data.mdb', 'lock.mdb']);
    }
  });

  test.each(['crawl.new', 'crawl.new-lock'])('with a folder named %s is refused, and says what to do', async (name) => {
    const directory = newDirectory();
    await (await LmdbStore.open(directory)).close();
    mkdirSync(join(directory, name));
    const refused = { code: 'CRAWL_STORE_FORMAT', message: expect.stringMatching(/is no file.*move it away/) };
    await expect(LmdbStore.open(directory)).rejects.toMatchObject(refused);
    rmdirSync(join(directory, name));
    await (await LmdbStore.open(directory)).close();
  });
});
