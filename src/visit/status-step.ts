import { CrawlError } from '../errors.ts';
import type { Observation } from '../politeness.ts';
import type { Lease } from '../ports.ts';
import type { VisitContext } from './context.ts';
import type { Ending } from './ending.ts';
import { failed } from './failure.ts';

/** Answers that may be better the next time, of this URL alone. */
export const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 421, 425, 500, 502, 504, 520, 521, 522, 523, 524]);
/** "Slow down" (RFC 6585 section 4) and "overloaded" (RFC 9110 section 15.6.4): the whole host is meant. */
export const THROTTLING_STATUSES: ReadonlySet<number> = new Set([429, 503]);

/** An answer that asks to come again. */
export function unwantedStatus(context: VisitContext, lease: Lease, status: number, observation: Observation): Ending {
  const error = new CrawlError('CRAWL_HTTP_STATUS', `${lease.url} answered ${status}`, {
    url: lease.url,
    status,
    retryable: true,
  });
  return failed(context, lease, error, observation);
}
