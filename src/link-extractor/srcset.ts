/**
 * The references of a `srcset` attribute, by the steps of the HTML Standard ("parse a srcset attribute"): a reference
 * ends at white space, commas at its end separate, and a comma within parentheses of a descriptor does not. A candidate
 * with a descriptor that HTML does not know is left out, as a browser leaves it out. One pass. Never throws.
 */
export function parseSrcset(text: string): string[] {
  const urls: string[] = [];
  let at = 0;
  for (;;) {
    while (at < text.length && (isSpace(text[at]) || text[at] === ',')) at++;
    if (at >= text.length) return urls;
    const start = at;
    while (at < text.length && !isSpace(text[at])) at++;
    let end = at;
    while (text[end - 1] === ',') end--;
    const url = text.slice(start, end);
    if (end < at) {
      urls.push(url);
      continue;
    }
    const descriptors: string[] = [];
    at = readDescriptors(text, at, descriptors);
    if (areValid(descriptors)) urls.push(url);
  }
}

/** Reads up to the comma that ends the candidate; returns where to go on. */
function readDescriptors(text: string, at: number, into: string[]): number {
  let start = at;
  let isNested = false;
  const take = (end: number): void => {
    if (end > start) into.push(text.slice(start, end));
    start = end + 1;
  };
  for (; at < text.length; at++) {
    const char = text[at] as string;
    if (isNested) isNested = char !== ')';
    else if (char === ',') break;
    else if (isSpace(char)) take(at);
    else isNested = char === '(';
  }
  take(at);
  return at + 1;
}

/** `1x`, `100w`, `100w 50h`: one of a kind, density not with the others, height only with a width. */
function areValid(descriptors: readonly string[]): boolean {
  const seen = new Set<string>();
  for (const descriptor of descriptors) {
    const unit = descriptor.at(-1) as string;
    const value = descriptor.slice(0, -1);
    if (seen.has(unit)) return false;
    if (unit === 'x') {
      if (!FLOAT.test(value)) return false;
    } else if (unit === 'w' || unit === 'h') {
      if (!/^\d+$/.test(value) || Number(value) === 0) return false;
    } else return false;
    seen.add(unit);
  }
  if (seen.has('x') && seen.size > 1) return false;
  return !seen.has('h') || seen.has('w');
}

/** A floating-point number that is not negative. */
const FLOAT = /^(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function isSpace(char: string | undefined): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\r' || char === '\f';
}
