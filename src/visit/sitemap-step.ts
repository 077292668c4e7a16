import type { FetchResult } from '../fetcher/index.ts';
import type { Observation } from '../politeness.ts';
import type { Lease } from '../ports.ts';
import type { CrawlRequest, Link } from '../types.ts';
import { hostOf, resolveUrl } from '../url.ts';
import type { VisitContext } from './context.ts';
import type { Ending } from './ending.ts';
import { prioritized } from './links-step.ts';
import { refuse } from './refusal.ts';

/** Queues what a sitemap lists. A sitemap that isn't there is no error: it was only hoped for. */
export async function readSitemap(
  context: VisitContext,
  lease: Lease,
  result: FetchResult,
  observation: Observation,
): Promise<Ending> {
  const { request } = lease;
  const record = { status: result.status };
  if (result.status !== 200) return { outcome: { outcome: 'done', observation, record } };
  const found = context.hooks.sitemapEntries(result.body, {
    url: request.url,
    contentType: result.contentType,
    depth: request.depth,
  });
  const outlinks: CrawlRequest[] = [];
  const links: Link[] = [];
  for (const { url, kind } of found.links) {
    if (!mayList(request, url)) {
      refuse(context, url, { reason: 'off-host' }, request.url);
      continue;
    }
    const isSitemap = kind === 'sitemap';
    // What a sitemap lists is as good as a seed; sitemaps themselves count the indexes above them.
    const about = { depth: isSitemap ? request.depth + 1 : 0, referrer: request.url, source: 'sitemap' };
    const admitted = context.admission.admit(
      { url, kind, ...(kind === 'sitemap' ? { origin: request.origin } : {}), ...about, level: isSitemap ? 1 : 0 },
      about,
    );
    if (admitted.request === undefined) {
      refuse(context, url, admitted, request.url);
      continue;
    }
    outlinks.push(await prioritized(context.hooks.prioritize, admitted.request, lease));
    links.push({ url: admitted.request.url, source: 'sitemap', rel: [], nofollow: false });
  }
  const { error } = found;
  return {
    outcome: { outcome: error === undefined ? 'done' : 'failed', observation, outlinks, record },
    links,
    ...(error === undefined ? {} : { announce: () => void context.events.emit('error', error, request.url) }),
  };
}

/**
 * A sitemap speaks for its own host, and for the host whose robots.txt names it, which is that host's proof
 * (sitemaps.org, "cross submits"); of other hosts anybody could list anything.
 */
function mayList(sitemap: CrawlRequest, url: string): boolean {
  const resolved = resolveUrl(url);
  if (resolved === null) return true;
  const host = hostOf(resolved);
  return host === sitemap.host || (sitemap.origin !== undefined && host === hostOf(`${sitemap.origin}/`));
}
