import { parseW3cDate } from '../headers.ts';
import { canonicalForm, resolveUrl } from '../url.ts';

/** How often a page is said to change. */
export type ChangeFrequency = 'always' | 'hourly' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'never';

/** The page in another language or region. */
export interface SitemapAlternate {
  /** As written: a language tag, or `x-default`. */
  readonly hreflang: string;
  readonly url: string;
}

/** What a news sitemap says of an article. */
export interface SitemapNews {
  readonly publicationName?: string;
  readonly publicationLanguage?: string;
  readonly publicationDate?: Date;
  readonly title?: string;
}

/** What a video sitemap says of a video. */
export interface SitemapVideo {
  readonly thumbnailUrl?: string;
  readonly title?: string;
  readonly description?: string;
  /** The video itself. */
  readonly contentUrl?: string;
  /** A player for it. */
  readonly playerUrl?: string;
  readonly durationSeconds?: number;
  readonly publicationDate?: Date;
  readonly expirationDate?: Date;
  readonly live?: boolean;
  readonly tags?: readonly string[];
}

/** One URL of a sitemap, or one sitemap of an index. Everything but `url` is there only where it was given and is valid. */
export interface SitemapEntry {
  /** Canonical, see `canonicalizeUrl`. */
  readonly url: string;
  /** What to ask for, where that is spelled otherwise than `url`; see `resolveUrl`. */
  readonly requestUrl?: string;
  /** When it last changed: a claim, to be believed as far as it proves true. Never in the future, never before 1995. */
  readonly lastmod?: Date;
  readonly changefreq?: ChangeFrequency;
  /** From 0 to 1, within its site; 0.5 where nothing is said. */
  readonly priority?: number;
  /** URLs of images on the page, at most 1,000. */
  readonly images?: readonly string[];
  readonly videos?: readonly SitemapVideo[];
  readonly news?: SitemapNews;
  readonly alternates?: readonly SitemapAlternate[];
}

/** An object whose fields are filled one by one. */
export type Draft<T> = { -readonly [K in keyof T]?: T[K] };

const FREQUENCIES: ReadonlySet<string> = new Set(['always', 'hourly', 'daily', 'weekly', 'monthly', 'yearly', 'never']);
const EARLIEST = Date.UTC(1995, 0, 1);
/** A URL is to be shorter than this (sitemaps.org). */
const URL_LENGTH = 2048;

/** Sets `url`, and `requestUrl` where that differs, unless one is set already or `text` is no URL to crawl. */
export function setUrl(entry: Draft<SitemapEntry>, text: string, base?: string): void {
  const reference = text.trim();
  if (entry.url !== undefined || reference === '' || reference.length >= URL_LENGTH) return;
  const requestUrl = resolveUrl(reference, base);
  if (requestUrl === null) return;
  const url = canonicalForm(requestUrl);
  entry.url = url;
  if (requestUrl !== url) entry.requestUrl = requestUrl;
}

/** An absolute URL to ask for, or `undefined`. */
export function toUrl(text: string): string | undefined {
  const reference = text.trim();
  return reference.length >= URL_LENGTH ? undefined : (resolveUrl(reference) ?? undefined);
}

/** The date, where it can be true of a change. */
export function toChangeDate(time: number | undefined, now: number): Date | undefined {
  return time === undefined || time < EARLIEST || time > now ? undefined : new Date(time);
}

/** Any W3C Datetime. */
export function toDate(text: string): Date | undefined {
  const time = parseW3cDate(text.trim());
  return time === undefined ? undefined : new Date(time);
}

export function toFrequency(text: string): ChangeFrequency | undefined {
  const word = text.trim().toLowerCase();
  return FREQUENCIES.has(word) ? (word as ChangeFrequency) : undefined;
}

export function toPriority(text: string): number | undefined {
  const number = /^(?:\d{1,9}(?:\.\d{0,20})?|\.\d{1,20})$/.test(text.trim()) ? Number(text) : Number.NaN;
  return number >= 0 && number <= 1 ? number : undefined;
}
