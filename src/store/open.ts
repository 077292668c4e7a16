import { CrawlError } from '../errors.ts';
import type { CrawlStore } from '../ports.ts';
import { MemoryStore } from './memory/index.ts';

/**
 * The store a crawler works on: the one given, or a new one in memory.
 * @returns `owned`: whether whoever called this has to close it.
 * @throws {@link CrawlError} what opening a directory throws.
 */
export async function openStore(store: CrawlStore | string | undefined): Promise<{ store: CrawlStore; owned: boolean }> {
  if (store === undefined) return { store: await MemoryStore.open(), owned: true };
  if (typeof store !== 'string') return { store, owned: false };
  throw new CrawlError('CRAWL_OPTION_INVALID', `Option "store" takes a CrawlStore; directories come with LmdbStore: ${store}`);
}
