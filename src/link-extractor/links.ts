import type { Link } from '../types.ts';
import { IFRAME_SRCDOC } from './collector.ts';
import { decodeAttribute } from './entities.ts';
import { hashText } from './hashing.ts';
import { textOf } from './link-text.ts';
import type { MarkupReader } from './reader.ts';
import { ENCODED, NEW, ReferenceTable } from './reference-table.ts';
import { END, FIELDS, REL_END, REL_START, type References, SOURCE, TEXT_END, TEXT_START } from './references.ts';
import { NO_REL, relOf } from './relations.ts';
import type { Resolver } from './resolver.ts';
import { UrlTable } from './url-table.ts';

/** Most characters of a link's text. */
export const MOST_LINK_TEXT = 1000;

type Building = { -readonly [Key in keyof Link]: Link[Key] };

/** Links of one source. */
class SourceIndex {
  readonly source: string;
  readonly hash: number;
  /** By reference, for those that do not stand in the text as they are; `null` where one leads nowhere. */
  readonly byReference = new Map<string, Building | null>();

  constructor(source: string) {
    this.source = source;
    this.hash = hashText(source);
  }
}

/**
 * Makes links of references: each pair of URL and source once, where it came first. A link is `nofollow` only where all
 * of its occurrences are; of texts the first that is not empty counts.
 */
export class LinkList {
  readonly links: Building[] = [];
  /** References beyond those that made the most links that were asked for; equal ones count once. */
  capped = 0;
  readonly #maxLinks: number;
  readonly #sources = new Map<string, SourceIndex>();
  readonly #urls = new UrlTable();

  constructor(maxLinks: number) {
    this.#maxLinks = maxLinks;
  }

  /**
   * Takes up what was found in a text.
   * @param onDocument - Is given the documents in `srcdoc` attributes; without it the text is such a document itself.
   */
  addAll(
    reader: MarkupReader,
    found: References,
    resolver: Resolver,
    onDocument: ((html: string) => void) | undefined,
  ): void {
    const { html, codes } = reader;
    const { items, count, values } = found;
    const table = new ReferenceTable(codes, count, onDocument === undefined ? 1 : 0);
    const links: (Building | null)[] = [];
    const within = onDocument === undefined ? this.#index(found.sourceOf(IFRAME_SRCDOC)) : undefined;
    // References as written are known again only where they are relative to the same base.
    within?.byReference.clear();
    const indices: SourceIndex[] = [];
    for (let at = 0; at < count * FIELDS; at += FIELDS) {
      const start = items[at] as number;
      const end = items[at + END] as number;
      const source = items[at + SOURCE] as number;
      if (source === IFRAME_SRCDOC) {
        onDocument?.(values[-start - 1] as string);
        continue;
      }
      const index = within ?? indices[source] ?? this.#index(found.sourceOf(source));
      indices[source] = index;
      const relStart = items[at + REL_START] as number;
      const rel = relStart < 0 ? NO_REL : relOf(html.slice(relStart, items[at + REL_END])).tokens;
      const number = start < 0 ? ENCODED : table.find(start, end, source);
      let link: Building | null;
      if (number >= 0) {
        link = links[number] as Building | null;
        if (link !== null) merge(link, rel);
      } else if (number === NEW) {
        link = this.#take(resolver.resolveAt(html, codes, start, table.end), resolver.hash, index, rel);
        table.keep(start, source);
        links.push(link);
      } else {
        const value = start < 0 ? (values[-start - 1] as string) : decodeAttribute(html.slice(start, end));
        link = this.#add(withoutFragment(value), index, rel, resolver);
      }
      const textStart = items[at + TEXT_START] as number;
      if (textStart < 0 || link === null || (link.text !== undefined && link.text !== '')) continue;
      const textEnd = items[at + TEXT_END] as number;
      link.text = textOf(reader, textStart, textEnd < 0 ? html.length : textEnd, MOST_LINK_TEXT);
    }
  }

  /** Takes up one reference that is as it should be. */
  add(reference: string, source: string, rel: readonly string[], resolver: Resolver): void {
    const hash = reference.indexOf('#');
    this.#add(hash < 0 ? reference : reference.slice(0, hash), this.#index(source), rel, resolver);
  }

  #add(reference: string, index: SourceIndex, rel: readonly string[], resolver: Resolver): Building | null {
    let link = index.byReference.get(reference);
    if (link === undefined) {
      link = this.#take(resolver.resolve(reference), resolver.hash, index, rel);
      index.byReference.set(reference, link);
    } else if (link !== null) merge(link, rel);
    return link;
  }

  /** The link that a reference new to a source makes, if any. */
  #take(url: string | null, hash: number, index: SourceIndex, rel: readonly string[]): Building | null {
    if (url === null) return null;
    const { source } = index;
    for (let number = this.#urls.first(hash ^ index.hash); number >= 0; number = this.#urls.next()) {
      const known = this.links[number] as Building;
      if (known.url !== url || known.source !== source) continue;
      merge(known, rel);
      return known;
    }
    if (this.links.length >= this.#maxLinks) {
      this.capped++;
      return null;
    }
    this.#urls.add();
    const link = { url, source, rel, nofollow: isNofollow(rel) };
    this.links.push(link);
    return link;
  }

  #index(source: string): SourceIndex {
    let index = this.#sources.get(source);
    if (index === undefined) {
      index = new SourceIndex(source);
      this.#sources.set(source, index);
    }
    return index;
  }

  /** The page asks that none of its links be followed; what names the page's other versions is not meant. */
  forbidAll(): void {
    for (const link of this.links) {
      const isVersion = link.rel.includes('canonical') || link.rel.includes('alternate');
      if (!isVersion || (link.source !== 'link/href' && link.source !== 'header/link')) link.nofollow = true;
    }
  }
}

function merge(link: Building, rel: readonly string[]): void {
  if (link.nofollow && !isNofollow(rel)) link.nofollow = false;
}

function isNofollow(rel: readonly string[]): boolean {
  return rel.length > 0 && rel.includes('nofollow');
}

function withoutFragment(reference: string): string {
  const hash = reference.indexOf('#');
  return hash < 0 ? reference : reference.slice(0, hash);
}
