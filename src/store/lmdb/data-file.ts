import { closeSync, fstatSync, ftruncateSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CrawlError } from '../../errors.ts';

/** Where LMDB keeps everything. */
export const DATA_FILE = 'data.mdb';
/** Where LMDB notes who reads. */
const LOCK_FILE = 'lock.mdb';

// Offsets in a meta page of LMDB's data format 2, of which the first two pages of the file are made: a header of
// 24 bytes, then magic, version, map address, map size, two descriptions of trees, last page, number of the commit.
const MAGIC_AT = 24;
const VERSION_AT = 28;
const PAGE_SIZE_AT = 48;
const LAST_PAGE_AT = 144;
const COMMIT_AT = 152;
const MAGIC = 0xbeefc0de;
const VERSION = 2;
const HEAD_BYTES = 160;

/** What the newer of the two meta pages says. */
export interface DataHead {
  readonly pageSize: number;
  /** Pages that the file should have; the last ones are missing where they were never used. */
  readonly pages: number;
  readonly commit: number;
  readonly fileBytes: number;
}

/**
 * Reads the head of a store's data file; `undefined` where there is no file, an empty one, or the beginning of one in
 * which nothing was ever committed.
 * @throws {@link CrawlError} `CRAWL_STORE_FORMAT` where it is no LMDB file that can be read.
 */
export function readHead(directory: string): DataHead | undefined {
  // LMDB does not look what they are, and a folder among them ends the process.
  for (const name of [DATA_FILE, LOCK_FILE]) mustBeFile(join(directory, name));
  const path = join(directory, DATA_FILE);
  const fileBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (fileBytes === 0) return undefined;
  const file = openSync(path, 'r');
  try {
    const first = metaPage(file, 0);
    if (first === undefined) throw foreign(path);
    const second = metaPage(file, first.pageSize);
    // Both meta pages are written in one go. Of who died in that only the first may be there, and nothing behind it.
    if (fileBytes < 2 * first.pageSize && Math.max(first.commit, second?.commit ?? 0) === 0) return undefined;
    if (second === undefined) throw foreign(path);
    const newest = second.commit > first.commit ? second : first;
    return { ...newest, fileBytes };
  } finally {
    closeSync(file);
  }
}

/** LMDB leaves out pages at the end that it has allocated and not used; mapped memory must not end before they do. */
export function extendTo(file: number, bytes: number): void {
  if (fstatSync(file).size < bytes) ftruncateSync(file, bytes);
}

function metaPage(file: number, at: number): Omit<DataHead, 'fileBytes'> | undefined {
  const bytes = Buffer.alloc(HEAD_BYTES);
  if (readSync(file, bytes, 0, HEAD_BYTES, at) < HEAD_BYTES) return undefined;
  if (bytes.readUInt32LE(MAGIC_AT) !== MAGIC || (bytes.readUInt32LE(VERSION_AT) & 0xffff) !== VERSION) return undefined;
  const pageSize = bytes.readUInt32LE(PAGE_SIZE_AT);
  if (pageSize < 256 || pageSize > 65_536) return undefined;
  const pages = Number(bytes.readBigUInt64LE(LAST_PAGE_AT)) + 1;
  return { pageSize, pages, commit: Number(bytes.readBigUInt64LE(COMMIT_AT)) };
}

/** @throws {@link CrawlError} `CRAWL_STORE_FORMAT` where there is a folder or the like. */
export function mustBeFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== false) return;
  throw new CrawlError(
    'CRAWL_STORE_FORMAT',
    `${path} is no file. Nothing was changed: move it away, or choose another directory.`,
  );
}

function foreign(path: string): CrawlError {
  return new CrawlError(
    'CRAWL_STORE_FORMAT',
    `${path} is no file of a crawl store, or it is damaged. Nothing was changed: choose another directory, or bring the file back from a copy.`,
  );
}
