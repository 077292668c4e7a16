import { decodeAttribute } from './entities.ts';
import {
  APOSTROPHE,
  ATTRIBUTE_COUNT,
  ATTRIBUTE_TABLE,
  attribute,
  ENDS_NAME,
  EQUALS,
  GT,
  isSpace,
  QUOTE,
  SLASH,
  startsWithName,
} from './names.ts';

const HREF = attribute('href');
const XLINK_HREF = attribute('xlink:href');
const STYLE = attribute('style');

/**
 * The states of the HTML tokenizer (HTML Standard, 13.2.5) as jumps over the text: each method is given where something
 * begins and says where it ends. A position of -1 means that the text ends before it does; nothing that follows is
 * markup then.
 */
export class MarkupReader {
  readonly html: string;
  /** Where the last `>` stands. No tag ends behind it, so up to there loops need not look for the text's end. */
  readonly lastGt: number;
  /** Whether the tag read last ended with `/>`. */
  selfClosing = false;

  readonly #starts = new Int32Array(ATTRIBUTE_COUNT);
  readonly #ends = new Int32Array(ATTRIBUTE_COUNT);
  readonly #tags = new Int32Array(ATTRIBUTE_COUNT);
  #tag = 0;

  // Where these stand next, as last looked up: what comes rarely must not be searched for to the end again and again.
  #commentBang = -2;
  #commentOpen = -2;
  #commentClose = -2;
  #scriptEnd = -2;

  constructor(html: string) {
    this.html = html;
    this.lastGt = html.lastIndexOf('>');
  }

  /** Reads the attributes of a tag from behind its name, at most at `lastGt`; returns where the tag ends. */
  readAttributes(at: number): number {
    const html = this.html;
    const tag = ++this.#tag;
    this.selfClosing = false;
    for (;;) {
      let code = html.charCodeAt(at);
      if (code === GT) return at + 1;
      if (code === SLASH || isSpace(code)) {
        if (code === SLASH && html.charCodeAt(at + 1) === GT) {
          this.selfClosing = true;
          return at + 2;
        }
        at++;
        continue;
      }
      const nameStart = at;
      // The first character belongs to the name whatever it is, even `=`.
      let hash = code | 32;
      code = html.charCodeAt(++at);
      while (code > GT || ENDS_NAME[code] === 0) {
        hash = (Math.imul(hash, 31) + (code | 32)) | 0;
        code = html.charCodeAt(++at);
      }
      const id = ATTRIBUTE_TABLE.find(html, nameStart, at, hash);
      while (isSpace(code)) code = html.charCodeAt(++at);
      let start = at;
      let end = at;
      if (code === EQUALS) {
        code = html.charCodeAt(++at);
        while (isSpace(code)) code = html.charCodeAt(++at);
        if (code === QUOTE || code === APOSTROPHE) {
          start = at + 1;
          end = html.indexOf(code === QUOTE ? '"' : "'", start);
          if (end < 0 || end > this.lastGt) return -1;
          at = end + 1;
        } else {
          start = at;
          while (code !== GT && !isSpace(code)) code = html.charCodeAt(++at);
          end = at;
        }
      }
      // Of attributes with one name the first counts.
      if (id !== 0 && this.#tags[id] !== tag) {
        this.#tags[id] = tag;
        this.#starts[id] = start;
        this.#ends[id] = end;
      }
    }
  }

  /** Like {@link readAttributes}, but only finds the end of the tag. */
  skipAttributes(at: number): number {
    const html = this.html;
    for (;;) {
      let code = html.charCodeAt(at);
      if (code === GT) return at + 1;
      code = html.charCodeAt(++at);
      if (code === GT) return at + 1;
      // Names: up to here the character passed over was white space, a solidus or the first one of a name.
      if (isNameStart(html.charCodeAt(at - 1))) {
        while (code > GT || ENDS_NAME[code] === 0) code = html.charCodeAt(++at);
        while (isSpace(code)) code = html.charCodeAt(++at);
        if (code !== EQUALS) continue;
        code = html.charCodeAt(++at);
        while (isSpace(code)) code = html.charCodeAt(++at);
        if (code === QUOTE || code === APOSTROPHE) {
          at = html.indexOf(code === QUOTE ? '"' : "'", at + 1) + 1;
          if (at === 0 || at > this.lastGt) return -1;
        } else {
          while (code !== GT && !isSpace(code)) code = html.charCodeAt(++at);
        }
      }
    }
  }

  /** Whether the tag read last has the attribute. */
  has(id: number): boolean {
    return this.#tags[id] === this.#tag;
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
    return this.#starts[id] as number;
  }

  end(id: number): number {
    return this.#ends[id] as number;
  }

  /** The value of an attribute, character references decoded; empty where the tag does not have it. */
  value(id: number): string {
    return this.#tags[id] === this.#tag ? decodeAttribute(this.html.slice(this.#starts[id], this.#ends[id])) : '';
  }

  /** The end of what begins with `<!` or `<?`: comment, document type, or what HTML takes for a comment. */
  endOfDeclaration(lt: number): number {
    const html = this.html;
    if (!html.startsWith('<!--', lt)) return html.indexOf('>', lt + 1) + 1 || -1;
    const at = lt + 4;
    if (html.charCodeAt(at) === GT) return at + 1;
    if (html.startsWith('->', at)) return at + 2;
    if (this.#commentBang !== -1 && this.#commentBang < at) this.#commentBang = html.indexOf('--!>', at);
    const close = this.#nextCommentClose(at);
    const bang = this.#commentBang;
    if (bang >= 0 && (close < 0 || bang < close)) return bang + 4;
    return close < 0 ? -1 : close + 3;
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
      if (startsWithName(html, lt + 2, name) && endsName(html, lt + 2 + name.length)) return lt;
    }
    return -1;
  }

  /** Where the end tag of a script begins, with the states that a `<!--` in it leads to. */
  endOfScript(at: number): number {
    const html = this.html;
    for (;;) {
      if (this.#scriptEnd !== -1 && this.#scriptEnd < at) this.#scriptEnd = this.endOfText(at, 'script');
      if (this.#scriptEnd < 0) return -1;
      if (this.#commentOpen !== -1 && this.#commentOpen < at) this.#commentOpen = html.indexOf('<!--', at);
      if (this.#commentOpen < 0 || this.#commentOpen > this.#scriptEnd) return this.#scriptEnd;
      // The dashes that open may be those that close: `<!-->`.
      const close = this.#nextCommentClose(this.#commentOpen + 2);
      const end = this.#endInEscapedScript(this.#commentOpen + 4, close);
      if (end >= 0 || close < 0) return end;
      at = close + 3;
    }
  }

  /** The end tag of a script before `close`; a `<script` within hides one. -1 where there is none. */
  #endInEscapedScript(at: number, close: number): number {
    const html = this.html;
    let hidden = false;
    for (let lt = html.indexOf('<', at); lt >= 0 && (close < 0 || lt < close); lt = html.indexOf('<', lt + 1)) {
      const isEnd = html.charCodeAt(lt + 1) === SLASH;
      const name = isEnd ? lt + 2 : lt + 1;
      if (!startsWithName(html, name, 'script') || !endsName(html, name + 6)) continue;
      if (isEnd && !hidden) return lt;
      hidden = !isEnd;
    }
    return -1;
  }

  #nextCommentClose(at: number): number {
    if (this.#commentClose !== -1 && this.#commentClose < at) this.#commentClose = this.html.indexOf('-->', at);
    return this.#commentClose;
  }
}

function isNameStart(code: number): boolean {
  return code > GT || code === EQUALS || ENDS_NAME[code] === 0;
}

function endsName(html: string, at: number): boolean {
  const code = html.charCodeAt(at);
  return code <= GT && ENDS_NAME[code] !== 0 && code !== EQUALS;
}

/** Whether there is more than white space from `start` to `end`. */
export function hasText(html: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (!isSpace(html.charCodeAt(at))) return true;
  return false;
}
