import { type CrawlError, toCrawlError } from '../errors.ts';
import { brokenBody, closeBody } from '../fetcher/body-stream.ts';
import type { FetchResult } from '../fetcher/index.ts';
import { FetchedPage, isMarkup } from '../page.ts';
import type { Observation } from '../politeness.ts';
import type { Lease } from '../ports.ts';
import { inTurns, nextTurn, turnIsOver } from '../turns.ts';
import type { Page } from '../types.ts';
import type { ContentSeen } from './content-seen.ts';
import type { VisitContext } from './context.ts';
import { deferred, type Ending } from './ending.ts';
import { failed } from './failure.ts';
import { type Outlinks, outlinks } from './links-step.ts';
import { warnOfBody } from './warnings.ts';

/** Delivers a page, then takes its links. A body that nobody wanted ends the visit with a named skip. */
export async function deliverPage(
  context: VisitContext,
  lease: Lease,
  result: FetchResult,
  observation: Observation,
  startedAt: number,
): Promise<Ending> {
  const { events, stats } = context;
  const { request } = lease;
  if (result.acceptance === 'skip' && isSuccess(result.status)) {
    stats.skipped('not-accepted');
    return {
      outcome: { outcome: 'skipped', observation, record: { status: result.status, reason: 'not-accepted' } },
      announce: () => void events.emit('skip', request.url, 'not-accepted', request.referrer),
    };
  }
  const page = pageOf(context, lease, result, startedAt);
  // Many may have come at once.
  if (turnIsOver()) await nextTurn();
  // Whoever is given a long page finds its parts made.
  if (page.isLong) await inTurns(page.prepare());
  const firstUrl = await seenBody(context, page, result);
  const taken = await context.hooks.deliver(page);
  const broken = closeStream(result);
  const observed =
    result.acceptance === 'stream' ? streamEnd(context, lease, result, observation, startedAt) : observation;
  // Stopped in the middle of its body it goes back to its place, as if it had not been asked for.
  if (!taken || broken?.code === 'CRAWL_ABORTED') return deferred(observed);
  const isFirst = request.delivered !== true;
  if (isFirst) stats.delivered(request.host);
  if (broken !== undefined) return brokenPage(context, lease, broken, result, observed);
  if (firstUrl !== undefined) {
    stats.duplicate();
    events.emit('duplicate', page, firstUrl);
  }
  const found = await outlinksOf(context, lease, page);
  warnOfBody(context, page, result);
  const meta = [
    firstUrl === undefined ? seenEntry(context, page, result) : undefined,
    context.versions.delivered(request, result, startedAt),
  ].filter((entry) => entry !== undefined);
  return {
    outcome: {
      outcome: 'done',
      observation: observed,
      outlinks: found.requests,
      delivered: isFirst,
      record: {
        status: result.status,
        ms: observed.durationMs,
        // A visit before this one may have found it to be a duplicate.
        ...(firstUrl === undefined && request.revisit !== true ? {} : { duplicateOf: firstUrl }),
      },
      ...(meta.length === 0 ? {} : { meta }),
    },
    links: found.links,
    seen: found.seen,
  };
}

/**
 * A page that was delivered, and whose body broke while it was read. It counts, and is tried again like any other request
 * that failed; a page that comes again then is not counted a second time.
 */
function brokenPage(
  context: VisitContext,
  lease: Lease,
  error: CrawlError,
  { status }: FetchResult,
  observed: Observation,
): Ending {
  const { brokenBodies, maxPages, stats } = context;
  // Where this was the last page that may be fetched nobody would learn that its body is missing.
  const tries = stats.pages < maxPages ? undefined : 0;
  const { outcome, ...rest } = failed(context, lease, error, { ...observed, status: undefined }, tries);
  const { record } = outcome;
  if (outcome.outcome === 'retry') brokenBodies.set(lease.request.url, error);
  const again =
    outcome.outcome === 'failed' ? {} : { request: { ...(outcome.request ?? lease.request), delivered: true } };
  return {
    ...rest,
    outcome: {
      ...outcome,
      ...again,
      delivered: lease.request.delivered !== true,
      record: record === undefined ? undefined : { ...record, status, ms: observed.durationMs },
    },
  };
}

/** The page is delivered: an extractor of the user's that fails on it costs it its links and nothing else. */
async function outlinksOf(context: VisitContext, lease: Lease, page: FetchedPage): Promise<Outlinks> {
  try {
    return await outlinks(context, lease, page, isSuccess(page.status) && isMarkup(page.contentType));
  } catch (thrown) {
    const { url } = page;
    const error = toCrawlError(thrown, 'CRAWL_HOOK_FAILED', 'The extractor failed', { url });
    context.events.emit('error', error, url);
    return { requests: [], links: [] };
  }
}

/** A streamed body ends when its reader is done; the host was busy until then. */
function streamEnd(
  { clock, stats }: VisitContext,
  { request }: Lease,
  { status, contentType, bytes }: FetchResult,
  observation: Observation,
  startedAt: number,
): Observation {
  const endedAt = clock.now();
  const durationMs = endedAt - startedAt;
  stats.answered(request.host, status, contentType, bytes, durationMs, endedAt);
  return { ...observation, endedAt, durationMs };
}

function pageOf(context: VisitContext, lease: Lease, result: FetchResult, startedAt: number): FetchedPage {
  const { request } = lease;
  return new FetchedPage(
    {
      url: request.redirects?.[0]?.url ?? request.url,
      finalUrl: result.finalUrl,
      redirects: request.redirects ?? [],
      status: result.status,
      headers: result.headers,
      contentType: result.contentType,
      body: result.body,
      stream: result.stream,
      depth: request.depth,
      referrer: request.referrer,
      fetchedAt: new Date(startedAt),
      timings: result.timings,
      size: result,
    },
    context.extractor,
    context.userAgent,
  );
}

/**
 * A stream that nobody read to its end must not hold its socket.
 * @returns what broke it, if something did while it was being read.
 */
function closeStream({ stream }: FetchResult): CrawlError | undefined {
  const broken = brokenBody(stream);
  closeBody(stream);
  return broken;
}

async function seenBody(context: VisitContext, page: Page, result: FetchResult): Promise<string | undefined> {
  const digest = digestOf(page, result);
  return digest === undefined ? undefined : context.contentSeen.check(digest, page.url);
}

function seenEntry(context: VisitContext, page: Page, result: FetchResult): ReturnType<ContentSeen['entry']> {
  const digest = digestOf(page, result);
  return digest === undefined ? undefined : context.contentSeen.entry(digest, page.url);
}

/** Error pages and empty bodies are alike by nature; only real contents are compared. */
function digestOf(page: Page, result: FetchResult): string | undefined {
  const hasContents = isSuccess(result.status) && result.acceptance === 'buffer' && result.body.length > 0;
  return hasContents ? page.fingerprint : undefined;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
