import type { Link } from '../types.ts';
import { IFRAME_SRCDOC } from './collector.ts';
import { decodeAttribute, detached } from './entities.ts';
import { textOf } from './link-text.ts';
import { REFERENCE_FIELDS, type References } from './references.ts';
import type { Resolver } from './resolver.ts';
import { relTokens } from './rules.ts';

/** Most characters of a link's text. */
export const MOST_LINK_TEXT = 1000;

const NO_REL: readonly string[] = Object.freeze([]);

type Building = { -readonly [Key in keyof Link]: Link[Key] };

/** Links by where they come from and where they lead. */
class SourceIndex {
  readonly source: string;
  /** By reference as written; `null` where it leads nowhere. */
  readonly byReference = new Map<string, Building | null>();
  readonly byUrl = new Map<string, Building>();

  constructor(source: string) {
    this.source = source;
  }
}

/**
 * Makes links of references: each pair of URL and source once, where it came first. A link is `nofollow` only where all
 * of its occurrences are; of texts the first that is not empty counts.
 */
export class LinkList {
  readonly links: Building[] = [];
  /** Links beyond the most that were asked for; those that are repeated there count each time. */
  capped = 0;
  readonly #maxLinks: number;
  readonly #sources = new Map<string, SourceIndex>();
  readonly #rels = new Map<string, readonly string[]>();

  constructor(maxLinks: number) {
    this.#maxLinks = maxLinks;
  }

  /**
   * Takes up what was found in a text.
   * @param onDocument - Is given the documents in `srcdoc` attributes; without it the text is such a document itself.
   */
  addAll(html: string, found: References, resolver: Resolver, onDocument: ((html: string) => void) | undefined): void {
    const { items, textEnds, values } = found;
    const within = onDocument === undefined ? this.#index(found.sourceOf(IFRAME_SRCDOC)) : undefined;
    // References as written are known again only where they are relative to the same base.
    within?.byReference.clear();
    const indices: SourceIndex[] = [];
    for (let at = 0, n = 0; at < items.length; at += REFERENCE_FIELDS, n++) {
      const start = items[at] as number;
      const source = items[at + 2] as number;
      if (source === IFRAME_SRCDOC) {
        onDocument?.(values[-start - 1] as string);
        continue;
      }
      const index = within ?? indices[source] ?? this.#index(found.sourceOf(source));
      indices[source] = index;
      const relStart = items[at + 3] as number;
      const rel = relStart < 0 ? NO_REL : this.#rel(html.slice(relStart, items[at + 4]));
      const link = this.#add(referenceAt(html, values, start, items[at + 1] as number), index, rel, resolver);
      const textStart = items[at + 5] as number;
      if (link === null || textStart < 0 || (link.text !== undefined && link.text !== '')) continue;
      const end = textEnds[n] as number;
      link.text = textOf(html, textStart, end < 0 ? html.length : end, MOST_LINK_TEXT);
    }
  }

  /** Takes up one reference that is as it should be. */
  add(reference: string, source: string, rel: readonly string[], resolver: Resolver): void {
    const hash = reference.indexOf('#');
    this.#add(hash < 0 ? reference : reference.slice(0, hash), this.#index(source), rel, resolver);
  }

  #add(reference: string, index: SourceIndex, rel: readonly string[], resolver: Resolver): Building | null {
    const known = index.byReference.get(reference);
    if (known !== undefined) {
      if (known !== null) merge(known, rel);
      return known;
    }
    const url = resolver.resolve(reference);
    let link = url === null ? null : (index.byUrl.get(url) ?? null);
    if (link !== null) {
      merge(link, rel);
    } else if (url !== null) {
      if (this.links.length >= this.#maxLinks) {
        this.capped++;
        return null;
      }
      link = { url, source: index.source, rel, nofollow: isNofollow(rel) };
      this.links.push(link);
      index.byUrl.set(url, link);
    }
    index.byReference.set(reference, link);
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

  #rel(raw: string): readonly string[] {
    let rel = this.#rels.get(raw);
    if (rel === undefined) {
      rel = Object.freeze(relTokens(decodeAttribute(raw)).map(detached));
      this.#rels.set(raw, rel);
    }
    return rel;
  }
}

function merge(link: Building, rel: readonly string[]): void {
  if (link.nofollow && !isNofollow(rel)) link.nofollow = false;
}

function isNofollow(rel: readonly string[]): boolean {
  return rel.length > 0 && rel.includes('nofollow');
}

/** The reference as written, decoded if need be, without fragment. */
function referenceAt(html: string, values: readonly string[], start: number, end: number): string {
  if (start < 0) return withoutFragment(values[-start - 1] as string);
  for (let at = start; at < end; at++) {
    const code = html.charCodeAt(at);
    if (code === 35) return html.slice(start, at);
    if (code === 38 || code === 0) return withoutFragment(decodeAttribute(html.slice(start, end)));
  }
  return html.slice(start, end);
}

function withoutFragment(reference: string): string {
  const hash = reference.indexOf('#');
  return hash < 0 ? reference : reference.slice(0, hash);
}
