import { createRequire } from 'node:module';
import type { TokenizerCallbacks } from 'htmlparser2';

/** A meta element with a name. */
export interface NamedMeta {
  /** As written, references decoded. */
  readonly name: string;
  readonly content: string;
}

/** HTML elements that end a piece of SVG or MathML they stand in (HTML Standard, 13.2.6.5), the common ones. */
const BREAKOUT: ReadonlySet<string> = new Set(
  'body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li menu meta ol p pre span strong table ul'.split(
    ' ',
  ),
);

const FOREIGN: ReadonlySet<string> = new Set(['svg', 'math']);

/**
 * The meta elements of a page that have a name, wherever they stand, as a browser without scripting sees them: not those
 * in comments, scripts, styles, titles, text areas and templates. One pass over the text; never throws.
 */
export function scanMetas(html: string): NamedMeta[] {
  const scan = new MetaScan();
  // Loaded at first use: most programs ask for the directives of a page they have scanned for links already.
  const { Tokenizer } = createRequire(import.meta.url)('htmlparser2') as typeof import('htmlparser2');
  for (let rest = html; rest !== ''; rest = rest.slice(scan.resumeAt)) {
    const tokenizer = new Tokenizer({ decodeEntities: true }, scan);
    scan.begin(rest, () => tokenizer.pause());
    tokenizer.write(rest);
    tokenizer.end();
  }
  return scan.metas;
}

/** Takes the tokenizer's events; what it does not care for is empty. */
class MetaScan implements TokenizerCallbacks {
  readonly metas: NamedMeta[] = [];
  /** Where the text has to be read from anew. */
  resumeAt = 0;
  #html = '';
  #pause: () => void = () => {};
  /** Templates around the current place. */
  #templates = 0;
  /** SVG and MathML elements around it. */
  #foreign = 0;
  #tag = '';
  #attribute = '';
  #value = '';
  #name: string | undefined;
  #content: string | undefined;

  /** @param pause - Ends the reading of this text. */
  begin(html: string, pause: () => void): void {
    this.#html = html;
    this.#pause = pause;
    this.resumeAt = html.length;
  }

  onopentagname(start: number, end: number): void {
    // No name of interest is longer than "template"; the others need not be cut out.
    this.#tag = end - start > 8 ? '' : this.#html.slice(start, end).toLowerCase();
    this.#name = undefined;
    this.#content = undefined;
    if (FOREIGN.has(this.#tag)) this.#foreign++;
    else if (this.#foreign > 0 && BREAKOUT.has(this.#tag)) this.#foreign = 0;
    if (this.#tag === 'template') this.#templates++;
  }

  onclosetag(start: number, end: number): void {
    // The tokenizer takes the first `>` for the end of an end tag, also one in the value of an attribute.
    const close = this.#html.indexOf('>', end);
    if (close > end + 1) {
      const tagEnd = endOfTag(this.#html, end);
      if (tagEnd !== close + 1) {
        this.resumeAt = tagEnd;
        this.#pause();
      }
    }
    if (end - start > 8) return;
    const tag = this.#html.slice(start, end).toLowerCase();
    if (tag === 'template') this.#templates = Math.max(0, this.#templates - 1);
    else if (FOREIGN.has(tag)) this.#foreign = Math.max(0, this.#foreign - 1);
  }

  onattribname(start: number, end: number): void {
    this.#value = '';
    this.#attribute = this.#tag === 'meta' && end - start <= 7 ? this.#html.slice(start, end).toLowerCase() : '';
  }

  onattribdata(start: number, end: number): void {
    if (this.#attribute !== '') this.#value += this.#html.slice(start, end);
  }

  onattribentity(codePoint: number): void {
    if (this.#attribute !== '') this.#value += String.fromCodePoint(codePoint);
  }

  onattribend(): void {
    // Of an attribute that is repeated the first counts.
    if (this.#attribute === 'name') this.#name ??= this.#value;
    else if (this.#attribute === 'content') this.#content ??= this.#value;
  }

  onopentagend(): void {
    if (this.#tag !== 'meta' || this.#templates > 0) return;
    if (this.#name !== undefined) this.metas.push({ name: this.#name, content: this.#content ?? '' });
  }

  onselfclosingtag(): void {
    // Means something in SVG and MathML only.
    if (FOREIGN.has(this.#tag)) this.#foreign = Math.max(0, this.#foreign - 1);
    else this.onopentagend();
  }

  isInForeignContext(): boolean {
    return this.#foreign > 0;
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onprocessinginstruction(): void {}
  ontext(): void {}
  ontextentity(): void {}
}

/** Where a tag ends that has its attributes from `at` on (HTML Standard, 13.2.5.32 to 39); the text's end where it does not. */
function endOfTag(html: string, at: number): number {
  for (let i = at; i < html.length; ) {
    i = skip(NO_NAME, html, i);
    if (html[i] === '>') return i + 1;
    // The first character belongs to the name whatever it is, even `=`.
    i = skip(SPACE, html, skip(NAME, html, i + 1));
    if (html[i] !== '=') continue;
    i = skip(SPACE, html, i + 1);
    const quote = html[i];
    if (quote === '"' || quote === "'") {
      const end = html.indexOf(quote, i + 1);
      if (end < 0) return html.length;
      i = end + 1;
    } else i = skip(UNQUOTED, html, i);
  }
  return html.length;
}

const NO_NAME = /[\t\n\f\r /]*/y;
const NAME = /[^\t\n\f\r />=]*/y;
const SPACE = /[\t\n\f\r ]*/y;
const UNQUOTED = /[^\t\n\f\r >]*/y;

function skip(what: RegExp, html: string, at: number): number {
  what.lastIndex = at;
  what.test(html);
  return Math.max(at, what.lastIndex);
}
