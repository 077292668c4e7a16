import type { FetchedPage } from '../page.ts';
import type { Lease } from '../ports.ts';
import { toLevel } from '../request.ts';
import { nextTurn, turnIsOverAt } from '../turns.ts';
import type { CrawlRequest, Link, LinkContext, Page } from '../types.ts';
import type { VisitContext, VisitHooks } from './context.ts';
import type { KnownUrls } from './known-urls.ts';
import { refuse } from './refusal.ts';

export interface Outlinks {
  readonly requests: readonly CrawlRequest[];
  /** The links behind the requests, index by index. */
  readonly links: readonly Link[];
  /** Links that got in and are known to have been seen, where nobody wants to hear of each. */
  readonly seen?: number;
}

const NONE: Outlinks = { requests: [], links: [], seen: 0 };
/** A link that got in, and need not be asked about again. */
const SEEN = Symbol('seen');

/** What a filter may ask of a link. Its text is made when asked for, since most filters don't. */
class Found implements LinkContext {
  readonly depth: number;
  readonly referrer: string;
  readonly #link: Link;

  constructor(link: Link, depth: number, referrer: string) {
    this.depth = depth;
    this.referrer = referrer;
    this.#link = link;
  }

  get source(): string {
    return this.#link.source;
  }

  get rel(): readonly string[] {
    return this.#link.rel;
  }

  get text(): string | undefined {
    return this.#link.text;
  }
}

/** The links of a page that get in; every other leaves with a reason. */
export async function outlinks(
  context: VisitContext,
  lease: Lease,
  page: FetchedPage,
  follow: boolean,
): Promise<Outlinks> {
  if (!follow) return NONE;
  // They can't be told one by one, since that would be to make them after all.
  if (page.linksLeftOut > 0) {
    context.stats.skipped('links-per-page', page.linksLeftOut);
    context.events.emit('skip', page.finalUrl, 'links-per-page', page.finalUrl);
  }
  const requests: CrawlRequest[] = [];
  const links: Link[] = [];
  let seen = 0;
  const on = placeOf(context, lease, page);
  let count = 0;
  for (const link of await context.hooks.expand(page, (text) => noUrl(context, text, page))) {
    if (turnIsOverAt(count++)) await nextTurn();
    const admitted = admit(context, link, on);
    // Most links are decided without waiting for anybody; a turn of the event loop for each would cost more than they do.
    const request = admitted instanceof Promise ? await admitted : admitted;
    if (request === undefined) continue;
    if (request === SEEN) {
      seen++;
      continue;
    }
    requests.push(request);
    links.push(link);
  }
  return { requests, links, seen };
}

/** No key could be made of it, so that it can't be noted. */
function noUrl({ events, stats }: VisitContext, text: string, page: Page): void {
  refuse({ events, stats, note: undefined }, text, { reason: 'url-invalid' }, page.finalUrl);
}

/** Where links were found, and how much of them need be looked at. */
interface Place {
  readonly page: Page;
  readonly url: string;
  /** Of the links. */
  readonly depth: number;
  /** Where URLs are known that need not be queued; absent where somebody wants to hear of each. */
  readonly known: KnownUrls | undefined;
  /** Whether a known URL gets in, since it got in before. */
  readonly isOpen: boolean;
}

function placeOf({ admission, events, knownUrls }: VisitContext, lease: Lease, page: Page): Place {
  const depth = lease.request.depth + 1;
  const known = events.wants('skip') ? undefined : knownUrls;
  const isOpen = admission.isSteady && !admission.isTooDeep(depth);
  return { page, url: page.finalUrl, depth, known, isOpen };
}

/**
 * Page-wide nofollow, for links that the user's own code found; the built-in extractor has marked its own. What the page
 * says of its own address is no link that it passes on.
 */
function isForbidden(link: Link, page: Page): boolean {
  return !page.directives.follow && !link.rel.some((token) => token === 'canonical' || token === 'alternate');
}

type MaybeLater<T> = T | Promise<T>;

function admit(context: VisitContext, link: Link, on: Place): MaybeLater<CrawlRequest | typeof SEEN | undefined> {
  const { admission, hooks, robots } = context;
  const { depth, known, page, url: from } = on;
  if (robots !== undefined && (link.nofollow || isForbidden(link, page)))
    return refuse(context, link.url, { reason: 'nofollow' }, from);
  const isKnown = known?.has(link.url) === true;
  if (!isKnown || !on.isOpen) {
    const { reason, error } = admission.refusal(link.url, { depth }, new Found(link, depth, from));
    if (reason !== undefined) return refuse(context, link.url, { reason, error }, from);
  }
  const wanted = hooks.shouldVisit(link, page);
  if (wanted === true) return isKnown ? SEEN : queued(context, link, on);
  if (wanted === false) return refuse(context, link.url, { reason: 'should-visit' }, from);
  return wanted.then((verdict) => {
    if (!verdict) return refuse(context, link.url, { reason: 'should-visit' }, from);
    return isKnown ? SEEN : queued(context, link, on);
  });
}

function queued({ admission, hooks }: VisitContext, link: Link, on: Place): MaybeLater<CrawlRequest> {
  const init = { depth: on.depth, referrer: on.url, source: link.source };
  return prioritized(hooks.prioritize, admission.request(link.url, init), on.page);
}

/** The request in the front queue that the user chose for it. */
export function prioritized(
  prioritize: VisitHooks['prioritize'],
  request: CrawlRequest,
  about: object,
): CrawlRequest | Promise<CrawlRequest> {
  if (prioritize === undefined || request.kind !== 'page') return request;
  const level = prioritize(request, about);
  return typeof level === 'number' ? atLevel(request, level) : level.then((given) => atLevel(request, given));
}

function atLevel(request: CrawlRequest, level: number): CrawlRequest {
  return { ...request, level: toLevel(level) };
}
