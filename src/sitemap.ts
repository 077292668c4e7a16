import { type CrawlError, toCrawlError } from './errors.ts';
import { mustTake } from './options.ts';
import { MAX_SITEMAP_BYTES, type SitemapContext, textInParts, toText, unpackSitemap } from './sitemap/bytes.ts';
import type { ChangeFrequency, SitemapAlternate, SitemapEntry, SitemapNews, SitemapVideo } from './sitemap/entry.ts';
import { AtomVisitor, RssVisitor } from './sitemap/feed.ts';
import { TextListReader } from './sitemap/text-list.ts';
import { MAX_ENTRIES, UrlsetVisitor } from './sitemap/urlset.ts';
import { invalid, XmlReader, type XmlVisitor } from './sitemap/xml.ts';

export type { ChangeFrequency, SitemapAlternate, SitemapContext, SitemapEntry, SitemapNews, SitemapVideo };
export { MAX_ENTRIES as MAX_SITEMAP_ENTRIES, MAX_SITEMAP_BYTES, unpackSitemap };

/** What a sitemap is written in: `index` lists sitemaps, the others pages. */
export type SitemapType = 'urlset' | 'index' | 'text' | 'rss' | 'atom';

/** A sitemap that was read. */
export interface Sitemap {
  readonly type: SitemapType;
  /** In the order of the file, repeated ones too. */
  readonly entries: SitemapEntry[];
  /** `true` where there would be more: the file was cut off, or holds more than {@link MAX_SITEMAP_ENTRIES}. */
  readonly partial?: true;
}

interface Collector extends XmlVisitor {
  readonly entries: SitemapEntry[];
}

/**
 * Reads a sitemap in any form that sitemaps.org names: XML `urlset` and `sitemapindex`, text with one URL a line, RSS and
 * Atom. What it is and whether it is packed its first bytes say, not its name or type. Small faults are passed over: a
 * byte order mark or white space in front, a wrong or missing namespace, a bare `&`, an end cut off. An entry without a
 * valid absolute URL is left out, an invalid value of an entry as well.
 *
 * Whether an entry may stand in this file (same host, same folder) and whether it is crawled is for the caller to
 * decide; so is that no index is followed in a circle.
 *
 * @param context - `url` is where the sitemap was found: links of feeds are resolved against it. Of `contentType` only the
 * charset is used.
 * @throws {@link CrawlError} `CRAWL_SITEMAP_INVALID` for what is no sitemap, declares entities of its own, cannot be
 * unpacked, or has more than {@link MAX_SITEMAP_BYTES} unpacked; nothing else.
 */
export function parseSitemap(body: Uint8Array | string, context: SitemapContext): Sitemap {
  const isContext = context !== null && typeof context === 'object';
  mustTake('parseSitemap', 'an object with the url of the sitemap as its second argument', isContext, context);
  try {
    const reader = new SitemapReader(context.url);
    reader.write(toText(body, context));
    return reader.end();
  } catch (thrown) {
    throw unreadable(thrown, context);
  }
}

/**
 * {@link parseSitemap} for what {@link unpackSitemap} gave, in steps of some milliseconds. A step throws
 * {@link CrawlError} `CRAWL_SITEMAP_INVALID` as {@link parseSitemap} does.
 */
export function* sitemapInSteps(
  bytes: Uint8Array,
  context: SitemapContext,
  stepBytes: number = STEP_BYTES,
): Generator<void, Sitemap, undefined> {
  try {
    const reader = new SitemapReader(context.url);
    for (const part of textInParts(bytes, context, stepBytes)) {
      reader.write(part);
      if (reader.done) break;
      yield;
    }
    return reader.end();
  } catch (thrown) {
    throw unreadable(thrown, context);
  }
}

const STEP_BYTES = 65_536;

function unreadable(thrown: unknown, { url }: SitemapContext): CrawlError {
  return toCrawlError(thrown, 'CRAWL_SITEMAP_INVALID', `The sitemap ${url} cannot be read`, { url });
}

interface Found {
  readonly type: SitemapType;
  readonly collector: Collector;
}

/** Reads a sitemap part by part: what it is written in its first character tells. */
class SitemapReader {
  readonly #url: string;
  #found: Found | undefined;
  #reader: XmlReader | TextListReader | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  /** Whether no more is wanted. */
  get done(): boolean {
    return this.#reader?.done === true;
  }

  write(part: string): void {
    this.#reader ??= this.#readerFor(part);
    this.#reader?.write(part);
  }

  end(): Sitemap {
    const reader = this.#reader ?? new TextListReader(this.#url);
    const whole = reader.end();
    if (reader instanceof TextListReader) return sitemap('text', reader.entries, whole);
    const { type, collector } = this.#found as Found;
    const isWhole = whole && !collector.full;
    if (!isWhole && collector.entries.length === 0) throw invalid(this.#url, 'is cut off before its first entry');
    return sitemap(type, collector.entries, isWhole);
  }

  /** None where there is nothing but white space. */
  #readerFor(part: string): XmlReader | TextListReader | undefined {
    const first = /\S/.exec(part)?.[0];
    if (first === undefined) return undefined;
    if (first !== '<') return new TextListReader(this.#url);
    return new XmlReader(this.#url, (root) => {
      this.#found = collectorFor(root, this.#url);
      return this.#found.collector;
    });
  }
}

function sitemap(type: SitemapType, entries: SitemapEntry[], whole: boolean): Sitemap {
  return whole ? { type, entries } : { type, entries, partial: true };
}

function collectorFor(root: string, url: string): Found {
  const now = Date.now();
  switch (root) {
    case 'urlset':
      return { type: 'urlset', collector: new UrlsetVisitor('url', now) };
    case 'sitemapindex':
      return { type: 'index', collector: new UrlsetVisitor('sitemap', now) };
    case 'rss':
    case 'RDF':
      return { type: 'rss', collector: new RssVisitor(url, now) };
    case 'feed':
      return { type: 'atom', collector: new AtomVisitor(url, now) };
    default:
      throw invalid(url, root.toLowerCase() === 'html' ? 'is an HTML page' : `begins with <${root.slice(0, 40)}>`);
  }
}
