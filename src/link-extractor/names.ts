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

/** White space as HTML counts it. */
export function isSpace(code: number): boolean {
  return code < 64 && ENDS_NAME[code] === 1;
}

export function isLetter(code: number): boolean {
  const lower = code | 32;
  return lower >= 97 && lower <= 122;
}

/**
 * Names that are to be recognised where they stand in a text, in any case, without cutting them out.
 * The numbers given to them count from 1, in the order of the list; 0 is a name that is not in it.
 */
export class NameTable {
  readonly #names: readonly string[];
  readonly #buckets: Uint8Array = new Uint8Array(512);
  readonly #next: Uint8Array;

  /** @param names - At most 255, in lower case. */
  constructor(names: readonly string[]) {
    this.#names = names;
    this.#next = new Uint8Array(names.length + 1);
    names.forEach((name, index) => {
      let hash = name.charCodeAt(0);
      for (let at = 1; at < name.length; at++) hash = hashStep(hash, name.charCodeAt(at));
      const bucket = (hash ^ (hash >>> 9)) & 511;
      this.#next[index + 1] = this.#buckets[bucket] ?? 0;
      this.#buckets[bucket] = index + 1;
    });
  }

  /** @param hash - Of the characters from `start` to `end`, by {@link hashStep}, beginning with `code | 32`. */
  find(text: string, start: number, end: number, hash: number): number {
    let id = this.#buckets[(hash ^ (hash >>> 9)) & 511] as number;
    while (id !== 0 && !isName(text, start, end, this.#names[id - 1] as string)) id = this.#next[id] as number;
    return id;
  }

  /** The number of a name in lower case. */
  idOf(name: string): number {
    return this.#names.indexOf(name) + 1;
  }
}

/** Takes one character more into a hash that does not tell upper from lower case. */
export function hashStep(hash: number, code: number): number {
  return (Math.imul(hash, 31) + (code | 32)) | 0;
}

/** Whether `name`, in lower case, stands from `start` to `end`, in any case. */
export function isName(text: string, start: number, end: number, name: string): boolean {
  return end - start === name.length && startsWithName(text, start, name);
}

/** Whether `name`, in lower case, begins at `start`, in any case. */
export function startsWithName(text: string, start: number, name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    let code = text.charCodeAt(start + at);
    if (code >= 65 && code <= 90) code |= 32;
    if (code !== name.charCodeAt(at)) return false;
  }
  return true;
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
  'color',
  'face',
  'size',
] as const;

export type AttributeName = (typeof ATTRIBUTES)[number];

export const ATTRIBUTE_COUNT: number = ATTRIBUTES.length + 1;
export const ATTRIBUTE_TABLE: NameTable = new NameTable(ATTRIBUTES);

/** The number of an attribute. */
export function attribute(name: AttributeName): number {
  return ATTRIBUTE_TABLE.idOf(name);
}
