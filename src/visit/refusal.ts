import { checkUrl } from '../address-guard.ts';
import { type CrawlError, toCrawlError } from '../errors.ts';
import { withUrl } from '../fetcher/failure.ts';
import type { Lease } from '../ports.ts';
import type { SkipReason } from '../types.ts';
import type { VisitContext } from './context.ts';
import type { Ending } from './ending.ts';

/** A URL that does not get in: counted, told as `skip`, and as an `error` where a filter failed over it. */
export function refuse(
  { events, stats, note }: Pick<VisitContext, 'events' | 'stats' | 'note'>,
  url: string,
  { reason, error }: { readonly reason: SkipReason; readonly error?: unknown },
  from: string | undefined,
): undefined {
  stats.skipped(reason);
  note?.(url, reason, from);
  if (error !== undefined)
    events.emit('error', toCrawlError(error, 'CRAWL_FILTER_FAILED', 'A URL filter failed', { url }), url);
  if (events.wants('skip')) events.emit('skip', url, reason, from);
  return undefined;
}

/**
 * Why a URL is never asked, as far as it says so itself: by its port, or by an address or a local name for a host. What a
 * name resolves to is judged where it is connected to.
 */
export function neverAsked({ guard }: VisitContext, url: string): CrawlError | undefined {
  try {
    const parsed = new URL(url);
    checkUrl(parsed);
    guard.checkHostname(parsed.hostname);
    return undefined;
  } catch (thrown) {
    return toCrawlError(withUrl(thrown, url), 'CRAWL_INTERNAL', `${url} can't be judged`, { url });
  }
}

/** Ends a visit with a named skip. Nothing was sent to the host, so that its clock stays. */
export function skipUnasked({ events, stats }: VisitContext, { request }: Lease, reason: SkipReason): Ending {
  const { referrer, url } = request;
  stats.skipped(reason);
  return {
    outcome: { outcome: 'skipped', record: { reason } },
    announce: () => events.emit('skip', url, reason, referrer),
  };
}
