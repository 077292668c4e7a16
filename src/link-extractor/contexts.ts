import type { Collector } from './collector.ts';
import { attribute, BANG, isLetter, isName, NameTable, nameOf, QUESTION, SLASH } from './names.ts';
import type { MarkupReader } from './reader.ts';

const STYLE = attribute('style');

/** Answers of the parts of the scan besides a position. */
export const END_OF_TEXT = -1;
export const NEEDS_TREE = -2;

/** Start tags that end SVG and MathML wherever they stand. */
const BREAKOUTS = new NameTable(
  (
    'b big blockquote body br center code dd div dl dt em embed font h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta ' +
    'nobr ol p pre ruby s small span strong strike sub sup table tt u ul var'
  ).split(' '),
);
/** Elements of SVG and MathML whose content may be HTML again. */
const INTEGRATION_POINTS = new NameTable([
  'annotation-xml',
  'desc',
  'foreignobject',
  'mi',
  'mn',
  'mo',
  'ms',
  'mtext',
  'title',
]);
/** In a template only these matter; behind `template` those after which its end can be told by the tree builder alone. */
const TEMPLATE_TAGS = [
  ...['script', 'style', 'title', 'textarea', 'xmp', 'iframe', 'noembed', 'noframes'],
  ...['template', 'col', 'select', 'svg', 'math', 'table', 'plaintext', 'frameset'],
];
const TEMPLATE_TABLE = new NameTable(TEMPLATE_TAGS);
const TEMPLATE = TEMPLATE_TABLE.idOf('template');
const TABLE_IN_TEMPLATE = TEMPLATE_TABLE.idOf('table');
const SVG_IN_TEMPLATE = TEMPLATE_TABLE.idOf('svg');
const MATH_IN_TEMPLATE = TEMPLATE_TABLE.idOf('math');
/** All that a `<select>` should hold. */
const SELECT_TABLE = new NameTable(['option', 'optgroup', 'hr']);

const CDATA = '<![CDATA[';
/** A context longer than this is left to the tree builder, which can be interrupted within it. */
const LONGEST_CONTEXT = 524_288;

/** The contexts in which tags mean something else, passed over from tag to tag as long as they are as they should be. */
export class Contexts {
  readonly #reader: MarkupReader;
  readonly #collector: Collector;

  constructor(reader: MarkupReader, collector: Collector) {
    this.#reader = reader;
    this.#collector = collector;
  }

  /** From behind the start tag of a template to behind its end tag: nothing in it counts. */
  template(at: number): number {
    const { codes } = this.#reader;
    const most = at + LONGEST_CONTEXT;
    for (let depth = 1; depth > 0; ) {
      if (at > most) return NEEDS_TREE;
      const lt = this.#nextTag(at);
      if (lt < 0) return END_OF_TEXT;
      const isEnd = codes[lt + 1] === SLASH;
      const start = isEnd ? lt + 2 : lt + 1;
      const nameEnd = this.#reader.endOfName(start);
      const id = TEMPLATE_TABLE.find(codes, start, nameEnd);
      if (!isEnd && (id === SVG_IN_TEMPLATE || id === MATH_IN_TEMPLATE)) {
        at = this.#reader.readAttributes(nameEnd);
        if (at >= 0) at = this.foreign(lt, nameEnd, at, false);
        if (at < 0) return at;
        continue;
      }
      if (id > TEMPLATE && (!isEnd || id === TABLE_IN_TEMPLATE)) return NEEDS_TREE;
      if (id === TEMPLATE) depth += isEnd ? -1 : 1;
      at = this.#reader.skipAttributes(nameEnd);
      if (at < 0) return at;
      if (!isEnd && id > 0 && id < TEMPLATE) {
        const name = TEMPLATE_TAGS[id - 1] as string;
        const close = name === 'script' ? this.#reader.endOfScript(at) : this.#reader.endOfText(at, name);
        if (close < 0) return END_OF_TEXT;
        at = this.#reader.skipTag(close + 2 + name.length);
        if (at < 0) return at;
      }
    }
    return at;
  }

  /** From behind the start tag of a list of options to behind its end tag. */
  select(at: number): number {
    const reader = this.#reader;
    const { codes } = reader;
    const most = at + LONGEST_CONTEXT;
    while (at <= most) {
      const lt = this.#nextTag(at);
      if (lt < 0) return END_OF_TEXT;
      const isEnd = codes[lt + 1] === SLASH;
      const start = isEnd ? lt + 2 : lt + 1;
      const nameEnd = reader.endOfName(start);
      if (isEnd && isName(codes, start, nameEnd, 'select')) return reader.skipAttributes(nameEnd);
      if (SELECT_TABLE.find(codes, start, nameEnd) === 0) return NEEDS_TREE;
      at = !isEnd && this.#collector.readsStyle ? this.#readStyle(lt, nameEnd) : reader.skipAttributes(nameEnd);
      if (at < 0) return at;
    }
    return NEEDS_TREE;
  }

  /**
   * An element of SVG or MathML, to behind its end tag.
   * @param counts - Whether it is in the document, and not in a template.
   */
  foreign(lt: number, nameEnd: number, at: number, counts = true): number {
    const reader = this.#reader;
    const { codes } = reader;
    const isSvg = isName(codes, lt + 1, nameEnd, 'svg');
    if (counts) this.#foreignElement(isSvg, lt, nameEnd, at);
    if (reader.selfClosing) return at;
    // Where the names of the open elements begin and end.
    const open = [lt + 1, nameEnd];
    const most = at + LONGEST_CONTEXT;
    while (open.length > 0) {
      if (at > most) return NEEDS_TREE;
      const next = this.#nextTag(at, true);
      if (next < 0) return END_OF_TEXT;
      const isEnd = codes[next + 1] === SLASH;
      const start = isEnd ? next + 2 : next + 1;
      const end = reader.endOfName(start);
      if (isEnd) {
        if (!sameName(codes, start, end, open.at(-2) as number, open.at(-1) as number)) return NEEDS_TREE;
        open.length -= 2;
        if (counts && isName(codes, start, end, 'a')) this.#collector.references.closeText(next);
        at = reader.skipAttributes(end);
      } else {
        if (BREAKOUTS.find(codes, start, end) !== 0) return NEEDS_TREE;
        const isPoint = INTEGRATION_POINTS.find(codes, start, end) !== 0;
        at = reader.readAttributes(end);
        if (at < 0) return at;
        if (counts) this.#foreignElement(isSvg, next, end, at);
        if (reader.selfClosing) continue;
        if (isPoint) at = this.#textOnly(start, end, at);
        else open.push(start, end);
      }
      if (at < 0) return at;
    }
    return at;
  }

  /** Passes over an element that holds nothing but text. */
  #textOnly(start: number, end: number, at: number): number {
    const { html, codes, lastGt } = this.#reader;
    const lt = html.indexOf('<', at);
    if (lt < 0 || lt >= lastGt) return END_OF_TEXT;
    if (codes[lt + 1] !== SLASH || !isLetter(codes[lt + 2] as number)) return NEEDS_TREE;
    const nameEnd = this.#reader.endOfName(lt + 2);
    if (!sameName(codes, lt + 2, nameEnd, start, end)) return NEEDS_TREE;
    return this.#reader.skipAttributes(nameEnd);
  }

  #foreignElement(isSvg: boolean, lt: number, nameEnd: number, end: number): void {
    if (!this.#reader.hasForeignReference()) return;
    const name = nameOf(this.#reader.html.slice(lt + 1, nameEnd));
    this.#collector.foreignElement(name, isSvg, lt, end);
  }

  /** Where the next tag begins, or -1; passes over what is no tag. */
  #nextTag(at: number, inForeign = false): number {
    const { html, codes, lastGt } = this.#reader;
    while (at >= 0) {
      const lt = html.indexOf('<', at);
      if (lt < 0 || lt >= lastGt) return -1;
      const code = codes[lt + 1] as number;
      if (isLetter(code)) return lt;
      if (code === SLASH) {
        if (isLetter(codes[lt + 2] as number)) return lt;
        at = html.indexOf('>', lt + 2) + 1;
      } else if (inForeign && html.startsWith(CDATA, lt)) at = this.#reader.endOfCdata(lt);
      else if (code === BANG || code === QUESTION) at = this.#reader.endOfDeclaration(lt);
      else at = lt + 1;
    }
    return -1;
  }

  #readStyle(lt: number, nameEnd: number): number {
    const end = this.#reader.readAttributes(nameEnd);
    if (end >= 0 && this.#reader.has(STYLE)) {
      this.#collector.styleAttribute(nameOf(this.#reader.html.slice(lt + 1, nameEnd)));
    }
    return end;
  }
}

/** Whether one name stands in both places, in any case. */
function sameName(codes: Uint16Array, start: number, end: number, otherStart: number, otherEnd: number): boolean {
  if (end - start !== otherEnd - otherStart) return false;
  for (let at = 0; at < end - start; at++) {
    const code = codes[start + at] as number;
    const other = codes[otherStart + at] as number;
    if (code !== other && ((code ^ other) !== 32 || !isLetter(code))) return false;
  }
  return true;
}
