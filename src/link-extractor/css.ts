/** What a style sheet refers to. */
export interface CssReferences {
  /** Of `url()`. */
  readonly urls: string[];
  /** Of `@import`, with or without `url()`. */
  readonly imports: string[];
}

const URL_OPEN = 'url(';
const IMPORT = '@import';

/**
 * The references of a style sheet or of a list of declarations, by the tokens of CSS Syntax Level 3: nothing is found in
 * comments and strings. A reference to a part of the document (`url(#id)`) is none to fetch, and left out.
 * One pass over the text. Never throws.
 */
export function cssReferences(css: string): CssReferences {
  const found: CssReferences = { urls: [], imports: [] };
  let importing = false;
  for (let at = 0; at < css.length; ) {
    const char = css[at] as string;
    if (char === '/' && css[at + 1] === '*') {
      at = endOfComment(css, at);
    } else if (char === '"' || char === "'") {
      const end = endOfString(css, at);
      if (importing) add(found.imports, css.slice(at + 1, end.at));
      importing = false;
      at = end.next;
    } else if (char === '\\') {
      importing = false;
      at += 2;
    } else if (isNameCode(css.charCodeAt(at)) || char === '@') {
      const end = endOfName(css, at + 1);
      if (css[end] === '(' && end - at === 3 && sameWord(css, at, URL_OPEN)) {
        at = readUrl(css, end + 1, importing ? found.imports : found.urls);
        importing = false;
      } else {
        importing = char === '@' && end - at === IMPORT.length && sameWord(css, at, IMPORT);
        at = end;
      }
    } else {
      if (!isCssSpace(char)) importing = false;
      at++;
    }
  }
  return found;
}

/** Reads from behind `url(`; returns where to go on. */
function readUrl(css: string, at: number, into: string[]): number {
  while (isCssSpace(css[at])) at++;
  const quote = css[at];
  if (quote === '"' || quote === "'") {
    const end = endOfString(css, at);
    add(into, css.slice(at + 1, end.at));
    return end.next;
  }
  const start = at;
  for (; at < css.length && css[at] !== ')' && !isCssSpace(css[at]); at++) {
    const char = css[at] as string;
    if (char === '\\') at++;
    else if (char === '"' || char === "'" || char === '(') return endOfBadUrl(css, at);
  }
  const end = Math.min(at, css.length);
  while (isCssSpace(css[at])) at++;
  if (at < css.length && css[at] !== ')') return endOfBadUrl(css, at);
  add(into, css.slice(start, end));
  return at + 1;
}

function endOfBadUrl(css: string, at: number): number {
  for (; at < css.length && css[at] !== ')'; at++) if (css[at] === '\\') at++;
  return at + 1;
}

function add(into: string[], raw: string): void {
  const url = unescapeCss(raw);
  if (url !== '' && !url.startsWith('#')) into.push(url);
}

function endOfComment(css: string, at: number): number {
  const end = css.indexOf('*/', at + 2);
  return end < 0 ? css.length : end + 2;
}

/** Where the string that begins at `at` ends, and where to go on; a line break ends it too. */
function endOfString(css: string, at: number): { at: number; next: number } {
  const quote = css[at];
  for (at++; at < css.length; at++) {
    const char = css[at];
    if (char === quote) return { at, next: at + 1 };
    if (char === '\n' || char === '\r' || char === '\f') return { at, next: at };
    if (char === '\\') at++;
  }
  return { at: css.length, next: css.length };
}

function endOfName(css: string, at: number): number {
  while (at < css.length && isNameCode(css.charCodeAt(at))) at++;
  return at;
}

/** Letters, digits, `-`, `_` and all beyond ASCII. */
function isNameCode(code: number): boolean {
  const lower = code | 32;
  return (lower >= 97 && lower <= 122) || (code >= 48 && code <= 57) || code === 45 || code === 95 || code >= 128;
}

function sameWord(css: string, at: number, word: string): boolean {
  return css.slice(at, at + word.length).toLowerCase() === word;
}

function isCssSpace(char: string | undefined): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\r' || char === '\f';
}

/** Escapes decoded: `\` and up to six hexadecimal digits with one white space, an escaped line break, any other character. */
function unescapeCss(raw: string): string {
  if (!raw.includes('\\')) return raw;
  return raw.replace(
    /\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \n\t\r\f])?|(\r\n|[\s\S]))/g,
    (_, hex?: string, char?: string) => {
      if (hex === undefined)
        return char === '\n' || char === '\r\n' || char === '\r' || char === '\f' ? '' : (char ?? '');
      const code = Number.parseInt(hex, 16);
      return code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)
        ? '\uFFFD'
        : String.fromCodePoint(code);
    },
  );
}
