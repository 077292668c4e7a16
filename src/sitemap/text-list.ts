import { type Draft, type SitemapEntry, setUrl } from './entry.ts';
import { addEntry, MAX_ENTRIES } from './urlset.ts';
import { invalid } from './xml.ts';

/** Reads a text sitemap part by part: one absolute URL a line, blank lines passed over. */
export class TextListReader {
  readonly entries: SitemapEntry[] = [];
  /** Whether no more is wanted. */
  done = false;
  readonly #url: string;
  /** Lines that are no URLs. */
  #others = 0;
  /** The beginning of a line whose end has not come. */
  #open: string[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  /** @throws CrawlError `CRAWL_SITEMAP_INVALID` once there are more other lines than there can be URLs. */
  write(part: string): void {
    const end = Math.max(part.lastIndexOf('\n'), part.lastIndexOf('\r')) + 1;
    if (end > 0) {
      const lines = this.#open.join('') + part.slice(0, end);
      this.#open = [];
      this.#read(lines);
    }
    if (end < part.length) this.#open.push(part.slice(end));
  }

  /**
   * @returns whether nothing was left out.
   * @throws CrawlError `CRAWL_SITEMAP_INVALID` where fewer than half of the lines are URLs: that is some other text, such
   * as a robots.txt.
   */
  end(): boolean {
    if (!this.done) this.#read(this.#open.join(''));
    const { length } = this.entries;
    if (length > 0 && this.#others <= length) return !this.done;
    if (length > 0) throw this.#otherText();
    throw invalid(this.#url, this.#others === 0 ? 'is empty' : 'holds neither XML nor lines that are URLs');
  }

  #read(lines: string): void {
    for (const [raw] of lines.matchAll(/[^\r\n]+/g)) {
      const line = raw.trim();
      if (line === '') continue;
      const entry: Draft<SitemapEntry> = {};
      if (!/\s/.test(line)) setUrl(entry, line);
      if (entry.url === undefined) {
        if (++this.#others > MAX_ENTRIES) throw this.#otherText();
      } else if (!addEntry(this.entries, entry)) {
        this.done = true;
        return;
      }
    }
  }

  #otherText(): Error {
    return invalid(
      this.#url,
      this.entries.length === 0
        ? 'holds neither XML nor lines that are URLs'
        : 'is a text of which only some lines are URLs',
    );
  }
}
