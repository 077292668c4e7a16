import { parseRefresh } from '../headers.ts';
import { cssReferences } from './css.ts';
import { attribute } from './names.ts';
import type { MarkupReader } from './reader.ts';
import type { References } from './references.ts';
import { levelOfLink, relOf } from './relations.ts';
import { HOLDS, type ProfileRules, staticSource } from './rules.ts';
import { parseSrcset } from './srcset.ts';

const HREF = attribute('href');
const XLINK_HREF = attribute('xlink:href');
const REL = attribute('rel');
const SRC = attribute('src');
const TYPE = attribute('type');
const NAME = attribute('name');
const CONTENT = attribute('content');
const HTTP_EQUIV = attribute('http-equiv');
const STYLE = attribute('style');
const IMAGESRCSET = attribute('imagesrcset');
const METHOD = attribute('method');
const ACTION = attribute('action');
const FORM = attribute('form');
const FORMACTION = attribute('formaction');
const FORMMETHOD = attribute('formmethod');
const SRCDOC = attribute('srcdoc');
const CANONICAL_SPOILERS = [attribute('hreflang'), attribute('lang'), attribute('media'), TYPE];

/** Source of the links of `a`. */
export const A_HREF: number = staticSource('a/href');
const LINK_HREF = staticSource('link/href');
const LINK_IMAGESRCSET = staticSource('link/imagesrcset');
const META_REFRESH = staticSource('meta/refresh');
const STYLE_URL = staticSource('style/url');
const STYLE_IMPORT = staticSource('style/import');
const INPUT_SRC = staticSource('input/src');
const INPUT_FORMACTION = staticSource('input/formaction');
const BUTTON_FORMACTION = staticSource('button/formaction');
const FORM_ACTION = staticSource('form/action');
/** The value is a document of its own. */
export const IFRAME_SRCDOC: number = staticSource('iframe/srcdoc');

/** Names of `<meta>` that may hold rules: product tokens and the like, not `og:title`. */
const META_NAME = /^[A-Za-z0-9_-]{1,100}$/;
const MOST_METAS = 1000;
const LONGEST_META = 16_384;
const MOST_CANONICALS = 1000;
/** Characters of a title as it is written, and of a style sheet. */
const LONGEST_TITLE = 16_384;
const LONGEST_SHEET = 1_048_576;

/** Knows what of an element is a reference. It is told of the elements of a document in their order. */
export class Collector {
  readonly rules: ProfileRules;
  readonly references: References;
  /** Whether `style` attributes are read, so that no tag can be passed over. */
  readonly readsStyle: boolean;
  /** Whether the form that is open, if one is, is sent with GET. */
  formIsGet = false;
  readonly #reader: MarkupReader;
  /** Attributes of `html` and `body`: further tags add those that earlier ones did not have. */
  #adopted: Set<string> | undefined;

  constructor(rules: ProfileRules, reader: MarkupReader, references: References) {
    this.rules = rules;
    this.references = references;
    this.readsStyle = rules.level >= 1;
    this.#reader = reader;
  }

  /** An `<a>` whose attributes were just read; the tag stands from `lt` to `end`. */
  anchor(lt: number, end: number): void {
    const reader = this.#reader;
    this.references.closeText(lt);
    if (!reader.has(HREF)) return;
    const hasRel = reader.has(REL);
    const relStart = hasRel ? reader.start(REL) : -1;
    this.references.add(reader.start(HREF), reader.end(HREF), A_HREF, relStart, hasRel ? reader.end(REL) : -1);
    this.references.openText(end);
  }

  /**
   * An HTML element whose attributes were just read.
   * @param id - Its number in the profile's table, not 0.
   * @param inHead - Whether the body has not begun.
   */
  element(id: number, inHead: boolean): void {
    const written = this.rules.names[id] as string;
    const name = written === 'image' ? 'img' : written;
    const reader = this.#reader;
    for (const rule of this.rules.rules[id] as ProfileRules['rules'][number]) {
      if (!reader.has(rule.attribute)) continue;
      if (this.#isAdopted(name, rule.attribute)) continue;
      this.#read(rule.attribute, rule.holds, rule.source);
    }
    if (name === 'link') this.#link(inHead);
    else if (name === 'meta') this.#meta();
    else if (name === 'base') this.#base();
    else if (this.rules.level >= 1) this.#special(name);
    if (this.readsStyle && reader.has(STYLE) && !this.#isAdopted(name, STYLE)) this.styleAttribute(name);
  }

  /** An element of SVG or MathML whose attributes were just read. */
  foreignElement(name: string, isSvg: boolean, lt: number, end: number): void {
    const reader = this.#reader;
    const isAnchor = name === 'a';
    if (isAnchor) this.references.closeText(lt);
    if (isAnchor || (isSvg && this.rules.readsForeign(name))) {
      // SVG 2: `href` wins over the older name.
      const id = reader.has(HREF) ? HREF : XLINK_HREF;
      if (reader.has(id)) this.#foreignReference(name, id, isAnchor, end);
    }
    if (this.readsStyle && reader.has(STYLE)) this.styleAttribute(name);
  }

  #foreignReference(name: string, id: number, isAnchor: boolean, end: number): void {
    const reader = this.#reader;
    const value = reader.value(id);
    // Resources named by fragment alone are parts of this very document.
    if (!isAnchor && (value === '' || value.startsWith('#'))) return;
    const source = this.references.sourceId(`${name}/${id === HREF ? 'href' : 'xlink:href'}`);
    const [relStart, relEnd] = isAnchor && reader.has(REL) ? [reader.start(REL), reader.end(REL)] : [-1, -1];
    this.references.add(reader.start(id), reader.end(id), source, relStart, relEnd);
    if (isAnchor && !reader.selfClosing) this.references.openText(end);
  }

  /** The content of a `<style>`; its attributes are those just read. */
  styleSheet(start: number, end: number): void {
    if (!this.readsStyle) return;
    const type = this.#reader.value(TYPE).trim().toLowerCase();
    if (type !== '' && type !== 'text/css') return;
    const found = cssReferences(
      this.#reader.html.slice(start, Math.min(end, start + LONGEST_SHEET)).replaceAll('\0', '\uFFFD'),
    );
    for (const url of found.imports) this.references.addValue(url, STYLE_IMPORT, -1, -1);
    for (const url of found.urls) this.references.addValue(url, STYLE_URL, -1, -1);
  }

  /** The `style` attribute of the tag read last. */
  styleAttribute(name: string): void {
    const value = this.#reader.value(STYLE);
    if (!/url\(/i.test(value)) return;
    const { urls } = cssReferences(value);
    if (urls.length === 0) return;
    const source = this.references.sourceId(`${name}/style`);
    for (const url of urls) this.references.addValue(url, source, -1, -1);
  }

  /** The content of a `<title>`. */
  title(start: number, end: number): void {
    if (this.references.titleStart >= 0) return;
    this.references.titleStart = start;
    this.references.titleEnd = Math.min(end, start + LONGEST_TITLE);
  }

  /** The name of an attribute once more on `html` or `body`. */
  #isAdopted(name: string, id: number): boolean {
    if (name !== 'body' && name !== 'html') return false;
    const key = `${name} ${id}`;
    this.#adopted ??= new Set();
    if (this.#adopted.has(key)) return true;
    this.#adopted.add(key);
    return false;
  }

  #read(id: number, holds: number, source: number): void {
    const reader = this.#reader;
    const start = reader.start(id);
    const end = reader.end(id);
    if (holds === HOLDS.link) {
      const [relStart, relEnd] = reader.has(REL) ? [reader.start(REL), reader.end(REL)] : [-1, -1];
      this.references.add(start, end, source, relStart, relEnd);
    } else if (start === end) {
      return;
    } else if (holds === HOLDS.embed) {
      this.references.add(start, end, source, -1, -1);
    } else if (holds === HOLDS.srcset) {
      for (const url of parseSrcset(reader.value(id))) this.references.addValue(url, source, -1, -1);
    } else {
      const separator = holds === HOLDS.list ? /[\t\n\f\r ]+/ : /[\t\n\f\r ]*,[\t\n\f\r ]*/;
      for (const url of reader.value(id).split(separator))
        if (url !== '') this.references.addValue(url, source, -1, -1);
    }
  }

  #link(inHead: boolean): void {
    const reader = this.#reader;
    const [relStart, relEnd] = reader.has(REL) ? [reader.start(REL), reader.end(REL)] : [-1, -1];
    const relations = relOf(relStart < 0 ? '' : reader.html.slice(relStart, relEnd));
    if (levelOfLink(relations, reader.value(TYPE)) > this.rules.level) return;
    if (reader.has(HREF) && reader.start(HREF) < reader.end(HREF)) {
      this.references.add(reader.start(HREF), reader.end(HREF), LINK_HREF, relStart, relEnd);
      if (inHead && relations.tokens.includes('canonical')) this.#canonical();
    }
    if (this.rules.level >= 1 && reader.has(IMAGESRCSET)) {
      const urls = parseSrcset(reader.value(IMAGESRCSET));
      for (const url of urls) this.references.addValue(url, LINK_IMAGESRCSET, relStart, relEnd);
    }
  }

  #canonical(): void {
    const { canonicals } = this.references;
    if (canonicals.length >= MOST_CANONICALS || CANONICAL_SPOILERS.some((id) => this.#reader.has(id))) return;
    canonicals.push(this.#reader.value(HREF));
  }

  #meta(): void {
    const reader = this.#reader;
    if (!reader.has(CONTENT)) return;
    if (reader.has(HTTP_EQUIV) && reader.value(HTTP_EQUIV).toLowerCase() === 'refresh') {
      const refresh = parseRefresh(reader.value(CONTENT));
      if (refresh?.url !== undefined) this.references.addValue(refresh.url, META_REFRESH, -1, -1);
    }
    if (!reader.has(NAME)) return;
    const { metas } = this.references;
    const name = reader.value(NAME).trim();
    if (META_NAME.test(name) && metas.length < MOST_METAS) {
      metas.push({ name: name.toLowerCase(), content: reader.value(CONTENT).slice(0, LONGEST_META) });
    }
  }

  #base(): void {
    if (this.references.base === undefined && this.#reader.has(HREF)) this.references.base = this.#reader.value(HREF);
  }

  #special(name: string): void {
    const reader = this.#reader;
    if (name === 'input') {
      const type = reader.value(TYPE).toLowerCase();
      if (type === 'image' && reader.has(SRC)) this.#read(SRC, HOLDS.embed, INPUT_SRC);
      if (type === 'image' || type === 'submit') this.#formAction(INPUT_FORMACTION);
    } else if (this.rules.level < 2) {
      return;
    } else if (name === 'button') {
      const type = reader.value(TYPE).toLowerCase();
      if (type !== 'reset' && type !== 'button') this.#formAction(BUTTON_FORMACTION);
    } else if (name === 'form') {
      const method = reader.value(METHOD).toLowerCase();
      this.formIsGet = method !== 'post' && method !== 'dialog';
      if (this.formIsGet && reader.has(ACTION)) this.#read(ACTION, HOLDS.embed, FORM_ACTION);
    } else if (name === 'iframe' && reader.has(SRCDOC)) {
      this.references.addValue(reader.value(SRCDOC), IFRAME_SRCDOC, -1, -1);
    }
  }

  /** Where a button sends its form to, instead of where the form says; of a form elsewhere in the page nothing is known. */
  #formAction(source: number): void {
    const reader = this.#reader;
    if (this.rules.level < 2 || !reader.has(FORMACTION)) return;
    const method = reader.has(FORMMETHOD) ? reader.value(FORMMETHOD).toLowerCase() : undefined;
    const isGet = method === undefined ? this.formIsGet && !reader.has(FORM) : method !== 'post' && method !== 'dialog';
    if (isGet) this.#read(FORMACTION, HOLDS.embed, source);
  }
}
