import { toCrawlError } from './errors.ts';
import { MAX_SITEMAP_BYTES, type SitemapContext, toText } from './sitemap/bytes.ts';
import type { ChangeFrequency, SitemapAlternate, SitemapEntry, SitemapNews, SitemapVideo } from './sitemap/entry.ts';
import { AtomVisitor, RssVisitor } from './sitemap/feed.ts';
import { readTextList } from './sitemap/text-list.ts';
import { MAX_ENTRIES, UrlsetVisitor } from './sitemap/urlset.ts';
import { invalid, walkXml, type XmlVisitor } from './sitemap/xml.ts';

export type { ChangeFrequency, SitemapAlternate, SitemapContext, SitemapEntry, SitemapNews, SitemapVideo };
export { MAX_ENTRIES as MAX_SITEMAP_ENTRIES, MAX_SITEMAP_BYTES };

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
  try {
    const text = toText(body, context);
    return text.trimStart().startsWith('<') ? readXml(text, context.url) : readText(text, context.url);
  } catch (thrown) {
    throw toCrawlError(thrown, 'CRAWL_SITEMAP_INVALID', `The sitemap ${context.url} cannot be read`, {
      url: context.url,
    });
  }
}

function readText(text: string, url: string): Sitemap {
  const { entries, whole } = readTextList(text, url);
  return whole ? { type: 'text', entries } : { type: 'text', entries, partial: true };
}

function readXml(text: string, url: string): Sitemap {
  let found: { readonly type: SitemapType; readonly collector: Collector } | undefined;
  const whole = walkXml(text, url, (root) => {
    found = collectorFor(root, url);
    return found.collector;
  });
  const { type, collector } = found as NonNullable<typeof found>;
  const { entries } = collector;
  if (whole && !collector.full) return { type, entries };
  if (entries.length === 0) throw invalid(url, 'is cut off before its first entry');
  return { type, entries, partial: true };
}

function collectorFor(root: string, url: string): { readonly type: SitemapType; readonly collector: Collector } {
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
