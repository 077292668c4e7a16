import { CrawlError, toCrawlError } from '../errors.ts';
import type { FetchResult } from '../fetcher/index.ts';
import { isMarkup } from '../page.ts';
import type { Observation } from '../politeness.ts';
import type { Lease } from '../ports.ts';
import { MAX_SITEMAP_BYTES } from '../sitemap.ts';
import type { Acceptance, CrawlRequest, ResponseHead } from '../types.ts';
import type { VisitContext } from './context.ts';
import type { Ending } from './ending.ts';
import { failed } from './failure.ts';
import type { LargeBodyPass } from './large-bodies.ts';
import { deliverPage } from './page-step.ts';
import { followRedirect } from './redirect-step.ts';
import { neverAsked } from './refusal.ts';
import { readSitemap } from './sitemap-step.ts';
import { RETRYABLE_STATUSES, THROTTLING_STATUSES, unwantedStatus } from './status-step.ts';
import { notModified } from './unchanged-step.ts';
import type { KnownVersion } from './versions.ts';
import { heedRetryAfter } from './warnings.ts';

/** A part of a page that was asked for whole, a choice without a preference, and two that HTTP no longer has. */
const REFUSED_STATUSES: ReadonlySet<number> = new Set([206, 300, 305, 306]);
/** Those that mean nothing without a `Location`. */
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Sends the one request of a visit, and hands the answer to the step that knows what to do with it. */
export async function fetchStep(context: VisitContext, lease: Lease, crawlDelayMs: number): Promise<Ending> {
  const pass = (lease.request.kind === 'sitemap' ? context.largeSitemaps : context.largePages).pass(context.clock);
  try {
    return await ask(context, lease, crawlDelayMs, pass);
  } finally {
    pass.done();
  }
}

async function ask(context: VisitContext, lease: Lease, crawlDelayMs: number, pass: LargeBodyPass): Promise<Ending> {
  const { clock, stats } = context;
  const { request } = lease;
  const refused = neverAsked(context, request.url);
  if (refused !== undefined) return failed(context, lease, refused, undefined);
  const known = await knownVersion(context, request);
  const startedAt = clock.now();
  context.events.emit('request', request.url);
  stats.requested(request.host, startedAt);
  let result: FetchResult;
  try {
    result = await context.fetcher.fetch(
      {
        url: request.url,
        redirect: 'manual',
        accept: (head) => acceptance(context, lease, head),
        beforeLargeBody: pass.wait,
        ...(request.kind === 'sitemap' ? { maxBodyBytes: MAX_SITEMAP_BYTES } : {}),
        ...(known === undefined ? {} : { validators: { etag: known.etag, lastModified: known.lastModified } }),
      },
      context.signal,
    );
  } catch (thrown) {
    const error = toCrawlError(thrown, 'CRAWL_CONNECTION_LOST', `${request.url} can't be fetched`, {
      url: request.url,
    });
    const endedAt = clock.now();
    stats.ended(request.host, endedAt);
    return failed(context, lease, error, { endedAt, crawlDelayMs });
  }
  const endedAt = clock.now();
  const durationMs = endedAt - startedAt - pass.waitedMs;
  // A stream has only begun: it is counted when its reader is done.
  if (result.acceptance !== 'stream') {
    stats.answered(request.host, result.status, result.contentType, result.bytes, durationMs, endedAt);
  }
  const retryAfterMs = heedRetryAfter(context, request.url, result, endedAt);
  const observation: Observation = {
    endedAt,
    durationMs,
    status: result.status,
    crawlDelayMs,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  if (result.location !== undefined) return followRedirect(context, lease, result, result.location, observation);
  if (REDIRECT_STATUSES.has(result.status)) {
    const message = `${request.url} answered ${result.status} without a Location that can be used`;
    const error = new CrawlError('CRAWL_REDIRECT_INVALID', message, { url: request.url, status: result.status });
    return failed(context, lease, error, observation);
  }
  if (REFUSED_STATUSES.has(result.status) || result.status < 200 || result.status > 599) {
    const message = `${request.url} answered ${result.status}, which nobody asked for`;
    const error = new CrawlError('CRAWL_HTTP_STATUS', message, { url: request.url, status: result.status });
    return failed(context, lease, error, observation);
  }
  if (RETRYABLE_STATUSES.has(result.status) || THROTTLING_STATUSES.has(result.status)) {
    return unwantedStatus(context, lease, result.status, observation);
  }
  if (result.status === 304 && request.kind === 'page') return notModified(context, lease, result, observation, known);
  if (request.kind === 'sitemap') return readSitemap(context, lease, result, observation);
  return deliverPage(context, lease, result, observation, startedAt);
}

/** Only who comes again has been here before. */
function knownVersion(
  { versions }: VisitContext,
  request: CrawlRequest,
): Promise<KnownVersion | undefined> | undefined {
  if (request.revisit !== true || request.kind !== 'page') return undefined;
  versions.revisiting(request.key);
  return versions.find(request);
}

/** What becomes of the body. Answers that say nothing about a page are not worth their bytes. */
function acceptance(context: VisitContext, lease: Lease, head: ResponseHead): Acceptance {
  if (head.status >= 200 && head.status < 300) {
    return lease.request.kind === 'sitemap' ? 'buffer' : context.accept(head);
  }
  if (RETRYABLE_STATUSES.has(head.status) || THROTTLING_STATUSES.has(head.status)) return 'skip';
  if (head.status >= 300 && head.status < 400) return 'skip';
  return isMarkup(head.contentType) ? 'buffer' : 'skip';
}
