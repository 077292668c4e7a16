import { OWN_MEMORY } from './codes.ts';
import { STATIC_SOURCES } from './rules.ts';

/** How many numbers a reference takes in {@link References.items}, and which they are; the first is its start. */
export const FIELDS = 7;
export const END = 1;
export const SOURCE = 2;
export const REL_START = 3;
export const REL_END = 4;
export const TEXT_START = 5;
export const TEXT_END = 6;

/** Sources that are not among the usual ones have numbers from here on: of those there may be more at any time. */
const FIRST_OTHER = 512;

/** What a `<meta>` with a name says. */
export interface NamedMeta {
  /** In lower case. */
  readonly name: string;
  readonly content: string;
}

/** Memory for references that is kept for the next document, by depth. */
const kept: Int32Array[] = [];
const MOST_KEPT = FIELDS * 65_536;

/**
 * What a scan found, in document order and unresolved: whether a `<base>` comes is known only at the end, and most
 * references are repeated, so that resolving, decoding and cutting out wait.
 */
export class References {
  /**
   * {@link FIELDS} numbers each, positions but for the source; those of `rel` and of the text are -1 where there is none.
   * A negative start `-n - 1` is the value `values[n]`.
   */
  items: Int32Array;
  count = 0;
  readonly values: string[] = [];
  /** Sources that are not among the usual ones, such as `my-element/style`. */
  readonly #sources: string[] = [];
  #sourceIds: Map<string, number> | undefined;

  /** Content of the first `<title>`. */
  titleStart = -1;
  titleEnd = -1;
  /** Value of the first `<base href>`. */
  base: string | undefined;
  readonly canonicals: string[] = [];
  readonly metas: NamedMeta[] = [];
  /** Where the end of the text goes that is open, in `items`. */
  #openText = -1;

  readonly depth: number;

  /** @param depth - As for `codesOf`; what was found before at this depth is lost. */
  constructor(depth: number) {
    this.depth = depth;
    this.items = kept[depth] ?? new Int32Array(FIELDS * 256);
    if (depth !== OWN_MEMORY) kept[depth] = this.items;
  }

  /** The number of a source. */
  sourceId(source: string): number {
    this.#sourceIds ??= new Map();
    let id = this.#sourceIds.get(source);
    if (id === undefined) {
      id = FIRST_OTHER + this.#sources.push(source) - 1;
      this.#sourceIds.set(source, id);
    }
    return id;
  }

  /** What the number of a source means. */
  sourceOf(id: number): string {
    return (id < FIRST_OTHER ? STATIC_SOURCES[id] : this.#sources[id - FIRST_OTHER]) as string;
  }

  /** A value that stands in the text. */
  add(start: number, end: number, source: number, relStart: number, relEnd: number): void {
    const at = this.count * FIELDS;
    if (at === this.items.length) this.#grow();
    const { items } = this;
    items[at] = start;
    items[at + END] = end;
    items[at + SOURCE] = source;
    items[at + REL_START] = relStart;
    items[at + REL_END] = relEnd;
    items[at + TEXT_START] = -1;
    items[at + TEXT_END] = -1;
    this.count++;
  }

  #grow(): void {
    const items = new Int32Array(this.items.length * 2);
    items.set(this.items);
    this.items = items;
    if (items.length <= MOST_KEPT && this.depth !== OWN_MEMORY) kept[this.depth] = items;
  }

  /** A value that was decoded, or cut out of a list. */
  addValue(value: string, source: number, relStart: number, relEnd: number): void {
    this.values.push(value);
    this.add(-this.values.length, 0, source, relStart, relEnd);
  }

  /** The reference added last has its text from here to where {@link closeText} is called. */
  openText(start: number): void {
    const at = (this.count - 1) * FIELDS;
    this.items[at + TEXT_START] = start;
    this.#openText = at + TEXT_END;
  }

  get textIsOpen(): boolean {
    return this.#openText >= 0;
  }

  closeText(end: number): void {
    if (this.#openText < 0) return;
    this.items[this.#openText] = end;
    this.#openText = -1;
  }

  /** What {@link rewind} needs to forget everything that is found from now on. */
  mark(): ReferencesMark {
    const { count, titleStart, titleEnd, base } = this;
    return { count, titleStart, titleEnd, base, canonicals: this.canonicals.length, metas: this.metas.length };
  }

  /** Forgets what was found since, but for references of the root element, which is there whatever becomes of others. */
  rewind(mark: ReferencesMark): void {
    const found = this.count;
    this.count = mark.count;
    for (let number = mark.count; number < found; number++) {
      const at = number * FIELDS;
      if (!this.sourceOf(this.items[at + SOURCE] as number).startsWith('html/')) continue;
      this.items.copyWithin(this.count * FIELDS, at, at + FIELDS);
      this.count++;
    }
    this.titleStart = mark.titleStart;
    this.titleEnd = mark.titleEnd;
    this.base = mark.base;
    this.canonicals.length = mark.canonicals;
    this.metas.length = mark.metas;
    this.#openText = -1;
  }
}

export interface ReferencesMark {
  readonly count: number;
  readonly titleStart: number;
  readonly titleEnd: number;
  readonly base: string | undefined;
  readonly canonicals: number;
  readonly metas: number;
}
