import { A_HREF, type Collector } from './collector.ts';
import { Contexts, END_OF_TEXT, NEEDS_TREE } from './contexts.ts';
import { attribute, BANG, ENDS_NAME, GT, isLetter, isName, LT, nameOf, QUESTION, SLASH } from './names.ts';
import { hasText, type MarkupReader } from './reader.ts';
import { SKIP, TagSkipper } from './tag-skipper.ts';

const STYLE = attribute('style');
const LETTER_A = 97;
const LETTER_Z = 122;
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

const SHAPES_TREE: ReadonlySet<number> = new Set([
  ...[KIND.template, KIND.select, KIND.foreign, KIND.frameset, KIND.frame],
]);

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
  readonly #contexts: Contexts;
  readonly #skipper: TagSkipper;
  /** Where to go on. */
  #at: number;
  readonly #allCount: boolean;

  /** @param from - Where to begin, in a body of which nothing else is known: from there all tags count, wherever they stand. */
  constructor(reader: MarkupReader, collector: Collector, from = 0) {
    this.#at = from;
    this.#allCount = from > 0;
    this.#inBody = this.#allCount;
    this.#reader = reader;
    this.#collector = collector;
    this.#contexts = new Contexts(reader, collector);
    const { kinds, kindsByTags, lengths } = tablesOf(collector);
    this.#kinds = this.#allCount ? kindsByTags : kinds;
    this.#lengths = lengths;
    this.#skipper = new TagSkipper(reader, collector.rules.tags, collector.references, A_HREF);
  }

  /** Where it goes on. */
  get position(): number {
    return this.#at;
  }

  /**
   * Goes on up to a place, or to the end of what it is in the middle of there.
   * @returns Where it is; negative where it is done, {@link NEEDS_TREE} where only the tree builder can tell what counts.
   */
  run(until: number): number {
    let at = this.#at;
    if (!this.#inBody) at = this.#head(at, until);
    while (at >= 0 && at < until) at = this.#body(at, until);
    this.#at = at;
    return at;
  }

  /** Up to where the body begins: there it matters what stands between tags. */
  #head(from: number, until: number): number {
    const { html, codes, lastGt } = this.#reader;
    let at = from;
    while (at >= 0 && at < until && !this.#inBody) {
      const lt = html.indexOf('<', at);
      if (lt < 0 || lt >= lastGt) return END_OF_TEXT;
      this.#inBody = hasText(codes, at, lt);
      at = this.#markup(lt);
    }
    return at;
  }

  /** The same from where the body has begun: passes over what matters to nobody; returns where to go on. */
  #body(from: number, until: number): number {
    const reader = this.#reader;
    const { html, codes, lastGt } = reader;
    const { readsStyle } = this.#collector;
    const lengths = this.#lengths;
    const formIsOpen = this.#formIsOpen;
    // A small integer, unlike infinity, is compared at once.
    const stop = Math.min(until, html.length + 1);
    const flags = (formIsOpen ? SKIP.formIsOpen : 0) | (readsStyle ? SKIP.styleCounts : 0);
    let skips = true;
    for (let at = from; ; ) {
      if (skips) at = this.#skipper.skip(at, stop, flags);
      skips = true;
      let lt = at;
      let code = codes[lt] as number;
      if (code !== LT) {
        const near = at + NEAR;
        do code = codes[++lt] as number;
        while (code !== LT && lt < near);
        if (code !== LT) {
          lt = html.indexOf('<', lt);
          if (lt < 0) return END_OF_TEXT;
        }
      }
      if (lt >= lastGt) return END_OF_TEXT;
      let end = lt + 1;
      code = codes[end] as number;
      // Twice nearly the same, since the two are told apart at the first character.
      if (code === SLASH) {
        const start = ++end;
        const letter = (codes[end] as number) | 32;
        if (letter < LETTER_A || letter > LETTER_Z) return this.#markup(lt);
        do code = codes[++end] as number;
        while (code > GT || (code !== GT && ((ENDS_NAME[code] as number) & 3) === 0));
        if (end === start + 1) {
          if (letter === LETTER_A) this.#collector.references.closeText(lt);
        } else if (formIsOpen && end === start + 4) return this.#markup(lt);
        at = code === GT ? end + 1 : reader.skipAttributes(end);
      } else {
        const letter = code | 32;
        if (letter < LETTER_A || letter > LETTER_Z) return this.#markup(lt);
        do code = codes[++end] as number;
        while (code > GT || (code !== GT && ((ENDS_NAME[code] as number) & 3) === 0));
        if ((((lengths[letter & 31] as number) >>> (end - lt - 1)) & 1) !== 0) {
          if (end === lt + 2 && letter === LETTER_A) {
            at = this.#anchor(lt, end);
            skips = false;
          } else at = this.#candidate(lt, end);
          if (formIsOpen !== this.#formIsOpen) return at;
        } else if (code === GT) at = end + 1;
        else at = readsStyle ? this.#otherTag(lt, end) : reader.skipAttributes(end);
      }
      if (at < 0 || at >= stop) return at;
    }
  }

  /** Any markup; returns where it ends. */
  #markup(lt: number): number {
    const { codes } = this.#reader;
    const first = codes[lt + 1] as number;
    if (first === SLASH) return this.#endTag(lt);
    if (first === BANG || first === QUESTION) return this.#reader.endOfDeclaration(lt);
    if (isLetter(first)) {
      return this.#candidate(lt, this.#reader.endOfName(lt + 1));
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
    if (kind === KIND.foreign) return this.#contexts.foreign(lt, nameEnd, end);
    if (kind === KIND.form) {
      if (this.#formIsOpen) return end;
      this.#formIsOpen = true;
    }
    const { count } = collector.references;
    collector.element(id, !this.#inBody);
    if (!this.#allCount && collector.references.count > count && collector.rules.mayBeDropped[id]) return NEEDS_TREE;
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
    if (kind === KIND.template) return this.#contexts.template(at);
    if (kind === KIND.select) return this.#contexts.select(at);
    if (kind === KIND.plaintext) return END_OF_TEXT;
    if (kind === KIND.form) return at;
    const close = kind === KIND.script ? reader.endOfScript(at) : reader.endOfText(at, name);
    const end = close < 0 ? reader.html.length : close;
    if (kind === KIND.title) this.#collector.title(at, end);
    else if (kind === KIND.style) this.#collector.styleSheet(at, end);
    return close < 0 ? END_OF_TEXT : reader.skipTag(close + 2 + name.length);
  }

  #endTag(lt: number): number {
    const { codes, html } = this.#reader;
    const start = lt + 2;
    const first = codes[start] as number;
    if (!isLetter(first)) return html.indexOf('>', start) + 1;
    const end = this.#reader.endOfName(start);
    if (end === start + 1) {
      if ((first | 32) === LETTER_A) this.#collector.references.closeText(lt);
    } else if (this.#formIsOpen || !this.#inBody) this.#noteEnd(start, end);
    return this.#reader.skipAttributes(end);
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
}

interface Tables {
  /** What each element of a profile asks of the scan, by its number. */
  readonly kinds: Uint8Array;
  /** The same where elements have no place in a tree. */
  readonly kindsByTags: Uint8Array;
  readonly lengths: Int32Array;
}

const tablesByRules = new WeakMap<object, Tables>();

function tablesOf(collector: Collector): Tables {
  const { rules } = collector;
  let tables = tablesByRules.get(rules);
  if (tables === undefined) {
    const kindOf = (name: string): number => (Object.hasOwn(KINDS, name) ? (KINDS[name] as number) : KIND.read);
    const kinds = Uint8Array.from(rules.names, kindOf);
    const kindsByTags = kinds.map((kind) => (SHAPES_TREE.has(kind) ? KIND.read : kind));
    tables = { kinds, kindsByTags, lengths: rules.tags.lengths() };
    tablesByRules.set(rules, tables);
  }
  return tables;
}
