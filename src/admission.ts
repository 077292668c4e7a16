import { type CanonicalOptions, LEVELS, type RequestInit, requestFor } from './request.ts';
import type { CrawlRequest, LinkContext, SkipReason } from './types.ts';
import { canonicalForm, originOf, resolveUrl } from './url.ts';
import { domainOf, hostAndPort } from './url-filter/hosts.ts';
import { type ReadableUrl, UrlParts } from './url-filter/url-parts.ts';
import { type FilterResult, readsOriginAlone, readsUrlAlone, safeCheck, UrlFilter } from './url-filter.ts';

/** Indexes above a sitemap. The protocol knows one; a site that nests them without end has none to speak of. */
const MAX_SITEMAP_DEPTH = 3;
/** Origins whose place in the scope is remembered. */
const MOST_ORIGINS = 10_000;
const ADMITTED: FilterResult = { reason: undefined };
const TOO_LONG: FilterResult = { reason: 'url-too-long' };
const TOO_DEEP: FilterResult = { reason: 'depth' };
const OFF_HOST: FilterResult = { reason: 'off-host' };
const OFF_DOMAIN: FilterResult = { reason: 'off-domain' };

/** What {@link Admission} is made from. */
export interface AdmissionRules {
  readonly scope: 'host' | 'domain' | 'any' | UrlFilter;
  readonly filter?: UrlFilter | undefined;
  readonly maxDepth: number;
  /** In characters. */
  readonly maxUrlLength: number;
  readonly canonical?: CanonicalOptions | undefined;
}

/** A URL let in, as a request; or why not. `error` is what a user's filter threw. */
export type Admitted =
  | { readonly request: CrawlRequest; readonly reason?: undefined }
  | { readonly request?: undefined; readonly reason: SkipReason; readonly error?: unknown };

/**
 * Decides which URLs get in: form, length, depth, scope and filter, in this order. Links, seeds, sitemap entries and
 * targets of redirects all pass here. Never throws: what can't be decided is refused.
 */
export class Admission {
  readonly #rules: AdmissionRules;
  readonly #members = new Set<string>();
  readonly #byMember = new OriginJudge((url) => this.#inScope(url));
  readonly #scope: Judge;
  readonly #filter: Judge;

  constructor(rules: AdmissionRules) {
    this.#rules = rules;
    const { filter, scope } = rules;
    this.#scope = scope instanceof UrlFilter ? judgeOf(scope) : scope === 'any' ? EVERYTHING : this.#byMember;
    this.#filter = filter === undefined ? EVERYTHING : judgeOf(filter);
  }

  /** Lets the scope take in the hosts (or domains) of seeds. */
  addSeeds(urls: readonly URL[]): void {
    const before = this.#members.size;
    for (const url of urls) this.#members.add(this.#memberOf(url));
    if (this.#members.size > before) this.#byMember.forget();
  }

  /** The canonical form by which this crawl knows a URL. */
  keyOf(url: string): string {
    return canonicalForm(url, this.#rules.canonical);
  }

  /** @param init - Its URL may be anything; what is no http or https URL is refused. */
  admit(init: RequestInit, context: LinkContext): Admitted {
    const url = resolveUrl(String(init.url));
    return url === null ? { reason: 'url-invalid' } : this.admitResolved(url, init, context);
  }

  /** As {@link admit}, for a URL as `resolveUrl` gives it, as those of links are. */
  admitResolved(url: string, init: Omit<RequestInit, 'url'>, context: LinkContext): Admitted {
    const { reason, error } = this.refusal(url, init, context);
    return reason === undefined ? { request: this.request(url, init) } : { reason, error };
  }

  /** Why a URL as `resolveUrl` gives it is not let in; without a reason where it is. */
  refusal(url: string, { depth = 0, kind }: Omit<RequestInit, 'url'>, context: LinkContext): FilterResult {
    if (url.length > this.#rules.maxUrlLength) return TOO_LONG;
    if (depth > (kind === 'sitemap' ? MAX_SITEMAP_DEPTH : this.#rules.maxDepth)) return TOO_DEEP;
    const inScope = this.#scope.judge(url, context);
    return inScope.reason === undefined ? this.#filter.judge(url, context) : inScope;
  }

  /** Whether a URL that was let in once is let in always, wherever it is found, unless that is too deep. */
  get isSteady(): boolean {
    return this.#scope.isSteady && this.#filter.isSteady;
  }

  isTooDeep(depth: number): boolean {
    return depth > this.#rules.maxDepth;
  }

  /** The request for a URL that was let in. */
  request(url: string, init: Omit<RequestInit, 'url'>): CrawlRequest {
    return requestFor(url, init, this.#rules.canonical);
  }

  #inScope(url: UrlParts): FilterResult {
    if (this.#members.has(this.#memberOf(url))) return ADMITTED;
    return this.#rules.scope === 'host' ? OFF_HOST : OFF_DOMAIN;
  }

  /** What the scope compares: the host, or the registrable domain. */
  #memberOf(url: ReadableUrl): string {
    return this.#rules.scope === 'domain' ? domainOf(url) : hostAndPort(url);
  }
}

interface Judge {
  /** Whether it has one answer for a URL: nobody but the library's own filters is asked. */
  readonly isSteady: boolean;
  judge(url: string, context: LinkContext): FilterResult;
}

const EVERYTHING: Judge = { isSteady: true, judge: () => ADMITTED };

function judgeOf(filter: UrlFilter): Judge {
  if (readsOriginAlone(filter)) return new OriginJudge((url, context) => safeCheck(filter, url, context));
  return { isSteady: readsUrlAlone(filter), judge: (url, context) => safeCheck(filter, new UrlParts(url), context) };
}

/** Asks once for each origin: a page's links lead to few of them. */
class OriginJudge implements Judge {
  readonly isSteady = true;
  readonly #ask: (url: UrlParts, context: LinkContext) => FilterResult;
  readonly #verdicts = new Map<string, FilterResult>();

  constructor(ask: (url: UrlParts, context: LinkContext) => FilterResult) {
    this.#ask = ask;
  }

  judge(url: string, context: LinkContext): FilterResult {
    const origin = originOf(url);
    let verdict = this.#verdicts.get(origin);
    if (verdict === undefined) {
      verdict = this.#ask(new UrlParts(url), context);
      if (this.#verdicts.size >= MOST_ORIGINS) this.#verdicts.clear();
      this.#verdicts.set(origin, verdict);
    }
    return verdict;
  }

  forget(): void {
    this.#verdicts.clear();
  }
}

/** The front queue of a redirect's target: a chain once begun is finished first. */
export const REDIRECT_LEVEL: number = LEVELS.highest;
