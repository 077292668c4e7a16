import { CrawlError, type CrawlErrorCode, describeThrown, isCrawlError } from '../../errors.ts';
import { hasRoom } from './room.ts';

/** LMDB's own numbers, and what the system's mean here. */
const CODES: Readonly<Record<string, CrawlErrorCode>> = {
  ENOSPC: 'CRAWL_STORE_FULL',
  EDQUOT: 'CRAWL_STORE_FULL',
  EFBIG: 'CRAWL_STORE_FULL',
  EROFS: 'CRAWL_STORE_READONLY',
  EACCES: 'CRAWL_STORE_READONLY',
  EPERM: 'CRAWL_STORE_READONLY',
  '28': 'CRAWL_STORE_FULL',
  '122': 'CRAWL_STORE_FULL',
  '27': 'CRAWL_STORE_FULL',
  '30': 'CRAWL_STORE_READONLY',
  '13': 'CRAWL_STORE_READONLY',
  '1': 'CRAWL_STORE_READONLY',
  '-30792': 'CRAWL_STORE_FULL', // MDB_MAP_FULL
  '-30797': 'CRAWL_STORE_FORMAT', // MDB_PAGE_NOTFOUND
  '-30796': 'CRAWL_STORE_FORMAT', // MDB_CORRUPTED
  '-30794': 'CRAWL_STORE_FORMAT', // MDB_VERSION_MISMATCH
  '-30793': 'CRAWL_STORE_FORMAT', // MDB_INVALID
  '-30784': 'CRAWL_STORE_FORMAT', // MDB_INCOMPATIBLE: an entry where a table should be
};

const ADVICE: Partial<Record<CrawlErrorCode, string>> = {
  CRAWL_STORE_FULL:
    'There is no room left for it. Nothing that was committed is damaged: make room, open the store again, and the crawl goes on from the last commit.',
  CRAWL_STORE_READONLY: "It can't be written. Open it with readOnly: true to look at it, or choose another directory.",
  CRAWL_STORE_FORMAT: 'Its files are damaged, or are no crawl store. Nothing was changed.',
};

/** What LMDB or the file system threw, as an error of the store in `directory`. */
export function storeFailure(thrown: unknown, directory: string): CrawlError {
  if (isCrawlError(thrown)) return thrown;
  const code = codeOf(thrown, directory);
  const advice = adviceOn(thrown, code);
  return new CrawlError(
    code,
    `The store in ${directory} failed: ${describeThrown(thrown).replace(/\.$/, '')}. ${advice}`,
    {
      cause: thrown,
    },
  );
}

function adviceOn(thrown: unknown, code: CrawlErrorCode): string {
  const isFolder = (thrown as NodeJS.ErrnoException | undefined)?.syscall === 'mkdir';
  if (isFolder && code !== 'CRAWL_STORE_FULL') return "Its directory can't be made there: choose another one.";
  return ADVICE[code] ?? 'Open the store again; the crawl goes on from the last commit.';
}

function codeOf(thrown: unknown, directory: string): CrawlErrorCode {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  // A write that stops half-way is an input/output error to LMDB, whatever the reason.
  if (code === '5' || code === 'EIO') return hasRoom(directory) ? 'CRAWL_STORE_FAILED' : 'CRAWL_STORE_FULL';
  const known = CODES[code];
  if (known !== undefined) return known;
  if (/permission denied|read-only file system/i.test(describeThrown(thrown))) return 'CRAWL_STORE_READONLY';
  return /no space left|MDB_MAP_FULL/i.test(describeThrown(thrown)) ? 'CRAWL_STORE_FULL' : 'CRAWL_STORE_FAILED';
}
