import type { Admission, Admitted } from './admission.ts';
import { CrawlError, isCrawlError, toCrawlError } from './errors.ts';
import { show } from './options.ts';
import { parseSitemap } from './sitemap.ts';
import type { CrawlRequest } from './types.ts';
import { resolveUrl } from './url.ts';

/** A seed as the user may give it. */
export type SeedInput = string | URL;

/**
 * The seeds as URLs, all of them or none.
 * @throws {@link CrawlError} `CRAWL_URL_INVALID`, naming the seed and what is wrong with it.
 */
export function readSeeds(seeds: Iterable<SeedInput> | SeedInput | undefined): URL[] {
  if (seeds === undefined) return [];
  const list = typeof seeds === 'string' || seeds instanceof URL ? [seeds] : seeds;
  if (list === null || typeof (list as Partial<Iterable<SeedInput>>)[Symbol.iterator] !== 'function') {
    throw new CrawlError('CRAWL_URL_INVALID', `Seeds are URLs or a list of URLs, not ${show(seeds)}.`);
  }
  const urls: URL[] = [];
  for (const seed of list) urls.push(readSeed(seed));
  return urls;
}

function readSeed(seed: unknown): URL {
  const text = seed instanceof URL ? seed.href : seed;
  const resolved = typeof text === 'string' ? resolveUrl(text) : null;
  if (resolved !== null) return new URL(resolved);
  const hint =
    typeof text === 'string' && looksLikeHost(text.trim()) && resolveUrl(`https://${text.trim()}`) !== null
      ? ` Did you mean "https://${text.trim()}"?`
      : ' A crawl starts at absolute http: or https: URLs.';
  throw new CrawlError('CRAWL_URL_INVALID', `${show(seed)} can't be crawled.${hint}`, {
    url: typeof text === 'string' ? text : undefined,
  });
}

/** Begins like the name of a host, not like a path or with another scheme. */
function looksLikeHost(text: string): boolean {
  return /^[\p{L}\p{N}[]/u.test(text) && !/^[a-z][a-z0-9+.-]*:/i.test(text);
}

/** Seeds that were given together. */
export interface SeedBatch {
  readonly urls: readonly URL[];
  /** Whether those visited before are visited again. */
  readonly revisit: boolean;
}

/** Seeds let in, and those refused with the reason. */
export interface AdmittedSeeds {
  readonly requests: CrawlRequest[];
  readonly refused: { readonly url: string; readonly reason: string; readonly error?: unknown }[];
}

/** Passes seeds (or URLs added later) through scope and filter. Never throws. */
export function admitSeeds(batch: SeedBatch, admission: Admission, source: 'seed' | 'added'): AdmittedSeeds {
  const context = { depth: 0, source };
  const revisit = batch.revisit || undefined;
  const texts = batch.urls.map((url) => url.href);
  return sort(texts, (url) => admission.admit({ url, revisit, ...context }, context));
}

/** Where sitemaps are looked for when robots.txt names none (sitemaps.org). */
export function usualSitemap(origin: string): string {
  return new URL('/sitemap.xml', origin).href;
}

/** Sitemap files come before the pages of their host. */
const SITEMAP_LEVEL = 6;

/** Sitemap files as requests, and those that scope or filter refuse. Never throws. */
export function admitSitemaps(urls: readonly string[], admission: Admission, origin: string): AdmittedSeeds {
  const context = { depth: 0, source: 'sitemap' };
  return sort(urls, (url) => {
    // Some files of rules name themselves, and they have just been read.
    if (URL.canParse(url) && new URL(url).pathname === '/robots.txt') return { reason: 'seen' };
    return admission.admit({ url, kind: 'sitemap', level: SITEMAP_LEVEL, origin, ...context }, context);
  });
}

function sort(urls: readonly string[], admit: (url: string) => Admitted): AdmittedSeeds {
  const admitted: AdmittedSeeds = { requests: [], refused: [] };
  for (const url of urls) {
    const verdict = admit(url);
    if (verdict.request !== undefined) admitted.requests.push(verdict.request);
    else admitted.refused.push({ url, reason: verdict.reason, error: verdict.error });
  }
  return admitted;
}

/** What a sitemap leads to. */
export interface SitemapLinks {
  readonly links: { readonly url: string; readonly kind: 'page' | 'sitemap' }[];
  readonly error?: CrawlError | undefined;
}

/**
 * The entries of a sitemap as links: pages, or further sitemaps where it is an index. Entries on other hosts are left
 * to the crawl's scope. Never throws.
 */
export function sitemapLinks(body: Uint8Array, context: { url: string; contentType: string }): SitemapLinks {
  try {
    const { type, entries } = parseSitemap(body, context);
    const kind = type === 'index' ? 'sitemap' : 'page';
    return { links: entries.map(({ url, requestUrl }) => ({ url: requestUrl ?? url, kind })) };
  } catch (thrown) {
    const error = isCrawlError(thrown)
      ? thrown
      : toCrawlError(thrown, 'CRAWL_SITEMAP_INVALID', `The sitemap ${context.url} can't be read`, { url: context.url });
    return { links: [], error };
  }
}
