import { closeSync, fdatasyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type * as Lmdb from 'lmdb';
import { Core, TABLES_AS_MADE } from './core.ts';
import { DATA_FILE, extendTo, mustBeFile, readHead } from './data-file.ts';
import { Environment } from './environment.ts';

/** Where a data file is made, until it is one. */
const UNFINISHED_FILE = 'crawl.new';

/**
 * Makes the data file of a store: under another name, with all tables and the record of the format, and on the disk
 * before it gets its own. So it is there whole or not at all, whenever the process dies or the power fails. To be called
 * by who has the directory locked, where there is no data file, or one in which nothing was ever committed.
 */
export async function makeStore(lmdb: typeof Lmdb, directory: string, mapSize: number | undefined): Promise<void> {
  removeUnfinished(directory);
  const path = join(directory, UNFINISHED_FILE);
  try {
    const fileBytes = await fill(Environment.open(lmdb, path, { readOnly: false, isFile: true, mapSize }));
    const file = openSync(path, 'r+');
    try {
      extendTo(file, fileBytes);
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
    // One that has come meanwhile is another program's, which heeds no lock of ours.
    if (readHead(directory) === undefined) renameSync(path, join(directory, DATA_FILE));
  } finally {
    removeUnfinished(directory);
  }
}

/**
 * Removes what a process that died in `makeStore` has left.
 * @throws {@link CrawlError} `CRAWL_STORE_FORMAT` where that is no file.
 */
export function removeUnfinished(directory: string): void {
  for (const suffix of ['', '-lock']) {
    const path = join(directory, `${UNFINISHED_FILE}${suffix}`);
    mustBeFile(path);
    rmSync(path, { force: true });
  }
}

/**
 * Whether an environment is as a process leaves it that dies before its first commit of anything: with no entry at all
 * but the empty tables of a store, made one after another. Versions that did not make the data file under another name
 * left such; another program's with no entry is as good as new.
 */
export function isUnfinished(environment: Environment): boolean {
  return environment.hasNothingBut(TABLES_AS_MADE);
}

/** @returns how long the file must be. */
async function fill(environment: Environment): Promise<number> {
  try {
    const core = new Core(environment);
    await core.load();
    environment.begin();
    core.save();
    environment.commit();
    const { pages, pageSize } = environment.info();
    return pages * pageSize;
  } finally {
    await environment.close();
  }
}
