import type * as Lmdb from 'lmdb';
import { CrawlError } from '../../errors.ts';

/**
 * The `lmdb` package, loaded when it is first needed.
 * Rejects with {@link CrawlError} `CRAWL_DEPENDENCY_MISSING`.
 */
export async function loadLmdb(): Promise<typeof Lmdb> {
  try {
    return await import('lmdb');
  } catch (thrown) {
    throw new CrawlError(
      'CRAWL_DEPENDENCY_MISSING',
      'LmdbStore needs the package "lmdb", which is not installed or does not run on this platform. Install it with: npm install lmdb@3',
      { cause: thrown },
    );
  }
}
