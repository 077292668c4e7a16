import { mustTake } from './options.ts';
import type { CrawlRequest } from './types.ts';
import { canonicalForm, hostOf, resolveUrl } from './url.ts';

/** Lowest, usual and highest front queue. */
export const LEVELS = { lowest: -8, usual: 0, highest: 7 } as const;

/** A {@link CrawlRequest} before its canonical form, host and level are worked out. */
export type RequestInit = Partial<Omit<CrawlRequest, 'url' | 'key' | 'host'>> & { readonly url: string | URL };

/** Which parts of a URL the canonical form leaves out; see `canonicalizeUrl`. */
export interface CanonicalOptions {
  readonly stripTracking?: boolean;
  readonly sortQuery?: boolean;
}

/**
 * The request for a URL, or `null` where it can't be crawled: no http or https URL.
 * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where `init` is no object.
 */
export function createRequest(init: RequestInit, options?: CanonicalOptions): CrawlRequest | null {
  mustTake('createRequest', 'an object with a url', init !== null && typeof init === 'object', init);
  const { url: given } = init;
  const url = resolveUrl(typeof given === 'string' ? given : String((given as URL | undefined)?.href));
  return url === null ? null : requestFor(url, init, options ?? undefined);
}

/**
 * As {@link createRequest}, for a URL as `resolveUrl` gives it, which is not parsed again. Never throws.
 */
export function requestFor(url: string, init: Omit<RequestInit, 'url'>, options?: CanonicalOptions): CrawlRequest {
  // Field by field: this runs for every link of every page, and objects of one shape are what engines are quick with.
  return {
    url,
    key: canonicalForm(url, options),
    host: hostOf(url),
    kind: init.kind ?? 'page',
    depth: init.depth ?? 0,
    level: toLevel(init.level),
    referrer: init.referrer,
    source: init.source,
    redirects: init.redirects,
    attempts: init.attempts ?? 0,
    origin: init.origin,
    revisit: init.revisit,
    delivered: init.delivered,
  };
}

/** The name a host's queue and clock are kept under: a WHATWG `hostname` without its trailing dot. */
export function politenessHost(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

/** Any number as a front queue: rounded and kept within the lowest and the highest; what is no number is usual. */
export function toLevel(priority: number | undefined): number {
  if (priority === undefined || Number.isNaN(priority)) return LEVELS.usual;
  return Math.max(LEVELS.lowest, Math.min(LEVELS.highest, Math.round(priority))) + 0;
}
