import { type CanonicalOptions, LEVELS, type RequestInit, requestFor } from './request.ts';
import type { CrawlRequest, LinkContext, SkipReason } from './types.ts';
import { resolveUrl } from './url.ts';
import { type FilterResult, safeCheck, UrlFilter } from './url-filter.ts';

/** Indexes above a sitemap. The protocol knows one; a site that nests them without end has none to speak of. */
const MAX_SITEMAP_DEPTH = 3;
/** Origins whose place in the scope is remembered. */
const MOST_ORIGINS = 10_000;
const ADMITTED: FilterResult = { reason: undefined };

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
  readonly #seeds: URL[] = [];
  readonly #origins = new Map<string, FilterResult>();
  #scope: UrlFilter;

  constructor(rules: AdmissionRules) {
    this.#rules = rules;
    this.#scope = this.#buildScope();
  }

  /** Lets the scope take in the hosts (or domains) of seeds. */
  addSeeds(urls: readonly URL[]): void {
    if (urls.length === 0) return;
    this.#seeds.push(...distinctOrigins(urls, this.#seeds));
    this.#scope = this.#buildScope();
    this.#origins.clear();
  }

  /** @param init - Its URL may be anything; what is no http or https URL is refused. */
  admit(init: RequestInit, context: LinkContext): Admitted {
    const url = resolveUrl(String(init.url));
    return url === null ? { reason: 'url-invalid' } : this.admitResolved(url, init, context);
  }

  /** As {@link admit}, for a URL as `resolveUrl` gives it, as those of links are. */
  admitResolved(url: string, init: Omit<RequestInit, 'url'>, context: LinkContext): Admitted {
    if (url.length > this.#rules.maxUrlLength) return { reason: 'url-too-long' };
    if ((init.depth ?? 0) > (init.kind === 'sitemap' ? MAX_SITEMAP_DEPTH : this.#rules.maxDepth))
      return { reason: 'depth' };
    const inScope = this.#inScope(url, context);
    if (inScope.reason !== undefined) return refused(inScope);
    if (this.#rules.filter !== undefined) {
      const passed = safeCheck(this.#rules.filter, new URL(url), context);
      if (passed.reason !== undefined) return refused(passed);
    }
    return { request: requestFor(url, init, this.#rules.canonical) };
  }

  #inScope(url: string, context: LinkContext): FilterResult {
    const { scope } = this.#rules;
    if (scope === 'any') return ADMITTED;
    if (scope instanceof UrlFilter) return safeCheck(scope, new URL(url), context);
    // The built-in scopes look at nothing but the origin, and a page's links lead to few of them.
    const origin = url.slice(0, url.indexOf('/', url.indexOf('//') + 2));
    let verdict = this.#origins.get(origin);
    if (verdict === undefined) {
      verdict = safeCheck(this.#scope, new URL(url), context);
      if (this.#origins.size >= MOST_ORIGINS) this.#origins.clear();
      this.#origins.set(origin, verdict);
    }
    return verdict;
  }

  #buildScope(): UrlFilter {
    const { scope } = this.#rules;
    if (scope instanceof UrlFilter) return scope;
    if (scope === 'any') return UrlFilter.any();
    return scope === 'host' ? UrlFilter.sameHost(this.#seeds) : UrlFilter.sameDomain(this.#seeds);
  }
}

/** The front queue of a redirect's target: a chain once begun is finished first. */
export const REDIRECT_LEVEL: number = LEVELS.highest;

function refused(verdict: { readonly reason: string | undefined; readonly error?: unknown }): Admitted {
  return { reason: verdict.reason ?? 'filter-failed', error: verdict.error };
}

function distinctOrigins(urls: readonly URL[], known: readonly URL[]): URL[] {
  const origins = new Set(known.map((url) => url.origin));
  return urls.filter((url) => !origins.has(url.origin) && origins.add(url.origin));
}
