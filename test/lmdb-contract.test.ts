import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { CrawlStore } from '../src/ports.ts';
import { LmdbStore } from '../src/store/lmdb/index.ts';
import { LOG_LIMITS } from '../src/store/lmdb/log-limits.ts';
import { storeContract } from '../src/testing/index.ts';

const root = mkdtempSync(join(tmpdir(), 'lmdb-contract-'));
let directories = 0;
let directory = '';

afterAll(() => rmSync(root, { recursive: true }));

function open(): Promise<LmdbStore> {
  directory = join(root, String(directories++));
  return LmdbStore.open(directory);
}

/** What the disk holds at this moment is what a killed process leaves; the copy has no owner. */
async function crash(store: CrawlStore): Promise<void> {
  const copy = `${directory}-left`;
  cpSync(directory, copy, { recursive: true });
  rmSync(join(copy, 'crawl.lock'));
  await store.close();
  directory = copy;
}

describe('LmdbStore keeps the contract of stores', () => {
  const reopen = (): Promise<LmdbStore> => LmdbStore.open(directory);
  for (const { name, run } of storeContract(open, { reopen, crash })) test(name, run);
});

describe('LmdbStore that writes records to its log first, and merges them, keeps the contract of stores', () => {
  const usual = { ...LOG_LIMITS };
  beforeAll(() => void Object.assign(LOG_LIMITS, { from: 0, part: 1, most: 20, work: 2 }));
  afterAll(() => void Object.assign(LOG_LIMITS, usual));
  const reopen = (): Promise<LmdbStore> => LmdbStore.open(directory);
  for (const { name, run } of storeContract(open, { reopen, crash })) test(name, run);
});

describe('LmdbStore that commits each call keeps the contract of stores', () => {
  const openStrict = (): Promise<LmdbStore> => {
    directory = join(root, String(directories++));
    return LmdbStore.open(directory, { commitEveryMs: 0 });
  };
  for (const { name, run } of storeContract(openStrict, { seeds: [11], steps: 300 })) test(name, run);
});
