import { type Draft, type SitemapEntry, setUrl } from './entry.ts';
import { addEntry } from './urlset.ts';
import { invalid } from './xml.ts';

/**
 * The URLs of a text sitemap: one absolute URL a line, blank lines passed over.
 * @throws CrawlError `CRAWL_SITEMAP_INVALID` where fewer than half of the lines are URLs: that is some other text, such
 * as a robots.txt.
 */
export function readTextList(text: string, url: string): { entries: SitemapEntry[]; whole: boolean } {
  const entries: SitemapEntry[] = [];
  let others = 0;
  let whole = true;
  for (const [raw] of text.matchAll(/[^\r\n]+/g)) {
    const line = raw.trim();
    if (line === '') continue;
    const entry: Draft<SitemapEntry> = {};
    if (!/\s/.test(line)) setUrl(entry, line);
    if (entry.url === undefined) others++;
    else if (!addEntry(entries, entry)) whole = false;
  }
  if (entries.length === 0) throw invalid(url, others === 0 ? 'is empty' : 'holds neither XML nor lines that are URLs');
  if (others > entries.length) throw invalid(url, 'is a text of which only some lines are URLs');
  return { entries, whole };
}
