import { type CanonicalOptions, LEVELS, type RequestInit, requestFor } from './request.ts';
import type { CrawlRequest, LinkContext, SkipReason } from './types.ts';
import { canonicalForm, resolveUrl } from './url.ts';
import { domainOf, hostAndPort } from './url-filter/hosts.ts';
import { type FilterResult, safeCheck, UrlFilter } from './url-filter.ts';

/** Indexes above a sitemap. The protocol knows one; a site that nests them without end has none to speak of. */
const MAX_SITEMAP_DEPTH = 3;
/** Origins whose place in the scope is remembered. */
const MOST_ORIGINS = 10_000;
const ADMITTED: FilterResult = { reason: undefined };
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
  readonly #origins = new Map<string, boolean>();

  constructor(rules: AdmissionRules) {
    this.#rules = rules;
  }

  /** Lets the scope take in the hosts (or domains) of seeds. */
  addSeeds(urls: readonly URL[]): void {
    const before = this.#members.size;
    for (const url of urls) this.#members.add(this.#memberOf(url));
    if (this.#members.size > before) this.#origins.clear();
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
    let isMember = this.#origins.get(origin);
    if (isMember === undefined) {
      isMember = this.#members.has(this.#memberOf(new URL(url)));
      if (this.#origins.size >= MOST_ORIGINS) this.#origins.clear();
      this.#origins.set(origin, isMember);
    }
    if (isMember) return ADMITTED;
    return scope === 'host' ? OFF_HOST : OFF_DOMAIN;
  }

  /** What the scope compares: the host, or the registrable domain. */
  #memberOf(url: URL): string {
    return this.#rules.scope === 'domain' ? domainOf(url) : hostAndPort(url);
  }
}

/** The front queue of a redirect's target: a chain once begun is finished first. */
export const REDIRECT_LEVEL: number = LEVELS.highest;

function refused(verdict: { readonly reason: string | undefined; readonly error?: unknown }): Admitted {
  return { reason: verdict.reason ?? 'filter-failed', error: verdict.error };
}
