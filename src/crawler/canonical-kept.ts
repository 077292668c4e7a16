import { CrawlError } from '../errors.ts';
import type { CrawlStore } from '../ports.ts';
import type { CanonicalOptions } from '../request.ts';

const CANONICAL = 'crawl:canonical';

/**
 * Holds a store to the canonical form that its keys have: with another one it would no longer know what was visited. The
 * first run on a store says which.
 * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where it is another one; and what the store throws.
 */
export async function keepCanonical(
  store: Pick<CrawlStore, 'getMeta' | 'setMeta'>,
  { sortQuery = false, stripTracking = false }: CanonicalOptions = {},
): Promise<void> {
  const given = JSON.stringify({ stripTracking, sortQuery });
  const bytes = await store.getMeta(CANONICAL);
  if (bytes === undefined) return store.setMeta(CANONICAL, Buffer.from(given, 'utf8'));
  const kept = Buffer.from(bytes).toString('utf8');
  if (kept === given) return;
  const message = `Option "canonical" is ${given}, and this store was begun with ${kept}: what it knows of URLs could not be found again. Give it canonical: ${kept}, or begin a new store.`;
  throw new CrawlError('CRAWL_OPTION_INVALID', message);
}
