import type { Collector } from './collector.ts';
import { attribute, BANG, ENDS_NAME, GT, isLetter, isName, LT, NameTable, nameOf, QUESTION, SLASH } from './names.ts';
import { hasText, type MarkupReader } from './reader.ts';

const STYLE = attribute('style');
const LETTER_A = 97;
/** Text longer than this is looked through by the engine's own search, which takes longer to begin. */
const NEAR = 8;

/** What an element asks of the scan. */
const KIND = {
  /** Its attributes are read, that is all. */
  read: 0,
  anchor: 1,
  /** Does not begin the body. */
  head: 2,
  /** Does not begin the body either; its content is text. */
  title: 3,
  style: 4,
  script: 5,
  noframes: 6,
  /** Its content is text. */
  text: 7,
  plaintext: 8,
  template: 9,
  select: 10,
  foreign: 11,
  frameset: 12,
  /** Counts only within a frameset. */
  frame: 13,
  form: 14,
} as const;

const KINDS: Readonly<Record<string, number>> = {
  a: KIND.anchor,
  base: KIND.head,
  basefont: KIND.head,
  bgsound: KIND.head,
  head: KIND.head,
  html: KIND.head,
  link: KIND.head,
  meta: KIND.head,
  noscript: KIND.head,
  title: KIND.title,
  style: KIND.style,
  script: KIND.script,
  noframes: KIND.noframes,
  textarea: KIND.text,
  xmp: KIND.text,
  iframe: KIND.text,
  noembed: KIND.text,
  plaintext: KIND.plaintext,
  template: KIND.template,
  select: KIND.select,
  svg: KIND.foreign,
  math: KIND.foreign,
  frameset: KIND.frameset,
  frame: KIND.frame,
  form: KIND.form,
};

/** Answers of the parts of the scan besides a position. */
const END_OF_TEXT = -1;
const NEEDS_TREE = -2;

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
/** All that a `<select>` should hold. */
const SELECT_TABLE = new NameTable(['option', 'optgroup', 'hr']);

/**
 * Finds the references of a document in one pass, by tags alone. For nearly all markup, right or wrong, what the tree
 * builder makes of it changes no link: this scan handles those contexts that do, as long as they are as they should be.
 */
export class FastScan {
  readonly #reader: MarkupReader;
  readonly #collector: Collector;
  readonly #kinds: Uint8Array;
  readonly #lengths: Int32Array;
  /** Whether the body has begun, as far as known. */
  #inBody = false;
  #formIsOpen = false;
  /** Where the name read last ends. */
  #nameEnd = 0;

  constructor(reader: MarkupReader, collector: Collector) {
    this.#reader = reader;
    this.#collector = collector;
    const { kinds, lengths } = tablesOf(collector);
    this.#kinds = kinds;
    this.#lengths = lengths;
  }

  /** @returns Whether that was all; `false` where only the tree builder can tell what counts. */
  run(): boolean {
    let at = this.#head();
    while (at >= 0) at = this.#body(at);
    return at !== NEEDS_TREE;
  }

  /** Up to where the body begins: there it matters what stands between tags. */
  #head(): number {
    const { html, codes, lastGt } = this.#reader;
    let at = 0;
    while (at >= 0 && !this.#inBody) {
      const lt = html.indexOf('<', at);
      if (lt < 0 || lt >= lastGt) return END_OF_TEXT;
      this.#inBody = hasText(codes, at, lt);
      at = this.#markup(lt);
    }
    return at;
  }

  /** The same from where the body has begun: passes over what matters to nobody; returns where to go on. */
  #body(from: number): number {
    const reader = this.#reader;
    const { html, codes, lastGt } = reader;
    const { readsStyle } = this.#collector;
    const lengths = this.#lengths;
    const formIsOpen = this.#formIsOpen;
    for (let at = from; at >= 0; ) {
      let lt = at;
      for (const near = at + NEAR; lt < near && codes[lt] !== LT; ) lt++;
      if (codes[lt] !== LT) lt = html.indexOf('<', lt);
      if (lt < 0 || lt >= lastGt) return END_OF_TEXT;
      let end = lt + 1;
      const first = codes[end] as number;
      const isEnd = first === SLASH;
      if (isEnd) end++;
      const letter = codes[end] as number;
      if (!isLetter(letter)) return this.#markup(lt);
      const start = end;
      let code = codes[++end] as number;
      while (code > GT || (code !== GT && ((ENDS_NAME[code] as number) & 3) === 0)) code = codes[++end] as number;
      if (isEnd) {
        if (end === start + 1) {
          if ((letter | 32) === LETTER_A) this.#collector.references.closeText(lt);
        } else if (formIsOpen && end === start + 4) return this.#markup(lt);
        at = code === GT ? end + 1 : reader.skipAttributes(end);
      } else if ((((lengths[letter & 31] as number) >>> Math.min(end - start, 31)) & 1) !== 0) {
        at = end === start + 1 && (letter | 32) === LETTER_A ? this.#anchor(lt, end) : this.#candidate(lt, end);
        if (formIsOpen !== this.#formIsOpen) return at;
      } else if (code === GT) at = end + 1;
      else at = readsStyle ? this.#otherTag(lt, end) : reader.skipAttributes(end);
      if (at < 0) return at;
    }
    return END_OF_TEXT;
  }

  /** Any markup; returns where it ends. */
  #markup(lt: number): number {
    const { codes } = this.#reader;
    const first = codes[lt + 1] as number;
    if (first === SLASH) return this.#endTag(lt);
    if (first === BANG || first === QUESTION) return this.#reader.endOfDeclaration(lt);
    if (isLetter(first)) {
      this.#readName(lt + 1);
      return this.#candidate(lt, this.#nameEnd);
    }
    this.#inBody = true;
    return lt + 1;
  }

  /** A tag whose name may be one of interest. */
  #candidate(lt: number, nameEnd: number): number {
    const reader = this.#reader;
    const id = this.#collector.rules.tags.find(reader.codes, lt + 1, nameEnd);
    if (id !== 0) return this.#tag(id, this.#kinds[id] as number, lt, nameEnd);
    this.#inBody = true;
    return this.#collector.readsStyle ? this.#otherTag(lt, nameEnd) : reader.skipAttributes(nameEnd);
  }

  #otherTag(lt: number, nameEnd: number): number {
    const end = this.#reader.readAttributes(nameEnd);
    if (end >= 0 && this.#reader.has(STYLE)) {
      this.#collector.styleAttribute(nameOf(this.#reader.html.slice(lt + 1, nameEnd)));
    }
    return end;
  }

  /** A tag with a name of interest; returns where its element's content, if that is text, or the tag itself ends. */
  #tag(id: number, kind: number, lt: number, nameEnd: number): number {
    const reader = this.#reader;
    const collector = this.#collector;
    if (kind < KIND.head || (kind > KIND.noframes && kind !== KIND.template)) this.#inBody = true;
    if (kind === KIND.anchor) return this.#anchor(lt, nameEnd);
    const end = reader.readAttributes(nameEnd);
    if (end < 0 || kind === KIND.frame) return end;
    if (kind === KIND.frameset) return NEEDS_TREE;
    if (kind === KIND.foreign) return this.#foreign(lt, nameEnd, end);
    if (kind === KIND.form) {
      if (this.#formIsOpen) return end;
      this.#formIsOpen = true;
    }
    const { count } = collector.references;
    collector.element(id, !this.#inBody);
    if (collector.references.count > count && collector.rules.mayBeDropped[id]) return NEEDS_TREE;
    return kind < KIND.title ? end : this.#content(kind, collector.rules.names[id] as string, end);
  }

  #anchor(lt: number, nameEnd: number): number {
    const collector = this.#collector;
    const end = this.#reader.readAttributes(nameEnd);
    if (end < 0) return end;
    collector.anchor(lt, end);
    if (collector.readsStyle && this.#reader.has(STYLE)) collector.styleAttribute('a');
    return end;
  }

  #content(kind: number, name: string, at: number): number {
    const reader = this.#reader;
    if (kind === KIND.template) return this.#template(at);
    if (kind === KIND.select) return this.#select(at);
    if (kind === KIND.plaintext) return END_OF_TEXT;
    if (kind === KIND.form) return at;
    const close = kind === KIND.script ? reader.endOfScript(at) : reader.endOfText(at, name);
    const end = close < 0 ? reader.html.length : close;
    if (kind === KIND.title) this.#collector.title(at, end);
    else if (kind === KIND.style) this.#collector.styleSheet(at, end);
    return close < 0 ? END_OF_TEXT : this.#skipAttributes(close + 2 + name.length);
  }

  #endTag(lt: number): number {
    const { codes, html } = this.#reader;
    const start = lt + 2;
    const first = codes[start] as number;
    if (!isLetter(first)) return html.indexOf('>', start) + 1;
    let end = start + 1;
    let code = codes[end] as number;
    while (code > GT || ((ENDS_NAME[code] as number) & 3) === 0) code = codes[++end] as number;
    if (end === start + 1) {
      if ((first | 32) === LETTER_A) this.#collector.references.closeText(lt);
    } else if (this.#formIsOpen || !this.#inBody) this.#noteEnd(start, end);
    return code === GT ? end + 1 : this.#reader.skipAttributes(end);
  }

  #noteEnd(start: number, end: number): void {
    const { codes } = this.#reader;
    if (this.#formIsOpen && isName(codes, start, end, 'form')) {
      this.#formIsOpen = false;
      this.#collector.formIsGet = false;
    }
    if (isName(codes, start, end, 'body') || isName(codes, start, end, 'html') || isName(codes, start, end, 'br')) {
      this.#inBody = true;
    }
  }

  /** From behind the start tag of a template to behind its end tag: nothing in it counts. */
  #template(at: number): number {
    const { codes } = this.#reader;
    for (let depth = 1; depth > 0; ) {
      const lt = this.#nextTag(at);
      if (lt < 0) return END_OF_TEXT;
      const isEnd = codes[lt + 1] === SLASH;
      const start = isEnd ? lt + 2 : lt + 1;
      this.#readName(start);
      const id = TEMPLATE_TABLE.find(codes, start, this.#nameEnd);
      if (id > TEMPLATE && (!isEnd || id === TABLE_IN_TEMPLATE)) return NEEDS_TREE;
      if (id === TEMPLATE) depth += isEnd ? -1 : 1;
      at = this.#reader.skipAttributes(this.#nameEnd);
      if (at < 0) return at;
      if (!isEnd && id > 0 && id < TEMPLATE) {
        const name = TEMPLATE_TAGS[id - 1] as string;
        const close = name === 'script' ? this.#reader.endOfScript(at) : this.#reader.endOfText(at, name);
        if (close < 0) return END_OF_TEXT;
        at = this.#skipAttributes(close + 2 + name.length);
        if (at < 0) return at;
      }
    }
    return at;
  }

  /** From behind the start tag of a list of options to behind its end tag. */
  #select(at: number): number {
    const reader = this.#reader;
    const { codes } = reader;
    for (;;) {
      const lt = this.#nextTag(at);
      if (lt < 0) return END_OF_TEXT;
      const isEnd = codes[lt + 1] === SLASH;
      const start = isEnd ? lt + 2 : lt + 1;
      this.#readName(start);
      const nameEnd = this.#nameEnd;
      if (isEnd && isName(codes, start, nameEnd, 'select')) return reader.skipAttributes(nameEnd);
      if (SELECT_TABLE.find(codes, start, nameEnd) === 0) return NEEDS_TREE;
      at = !isEnd && this.#collector.readsStyle ? this.#otherTag(lt, nameEnd) : reader.skipAttributes(nameEnd);
      if (at < 0) return at;
    }
  }

  /** An element of SVG or MathML, to behind its end tag. */
  #foreign(lt: number, nameEnd: number, at: number): number {
    const reader = this.#reader;
    const { codes } = reader;
    const isSvg = isName(codes, lt + 1, nameEnd, 'svg');
    this.#foreignElement(isSvg, lt, nameEnd, at);
    if (reader.selfClosing) return at;
    // Where the names of the open elements begin and end.
    const open = [lt + 1, nameEnd];
    while (open.length > 0) {
      const next = this.#nextTag(at, true);
      if (next < 0) return END_OF_TEXT;
      const isEnd = codes[next + 1] === SLASH;
      const start = isEnd ? next + 2 : next + 1;
      this.#readName(start);
      const end = this.#nameEnd;
      if (isEnd) {
        if (!sameName(codes, start, end, open.at(-2) as number, open.at(-1) as number)) return NEEDS_TREE;
        open.length -= 2;
        if (isName(codes, start, end, 'a')) this.#collector.references.closeText(next);
        at = reader.skipAttributes(end);
      } else {
        if (BREAKOUTS.find(codes, start, end) !== 0) return NEEDS_TREE;
        const isPoint = INTEGRATION_POINTS.find(codes, start, end) !== 0;
        at = reader.readAttributes(end);
        if (at < 0) return at;
        this.#foreignElement(isSvg, next, end, at);
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
    this.#readName(lt + 2);
    if (!sameName(codes, lt + 2, this.#nameEnd, start, end)) return NEEDS_TREE;
    return this.#reader.skipAttributes(this.#nameEnd);
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

  #readName(start: number): void {
    const { codes } = this.#reader;
    let end = start + 1;
    let code = codes[end] as number;
    while (code > GT || ((ENDS_NAME[code] as number) & 3) === 0) code = codes[++end] as number;
    this.#nameEnd = end;
  }

  #skipAttributes(at: number): number {
    return at > this.#reader.lastGt ? END_OF_TEXT : this.#reader.skipAttributes(at);
  }
}

const CDATA = '<![CDATA[';

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

interface Tables {
  /** What each element of a profile asks of the scan, by its number. */
  readonly kinds: Uint8Array;
  readonly lengths: Int32Array;
}

const tablesByRules = new WeakMap<object, Tables>();

function tablesOf(collector: Collector): Tables {
  const { rules } = collector;
  let tables = tablesByRules.get(rules);
  if (tables === undefined) {
    const kindOf = (name: string): number => (Object.hasOwn(KINDS, name) ? (KINDS[name] as number) : KIND.read);
    tables = { kinds: Uint8Array.from(rules.names, kindOf), lengths: rules.tags.lengths() };
    tablesByRules.set(rules, tables);
  }
  return tables;
}
