/** What browsers call themselves and their parts: never the name of a robot. */
const BROWSER_WORDS: ReadonlySet<string> = new Set(
  'mozilla applewebkit khtml gecko chrome chromium safari version mobile firefox edg edge opr opera trident msie'.split(
    ' ',
  ),
);

const LONGEST = 1024;

/**
 * The product token by which robots.txt and robots rules address a crawler (RFC 9309, 2.2.1), taken from its own name
 * or from its whole `User-Agent` header: `MossBot` of `MossBot`, of `MossBot/1.4 (+https://example.org/bot)`, and of
 * `Mozilla/5.0 (compatible; MossBot/1.4; +https://example.org/bot)`. A token has letters, `_` and `-` only.
 *
 * @returns The token in the case it was written, or `undefined` where none can be made out. Never throws.
 */
export function productToken(userAgent: string): string | undefined {
  if (typeof userAgent !== 'string') return undefined;
  const text = userAgent.trim().slice(0, LONGEST);
  const first = tokenAt(text);
  if (first === undefined || !BROWSER_WORDS.has(first.toLowerCase())) return first;
  return compatibleToken(text) ?? otherProduct(text);
}

/** The longest beginning that is a token; in a robots.txt line what follows it is decoration. */
function tokenAt(text: string): string | undefined {
  return /^[A-Za-z_-]+/.exec(text)?.[0];
}

/** The product named behind `compatible;`. */
function compatibleToken(text: string): string | undefined {
  const at = text.toLowerCase().indexOf('compatible;');
  if (at < 0) return undefined;
  const token = tokenAt(text.slice(at + 'compatible;'.length).trimStart());
  return token === undefined || BROWSER_WORDS.has(token.toLowerCase()) ? undefined : token;
}

/** The last product, outside of comments, that is none of a browser's. */
function otherProduct(text: string): string | undefined {
  let found: string | undefined;
  for (const word of withoutComments(text).split(/\s+/)) {
    const token = word.includes('/') ? tokenAt(word) : undefined;
    if (token !== undefined && !BROWSER_WORDS.has(token.toLowerCase())) found = token;
  }
  return found;
}

function withoutComments(text: string): string {
  let depth = 0;
  let kept = '';
  for (const char of text) {
    if (char === '(') depth++;
    else if (char === ')') depth = Math.max(0, depth - 1);
    else if (depth === 0) kept += char;
  }
  return kept;
}
