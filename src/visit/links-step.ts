import { CrawlError, describeThrown } from '../errors.ts';
import type { Lease } from '../ports.ts';
import { toLevel } from '../request.ts';
import type { CrawlRequest, Link, Page, SkipReason } from '../types.ts';
import type { VisitContext, VisitHooks } from './context.ts';

export interface Outlinks {
  readonly requests: readonly CrawlRequest[];
  /** The links behind the requests, index by index. */
  readonly links: readonly Link[];
}

const NONE: Outlinks = { requests: [], links: [] };

/** The links of a page that get in; every other leaves with a reason. */
export async function outlinks(context: VisitContext, lease: Lease, page: Page, follow: boolean): Promise<Outlinks> {
  if (!follow) return NONE;
  const requests: CrawlRequest[] = [];
  const links: Link[] = [];
  const from = page.finalUrl;
  const depth = lease.request.depth + 1;
  for (const link of await context.hooks.expand(page)) {
    const request = await admit(context, link, page, depth, from);
    if (request === undefined) continue;
    requests.push(request);
    links.push(link);
  }
  return { requests, links };
}

async function admit(
  context: VisitContext,
  link: Link,
  page: Page,
  depth: number,
  from: string,
): Promise<CrawlRequest | undefined> {
  if (link.nofollow && context.robots !== undefined) return refuse(context, link.url, 'nofollow', from);
  const { source } = link;
  const about = { depth, referrer: from, source, rel: link.rel };
  const admitted = context.admission.admit({ url: link.url, depth, referrer: from, source }, about);
  if (admitted.request === undefined) {
    if (admitted.error !== undefined) reportFilter(context, link.url, admitted.error);
    return refuse(context, link.url, admitted.reason, from);
  }
  const wanted = context.hooks.shouldVisit(link, page);
  if (wanted === true || (wanted !== false && (await wanted)))
    return prioritized(context.hooks.prioritize, admitted.request);
  return refuse(context, link.url, 'should-visit', from);
}

/** The request in the front queue that the user chose for it. */
export async function prioritized(prioritize: VisitHooks['prioritize'], request: CrawlRequest): Promise<CrawlRequest> {
  if (prioritize === undefined || request.kind !== 'page') return request;
  return { ...request, level: toLevel(await prioritize(request)) };
}

function refuse(context: VisitContext, url: string, reason: SkipReason, from: string): undefined {
  context.stats.skipped(reason);
  context.events.emit('skip', url, reason, from);
  return undefined;
}

function reportFilter(context: VisitContext, url: string, thrown: unknown): void {
  const message = `A URL filter failed, so the URL is refused: ${describeThrown(thrown)}`;
  context.events.emit('error', new CrawlError('CRAWL_FILTER_FAILED', message, { cause: thrown, url }), url);
}
