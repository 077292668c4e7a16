import type { Admission, Admitted } from './admission.ts';
import { CrawlError, isCrawlError, toCrawlError } from './errors.ts';
import { show } from './options.ts';
import type { SitemapFiles } from './sitemap/file-count.ts';
import { sitemapInSteps, unpackSitemap } from './sitemap.ts';
import { inTurns } from './turns.ts';
import type { CrawlRequest } from './types.ts';
import { parseUrl, resolveUrl } from './url.ts';

/** A seed as the user may give it. */
export type SeedInput = string | URL;

/** So many seeds are looked at between two looks at the clock, and so many are read at once when they are given. */
const SEEDS_AT_ONCE = 500;

/** Seeds as URLs. Many are read when they are asked for, over several turns of the event loop. */
export type ReadSeeds = () => readonly URL[] | Promise<readonly URL[]>;

/**
 * The seeds as URLs, all of them or none. The list is copied: what becomes of it later doesn't matter.
 * @throws {@link CrawlError} `CRAWL_URL_INVALID`, naming the seed and what is wrong with it; where there are many, what is
 * given rejects with it.
 */
export function readSeeds(seeds: Iterable<SeedInput> | SeedInput | undefined): ReadSeeds {
  const list = listed(seeds);
  if (list.length <= SEEDS_AT_ONCE) {
    const urls = list.map(readSeed);
    return () => urls;
  }
  let read: Promise<readonly URL[]> | undefined;
  return () => {
    read ??= inTurns(readInSteps(list));
    return read;
  };
}

function* readInSteps(seeds: readonly unknown[]): Generator<void, readonly URL[], undefined> {
  const urls: URL[] = [];
  for (const seed of seeds) {
    urls.push(readSeed(seed));
    if (urls.length % SEEDS_AT_ONCE === 0) yield;
  }
  return urls;
}

function listed(seeds: Iterable<SeedInput> | SeedInput | undefined): unknown[] {
  if (seeds === undefined) return [];
  const list = typeof seeds === 'string' || seeds instanceof URL ? [seeds] : seeds;
  if (list === null || typeof (list as Partial<Iterable<SeedInput>>)[Symbol.iterator] !== 'function') {
    throw new CrawlError('CRAWL_URL_INVALID', `Seeds are URLs or a list of URLs, not ${show(seeds)}.`);
  }
  return Array.from(list, (seed) => (seed instanceof URL ? seed.href : seed));
}

function readSeed(text: unknown): URL {
  const resolved = typeof text === 'string' ? resolveUrl(text) : null;
  if (resolved !== null) return new URL(resolved);
  const hint =
    typeof text === 'string' && looksLikeHost(text.trim()) && resolveUrl(`https://${text.trim()}`) !== null
      ? ` Did you mean "https://${text.trim()}"?`
      : ' A crawl starts at absolute http: or https: URLs.';
  throw new CrawlError('CRAWL_URL_INVALID', `${show(text)} can't be crawled.${hint}`, {
    url: typeof text === 'string' ? text : undefined,
  });
}

/** Begins like the name of a host, not like a path or with another scheme. */
function looksLikeHost(text: string): boolean {
  return /^[\p{L}\p{N}[]/u.test(text) && !/^[a-z][a-z0-9+.-]*:/i.test(text);
}

/** Seeds that were given together, as they are given. */
export interface GivenSeeds {
  readonly urls: ReadSeeds;
  readonly revisit: boolean;
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

/** Passes seeds (or URLs added later) through scope and filter, over several turns of the event loop. Never rejects. */
export function admitSeeds(batch: SeedBatch, admission: Admission, source: 'seed' | 'added'): Promise<AdmittedSeeds> {
  const context = { depth: 0, source };
  const revisit = batch.revisit || undefined;
  const texts = batch.urls.map((url) => url.href);
  return inTurns(sortInSteps(texts, (url) => admission.admit({ url, revisit, ...context }, context)));
}

/** Where sitemaps are looked for when robots.txt names none (sitemaps.org). */
export function usualSitemap(origin: string): string {
  return new URL('/sitemap.xml', origin).href;
}

/** Sitemap files come before the pages of their host. */
const SITEMAP_LEVEL = 6;

/**
 * Sitemap files as requests, and those that scope or filter refuse, over several turns of the event loop. Never rejects.
 * @param among - Counts those let in, and tells which were seen before and are not to be counted again.
 */
export function admitSitemaps(
  urls: readonly string[],
  admission: Admission,
  origin: string,
  among: { readonly files: SitemapFiles; readonly known: ReadonlySet<string> | undefined },
): Promise<AdmittedSeeds> {
  const context = { depth: 0, source: 'sitemap' };
  const admit = (url: string): Admitted => {
    // Some files of rules name themselves, and they have just been read.
    if (parseUrl(url)?.pathname === '/robots.txt') return { reason: 'seen' };
    if (among.known?.has(url) === true) return { reason: 'seen' };
    const admitted = admission.admit({ url, kind: 'sitemap', level: SITEMAP_LEVEL, origin, ...context }, context);
    return admitted.request === undefined || among.files.take(origin) ? admitted : { reason: 'sitemaps-per-host' };
  };
  return inTurns(sortInSteps(urls, admit));
}

function* sortInSteps(
  urls: readonly string[],
  admit: (url: string) => Admitted,
): Generator<void, AdmittedSeeds, undefined> {
  const admitted: AdmittedSeeds = { requests: [], refused: [] };
  for (const [index, url] of urls.entries()) {
    if ((index + 1) % SEEDS_AT_ONCE === 0) yield;
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
 * to the crawl's scope. Read over several turns of the event loop. Never rejects.
 */
export async function sitemapLinks(
  body: Uint8Array,
  context: { url: string; contentType: string },
): Promise<SitemapLinks> {
  try {
    const { type, entries } = await inTurns(sitemapInSteps(await unpackSitemap(body, context), context));
    const kind = type === 'index' ? 'sitemap' : 'page';
    return { links: entries.map(({ url, requestUrl }) => ({ url: requestUrl ?? url, kind })) };
  } catch (thrown) {
    const error = isCrawlError(thrown)
      ? thrown
      : toCrawlError(thrown, 'CRAWL_SITEMAP_INVALID', `The sitemap ${context.url} can't be read`, { url: context.url });
    return { links: [], error };
  }
}
