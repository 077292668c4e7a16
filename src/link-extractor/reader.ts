import { decodeAttribute } from './entities.ts';
import {
  APOSTROPHE,
  ATTRIBUTE_COUNT,
  ATTRIBUTE_LENGTHS,
  ATTRIBUTE_TABLE,
  attribute,
  ENDS_NAME,
  EQUALS,
  GT,
  isSpace,
  LT,
  QUOTE,
  SLASH,
  SPACE,
  startsWithName,
} from './names.ts';

const DASH = 45;

const HREF = attribute('href');
const XLINK_HREF = attribute('xlink:href');
const STYLE = attribute('style');

// Attributes of the tag read last, by their numbers. Readers share them: each looks at a tag only until it reads the next.
const starts = new Int32Array(ATTRIBUTE_COUNT);
const ends = new Int32Array(ATTRIBUTE_COUNT);
const tags = new Float64Array(ATTRIBUTE_COUNT);
let tagsRead = 0;

/** Characters of a value that is read; those of references, which stand in the text, are not counted. */
const LONGEST_VALUE = 1_048_576;

/** Values longer than this are looked through by the engine's own search, which takes longer to begin. */
const NEAR = 20;

/**
 * The states of the HTML tokenizer (HTML Standard, 13.2.5) as jumps over the text: each method is given where something
 * begins and says where it ends. A position of -1 means that the text ends before it does; nothing that follows is
 * markup then.
 */
export class MarkupReader {
  readonly html: string;
  /** Its character codes. */
  readonly codes: Uint16Array;
  /** Where the last `>` stands. No tag ends behind it, so up to there loops need not look for the text's end. */
  readonly lastGt: number;
  /** Whether the tag read last ended with `/>`. */
  selfClosing = false;

  readonly #commentBang = new NextPlace('--!>');
  readonly #commentClose = new NextPlace('-->');

  /** @param codes - Of `html`, by `codesOf`. */
  constructor(html: string, codes: Uint16Array) {
    this.html = html;
    this.codes = codes;
    this.lastGt = html.lastIndexOf('>');
  }

  /** Reads the attributes of a tag from behind its name, at most at `lastGt`; returns where the tag ends. */
  readAttributes(at: number): number {
    const { codes } = this;
    const tag = ++tagsRead;
    this.selfClosing = false;
    for (;;) {
      let code = codes[at] as number;
      if (code === SPACE) code = codes[++at] as number;
      if (code <= GT) {
        if (code === GT) return at + 1;
        if (code === SLASH && codes[at + 1] === GT) {
          this.selfClosing = true;
          return at + 2;
        }
        if (code === SLASH || isSpace(code)) {
          at++;
          continue;
        }
      }
      const nameStart = at;
      // The first character belongs to the name whatever it is, even `=`.
      const lengths = ATTRIBUTE_LENGTHS[code & 31] as number;
      code = codes[++at] as number;
      while (code > GT || (code !== EQUALS && ENDS_NAME[code] === 0)) code = codes[++at] as number;
      const id = ((lengths >>> (at - nameStart)) & 1) !== 0 ? ATTRIBUTE_TABLE.find(codes, nameStart, at) : 0;
      if (code !== EQUALS) while (isSpace(code)) code = codes[++at] as number;
      let start = at;
      let end = at;
      if (code === EQUALS) {
        code = codes[++at] as number;
        if (code < QUOTE) while (isSpace(code)) code = codes[++at] as number;
        start = at;
        if (code === QUOTE || code === APOSTROPHE) {
          start++;
          end = this.#endOfQuoted(start, code);
          if (end < 0) return -1;
          at = end + 1;
        } else {
          while (code !== GT && !isSpace(code)) code = codes[++at] as number;
          end = at;
        }
      }
      // Of attributes with one name the first counts.
      if (id !== 0 && tags[id] !== tag) {
        tags[id] = tag;
        starts[id] = start;
        ends[id] = end;
      }
    }
  }

  /** Where the name of a tag ends that begins with the letter at `start`. */
  endOfName(start: number): number {
    const { codes } = this;
    let end = start + 1;
    let code = codes[end] as number;
    while (code > GT || (code !== GT && ((ENDS_NAME[code] as number) & 3) === 0)) code = codes[++end] as number;
    return end;
  }

  /** {@link skipAttributes} from any place, where the tag may not end. */
  skipTag(nameEnd: number): number {
    return nameEnd > this.lastGt ? -1 : this.skipAttributes(nameEnd);
  }

  /** Like {@link readAttributes}, but only finds the end of the tag. */
  skipAttributes(nameEnd: number): number {
    const { html, codes, lastGt } = this;
    // In right markup only `=`, the quotation marks behind it and `>` mean anything here.
    for (let at = nameEnd; ; at++) {
      let code = codes[at] as number;
      if (code > GT || code < EQUALS) continue;
      if (code === GT) return at + 1;
      // The first character of a name may be `=`, too: what stands before tells, but not at once.
      if ((codes[at - 1] as number) <= SLASH) return this.readAttributes(nameEnd);
      code = codes[++at] as number;
      if (code !== QUOTE) {
        if (code !== APOSTROPHE) return this.readAttributes(nameEnd);
        at = this.#endOfQuoted(at + 1, code);
        if (at < 0) return -1;
        continue;
      }
      at++;
      for (const near = at + NEAR; at < near && codes[at] !== QUOTE; ) at++;
      if (codes[at] !== QUOTE) at = html.indexOf('"', at);
      if (at < 0 || at >= lastGt) return -1;
    }
  }

  /** Where the quotation mark stands that ends a value. */
  #endOfQuoted(start: number, quote: number): number {
    const { codes } = this;
    let at = start;
    for (const near = start + NEAR; at < near; at++) {
      if (codes[at] === quote) return at < this.lastGt ? at : -1;
    }
    at = this.html.indexOf(quote === QUOTE ? '"' : "'", at);
    return at < this.lastGt ? at : -1;
  }

  /** Whether the tag read last has the attribute. */
  has(id: number): boolean {
    return tags[id] === tagsRead;
  }

  /** Whether the tag has an attribute that an element of SVG or MathML may hold references in. */
  hasForeignReference(): boolean {
    return this.has(HREF) || this.has(XLINK_HREF) || this.has(STYLE);
  }

  hasStyle(): boolean {
    return this.has(STYLE);
  }

  /** Where the value of an attribute that the tag has begins. */
  start(id: number): number {
    return starts[id] as number;
  }

  end(id: number): number {
    return ends[id] as number;
  }

  /** The value of an attribute up to {@link LONGEST_VALUE}, character references decoded; empty where the tag does not have it. */
  value(id: number): string {
    if (tags[id] !== tagsRead) return '';
    const start = starts[id] as number;
    return decodeAttribute(this.html.slice(start, Math.min(ends[id] as number, start + LONGEST_VALUE)));
  }

  /** The end of what begins with `<!` or `<?`: comment, document type, or what HTML takes for a comment. */
  endOfDeclaration(lt: number): number {
    const html = this.html;
    if (!html.startsWith('<!--', lt)) return html.indexOf('>', lt + 1) + 1 || -1;
    const at = lt + 4;
    if (this.codes[at] === GT) return at + 1;
    if (html.startsWith('->', at)) return at + 2;
    const close = this.#commentClose.from(html, at);
    if (close < 0) {
      const bang = this.#commentBang.from(html, at);
      return bang < 0 ? -1 : bang + 4;
    }
    // Looked for in the comment alone: hardly any page has one.
    const bang = html.slice(at, close).indexOf('--!>');
    return bang < 0 ? close + 3 : at + bang + 4;
  }

  /** The end of a `<![CDATA[` section, which only SVG and MathML have. */
  endOfCdata(lt: number): number {
    const end = this.html.indexOf(']]>', lt + 9);
    return end < 0 ? -1 : end + 3;
  }

  /**
   * Where the end tag of an element that holds only text begins (`script` has {@link endOfScript}).
   * @param name - In lower case.
   */
  endOfText(at: number, name: string): number {
    const html = this.html;
    for (let lt = html.indexOf('</', at); lt >= 0; lt = html.indexOf('</', lt + 2)) {
      if (startsWithName(this.codes, lt + 2, name) && endsName(this.codes, lt + 2 + name.length)) return lt;
    }
    return -1;
  }

  /** Where the end tag of a script begins, with the states that a `<!--` in it leads to. */
  endOfScript(at: number): number {
    const end = this.endOfText(at, 'script');
    if (end < 0) return -1;
    // Looked for in the script alone: most pages have no comment to be found soon.
    const open = this.html.slice(at, end).indexOf('<!--');
    return open < 0 ? end : this.#endOfEscapedScript(at + open);
  }

  /** The same from a `<!--` on: up to `-->` a `<script` hides an end tag. */
  #endOfEscapedScript(from: number): number {
    const { codes } = this;
    const { length } = this.html;
    let isEscaped = false;
    let isHidden = false;
    let dashes = 0;
    for (let at = from; at < length; at++) {
      const code = codes[at] as number;
      if (code === DASH) dashes++;
      else if (code === LT) {
        dashes = 0;
        const isEnd = codes[at + 1] === SLASH;
        const name = isEnd ? at + 2 : at + 1;
        if (startsWithName(codes, name, 'script') && endsName(codes, name + 6)) {
          if (isEnd && !isHidden) return at;
          isHidden = isEscaped && !isEnd;
        } else if (!isEscaped && startsWithName(codes, at + 1, '!--')) {
          isEscaped = true;
          // The dashes that open may be those that close: `<!-->`.
          dashes = 2;
          at += 3;
        }
      } else {
        if (code === GT && dashes >= 2) {
          isEscaped = false;
          isHidden = false;
        }
        dashes = 0;
      }
    }
    return -1;
  }
}

/** Where something stands next. What comes rarely must not be searched for to the end again and again. */
class NextPlace {
  readonly #wanted: string;
  /** From here to `#found`, or to the end where that is -1, there is none. */
  #searchedFrom = 0;
  #found = -2;

  constructor(wanted: string) {
    this.#wanted = wanted;
  }

  from(html: string, at: number): number {
    const isKnown = this.#found !== -2 && at >= this.#searchedFrom && (this.#found === -1 || at <= this.#found);
    if (!isKnown) {
      this.#searchedFrom = at;
      this.#found = html.indexOf(this.#wanted, at);
    }
    return this.#found;
  }
}

function endsName(codes: Uint16Array, at: number): boolean {
  const code = codes[at] as number;
  return code <= GT && ((ENDS_NAME[code] as number) & 3) !== 0;
}

/** Whether there is more than white space from `start` to `end`. */
export function hasText(codes: Uint16Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (!isSpace(codes[at] as number)) return true;
  return false;
}
