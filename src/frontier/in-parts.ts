import type { Clock, CrawlStore } from '../ports.ts';
import { nextTurn, turnIsOver } from '../turns.ts';
import type { CrawlRequest } from '../types.ts';

/** Requests that a store takes up in one go: some ten milliseconds of work for one on disk. */
export const MOST_AT_ONCE = 1000;

/**
 * Offers many over several turns of the event loop, since a store takes each part in one go.
 * @param known - Is given the indexes of those that were seen before.
 * @returns how many were new. Rejects with what the store throws.
 */
export async function offerInParts(
  store: CrawlStore,
  clock: Clock,
  batch: readonly CrawlRequest[],
  known: number[],
): Promise<number> {
  let fresh = 0;
  for (let from = 0; from < batch.length; from += MOST_AT_ONCE) {
    if (turnIsOver()) await nextTurn();
    const part = batch.slice(from, from + MOST_AT_ONCE);
    fresh += await store.offer(part, clock.now(), (index) => known.push(from + index));
  }
  return fresh;
}
