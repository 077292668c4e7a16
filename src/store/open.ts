import { existsSync } from 'node:fs';
import type { CrawlStore } from '../ports.ts';
import { MemoryStore } from './memory/index.ts';

/**
 * The store a crawler works on: the one given, an `LmdbStore` in the directory given, or a new one in memory.
 * @returns `owned`: whether whoever called this has to close it.
 * @throws {@link CrawlError} what opening a directory throws.
 */
export async function openStore(
  store: CrawlStore | string | undefined,
): Promise<{ store: CrawlStore; owned: boolean }> {
  if (store === undefined) return { store: await MemoryStore.open(), owned: true };
  if (typeof store !== 'string') return { store, owned: false };
  // Loaded here and not above: whoever crawls in memory needs no LMDB on his machine.
  const { LmdbStore } = await import('./lmdb/index.ts');
  return { store: await LmdbStore.open(store), owned: true };
}

/**
 * The store in a directory, to look at: also beside a crawl that is running. `undefined` where nothing was crawled yet.
 * @throws {@link CrawlError} as `LmdbStore.open` does.
 */
export async function openForReading(directory: string): Promise<CrawlStore | undefined> {
  if (!existsSync(directory)) return undefined;
  const { LmdbStore } = await import('./lmdb/index.ts');
  return LmdbStore.open(directory, { readOnly: true });
}
