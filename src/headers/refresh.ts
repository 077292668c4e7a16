/** What a `Refresh` header or `<meta http-equiv=refresh>` asks for. */
export interface Refresh {
  /** Whole seconds to wait. */
  readonly seconds: number;
  /** Where to go, as written; `undefined` for the page itself. */
  readonly url: string | undefined;
}

const SPACE = ' \t\n\f\r';

/**
 * Reads a declarative refresh by the rules of the HTML Standard ("shared declarative refresh steps"): `5`, `0; /next`,
 * `0;url='/next'`, `3, /next`. The time is required.
 *
 * @returns `undefined` where a browser would not act. Never throws.
 */
export function parseRefresh(value: string): Refresh | undefined {
  if (typeof value !== 'string') return undefined;
  let at = skipSpace(value, 0);
  const start = at;
  while (isDigit(value[at])) at++;
  if (at === start && value[at] !== '.') return undefined;
  const seconds = Number(value.slice(start, at));
  while (isDigit(value[at]) || value[at] === '.') at++;
  if (at >= value.length) return { seconds, url: undefined };
  if (!isSpace(value[at]) && !isSeparator(value[at])) return undefined;
  at = skipSpace(value, at);
  if (isSeparator(value[at])) at = skipSpace(value, at + 1);
  const url = readTarget(value.slice(at));
  return { seconds, url: url === '' ? undefined : url };
}

/** The rest behind the time: an optional `url=`, optional quotation marks, a reference. */
function readTarget(rest: string): string {
  let at = 0;
  if (rest[0] === 'u' || rest[0] === 'U') {
    if (rest.slice(1, 3).toLowerCase() !== 'rl') return rest;
    at = skipSpace(rest, 3);
    if (rest[at] !== '=') return rest;
    at = skipSpace(rest, at + 1);
  }
  const quote = rest[at];
  if (quote !== '"' && quote !== "'") return rest.slice(at);
  const end = rest.indexOf(quote, at + 1);
  return rest.slice(at + 1, end < 0 ? rest.length : end);
}

function skipSpace(text: string, at: number): number {
  while (isSpace(text[at])) at++;
  return at;
}

function isSpace(char: string | undefined): boolean {
  return char !== undefined && SPACE.includes(char);
}

function isSeparator(char: string | undefined): boolean {
  return char === ';' || char === ',';
}

function isDigit(char: string | undefined): boolean {
  return char !== undefined && char >= '0' && char <= '9';
}
