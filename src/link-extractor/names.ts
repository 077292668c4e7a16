/** Character codes the scanner looks for. */
export const TAB = 9;
export const LF = 10;
export const FF = 12;
export const CR = 13;
export const SPACE = 32;
export const BANG = 33;
export const QUOTE = 34;
export const APOSTROPHE = 39;
export const SLASH = 47;
export const LT = 60;
export const EQUALS = 61;
export const GT = 62;
export const QUESTION = 63;

/** By code: 1 white space, 2 `/` and `>`, which end a tag's name too, 4 `=`, which ends the name of an attribute only. */
export const ENDS_NAME: Uint8Array = new Uint8Array(64);
for (const code of [TAB, LF, FF, CR, SPACE]) ENDS_NAME[code] = 1;
ENDS_NAME[SLASH] = 2;
ENDS_NAME[GT] = 2;
ENDS_NAME[EQUALS] = 4;

/** The five low bits of the characters that end a tag's name. */
const END_CODES: readonly number[] = [TAB, LF, FF, CR, SPACE, SLASH, GT].map((code) => code & 31);

/** White space as HTML counts it. */
export function isSpace(code: number): boolean {
  return code < 64 && ENDS_NAME[code] === 1;
}

export function isLetter(code: number): boolean {
  const lower = code | 32;
  return lower >= 97 && lower <= 122;
}

/**
 * Names that are to be recognised where they stand in a text, by its character codes, in any case, without cutting
 * them out.
 * The numbers given to them count from 1, in the order of the list; 0 is a name that is not in it.
 */
export class NameTable {
  readonly #names: readonly string[];
  /** The characters of all names, and by number where those of one begin. */
  readonly #codes: Uint16Array;
  readonly #starts: Uint16Array;
  readonly #buckets: Uint8Array = new Uint8Array(512);
  readonly #next: Uint8Array;

  /** @param names - At most 255, in lower case. */
  constructor(names: readonly string[]) {
    this.#names = names;
    this.#next = new Uint8Array(names.length + 1);
    this.#codes = Uint16Array.from(names.join(''), (char) => char.charCodeAt(0));
    this.#starts = new Uint16Array(names.length + 2);
    names.forEach((name, index) => {
      const start = this.#starts[index + 1] as number;
      this.#starts[index + 2] = start + name.length;
      const bucket = bucketOf(this.#codes, start, start + name.length);
      this.#next[index + 1] = this.#buckets[bucket] ?? 0;
      this.#buckets[bucket] = index + 1;
    });
  }

  /** The number of the name that stands from `start` to `end`, at least one character. */
  find(codes: Uint16Array, start: number, end: number): number {
    let id = this.#buckets[bucketOf(codes, start, end)] as number;
    while (id !== 0 && !this.#is(id, codes, start, end)) id = this.#next[id] as number;
    return id;
  }

  #is(id: number, codes: Uint16Array, start: number, end: number): boolean {
    const names = this.#codes;
    const first = this.#starts[id] as number;
    if ((this.#starts[id + 1] as number) - first !== end - start) return false;
    for (let at = start, own = first; at < end; at++, own++) {
      const code = codes[at] as number;
      if (code !== names[own] && !(code >= 65 && code <= 90 && (code | 32) === names[own])) return false;
    }
    return true;
  }

  /**
   * By the five low bits of a first letter, the lengths of the names that begin with it, a bit each (of lengths from 32 on
   * the remainder). Most names of a text are none of these, which this tells without looking at the rest of them.
   */
  lengths(): Int32Array {
    const lengths = new Int32Array(32);
    for (const name of this.#names) {
      const letter = name.charCodeAt(0) & 31;
      lengths[letter] = (lengths[letter] as number) | (1 << name.length);
    }
    return lengths;
  }

  /**
   * By the five low bits of the first two characters, of which the first one's count 32, those of the third, a bit each: a
   * superset of the names, which is told by less of them. A name that is shorter has a character behind it that ends it.
   */
  beginnings(bits: Int32Array): void {
    bits.fill(0);
    for (const name of this.#names) {
      const [first, second, third] = [0, 1, 2].map((at) => (at < name.length ? [name.charCodeAt(at) & 31] : END_CODES));
      for (const one of first as number[]) {
        for (const two of second as number[]) {
          const at = one * 32 + two;
          const isOver = name.length === 1;
          for (const three of third as number[]) bits[at] = isOver ? -1 : (bits[at] as number) | (1 << three);
        }
      }
    }
  }

  /** The number of a name in lower case. */
  idOf(name: string): number {
    return this.#names.indexOf(name) + 1;
  }
}

/** A number below 512, the same for upper and lower case. */
function bucketOf(codes: Uint16Array, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + ((codes[at] as number) | 32)) | 0;
  return (hash ^ (hash >>> 9)) & 511;
}

/** Whether `name`, in lower case, stands from `start` to `end`, in any case. */
export function isName(codes: Uint16Array, start: number, end: number, name: string): boolean {
  return end - start === name.length && startsWithName(codes, start, name);
}

/** Whether `name`, in lower case, begins at `start`, in any case. */
export function startsWithName(codes: Uint16Array, start: number, name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    let code = codes[start + at] as number;
    if (code >= 65 && code <= 90) code |= 32;
    if (code !== name.charCodeAt(at)) return false;
  }
  return true;
}

/** A name as it is in the document: in lower case, as far as ASCII goes, and without NUL. */
export function nameOf(written: string): string {
  const clean = written.includes('\0') ? written.replaceAll('\0', '\uFFFD') : written;
  return /[A-Z]/.test(clean) ? clean.replace(/[A-Z]+/g, (upper) => upper.toLowerCase()) : clean;
}

/** Attributes that may matter; their values are noted while a tag is read, those of others are not. */
const ATTRIBUTES = [
  'href',
  'rel',
  'src',
  'xlink:href',
  'type',
  'name',
  'content',
  'http-equiv',
  'style',
  'srcset',
  'imagesrcset',
  'hreflang',
  'media',
  'lang',
  'poster',
  'data',
  'background',
  'method',
  'action',
  'formaction',
  'formmethod',
  'form',
  'srcdoc',
  'cite',
  'longdesc',
  'lowsrc',
  'dynsrc',
  'codebase',
  'archive',
  'code',
  'classid',
  'profile',
  'manifest',
  'encoding',
] as const;

export type AttributeName = (typeof ATTRIBUTES)[number];

export const ATTRIBUTE_COUNT: number = ATTRIBUTES.length + 1;
export const ATTRIBUTE_TABLE: NameTable = new NameTable(ATTRIBUTES);

/** See {@link NameTable.lengths}. */
export const ATTRIBUTE_LENGTHS: Int32Array = ATTRIBUTE_TABLE.lengths();

/** The number of an attribute. */
export function attribute(name: AttributeName): number {
  return ATTRIBUTE_TABLE.idOf(name);
}
