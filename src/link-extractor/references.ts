import { STATIC_SOURCES } from './rules.ts';

/** How many numbers a reference takes in {@link References.items}. */
export const REFERENCE_FIELDS = 6;

/** What a `<meta>` with a name says. */
export interface NamedMeta {
  /** In lower case. */
  readonly name: string;
  readonly content: string;
}

/**
 * What a scan found, in document order and unresolved: whether a `<base>` comes is known only at the end, and most
 * references are repeated, so that resolving, decoding and cutting out wait.
 */
export class References {
  /**
   * {@link REFERENCE_FIELDS} numbers each: start and end of the value, source, start and end of `rel` (-1: none), start
   * of the link's text (-1: has none; its end is in `textEnds`). A negative start `-n - 1` is the value `values[n]`.
   */
  readonly items: number[] = [];
  readonly values: string[] = [];
  /** End of the text of each reference. */
  readonly textEnds: number[] = [];
  /** Sources that are not among the usual ones, such as `my-element/style`; their numbers follow those. */
  readonly #sources: string[] = [];
  #sourceIds: Map<string, number> | undefined;

  /** Content of the first `<title>`. */
  titleStart = -1;
  titleEnd = -1;
  /** Value of the first `<base href>`. */
  base: string | undefined;
  readonly canonicals: string[] = [];
  readonly metas: NamedMeta[] = [];
  #openText = -1;

  get count(): number {
    return this.textEnds.length;
  }

  /** The number of a source. */
  sourceId(source: string): number {
    this.#sourceIds ??= new Map();
    let id = this.#sourceIds.get(source);
    if (id === undefined) {
      id = STATIC_SOURCES.length + this.#sources.push(source) - 1;
      this.#sourceIds.set(source, id);
    }
    return id;
  }

  /** What the number of a source means. */
  sourceOf(id: number): string {
    return (id < STATIC_SOURCES.length ? STATIC_SOURCES[id] : this.#sources[id - STATIC_SOURCES.length]) as string;
  }

  /** A value that stands in the text. */
  add(start: number, end: number, source: number, relStart: number, relEnd: number): void {
    this.items.push(start, end, source, relStart, relEnd, -1);
    this.textEnds.push(-1);
  }

  /** A value that was decoded, or cut out of a list. */
  addValue(value: string, source: number, relStart: number, relEnd: number): void {
    this.values.push(value);
    this.add(-this.values.length, 0, source, relStart, relEnd);
  }

  /** The reference added last has its text from here to where {@link closeText} is called. */
  openText(start: number): void {
    this.#openText = this.textEnds.length - 1;
    this.items[this.items.length - 1] = start;
  }

  closeText(end: number): void {
    if (this.#openText < 0) return;
    this.textEnds[this.#openText] = end;
    this.#openText = -1;
  }

  /** What {@link rewind} needs to forget everything that is found from now on. */
  mark(): ReferencesMark {
    const { count, titleStart, titleEnd, base } = this;
    return { count, titleStart, titleEnd, base, canonicals: this.canonicals.length, metas: this.metas.length };
  }

  rewind(mark: ReferencesMark): void {
    this.items.length = mark.count * REFERENCE_FIELDS;
    this.textEnds.length = mark.count;
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
