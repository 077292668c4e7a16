import type { CrawlWarning } from '../types.ts';
import type { Settings } from './settings.ts';

/** What a crawl came to before a run, and what waits for it. */
export interface Before {
  readonly pages: number;
  readonly elapsedMs: number;
  readonly queued: number;
}

/** What to tell of a run that has work and can't begin it, since earlier ones have used its limit up. */
export function usedUp(
  { maxPages, maxDurationMs }: Pick<Settings, 'maxPages' | 'maxDurationMs'>,
  { elapsedMs, pages, queued }: Before,
): CrawlWarning | undefined {
  if (queued === 0) return undefined;
  if (pages >= maxPages) return warning(`"maxPages" is ${maxPages}`, `${pages} pages`, queued);
  if (elapsedMs >= maxDurationMs) {
    return warning(`"maxDurationMs" is ${maxDurationMs} ms`, `${Math.round(elapsedMs)} ms`, queued);
  }
  return undefined;
}

/** What to tell of a run that nobody gave a URL to, over a store that has never had one. */
export const NO_SEEDS: CrawlWarning = {
  code: 'no-seeds',
  message: 'There was nothing to crawl: no URL was given, and the store holds none of an earlier run.',
};

function warning(limit: string, used: string, queued: number): CrawlWarning {
  const message = `Option ${limit} and counts over all runs of a store: earlier ones came to ${used}, so that nothing is fetched. URLs that wait: ${queued}; a higher limit lets the crawl go on.`;
  return { code: 'limit-reached', message };
}
