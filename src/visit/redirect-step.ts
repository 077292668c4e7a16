import { type Admission, REDIRECT_LEVEL } from '../admission.ts';
import { CrawlError } from '../errors.ts';
import type { FetchResult } from '../fetcher/index.ts';
import type { Observation } from '../politeness.ts';
import type { Lease } from '../ports.ts';
import type { CrawlRequest, RedirectHop } from '../types.ts';
import { resolveUrl } from '../url.ts';
import type { VisitContext } from './context.ts';
import type { Ending } from './ending.ts';
import { failed } from './failure.ts';
import { refuse } from './refusal.ts';

/**
 * A redirect is settled like an out-link: its target is queued with the chain that led there, so that scope, robots,
 * the seen test and the target host's clock all apply before it is asked for.
 */
export function followRedirect(
  context: VisitContext,
  lease: Lease,
  result: FetchResult,
  location: string,
  observation: Observation,
): Ending {
  const { events, stats } = context;
  const { request } = lease;
  const redirects: RedirectHop[] = [...(request.redirects ?? []), { url: request.url, status: result.status }];
  if (redirects.length > context.maxRedirects) return failed(context, lease, tooMany(request, redirects), observation);
  if (!context.keepsCookies && isLoop(request, location)) {
    return failed(context, lease, loop(request, location), observation);
  }
  const record = { status: result.status, redirectedTo: location };
  letScopeFollow(context, request, location);
  const admitted = context.admission.admit(
    {
      ...request,
      url: location,
      attempts: 0,
      level: REDIRECT_LEVEL,
      redirects,
      revisit: mayRevisit(context, request, location),
    },
    { depth: request.depth, referrer: request.referrer, source: 'redirect' },
  );
  stats.redirected();
  const redirected = (): void => void events.emit('redirect', request.url, location, result.status);
  if (admitted.request === undefined) {
    return {
      outcome: { outcome: 'redirected', observation, record: { ...record, reason: admitted.reason } },
      announce: () => {
        redirected();
        refuse(context, location, admitted, request.url);
      },
    };
  }
  if (isRepeat(request, admitted.request, context.admission)) {
    // A page that sends the client to itself has set a cookie, or loops; the limit above tells which.
    return {
      outcome: { outcome: 'deferred', observation, request: { ...admitted.request, source: request.source }, record },
      announce: redirected,
    };
  }
  return {
    outcome: { outcome: 'redirected', observation, outlinks: [admitted.request], record },
    links: [{ url: admitted.request.url, source: 'redirect', rel: [], nofollow: false }],
    announce: redirected,
  };
}

/** Who visits a URL again wants to know what it leads to now; but what many lead to is asked for once. */
function mayRevisit({ admission, versions }: VisitContext, request: CrawlRequest, location: string): true | undefined {
  if (request.revisit !== true) return undefined;
  const target = resolveUrl(location);
  return target !== null && (target === request.url || !versions.wasRevisited(admission.keyOf(target)))
    ? true
    : undefined;
}

/**
 * Whether the target is one of this very chain's URLs, be it in another spelling of its canonical form; the seen test
 * would end such a chain without a word, and the page would never be had.
 */
function isRepeat(request: CrawlRequest, target: CrawlRequest, admission: Admission): boolean {
  if (target.key === request.key) return true;
  return request.redirects?.some((hop) => admission.keyOf(hop.url) === target.key) ?? false;
}

/**
 * Whether the chain comes back to an earlier hop; without cookies it would go round for ever. A URL that leads to itself
 * is asked once more, since some servers only want to see that.
 */
function isLoop(request: CrawlRequest, location: string): boolean {
  const target = resolveUrl(location);
  return request.redirects?.some((hop) => hop.url === target) ?? false;
}

function loop(request: CrawlRequest, location: string): CrawlError {
  const first = request.redirects?.[0]?.url ?? request.url;
  const message = `${first} is redirected in a circle: ${request.url} leads back to ${location}`;
  return new CrawlError('CRAWL_TOO_MANY_REDIRECTS', message, { url: first });
}

function letScopeFollow(context: VisitContext, request: CrawlRequest, location: string): void {
  if (request.source !== 'seed') return;
  const from = new URL(request.url);
  const to = new URL(location);
  const bare = (url: URL): string => url.host.replace(/^www\./, '');
  if (from.host !== to.host && bare(from) === bare(to)) context.hooks.seedMoved(to);
}

function tooMany(request: CrawlRequest, redirects: readonly RedirectHop[]): CrawlError {
  const message = `${redirects[0]?.url ?? request.url} was redirected more than ${redirects.length - 1} times, last by ${request.url}`;
  return new CrawlError('CRAWL_TOO_MANY_REDIRECTS', message, { url: redirects[0]?.url ?? request.url });
}
