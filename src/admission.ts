import { type CanonicalOptions, createRequest, LEVELS, type RequestInit } from './request.ts';
import type { CrawlRequest, LinkContext, SkipReason } from './types.ts';
import { safeCheck, UrlFilter } from './url-filter.ts';

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
  #scope: UrlFilter;

  constructor(rules: AdmissionRules) {
    this.#rules = rules;
    this.#scope = this.#buildScope();
  }

  /** Lets the scope take in the host (or domain) of a seed. */
  addSeed(url: URL): void {
    this.addSeeds([url]);
  }

  addSeeds(urls: readonly URL[]): void {
    if (urls.length === 0) return;
    this.#seeds.push(...distinctOrigins(urls, this.#seeds));
    this.#scope = this.#buildScope();
  }

  /** Origins of the seeds so far, so that a resumed crawl keeps its scope. */
  get seedOrigins(): string[] {
    return this.#seeds.map((seed) => seed.origin);
  }

  admit(init: RequestInit, context: LinkContext): Admitted {
    const request = createRequest(init, this.#rules.canonical);
    if (request === null) return { reason: 'url-invalid' };
    if (request.url.length > this.#rules.maxUrlLength) return { reason: 'url-too-long' };
    if (request.depth > this.#rules.maxDepth) return { reason: 'depth' };
    const url = new URL(request.url);
    const inScope = safeCheck(this.#scope, url, context);
    if (inScope.reason !== undefined) return refused(inScope);
    if (this.#rules.filter !== undefined) {
      const passed = safeCheck(this.#rules.filter, url, context);
      if (passed.reason !== undefined) return refused(passed);
    }
    return { request };
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
