import { CrawlError, toCrawlError } from '../errors.ts';
import { parseContentType } from '../headers.ts';
import type { Observation } from '../politeness.ts';
import type { Lease } from '../ports.ts';
import { politenessHost } from '../request.ts';
import { ROBOTS_MAX_BYTES } from '../robots-txt.ts';
import { originOf } from '../url.ts';
import { addressGate } from './address-step.ts';
import type { VisitContext } from './context.ts';
import { deferred, type Ending } from './ending.ts';
import { failed, retryDelayMs } from './failure.ts';
import { putOff } from './put-off.ts';
import { neverAsked, skipUnasked } from './refusal.ts';
import { heedRetryAfter, warnOfRules } from './warnings.ts';

/** How soon a URL is tried again whose rules are on their way through another host's queue. */
const PENDING_POLL_MS = 500;
/** How long the URLs of an origin whose rules can't be had wait at first, while others of the host go on. */
const NEWS_GRACE_MS = 500;

/** What the gate says: go on (and how slowly), or how the visit ends. */
export type RobotsGate = { readonly ending: Ending } | { readonly ending?: undefined; readonly crawlDelayMs: number };

/**
 * May this URL be fetched? A lease whose robots.txt isn't known spends itself on fetching it, since that request counts
 * on the host's clock like any other (RFC 9309; the URL comes due again after the delay).
 */
export async function robotsGate(context: VisitContext, lease: Lease): Promise<RobotsGate> {
  const { robots, userAgent } = context;
  const { request } = lease;
  if (robots === undefined) return { crawlDelayMs: 0 };
  const origin = originOf(request.url);
  let verdict = robots.verdict(request.url, userAgent);
  if (verdict === undefined) {
    await robots.load(origin);
    verdict = robots.verdict(request.url, userAgent);
  }
  if (verdict === undefined) return { ending: await fetchRules(context, lease, origin) };
  if (verdict.reason !== 'robots-unreachable') context.unreachable.had(origin, request.host);
  if (verdict.allowed) return { crawlDelayMs: crawlDelay(context, verdict.crawlDelay) };
  if (verdict.retryAt === undefined) return { ending: skipUnasked(context, lease, verdict.reason ?? 'robots') };
  return { ending: await unreachable(context, lease, origin, verdict.retryAt) };
}

/** A hop of a robots.txt that was redirected here, queued for the sake of another URL's origin. */
export async function robotsHop(context: VisitContext, lease: Lease): Promise<Ending> {
  const { origin = '' } = lease.request;
  const conditions = context.robots?.conditions(origin, lease.url) ?? {};
  const gate = await addressGate(context, lease);
  if (gate?.outcome.outcome === 'deferred') return gate;
  if (gate !== undefined) {
    // The way to the rules ends here: whoever waits for them must learn it.
    context.robots?.accept(origin, {
      error: new CrawlError('CRAWL_DNS_FAILED', `${lease.request.host} has no address`, { url: lease.url }),
    });
    return gate;
  }
  const { ending, failure } = await requestRules(context, lease, origin, lease.url, conditions);
  return {
    ...ending,
    outcome: { ...ending.outcome, outcome: 'done' },
    ...(failure === undefined ? {} : { announce: () => void context.events.emit('error', failure, lease.url) }),
  };
}

async function fetchRules(context: VisitContext, lease: Lease, origin: string): Promise<Ending> {
  const next = context.robots?.nextFetch(origin);
  if (next === undefined) return putOff(context, PENDING_POLL_MS);
  const busy = await addressGate(context, lease);
  if (busy !== undefined) {
    context.robots?.abandon(origin);
    return busy;
  }
  const { ending, failure, quick, hopeless } = await requestRules(context, lease, origin, next.url, next.headers);
  if (failure === undefined)
    return hopeless === true && (await isAlone(context)) ? refusedAfter(context, lease, ending) : ending;
  const tries = quick === true ? context.unreachable.tryAgain(origin) : Number.POSITIVE_INFINITY;
  if (tries < context.retries) {
    // A connection that failed once is tried again soon; only then does the ladder of minutes begin.
    context.robots?.retrySoon(origin);
    return { outcome: { ...ending.outcome, dueAt: context.clock.now() + retryDelayMs(tries) } };
  }
  const tell = (): void => void context.events.emit('error', failure, next.url);
  return (await isAlone(context)) ? refusedAfter(context, lease, ending, tell) : { ...ending, announce: tell };
}

/** Whether this lease is all there is left to do, so that nothing would be gained by waiting for better days. */
async function isAlone({ frontier }: VisitContext): Promise<boolean> {
  const { queued, leased } = await frontier.stats();
  return queued === 0 && leased <= 1;
}

/** Refuses the URL in the same commit that tells what was asked of the host for its sake. */
function refusedAfter(context: VisitContext, lease: Lease, { outcome }: Ending, tell?: () => void): Ending {
  const refusal = skipUnasked(context, lease, 'robots-unreachable');
  return {
    outcome: {
      ...refusal.outcome,
      ...(outcome.observation === undefined ? {} : { observation: outcome.observation }),
    },
    announce: () => {
      tell?.();
      refusal.announce?.();
    },
  };
}

interface RulesRequest {
  readonly ending: Ending;
  readonly failure?: CrawlError;
  /** Whether the failure is of a kind that often passes at once. */
  readonly quick?: boolean;
  /** Whether the answer said that the rules can't be had, and not when. */
  readonly hopeless?: boolean;
}

async function requestRules(
  context: VisitContext,
  lease: Lease,
  origin: string,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<RulesRequest> {
  const { clock, events, fetcher, robots, stats, userAgent } = context;
  const { host } = lease.request;
  const refused = neverAsked(context, url);
  const startedAt = clock.now();
  if (refused === undefined) {
    events.emit('request', url);
    stats.requested(host, startedAt);
  }
  try {
    if (refused !== undefined) throw refused;
    const answer = await fetcher.getOnce(url, {
      maxBytes: ROBOTS_MAX_BYTES,
      userAgent,
      headers,
      origin,
      signal: context.signal,
    });
    const endedAt = clock.now();
    stats.answered(
      host,
      answer.status,
      contentTypeOf(answer.headers),
      answer.body.length,
      endedAt - startedAt,
      endedAt,
    );
    const step = robots?.accept(origin, answer);
    const retryAfterMs = heedRetryAfter(context, url, answer, endedAt);
    const observation: Observation = {
      endedAt,
      durationMs: endedAt - startedAt,
      status: answer.status,
      ...knownCrawlDelay(context, lease, origin),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
    const ending = deferred(observation);
    if (step === undefined) return { ending };
    if ('done' in step) {
      if (step.outcome === 'rules') warnOfRules(context, origin, url, answer.body);
      const sitemaps = step.outcome === 'unreachable' ? [] : await context.hooks.sitemapsOf(origin, step.sitemaps);
      const links = sitemaps.map((sitemap) => ({ url: sitemap.url, source: 'sitemap', rel: [], nofollow: false }));
      const hopeless = step.outcome === 'unreachable' && retryAfterMs === undefined;
      return { ending: { outcome: { ...ending.outcome, outlinks: sitemaps }, links }, hopeless };
    }
    const hop = { url: step.next, kind: 'robots' as const, origin, depth: lease.request.depth };
    return { ending: { outcome: { ...ending.outcome, outlinks: [hop] } } };
  } catch (thrown) {
    const failure = toCrawlError(thrown, 'CRAWL_CONNECT_FAILED', `robots.txt of ${origin} can't be had`, { url });
    const endedAt = clock.now();
    if (refused === undefined) stats.ended(host, endedAt);
    if (failure.code === 'CRAWL_ABORTED') {
      robots?.abandon(origin);
      return { ending: deferred({ endedAt }) };
    }
    if (isRefusal(failure) && lease.request.kind !== 'robots') {
      // Not the site's doing, so nothing to remember about it: each URL of it will fail by the same rule.
      robots?.abandon(origin);
      return { ending: failed(context, lease, failure, refused === undefined ? { endedAt } : undefined) };
    }
    robots?.accept(origin, { error: failure });
    if (refused !== undefined) return { ending: deferred(), failure };
    const observation: Observation = { endedAt, error: { code: failure.code, retryable: failure.retryable } };
    const quick = failure.retryable && !failure.code.endsWith('_TIMEOUT');
    return { ending: deferred(observation), failure, quick };
  }
}

async function unreachable(context: VisitContext, lease: Lease, origin: string, retryAt: number): Promise<Ending> {
  const { host } = lease.request;
  // A host that has given pages or rules is up: it is this origin of it that isn't, and the others must not wait for it.
  if (lease.host.pages > 0 || context.unreachable.isHopeless(host))
    return skipUnasked(context, lease, 'robots-unreachable');
  // The host's other origins get their chance to show that it is up before all of it waits.
  if (context.unreachable.isNews(origin))
    return deferred(undefined, context.clock.now() + NEWS_GRACE_MS + lease.host.delayMs);
  const blockedUntil = Math.ceil(retryAt);
  const before = (await context.frontier.getHost(host))?.blockedUntil ?? 0;
  if (before < blockedUntil) context.unreachable.wait(host, blockedUntil, before);
  return {
    outcome: { ...deferred().outcome, hostBlockedUntil: blockedUntil },
    announce: () =>
      context.events.emit('host', host, {
        status: 'robots-unreachable',
        nextAt: blockedUntil,
        delayMs: lease.host.delayMs,
      }),
  };
}

function crawlDelay(context: VisitContext, seconds: number | undefined): number {
  return seconds === undefined ? 0 : Math.min(seconds * 1000, context.maxCrawlDelayMs);
}

/** What the crawler itself would not ask for: an address, a port, a scheme. */
function isRefusal({ code }: CrawlError): boolean {
  return code === 'CRAWL_ADDRESS_REFUSED' || code === 'CRAWL_PORT_REFUSED' || code === 'CRAWL_SCHEME_REFUSED';
}

/** A delay just learnt holds for the very next request to the host. */
function knownCrawlDelay(context: VisitContext, lease: Lease, origin: string): { crawlDelayMs?: number } {
  if (politenessHost(new URL(origin).hostname) !== lease.request.host) return {};
  const verdict = context.robots?.verdict(`${origin}/`, context.userAgent);
  return verdict === undefined ? {} : { crawlDelayMs: crawlDelay(context, verdict.crawlDelay) };
}

function contentTypeOf(headers: Readonly<Record<string, string | string[]>>): string {
  return parseContentType(headers['content-type']).type;
}
