import type { FetchResult } from '../fetcher/index.ts';
import type { Observation } from '../politeness.ts';
import type { Lease } from '../ports.ts';
import { nextTurn, turnIsOverAt } from '../turns.ts';
import type { CrawlRequest, Link, SkipReason } from '../types.ts';
import { hostOf, originOf } from '../url.ts';
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
  const found = await context.hooks.sitemapEntries(result.body, {
    url: request.url,
    contentType: result.contentType,
    depth: request.depth,
  });
  const outlinks: CrawlRequest[] = [];
  const links: Link[] = [];
  let count = 0;
  for (const { url, kind } of found.links) {
    if (turnIsOverAt(count++)) await nextTurn();
    const isSitemap = kind === 'sitemap';
    const reason = whyNotListed(request, url);
    if (reason !== undefined) {
      refuse(context, url, { reason }, request.url);
      continue;
    }
    // What a sitemap lists is as good as a seed; sitemaps themselves count the indexes above them.
    const about = { depth: isSitemap ? request.depth + 1 : 0, referrer: request.url, source: 'sitemap' };
    const init = { kind, ...(isSitemap ? { origin: request.origin } : {}), ...about, level: isSitemap ? 1 : 0 };
    const admitted = context.admission.admitResolved(url, init, about);
    if (admitted.request === undefined) {
      refuse(context, url, admitted, request.url);
      continue;
    }
    if (isSitemap && !context.sitemapFiles.take(request.origin ?? originOf(url))) {
      refuse(context, url, { reason: 'sitemaps-per-host' }, request.url);
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
 * A sitemap speaks for the host whose robots.txt names it, which is that host's proof (sitemaps.org, "cross submits"),
 * and of its own host for what is at or below its folder (sitemaps.org, "Sitemap file location"); of other hosts anybody
 * could list anything.
 *
 * @param url - As `resolveUrl` gives it.
 */
function whyNotListed(sitemap: CrawlRequest, url: string): SkipReason | undefined {
  const host = hostOf(url);
  if (sitemap.origin !== undefined && host === hostOf(`${sitemap.origin}/`)) return undefined;
  if (host !== sitemap.host) return 'off-host';
  return pathOf(url).startsWith(folderOf(sitemap.url)) ? undefined : 'sitemap-location';
}

function pathOf(url: string): string {
  return url.slice(originOf(url).length);
}

function folderOf(url: string): string {
  const path = pathOf(url).replace(/[?#].*$/s, '');
  return path.slice(0, path.lastIndexOf('/') + 1);
}
