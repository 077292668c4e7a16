import { GT, type NameTable } from './names.ts';
import type { MarkupReader } from './reader.ts';
import type { References } from './references.ts';
import { FIRST_LINK, LINK_FIELDS, type VectorCode, vectorCode, WINDOW } from './vector-code.ts';

/** A window that is used less is not filled anew: what can't be passed over may stand at its end, and be long. */
const USED_UP = WINDOW / 2;
/** To pass over less than this costs more than it saves. */
const WORTH_WHILE = 16;
/** So many tags are left to others, at most, after one that was not worth while. */
const MOST_LEFT = 31;

/** What is not to be passed over, besides what always is not. */
export const SKIP = {
  /** End tags of forms. */
  formIsOpen: 1,
  /** Tags with a `style` attribute. */
  styleCounts: 2,
} as const;
/** The same of end tags of links; what it passes itself it knows. */
const TEXT_IS_OPEN = 4;

/** Whose text the window holds, by number: to hold on to a skipper would be to hold on to its page. */
let windowOf = 0;
let skippers = 0;
/** Whose names the table holds. */
let namesOf: NameTable | undefined;

/**
 * Passes over text, tags of no interest and links, which it adds, with vector instructions, in less than half the time of a
 * loop over single characters. Where there are none it passes over nothing.
 */
export class TagSkipper {
  readonly #reader: MarkupReader;
  readonly #names: NameTable;
  readonly #references: References;
  readonly #source: number;
  readonly #code: VectorCode | undefined = vectorCode();
  readonly #isWhole: boolean;
  readonly #number = ++skippers;
  /** What part of the text the code sees. */
  #start = 0;
  #end = 0;
  /** Where its last `>` stands; before the start where it has none. */
  #last = -1;
  #address = 0;
  /** Tags that are left to others now, and how many the next time. */
  #leaves = 0;
  #leavesNext = 1;

  /**
   * @param names - Of the elements that are not to be passed over, but for links; some others are not either.
   * @param source - Of links.
   */
  constructor(reader: MarkupReader, names: NameTable, references: References, source: number) {
    this.#reader = reader;
    this.#names = names;
    this.#references = references;
    this.#source = source;
    const code = this.#code;
    this.#isWhole = reader.codes === code?.document;
    if (code === undefined || !this.#isWhole) return;
    this.#end = reader.html.length;
    this.#last = reader.lastGt;
    this.#address = code.document.byteOffset;
  }

  /**
   * From a place in the body that is not within a tag to the next `<` that must be looked at, or not as far.
   * @param until - It does not begin with what stands much further.
   * @param flags - Of {@link SKIP}.
   */
  skip(at: number, until: number, flags: number): number {
    const code = this.#code;
    if (code === undefined) return at;
    if (this.#leaves > 0) {
      this.#leaves--;
      return at;
    }
    const next = this.#skip(code, at, until, flags);
    if (next - at >= WORTH_WHILE) this.#leavesNext = 1;
    else {
      this.#leaves = this.#leavesNext;
      this.#leavesNext = Math.min(this.#leavesNext * 2, MOST_LEFT);
    }
    return next;
  }

  #skip(code: VectorCode, from: number, until: number, flags: number): number {
    let at = from;
    if (namesOf !== this.#names) {
      this.#names.beginnings(code.names);
      namesOf = this.#names;
    }
    if (!this.#isWhole && (windowOf !== this.#number || at >= this.#end)) this.#fill(code, at);
    while (at < this.#last) {
      const zero = this.#address - this.#start * 2;
      const all = this.#references.textIsOpen ? flags | TEXT_IS_OPEN : flags;
      at = (code.skip(zero + at * 2, zero + this.#last * 2, all) - zero) >> 1;
      if (code.links[0] !== 0) this.#add(code.links, zero);
      const isDone = this.#isWhole || at < this.#last || at >= until;
      if (isDone || at - this.#start < USED_UP || this.#end === this.#reader.html.length) return at;
      this.#fill(code, at);
    }
    return at;
  }

  #add(links: Int32Array, zero: number): void {
    const references = this.#references;
    const end = FIRST_LINK + (links[0] as number) * LINK_FIELDS;
    for (let at = FIRST_LINK; at < end; at += LINK_FIELDS) {
      const placeOf = (field: number): number => {
        const address = links[at + field] as number;
        return address === 0 ? -1 : (address - zero) >> 1;
      };
      references.add(placeOf(0), placeOf(1), this.#source, placeOf(2), placeOf(3));
      references.openText(placeOf(4));
      if (links[at + 5] !== 0) references.closeText(placeOf(5));
    }
  }

  #fill({ window }: VectorCode, at: number): void {
    windowOf = this.#number;
    const { codes, html } = this.#reader;
    this.#start = at;
    this.#end = Math.min(at + WINDOW, html.length);
    const part = codes.subarray(at, this.#end);
    window.set(part);
    this.#last = at + part.lastIndexOf(GT);
    this.#address = window.byteOffset;
  }
}
