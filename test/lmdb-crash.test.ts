import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadLmdb } from '../src/store/lmdb/dependency.ts';
import { Environment } from '../src/store/lmdb/environment.ts';
import { LmdbStore } from '../src/store/lmdb/index.ts';
import { StoreState } from '../src/store/lmdb/state.ts';
import { Random } from '../src/testing/random.ts';
import { compile } from './helpers/compiled.ts';

/** Kills in all; CRASHES=300 for a long run. */
const CRASHES = Number(process.env.CRASHES ?? 30);
const KILLS_PER_STORE = 6;
const START_GAP_MS = 400;
const COMMIT_EVERY_MS = 50;
const MAX_URLS = 240;
/** Rows of the log in every other store, few enough that merges are always under way; the rest have none. */
const LOG_ROWS = 30;

interface Line {
  readonly kind: 'open' | 'offered' | 'asked' | 'answered' | 'settling' | 'settled' | 'closed';
  readonly at: number;
  readonly run: number;
  readonly host: string;
  readonly key: string;
  readonly fence: number;
  readonly keys: readonly string[];
  readonly outcome: string;
  readonly accepted: boolean;
  readonly delayMs: number;
  readonly nextAt: number;
  readonly blockedUntil: number;
  readonly stats: { readonly queued: number; readonly leased: number; readonly seen: number; readonly done: number };
}

const root = mkdtempSync(join(tmpdir(), 'lmdb-crash-'));
const lmdb = await loadLmdb();
const worker = new URL('helpers/lmdb-worker.mjs', import.meta.url).pathname;
let built: ReturnType<typeof compile>;
/** Kills after which a merge was found that had begun and not ended. */
let midMerge = 0;

beforeAll(() => {
  built = compile('lmdb-crash-dist');
}, 120_000);

afterAll(() => {
  built.remove();
  rmSync(root, { recursive: true, force: true });
});

/** With `lines` the process kills itself right after it has written so many. */
function start(directory: string, journal: string, run: number, lines = 0): ChildProcess {
  const numbers = [run, MAX_URLS, COMMIT_EVERY_MS, lines, hasLog(run) ? LOG_ROWS : 0].map(String);
  const args = [worker, built.dist, directory, journal, ...numbers];
  return spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
}

function hasLog(run: number): boolean {
  return Math.floor(run / 1_000) % 2 === 1;
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.on('exit', (code) => resolve(code)));
}

function read(journal: string): Line[] {
  if (!existsSync(journal)) return [];
  const lines = readFileSync(journal, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

/**
 * Kills a run: right behind something that the store acknowledged, at a random moment, or while the store is being
 * opened.
 */
async function killOnce(directory: string, journal: string, run: number, random: Random): Promise<void> {
  if (random.chance(0.5)) {
    await ended(start(directory, journal, run, 2 + random.below(150)));
    return;
  }
  const child = start(directory, journal, run);
  const exit = ended(child);
  if (random.chance(0.8)) {
    const begun = (): boolean => read(journal).some((line) => line.run === run && line.kind === 'open');
    while (!begun() && child.exitCode === null) await sleep(2);
    await sleep(random.below(300));
  } else {
    await sleep(random.below(250));
  }
  child.kill('SIGKILL');
  await exit;
}

describe.concurrent('a process that is killed at any moment', () => {
  const stores = Math.ceil(CRASHES / KILLS_PER_STORE);
  for (let n = 0; n < stores; n++) {
    test(`loses no URL, keeps fences and clocks (store ${n + 1} of ${stores})`, { timeout: 120_000 }, async () => {
      const directory = join(root, String(n));
      const journal = join(root, `${n}.jsonl`);
      const random = new Random(n + 1);
      for (let kill = 0; kill < KILLS_PER_STORE; kill++) {
        await killOnce(directory, journal, n * 1_000 + kill, random);
        await checkKnown(directory, read(journal));
        if (await isMerging(directory)) midMerge++;
      }
      expect(await ended(start(directory, journal, n * 1_000 + 999))).toBe(0);
      const lines = read(journal);
      checkClocks(lines);
      checkFences(lines);
      checkDeliveries(lines);
      const last = lines.at(-1);
      expect(last?.kind).toBe('closed');
      expect(last?.stats.queued).toBe(0);
      expect(last?.stats.leased).toBe(0);
      await checkEnds(directory, lines);
    });
  }
  afterAll(() => expect(midMerge, 'kills in the middle of a merge').toBeGreaterThanOrEqual(Math.floor(stores / 2)));
});

/** Whether records of the log are being merged into the table. */
async function isMerging(directory: string): Promise<boolean> {
  if (!existsSync(join(directory, 'data.mdb'))) return false;
  const environment = Environment.open(lmdb, directory, { readOnly: true, mapSize: undefined });
  const table = environment.table('state');
  const state = table === undefined ? undefined : new StoreState(table);
  state?.load();
  await environment.close();
  if (state === undefined) return false;
  const { first, frozen, isMerged } = state.all.recent;
  return frozen > first && !isMerged;
}

/** What was acknowledged as offered is there, looked at by another process while nobody has the store open. */
async function checkKnown(directory: string, lines: readonly Line[]): Promise<void> {
  const offered = lines.filter((line) => line.kind === 'offered').flatMap((line) => line.keys);
  if (offered.length === 0) return;
  const store = await LmdbStore.open(directory, { readOnly: true });
  for (const key of offered) expect(await store.has(key), `${key} was lost`).toBe(true);
  const { queued, leased, seen, done, failed, skipped, redirected } = await store.stats();
  expect(queued + leased + done + failed + skipped + redirected).toBe(seen);
  await store.close();
}

interface Clock {
  run: number;
  endedAt: number;
  gapMs: number;
  blockedUntil: number;
  /** A settlement that was begun and not yet acknowledged. */
  pending: Line | undefined;
}

/** No host is asked before its delay has passed since it was asked last, whichever process that was. */
function checkClocks(lines: readonly Line[]): void {
  const hosts = new Map<string, Clock>();
  let asked = 0;
  let overCrash = 0;
  for (const line of lines) {
    const clock = hosts.get(line.host);
    if (line.kind === 'asked') {
      asked++;
      if (clock !== undefined && clock.run !== line.run) overCrash++;
      if (clock !== undefined) checkAsked(clock, line);
      const { gapMs = START_GAP_MS, blockedUntil = 0 } = clock ?? {};
      hosts.set(line.host, { run: line.run, endedAt: line.at, gapMs, blockedUntil, pending: undefined });
    }
    if (clock === undefined) continue;
    if (line.kind === 'answered') clock.endedAt = line.at;
    if (line.kind === 'settling') clock.pending = line;
    if (line.kind === 'settled' && clock.pending !== undefined) settle(clock, clock.pending);
  }
  expect(asked).toBeGreaterThan(100);
  expect(overCrash).toBeGreaterThan(3);
}

function checkAsked(clock: Clock, line: Line): void {
  // Who is leased again in the same run was settled; over a crash a settlement may have come through or not.
  if (clock.pending !== undefined && clock.run === line.run) settle(clock, clock.pending);
  const gapMs = clock.pending === undefined ? clock.gapMs : Math.min(clock.gapMs, gapOf(clock.pending));
  const least = Math.max(clock.endedAt + gapMs, clock.blockedUntil);
  expect(line.at, `${line.host} was asked too early in run ${line.run}`).toBeGreaterThanOrEqual(least);
}

function settle(clock: Clock, line: Line): void {
  clock.gapMs = gapOf(line);
  clock.blockedUntil = Math.max(clock.blockedUntil, line.blockedUntil);
  clock.pending = undefined;
}

function gapOf(line: Line): number {
  return Math.max(START_GAP_MS, line.delayMs);
}

/** Fencing numbers grow, over crashes as well, and a lease that is held is settled once. */
function checkFences(lines: readonly Line[]): void {
  const asked = lines.filter((line) => line.kind === 'asked').map(({ fence }) => fence);
  expect(asked).toEqual([...new Set(asked)].sort((a, b) => a - b));
  const settled = lines.filter((line) => line.kind === 'settled');
  expect(settled.every(({ accepted }) => accepted)).toBe(true);
  expect(new Set(settled.map(({ fence }) => fence)).size).toBe(settled.length);
}

/**
 * Settlements that must have lasted: those that were acknowledged a commit before the last call of their run, so that
 * only the last before a kill are left out.
 */
function lasting(lines: readonly Line[]): Line[] {
  const lastOf = new Map<number, number>();
  for (const { run, at, kind } of lines) if (kind === 'settled' || kind === 'closed') lastOf.set(run, at);
  return lines.filter(({ kind, run, at }) => kind === 'settled' && (lastOf.get(run) ?? 0) - at > COMMIT_EVERY_MS + 1);
}

function isEnd({ outcome }: Line): boolean {
  return outcome === 'done' || outcome === 'failed';
}

/** A URL that has come to its end for good never comes again. */
function checkDeliveries(lines: readonly Line[]): void {
  const ended = new Map(
    lasting(lines)
      .filter(isEnd)
      .map(({ key, at }) => [key, at]),
  );
  for (const { kind, key, at } of lines) {
    if (kind !== 'asked') continue;
    expect(ended.get(key) ?? at, `${key} came again after a commit`).toBeGreaterThanOrEqual(at);
  }
}

/** Whatever was offered, or found or ended by a settlement that lasted, has come to its end. */
async function checkEnds(directory: string, lines: readonly Line[]): Promise<void> {
  const store = await LmdbStore.open(directory, { readOnly: true });
  const { seen, done, failed } = await store.stats();
  expect(done + failed).toBe(seen);
  const lasted = lasting(lines);
  const known = new Set(lines.flatMap((line) => (line.kind === 'offered' ? line.keys : [])));
  for (const { keys, key } of lasted) for (const one of [key, ...keys]) known.add(one);
  for (const key of known) {
    const record = await store.record(key);
    expect(['done', 'failed'], `${key} is ${record?.state}`).toContain(record?.state);
  }
  for (const line of lasted.filter(isEnd)) expect(await store.getMeta(`page:${line.key}`)).not.toBe(undefined);
  expect(known.size).toBeGreaterThan(100);
  await store.close();
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
