/** What `canonicalBytes` leaves alone; most paths are made of nothing else. */
const PLAIN = /^[A-Za-z0-9\-._~/?&=:,;+!()@]*$/;

const HEX = '0123456789ABCDEF';

/**
 * Path and query of a URL in the form in which rules are compared with them (RFC 9309, section 2.2.2): unreserved
 * characters plain, all others that could be written in two ways as upper-case `%XX`; `*` and `$`, which are signs in a
 * rule, as `%2A` and `%24`. An escaped `/` or `?` stays escaped, since it is another resource.
 */
export function canonicalPath(path: string): string {
  return PLAIN.test(path) ? path : canonicalBytes(path, false);
}

/**
 * A rule's path in the same form, one byte a character; `*` stays, and so does a `$` at the very end.
 * `undefined` where the rule can match no path at all: it is empty, or begins with neither `/` nor `*`.
 */
export function canonicalPattern(value: string): string | undefined {
  if (value[0] !== '/' && value[0] !== '*') return undefined;
  return PLAIN.test(value) ? value : canonicalBytes(value, true);
}

/**
 * The pattern of a Disallow whose end is missing. It forbids all that begins like this, since that is the side on which
 * an error does no harm; half an escape is dropped, and a `$` is no end.
 */
export function canonicalCutPattern(value: string): string | undefined {
  const half = value.lastIndexOf('%');
  const whole = half >= 0 && half > value.length - 3 ? value.slice(0, half) : value;
  return whole === '' ? undefined : canonicalPattern(`${whole}*`);
}

function canonicalBytes(text: string, isPattern: boolean): string {
  const last = text.length - 1;
  let result = '';
  for (let i = 0; i <= last; i++) {
    const char = text[i] as string;
    const code = text.charCodeAt(i);
    if (char === '%') {
      const value = escapeAt(text, i);
      // A lone percent sign stays, so that `Disallow: /*%` still finds escapes.
      result += value < 0 ? char : isUnreserved(value) ? String.fromCharCode(value) : escapeByte(value);
      if (value >= 0) i += 2;
    } else if (isPattern && (char === '*' || (char === '$' && i === last))) {
      result += char;
    } else {
      result += PLAIN.test(char) ? char : escapeByte(code);
    }
  }
  return result;
}

function escapeAt(text: string, at: number): number {
  const high = hexValue(text.charCodeAt(at + 1));
  const low = hexValue(text.charCodeAt(at + 2));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/** -1 for what is no hexadecimal digit, the end of the text (`NaN`) included. */
function hexValue(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  if (code >= 65 && code <= 70) return code - 55;
  return code >= 97 && code <= 102 ? code - 87 : -1;
}

function escapeByte(code: number): string {
  return `%${HEX[(code >> 4) & 15]}${HEX[code & 15]}`;
}

function isUnreserved(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 45 ||
    code === 46 ||
    code === 95 ||
    code === 126
  );
}

/**
 * The second form of a canonical path or pattern with a query: `:`, `/` and `@` escaped after the first `?`. By figure 4
 * of RFC 9309, `?to=https://a` and `?to=https%3A%2F%2Fa` are one; a match in either form counts.
 */
export function withEscapedQuery(canonical: string): string {
  const query = canonical.indexOf('?') + 1;
  if (query === 0) return canonical;
  return canonical.slice(0, query) + canonical.slice(query).replace(/[:/@]/g, (char) => escapeByte(char.charCodeAt(0)));
}
