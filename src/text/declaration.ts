import type { Buffer } from 'node:buffer';

/** How far into a document a declaration may stand. */
const WINDOW_BYTES = 1024;

/**
 * The labels that the beginning of a document declares, in the order in which they count: for HTML those of `<meta>`,
 * then that of an XML declaration; for XML the other way round. None for other types. Linear in the window.
 * @param type - Media type in lower case; empty where it is not known.
 * @see https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding
 */
export function declaredLabels(bytes: Buffer, type: string): readonly string[] {
  const xml = type.endsWith('/xml') || type.endsWith('+xml');
  if (!xml && type !== '' && type !== 'text/html') return [];
  const window = bytes.toString('latin1', 0, WINDOW_BYTES);
  const declaration = xmlLabels(window);
  const metas = new Prescan(window).labels();
  return xml ? [...declaration, ...metas] : [...metas, ...declaration];
}

/** `<?xml ... encoding="..."?>`, at the very beginning. */
function xmlLabels(window: string): readonly string[] {
  if (!window.startsWith('<?xml')) return [];
  const end = window.indexOf('>');
  const declaration = end < 0 ? '' : window.slice(0, end);
  let at = declaration.indexOf('encoding');
  if (at < 0) return [];
  at = skip(declaration, at + 'encoding'.length, isControlOrSpace);
  if (declaration[at] !== '=') return [];
  at = skip(declaration, at + 1, isControlOrSpace);
  const quote = declaration[at];
  const close = quote === '"' || quote === "'" ? declaration.indexOf(quote, at + 1) : -1;
  return close < 0 ? [] : [declaration.slice(at + 1, close)];
}

/** Walks through tags and comments as far as the window goes, and notes what `<meta>` says. */
class Prescan {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  labels(): string[] {
    const found: string[] = [];
    for (;;) {
      this.#at = this.#text.indexOf('<', this.#at);
      if (this.#at < 0) return found;
      if (this.#starts('<!--')) {
        // The dashes that open a comment may also close it.
        this.#moveBehind('-->', this.#at + 2);
      } else if (this.#starts('<meta') && isSpaceOrSlash(this.#text[this.#at + 5])) {
        this.#at += 5;
        const label = this.#metaLabel();
        if (label !== undefined) found.push(label);
      } else if (isLetter(this.#text[this.#at + (this.#starts('</') ? 2 : 1)])) {
        this.#at = skip(this.#text, this.#at, (char) => !isSpace(char) && char !== '>');
        while (this.#attribute() !== undefined);
      } else if (this.#starts('<!') || this.#starts('</') || this.#starts('<?')) {
        this.#moveBehind('>', this.#at);
      } else {
        this.#at++;
      }
    }
  }

  #metaLabel(): string | undefined {
    const seen = new Set<string>();
    let pragma = false;
    let charset: string | undefined;
    let fromContent = false;
    for (let pair = this.#attribute(); pair !== undefined; pair = this.#attribute()) {
      const [name, value] = pair;
      if (seen.has(name)) continue;
      seen.add(name);
      if (name === 'http-equiv') pragma = value === 'content-type';
      else if (name === 'charset') {
        charset = value;
        fromContent = false;
      } else if (name === 'content' && charset === undefined) {
        charset = charsetInContent(value);
        fromContent = charset !== undefined;
      }
    }
    return charset === undefined || (fromContent && !pragma) ? undefined : charset;
  }

  /** The next attribute, name and value in lower case; `undefined` at the end of the tag. */
  #attribute(): readonly [name: string, value: string] | undefined {
    const text = this.#text;
    this.#at = skip(text, this.#at, isSpaceOrSlash);
    if (this.#at >= text.length || text[this.#at] === '>') return undefined;
    const start = this.#at;
    // An equals sign may begin a name, but not stand in it.
    this.#at = skip(text, start + 1, (char) => !isSpaceOrSlash(char) && char !== '>' && char !== '=');
    const name = text.slice(start, this.#at).toLowerCase();
    const equals = skip(text, this.#at, isSpace);
    if (text[equals] !== '=') return [name, ''];
    this.#at = skip(text, equals + 1, isSpace);
    return [name, this.#value().toLowerCase()];
  }

  #value(): string {
    const text = this.#text;
    const quote = text[this.#at];
    if (quote === '"' || quote === "'") {
      const start = this.#at + 1;
      const close = text.indexOf(quote, start);
      this.#at = close < 0 ? text.length : close + 1;
      return text.slice(start, close < 0 ? text.length : close);
    }
    const start = this.#at;
    this.#at = skip(text, start, (char) => !isSpace(char) && char !== '>');
    return text.slice(start, this.#at);
  }

  #starts(prefix: string): boolean {
    return this.#text.slice(this.#at, this.#at + prefix.length).toLowerCase() === prefix;
  }

  #moveBehind(mark: string, from: number): void {
    const at = this.#text.indexOf(mark, from);
    this.#at = at < 0 ? this.#text.length : at + mark.length;
  }
}

/** @see https://html.spec.whatwg.org/#algorithm-for-extracting-a-character-encoding-from-a-meta-element */
function charsetInContent(value: string): string | undefined {
  for (let at = value.indexOf('charset'); at >= 0; at = value.indexOf('charset', at)) {
    at = skip(value, at + 'charset'.length, isSpace);
    if (value[at] !== '=') continue;
    at = skip(value, at + 1, isSpace);
    const quote = value[at];
    if (quote === '"' || quote === "'") {
      const close = value.indexOf(quote, at + 1);
      return close < 0 ? undefined : value.slice(at + 1, close);
    }
    return (
      value.slice(
        at,
        skip(value, at, (char) => !isSpace(char) && char !== ';'),
      ) || undefined
    );
  }
  return undefined;
}

/** The first place from `at` on whose character is not one of these. */
function skip(text: string, at: number, these: (char: string | undefined) => boolean): number {
  while (at < text.length && these(text[at])) at++;
  return at;
}

function isSpace(char: string | undefined): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\r' || char === '\f';
}

function isSpaceOrSlash(char: string | undefined): boolean {
  return char === '/' || isSpace(char);
}

function isControlOrSpace(char: string | undefined): boolean {
  return char !== undefined && char <= ' ';
}

function isLetter(char: string | undefined): boolean {
  return char !== undefined && ((char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z'));
}
