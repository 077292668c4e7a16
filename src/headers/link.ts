import { toLines } from './lines.ts';

/** One link of a `Link` header. */
export interface HeaderLink {
  /** The reference between the angle brackets, as written: resolve it against the URL of the answer. */
  readonly url: string;
  /** Parameters by name in lower case; of several with one name the first. */
  readonly params: Record<string, string>;
  /** Tokens of `rel`, in lower case. */
  readonly rel: string[];
}

const SPACE = /[ \t\r\n]/;

/**
 * Reads `Link` headers (RFC 8288, appendix B.2), several links a line and several lines. What does not begin with a
 * reference in angle brackets is passed over up to the next comma. One pass over the text. Never throws.
 */
export function parseLinkHeader(value: string | readonly string[] | undefined): HeaderLink[] {
  const links: HeaderLink[] = [];
  for (const line of toLines(value)) readLine(String(line), links);
  return links;
}

function readLine(text: string, links: HeaderLink[]): void {
  let at = 0;
  while (at < text.length) {
    at = skip(text, at, true);
    if (text[at] !== '<') {
      const comma = text.indexOf(',', at);
      if (comma < 0) return;
      at = comma + 1;
      continue;
    }
    const end = text.indexOf('>', at);
    if (end < 0) return;
    const url = text.slice(at + 1, end).trim();
    const params: Record<string, string> = {};
    at = readParameters(text, end + 1, params);
    links.push({ url, params, rel: relOf(params) });
  }
}

/** Reads `;name=value` until the comma that ends the link; returns where that stands. */
function readParameters(text: string, at: number, params: Record<string, string>): number {
  for (;;) {
    at = skip(text, at, false);
    if (text[at] !== ';') {
      // A comma or the end as a rule; other junk belongs to no parameter.
      while (at < text.length && text[at] !== ',' && text[at] !== ';') at++;
      if (text[at] !== ';') return at;
    }
    at = skip(text, at + 1, false);
    const nameStart = at;
    while (at < text.length && !'=;,'.includes(text[at] as string)) at++;
    const name = text.slice(nameStart, at).trim().toLowerCase();
    let value = '';
    if (text[at] === '=') [value, at] = readValue(text, skip(text, at + 1, false));
    if (name !== '' && !Object.hasOwn(params, name)) {
      // Not by assignment, which "__proto__" would make something else.
      Object.defineProperty(params, name, { value, enumerable: true, configurable: true, writable: true });
    }
  }
}

function readValue(text: string, at: number): [value: string, end: number] {
  if (text[at] !== '"') {
    const start = at;
    while (at < text.length && text[at] !== ';' && text[at] !== ',') at++;
    return [text.slice(start, at).trim(), at];
  }
  let value = '';
  for (at++; at < text.length && text[at] !== '"'; at++) {
    if (text[at] === '\\' && at + 1 < text.length) at++;
    value += text[at];
  }
  return [value, at + 1];
}

function skip(text: string, at: number, commas: boolean): number {
  while (at < text.length && (SPACE.test(text[at] as string) || (commas && text[at] === ','))) at++;
  return at;
}

function relOf(params: Record<string, string>): string[] {
  const { rel = '' } = params;
  return rel
    .toLowerCase()
    .split(/\s+/)
    .filter((token) => token !== '');
}
