import type { Collector } from './collector.ts';
import { decodeText } from './entities.ts';
import {
  attribute,
  BANG,
  GT,
  isLetter,
  isSpace,
  LT,
  NameTable,
  nameOf,
  QUESTION,
  SLASH,
  startsWithName,
} from './names.ts';
import { hasText, type MarkupReader } from './reader.ts';
import type { ReferencesMark } from './references.ts';
import type { ProfileRules } from './rules.ts';
import { TreeBuilder } from './tree/builder.ts';
import { BITS_OF_KNOWN, HTML, KNOWN_NAMES, SVG } from './tree/elements.ts';
import { signatureOf } from './tree/signature.ts';
import type { StartTag, TextRun, TreeState } from './tree/state.ts';

const KNOWN_TABLE = new NameTable(KNOWN_NAMES);
const CDATA = '<![CDATA[';
const AMPERSAND = 38;
const TEXT_ELEMENTS: ReadonlySet<string> = new Set([
  ...['iframe', 'noembed', 'noframes', 'plaintext', 'script', 'style', 'textarea', 'title', 'xmp'],
]);
const READ_ATTRIBUTES: Readonly<Record<'type' | 'encoding', number>> = {
  type: attribute('type'),
  encoding: attribute('encoding'),
};

/** Steps per character that the tree builder's searches may take, and those it may take anyway. */
const STEPS_PER_CHARACTER = 1;
const FREE_STEPS = 100_000;
/** No page that means well has more tags, and to build the tree of each takes longer than to read it by the megabyte. */
const MOST_TAGS = 500_000;
/** What the scan says that goes no further. */
export const TOO_MANY_TAGS = -3;
/** Text longer than this is looked through by the engine's own search, which takes longer to begin. */
const NEAR = 8;

/**
 * Finds the references of a document by way of the tree builder: slower than `FastScan`, and right where that gives up.
 */
export class TreeScan implements StartTag {
  name = '';
  id = 0;
  readonly #reader: MarkupReader;
  readonly #collector: Collector;
  readonly #builder: TreeBuilder;
  readonly #state: TreeState;
  readonly #hasNul: boolean;
  readonly #tags: Uint8Array;
  #nameEnd = 0;
  #tagsLeft = MOST_TAGS;
  /** Where to go on, and where the text there begins. */
  #at = 0;
  #textStart = 0;
  /** What had been found when the body began. */
  #beforeBody: ReferencesMark | undefined;

  constructor(reader: MarkupReader, collector: Collector) {
    this.#reader = reader;
    this.#collector = collector;
    this.#builder = new TreeBuilder(reader.html.length * STEPS_PER_CHARACTER + FREE_STEPS, (attributes) =>
      signatureOf(reader.html, attributes),
    );
    this.#state = this.#builder.state;
    this.#tags = tagsOf(collector.rules);
    this.#hasNul = reader.html.includes('\0');
  }

  /** Where it goes on. */
  get position(): number {
    return this.#at;
  }

  /**
   * Goes on up to a place, or to the end of what it is in the middle of there.
   * @returns Where it is; negative where it is done, {@link TOO_MANY_TAGS} where it is not, but goes no further.
   */
  run(until: number): number {
    const { html, codes, lastGt } = this.#reader;
    let at = this.#at;
    while (at >= 0 && at < until) {
      if (--this.#tagsLeft < 0) {
        this.#at = at;
        return TOO_MANY_TAGS;
      }
      let lt = at;
      for (const near = at + NEAR; lt < near && codes[lt] !== LT; ) lt++;
      if (codes[lt] !== LT) lt = html.indexOf('<', lt);
      if (lt < 0 || lt >= lastGt) {
        at = -1;
        break;
      }
      const code = codes[lt + 1] as number;
      if (!isLetter(code) && code !== SLASH && code !== BANG && code !== QUESTION) {
        at = lt + 1;
        continue;
      }
      this.#text(this.#textStart, lt);
      at = this.#markup(lt, code);
      this.#textStart = at;
    }
    this.#at = at;
    return at;
  }

  #markup(lt: number, code: number): number {
    const { html, codes } = this.#reader;
    if (isLetter(code)) return this.#startTag(lt);
    if (code === SLASH) {
      if (isLetter(codes[lt + 2] as number)) return this.#endTag(lt);
      return html.indexOf('>', lt + 2) + 1;
    }
    if (this.#builder.inForeign && html.startsWith(CDATA, lt)) {
      const end = this.#reader.endOfCdata(lt);
      if (end > lt + CDATA.length + 3) this.#builder.text(this.#run(lt + CDATA.length, end - 3));
      return end;
    }
    const end = this.#reader.endOfDeclaration(lt);
    if (end > 0 && html.slice(lt + 2, lt + 9).toLowerCase() === 'doctype') {
      this.#builder.doctype(asksForQuirks(html.slice(lt + 9, end - 1)));
    }
    return end;
  }

  #text(start: number, end: number): void {
    if (start >= end) return;
    this.#builder.text(this.#run(start, end));
    this.#noteBody();
  }

  #startTag(lt: number): number {
    const reader = this.#reader;
    this.#readName(lt + 1);
    const nameEnd = this.#nameEnd;
    const end = reader.readAttributes(nameEnd);
    if (end < 0) return end;
    this.#builder.start(this);
    this.#noteBody();
    const state = this.#state;
    if (state.droppedBody && this.#beforeBody !== undefined) this.#collector.references.rewind(this.#beforeBody);
    const name = state.insertedName === '' ? state.adoptedBy : state.insertedName;
    if (name === '') return end;
    const counts = state.insertedName === '' || state.insertedCounts;
    if (counts) this.#collect(name, lt, end);
    const holdsText = state.insertedNamespace === HTML && state.insertedName !== '' && TEXT_ELEMENTS.has(name);
    return holdsText ? this.#content(name, end, counts) : end;
  }

  #collect(name: string, lt: number, end: number): void {
    const collector = this.#collector;
    const state = this.#state;
    if (state.insertedName !== '' && state.insertedNamespace !== HTML) {
      collector.foreignElement(name, state.insertedNamespace === SVG, lt, end);
      return;
    }
    const id = name === this.name ? (this.#tags[this.id] as number) : collector.rules.tags.idOf(name);
    if (name === 'a') collector.anchor(lt, end);
    else if (id !== 0) {
      collector.element(id, !state.hasBody);
      return;
    }
    if (collector.readsStyle && this.#reader.hasStyle()) collector.styleAttribute(name);
  }

  /** Passes over the content of an element that holds only text. */
  #content(name: string, at: number, counts: boolean): number {
    if (name === 'plaintext') return -1;
    const reader = this.#reader;
    const close = name === 'script' ? reader.endOfScript(at) : reader.endOfText(at, name);
    const end = close < 0 ? reader.html.length : close;
    if (counts && name === 'title') this.#collector.title(at, end);
    else if (counts && name === 'style') this.#collector.styleSheet(at, end);
    return close < 0 ? -1 : reader.skipTag(close + 2 + name.length);
  }

  #endTag(lt: number): number {
    this.#readName(lt + 2);
    const end = this.#reader.skipAttributes(this.#nameEnd);
    if (end < 0) return end;
    if (this.name === 'a') this.#collector.references.closeText(lt);
    this.#builder.end(this.name);
    this.#noteBody();
    if (this.#state.form === undefined) this.#collector.formIsGet = false;
    return end;
  }

  #noteBody(): void {
    if (this.#beforeBody === undefined && this.#state.hasBody) this.#beforeBody = this.#collector.references.mark();
  }

  #readName(start: number): void {
    const { html, codes } = this.#reader;
    const at = this.#reader.endOfName(start);
    this.#nameEnd = at;
    const id = KNOWN_TABLE.find(codes, start, at);
    this.id = id;
    if (id !== 0) {
      this.name = KNOWN_NAMES[id - 1] as string;
      return;
    }
    const written = html.slice(start, at);
    this.name = isAsWritten(codes, start, at) ? written : nameOf(written);
  }

  /** What stands from `start` to `end`, by kinds of characters. */
  #run(start: number, end: number): TextRun {
    const { html, codes } = this.#reader;
    if (!hasText(codes, start, end)) return SPACE_ONLY;
    if (!this.#hasNul && beginsWithText(codes, start, end)) return isSpace(codes[start] as number) ? SPACED : TEXT_ONLY;
    const raw = html.slice(start, end);
    // References to white space are white space.
    const text = raw.includes('&') ? decodeText(raw) : raw;
    const nul = this.#hasNul && raw.includes('\0');
    const rest = nul ? text.replace(/[\0\uFFFD]+/g, '') : text;
    return { space: /^[\t\n\f\r ]/.test(text), nul, other: /[^\t\n\f\r ]/.test(rest) };
  }

  get bits(): number {
    return BITS_OF_KNOWN[this.id] as number;
  }

  get selfClosing(): boolean {
    return this.#reader.selfClosing;
  }

  attribute(name: keyof typeof READ_ATTRIBUTES): string | undefined {
    const id = READ_ATTRIBUTES[name];
    return this.#reader.has(id) ? this.#reader.value(id) : undefined;
  }

  get attributes(): number {
    return this.#reader.codes[this.#nameEnd] === GT ? 0 : this.#nameEnd;
  }
}

const tagsByRules = new WeakMap<ProfileRules, Uint8Array>();

/** By number of a known name, the number of the element in the profile's table, or 0. */
function tagsOf(rules: ProfileRules): Uint8Array {
  let tags = tagsByRules.get(rules);
  if (tags === undefined) {
    tags = Uint8Array.from(['', ...KNOWN_NAMES], (name) => rules.tags.idOf(name));
    tagsByRules.set(rules, tags);
  }
  return tags;
}

/** Whether a name stands in the text as it is in the document: without capitals and NUL. */
function isAsWritten(codes: Uint16Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const code = codes[at] as number;
    if (code === 0 || (code >= 65 && code <= 90)) return false;
  }
  return true;
}

const SPACE_ONLY: TextRun = { space: true, nul: false, other: false };
const SPACED: TextRun = { space: true, nul: false, other: true };
const TEXT_ONLY: TextRun = { space: false, nul: false, other: true };

/** Whether what comes first, white space aside, is no reference to a character, or one to `&` itself. */
function beginsWithText(codes: Uint16Array, start: number, end: number): boolean {
  let at = start;
  while (at < end && isSpace(codes[at] as number)) at++;
  return codes[at] !== AMPERSAND || (at + 5 <= end && startsWithName(codes, at + 1, 'amp;'));
}

/** Whether what a document type declares makes browsers treat the page as of old, so that tables may stand in paragraphs. */
function asksForQuirks(declaration: string): boolean {
  const text = declaration.trim().toLowerCase();
  if (!/^html(?=[\s]|$)/.test(text)) return true;
  const identifier = /^html\s+public\s*["']([^"']*)/.exec(text)?.[1];
  if (identifier === undefined) return false;
  if (/^-\/\/w3c\/\/dtd html 4\.01 (?:transitional|frameset)\/\//.test(identifier)) {
    return !/^html\s+public\s*(?:"[^"]*"|'[^']*')\s*["']/.test(text);
  }
  return (
    !/^(?:-\/\/w3c\/\/dtd (?:html 4\.01|xhtml 1\.|html 4\.0 strict|html 4\.0\/\/|xhtml)|iso)/.test(identifier) ||
    identifier === ''
  );
}
