import type { CrawlError } from '../errors.ts';
import type { Observation } from '../politeness.ts';
import type { Lease } from '../ports.ts';
import type { VisitContext } from './context.ts';
import { deferred, type Ending } from './ending.ts';

/** First wait of a URL before its next try, in milliseconds; it doubles. The host's own clock counts as well. */
const RETRY_DELAY_MS = 1000;
/** It grows no more after so many doublings. */
const MOST_DOUBLINGS = 6;
/** A wait lasts up to this much longer, so that what failed together does not come back together. */
const JITTER = 0.2;
/** A host that says "slow down" is not the fault of one URL, so such answers give it so many times the `retries`. */
const THROTTLED_RETRIES_FACTOR = 3;

/**
 * Ends a visit whose request failed: another try, or an `error` event.
 * @param observation - `undefined` where nothing was sent to the host, so that its clock stays.
 * @param tries - How often it may be tried again.
 */
export function failed(
  context: VisitContext,
  lease: Lease,
  error: CrawlError,
  observation: Observation | undefined,
  tries: number = triesOf(context, error),
): Ending {
  const { request } = lease;
  // The crawl is being stopped: nothing is known about the URL, it goes back to its place.
  if (error.code === 'CRAWL_ABORTED') return deferred(observation);
  const observed =
    observation !== undefined && observation.status === undefined
      ? { ...observation, error: { code: error.code, retryable: error.retryable } }
      : observation;
  const record = {
    error: error.code,
    ...(error.status === undefined ? {} : { status: error.status }),
  };
  // A hop on the way to rules is queued anew by whoever waits for them.
  if (error.retryable && request.kind !== 'robots' && request.attempts < tries) {
    const afterMs = retryDelayMs(request.attempts);
    const dueAt = context.clock.now() + afterMs;
    context.stats.retried();
    return {
      outcome: {
        outcome: 'retry',
        observation: observed,
        request: { ...request, attempts: request.attempts + 1 },
        dueAt,
        record,
      },
      announce: () => context.events.emit('retry', request.url, error, afterMs),
    };
  }
  return {
    outcome: { outcome: 'failed', observation: observed, record },
    announce: () => context.events.emit('error', error, request.url),
  };
}

function triesOf(context: VisitContext, error: CrawlError): number {
  if (error.status === 429 || error.status === 503) return context.retries * THROTTLED_RETRIES_FACTOR;
  return error.status === 421 || error.status === 304 ? Math.min(1, context.retries) : context.retries;
}

/** How long a URL waits after so many tries before this one; never less than the doubled wait, somewhat more by chance. */
export function retryDelayMs(tries: number): number {
  const floor = RETRY_DELAY_MS * 2 ** Math.min(tries, MOST_DOUBLINGS);
  return Math.ceil(floor * (1 + JITTER * Math.random()));
}
