import type { Link } from '../types.ts';
import { IFRAME_SRCDOC } from './collector.ts';
import { decodeAttribute } from './entities.ts';
import { hashText } from './hashing.ts';
import { textOf } from './link-text.ts';
import { SPACE } from './names.ts';
import type { MarkupReader } from './reader.ts';
import { NEW, ReferenceTable, UNTOLD } from './reference-table.ts';
import { END, FIELDS, REL_END, REL_START, type References, SOURCE, TEXT_END, TEXT_START } from './references.ts';
import { NO_REL, relOf } from './relations.ts';
import type { Resolver } from './resolver.ts';
import { UrlTable } from './url-table.ts';

/** Most characters of a link's text. */
export const MOST_LINK_TEXT = 1000;
/** Longest reference that is resolved, in characters: far longer than any URL that a server takes. */
const LONGEST_REFERENCE = 65_536;
/** Schemes that hold what they refer to: such references are long by nature, and lead nowhere. */
const HOLDS_ALL = /^[\0- ]*(?:data|javascript):/i;
/** References told apart by their decoded text, of one source. */
const MOST_BY_TEXT = 100_000;
const LONGEST_SCHEME = 64;
/** Instead of the number of a link, for a reference that makes none. */
const NOWHERE = -1;

type Building = { -readonly [Key in keyof Link]: Link[Key] };

/** Links of one source. */
class SourceIndex {
  readonly source: string;
  readonly hash: number;
  /** By reference, the numbers of links, for those that do not stand in the text as they are. */
  byReference: Map<string, number> | undefined;

  constructor(source: string) {
    this.source = source;
    this.hash = hashText(source);
  }
}

/** References of one text that are being made links of. */
interface Batch {
  readonly reader: MarkupReader;
  readonly found: References;
  readonly resolver: Resolver;
  readonly onDocument: ((html: string) => void) | undefined;
  /** With each reference the number of its link, or {@link NOWHERE}. */
  readonly table: ReferenceTable;
  /** The one source of all, where the text is a document within another one. */
  readonly within: SourceIndex | undefined;
  readonly indices: SourceIndex[];
}

/**
 * Makes links of references: each pair of URL and source once, where it came first. A link is `nofollow` only where all
 * of its occurrences are; of texts the first that is not empty counts.
 */
export class LinkList {
  readonly links: Building[] = [];
  /**
   * Different references, as they are written, beyond those that made the most links that were asked for. No more are told
   * apart than the table holds, so that of more some may count twice.
   */
  capped = 0;
  /** References too long to be resolved. */
  tooLong = 0;
  readonly #maxLinks: number;
  readonly #sources = new Map<string, SourceIndex>();
  readonly #urls: UrlTable;

  /** @param depth - As for {@link codesOf}. */
  constructor(maxLinks: number, depth: number) {
    this.#maxLinks = maxLinks;
    this.#urls = new UrlTable(depth);
  }

  /**
   * Takes up what was found in a text.
   * @param onDocument - Is given the documents in `srcdoc` attributes; without it the text is such a document itself.
   * @param atOnce - How many references are taken up in one step.
   */
  *addAll(
    reader: MarkupReader,
    found: References,
    resolver: Resolver,
    onDocument: ((html: string) => void) | undefined,
    atOnce: number,
  ): Generator<void, void, undefined> {
    const within = onDocument === undefined ? this.#index(found.sourceOf(IFRAME_SRCDOC)) : undefined;
    // References as written are known again only where they are relative to the same base.
    within?.byReference?.clear();
    const table = new ReferenceTable(reader.codes, found.count, found.depth);
    const batch = { reader, found, resolver, onDocument, table, within, indices: [] };
    for (let from = 0; from < found.count; ) {
      from = this.#addSome(batch, from, Math.min(found.count, from + atOnce));
      if (from < found.count) yield;
    }
  }

  /** Takes up references by their numbers; returns which comes next: documents are steps of their own. */
  #addSome(batch: Batch, from: number, to: number): number {
    const { reader, found, table, within, indices } = batch;
    const { links } = this;
    const { html } = reader;
    const { items, values } = found;
    for (let at = from * FIELDS; at < to * FIELDS; at += FIELDS) {
      const start = items[at] as number;
      const end = items[at + END] as number;
      const source = items[at + SOURCE] as number;
      if (source === IFRAME_SRCDOC) {
        batch.onDocument?.(values[-start - 1] as string);
        return at / FIELDS + 1;
      }
      if (start >= 0 ? end - start > LONGEST_REFERENCE : (values[-start - 1] as string).length > LONGEST_REFERENCE) {
        const beginning = start < 0 ? (values[-start - 1] as string) : html.slice(start, start + LONGEST_SCHEME);
        if (!HOLDS_ALL.test(beginning)) this.tooLong++;
        continue;
      }
      const told = start < 0 ? UNTOLD : table.find(start, end, source);
      let number = told;
      if (told < NOWHERE) {
        const index = within ?? indices[source] ?? this.#index(found.sourceOf(source));
        indices[source] = index;
        number = this.#addNew(batch, at, told, index);
        if (told === NEW) table.keep(start, source, number);
      } else if (told !== NOWHERE) merge(links[told] as Building, relAt(batch, at));
      if (number === NOWHERE) continue;
      const textStart = items[at + TEXT_START] as number;
      if (textStart < 0) continue;
      const link = links[number] as Building;
      if (link.text !== undefined && link.text !== '') continue;
      const textEnd = items[at + TEXT_END] as number;
      link.text = textOf(reader, textStart, textEnd < 0 ? html.length : textEnd, MOST_LINK_TEXT);
    }
    return to;
  }

  /**
   * The number of the link that a reference makes whose text was not seen before, as far as that can be told, or
   * {@link NOWHERE}.
   */
  #addNew(batch: Batch, at: number, told: number, index: SourceIndex): number {
    const { reader, found, resolver, table } = batch;
    const start = found.items[at] as number;
    const hasText = (found.items[at + TEXT_START] as number) >= 0;
    if (start >= 0 && this.#isFull) {
      // Resolving them would cost the more the more there are, for links that are left out.
      this.capped++;
      return NOWHERE;
    }
    if (told === NEW && !table.isEncoded) {
      const url = resolver.resolveAt(reader.html, reader.codes, start, table.end);
      return url === null ? NOWHERE : this.#take(url, resolver.hash, index, relAt(batch, at), hasText);
    }
    const value =
      start < 0
        ? (found.values[-start - 1] as string)
        : decodeAttribute(reader.html.slice(start, found.items[at + END]));
    return this.#add(withoutFragment(value), index, relAt(batch, at), resolver, hasText);
  }

  get #isFull(): boolean {
    return this.links.length >= this.#maxLinks;
  }

  /** Takes up one reference that is as it should be. */
  add(reference: string, source: string, rel: readonly string[], resolver: Resolver): void {
    this.#add(withoutFragment(reference), this.#index(source), rel, resolver, false);
  }

  #add(reference: string, index: SourceIndex, rel: readonly string[], resolver: Resolver, hasText: boolean): number {
    index.byReference ??= new Map();
    let number = index.byReference.get(reference);
    if (number === undefined) {
      number = NOWHERE;
      if (this.#isFull) this.capped++;
      else {
        const url = resolver.resolve(reference);
        if (url !== null) number = this.#take(url, resolver.hash, index, rel, hasText);
      }
      if (index.byReference.size < MOST_BY_TEXT) index.byReference.set(reference, number);
    } else if (number !== NOWHERE) merge(this.links[number] as Building, rel);
    return number;
  }

  /** The number of the link that a reference new to a source makes. */
  #take(url: string, hash: number, index: SourceIndex, rel: readonly string[], hasText: boolean): number {
    const { source } = index;
    for (let number = this.#urls.first(hash ^ index.hash); number >= 0; number = this.#urls.next()) {
      const known = this.links[number] as Building;
      if (known.url !== url || known.source !== source) continue;
      merge(known, rel);
      return number;
    }
    this.#urls.add();
    const nofollow = isNofollow(rel);
    // A property that is added later takes memory of its own.
    this.links.push(hasText ? { url, source, rel, nofollow, text: '' } : { url, source, rel, nofollow });
    return this.links.length - 1;
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

/** What the `rel` attribute of a reference says. */
function relAt({ reader, found }: Batch, at: number): readonly string[] {
  const start = found.items[at + REL_START] as number;
  return start < 0 ? NO_REL : relOf(reader.html.slice(start, found.items[at + REL_END])).tokens;
}

function merge(link: Building, rel: readonly string[]): void {
  if (link.nofollow && !isNofollow(rel)) link.nofollow = false;
}

function isNofollow(rel: readonly string[]): boolean {
  return rel.length > 0 && rel.includes('nofollow');
}

/** References to one document become one; the `#` stays where without it white space would be at the end, and be lost. */
function withoutFragment(reference: string): string {
  const hash = reference.indexOf('#');
  if (hash < 0) return reference;
  return reference.slice(0, hash > 0 && reference.charCodeAt(hash - 1) <= SPACE ? hash + 1 : hash);
}
