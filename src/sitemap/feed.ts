import { parseAnyDate, parseW3cDate } from '../headers.ts';
import { type Draft, type SitemapEntry, setUrl, toChangeDate } from './entry.ts';
import { addEntry, set } from './urlset.ts';
import type { XmlVisitor } from './xml.ts';

/** Collects the items of an RSS feed: those of its channel, or of the root in RSS 1.0. */
export class RssVisitor implements XmlVisitor {
  readonly entries: SitemapEntry[] = [];
  full = false;
  readonly #url: string;
  readonly #now: number;
  #item: Draft<SitemapEntry> | undefined;
  #itemDepth = 0;
  #permalink = false;
  #guid = '';

  constructor(url: string, now: number) {
    this.#url = url;
    this.#now = now;
  }

  open(name: string, attribute: (name: string) => string | undefined, depth: number): void {
    if (this.#item === undefined && name === 'item' && depth <= 2) {
      this.#item = {};
      this.#itemDepth = depth;
      this.#guid = '';
    }
    if (name === 'guid') this.#permalink = attribute('isPermaLink')?.trim().toLowerCase() !== 'false';
  }

  close(name: string, _parent: string, text: string, depth: number): void {
    const item = this.#item;
    if (item === undefined) return;
    if (depth === this.#itemDepth) {
      // A permanent link is a link, where there is no other.
      setUrl(item, this.#guid);
      this.full = !addEntry(this.entries, item);
      this.#item = undefined;
    } else if (depth !== this.#itemDepth + 1) return;
    else if (name === 'link') setUrl(item, text, this.#url);
    else if (name === 'guid' && this.#permalink) this.#guid = text;
    else if (name === 'pubDate' || name === 'dc:date') {
      set(item, 'lastmod', toChangeDate(parseAnyDate(text.trim(), this.#now), this.#now));
    }
  }
}

/** Collects the entries of an Atom feed. */
export class AtomVisitor implements XmlVisitor {
  readonly entries: SitemapEntry[] = [];
  full = false;
  readonly #now: number;
  readonly #url: string;
  #feedBase: string;
  #base: string;
  #entry: Draft<SitemapEntry> | undefined;
  #published: Date | undefined;

  constructor(url: string, now: number) {
    this.#url = url;
    this.#feedBase = url;
    this.#base = url;
    this.#now = now;
  }

  open(name: string, attribute: (name: string) => string | undefined, depth: number): void {
    if (depth === 0) this.#feedBase = rebase(this.#url, attribute('xml:base'));
    if (depth === 1 && name === 'entry') {
      this.#entry = {};
      this.#published = undefined;
      this.#base = rebase(this.#feedBase, attribute('xml:base'));
    }
    if (depth !== 2 || name !== 'link' || this.#entry === undefined) return;
    const rel = attribute('rel')?.trim().toLowerCase() ?? 'alternate';
    if (rel === 'alternate') setUrl(this.#entry, attribute('href') ?? '', rebase(this.#base, attribute('xml:base')));
  }

  close(name: string, _parent: string, text: string, depth: number): void {
    const entry = this.#entry;
    if (entry === undefined) return;
    if (depth === 1) {
      set(entry, 'lastmod', this.#published);
      this.full = !addEntry(this.entries, entry);
      this.#entry = undefined;
    } else if (depth === 2 && name === 'updated') {
      set(entry, 'lastmod', toChangeDate(parseW3cDate(text.trim()), this.#now));
    } else if (depth === 2 && name === 'published') {
      this.#published = toChangeDate(parseW3cDate(text.trim()), this.#now);
    }
  }
}

function rebase(base: string, reference: string | undefined): string {
  return reference !== undefined && URL.canParse(reference, base) ? new URL(reference, base).href : base;
}
