import { parseW3cDate } from '../headers.ts';
import {
  type Draft,
  type SitemapAlternate,
  type SitemapEntry,
  type SitemapNews,
  type SitemapVideo,
  setUrl,
  toChangeDate,
  toDate,
  toFrequency,
  toPriority,
  toUrl,
} from './entry.ts';
import type { XmlVisitor } from './xml.ts';

/** Most entries read of one file (sitemaps.org). */
export const MAX_ENTRIES = 50_000;
/** Most images, videos or alternates of one entry. */
const MAX_ITEMS = 1000;
const MAX_TAGS = 32;

/** Collects the entries of a `urlset` or a `sitemapindex`. */
export class UrlsetVisitor implements XmlVisitor {
  readonly entries: SitemapEntry[] = [];
  full = false;
  readonly #entryName: 'url' | 'sitemap';
  readonly #now: number;
  #entry: Draft<SitemapEntry> | undefined;
  #images: string[] = [];
  #videos: SitemapVideo[] = [];
  #alternates: SitemapAlternate[] = [];
  #news: Draft<SitemapNews> = {};
  #video: Draft<SitemapVideo> = {};
  #tags: string[] = [];

  constructor(entryName: 'url' | 'sitemap', now: number) {
    this.#entryName = entryName;
    this.#now = now;
  }

  open(name: string, attribute: (name: string) => string | undefined, depth: number): void {
    if (depth === 1) this.#entry = name === this.#entryName ? {} : undefined;
    if (this.#entry === undefined || name !== 'xhtml:link' || this.#alternates.length >= MAX_ITEMS) return;
    const url = toUrl(attribute('href') ?? '');
    const hreflang = attribute('hreflang')?.trim();
    const isAlternate = attribute('rel')?.trim().toLowerCase() === 'alternate';
    if (isAlternate && hreflang && url !== undefined) this.#alternates.push({ hreflang, url });
  }

  close(name: string, parent: string, text: string, depth: number): void {
    const entry = this.#entry;
    if (entry === undefined) return;
    if (depth === 1) this.#finish(entry);
    else if (depth === 2 && name.startsWith('video:')) this.#finishVideo();
    else if (depth === 2) this.#readField(entry, name, text);
    else if (parent === 'video:video') this.#readVideo(name, text);
    else if (parent === 'image:image') this.#readImage(name, text);
    else if (parent === 'news:news' || parent === 'news:publication') this.#readNews(name, text);
  }

  #readField(entry: Draft<SitemapEntry>, name: string, text: string): void {
    if (name === 'loc') setUrl(entry, text);
    else if (name === 'lastmod') set(entry, 'lastmod', toChangeDate(parseW3cDate(text.trim()), this.#now));
    else if (name === 'changefreq') set(entry, 'changefreq', toFrequency(text));
    else if (name === 'priority') set(entry, 'priority', toPriority(text));
  }

  #readImage(name: string, text: string): void {
    const url = name === 'image:loc' && this.#images.length < MAX_ITEMS ? toUrl(text) : undefined;
    if (url !== undefined) this.#images.push(url);
  }

  #readNews(name: string, text: string): void {
    const news = this.#news;
    if (name === 'news:name') set(news, 'publicationName', toLine(text));
    else if (name === 'news:language') set(news, 'publicationLanguage', toLine(text));
    else if (name === 'news:publication_date') set(news, 'publicationDate', toDate(text));
    else if (name === 'news:title') set(news, 'title', toLine(text));
  }

  #readVideo(name: string, text: string): void {
    const video = this.#video;
    if (name === 'video:thumbnail_loc') set(video, 'thumbnailUrl', toUrl(text));
    else if (name === 'video:title') set(video, 'title', toLine(text));
    else if (name === 'video:description') set(video, 'description', toLine(text));
    else if (name === 'video:content_loc') set(video, 'contentUrl', toUrl(text));
    else if (name === 'video:player_loc') set(video, 'playerUrl', toUrl(text));
    else if (name === 'video:duration') set(video, 'durationSeconds', toSeconds(text));
    else if (name === 'video:publication_date') set(video, 'publicationDate', toDate(text));
    else if (name === 'video:expiration_date') set(video, 'expirationDate', toDate(text));
    else if (name === 'video:live') set(video, 'live', toBoolean(text));
    else if (name === 'video:tag' && this.#tags.length < MAX_TAGS && text.trim() !== '') this.#tags.push(text.trim());
  }

  #finishVideo(): void {
    if (this.#tags.length > 0) this.#video.tags = this.#tags;
    if (Object.keys(this.#video).length > 0 && this.#videos.length < MAX_ITEMS) this.#videos.push(this.#video);
    this.#video = {};
    this.#tags = [];
  }

  #finish(entry: Draft<SitemapEntry>): void {
    if (entry.url !== undefined) {
      if (this.#images.length > 0) entry.images = this.#images;
      if (this.#videos.length > 0) entry.videos = this.#videos;
      if (this.#alternates.length > 0) entry.alternates = this.#alternates;
      if (Object.keys(this.#news).length > 0) entry.news = this.#news;
      this.full = !addEntry(this.entries, entry);
    }
    if (this.#images.length > 0) this.#images = [];
    if (this.#videos.length > 0) this.#videos = [];
    if (this.#alternates.length > 0) this.#alternates = [];
    this.#news = {};
    this.#entry = undefined;
  }
}

/** Adds an entry that has a URL; `false` where there are {@link MAX_ENTRIES} already. */
export function addEntry(entries: SitemapEntry[], entry: Draft<SitemapEntry>): boolean {
  if (entry.url === undefined) return true;
  if (entries.length >= MAX_ENTRIES) return false;
  entries.push(entry as SitemapEntry);
  return true;
}

/** Sets a field that has a value and is not set yet: of a repeated element the first valid one counts. */
export function set<T, K extends keyof T>(target: T, key: K, value: T[K] | undefined): void {
  if (value !== undefined && target[key] === undefined) target[key] = value;
}

function toLine(text: string): string | undefined {
  const line = text.trim();
  return line === '' ? undefined : line;
}

function toSeconds(text: string): number | undefined {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : undefined;
}

function toBoolean(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  return word === 'yes' ? true : word === 'no' ? false : undefined;
}
