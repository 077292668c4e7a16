import { createRequire } from 'node:module';

type Decoder = typeof import('entities/decode');

let decoder: Decoder | undefined;

/** The table of names is large, so it is loaded when the first reference turns up that is no `&amp;`. */
function loadDecoder(): Decoder {
  decoder ??= createRequire(import.meta.url)('entities/decode') as Decoder;
  return decoder;
}

/** The value of an attribute as written, with character references decoded the way attributes have them. */
export function decodeAttribute(raw: string): string {
  const clean = withoutNul(raw);
  if (!clean.includes('&')) return clean;
  return decodeAmp(clean) ?? loadDecoder().decodeHTMLAttribute(clean);
}

/** Text as written, with character references decoded the way text has them. */
export function decodeText(raw: string): string {
  const clean = withoutNul(raw);
  if (!clean.includes('&')) return clean;
  return decodeAmp(clean) ?? loadDecoder().decodeHTML(clean);
}

function withoutNul(raw: string): string {
  return raw.includes('\0') ? raw.replaceAll('\0', '\uFFFD') : raw;
}

/** The usual case, in which every `&` begins `&amp;`. */
function decodeAmp(text: string): string | undefined {
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 5)) {
    if (!text.startsWith('amp;', at + 1)) return undefined;
  }
  return text.replaceAll('&amp;', '&');
}

/** White space folded as `document.title` does: runs become one space, none at either end. */
export function foldSpace(text: string): string {
  return FOLDABLE.test(text) ? text.replace(RUNS, ' ').replace(EDGES, '') : text;
}

const RUNS = /[\t\n\f\r ]+/g;
const EDGES = /^ | $/g;
/** Anything but single spaces between other characters. */
const FOLDABLE = /[\t\n\f\r]|^ | $| {2}/;

/**
 * A string of its own. What is cut out of a page keeps the whole page in memory, as long as it is kept itself.
 */
export function detached(text: string): string {
  // Shorter ones are copied by the engine anyway.
  return text.length < 13 ? text : ` ${text}`.slice(1);
}

/** The same string, put together: until then one that was joined keeps what it was joined from. It must not begin with NUL. */
export function joined(text: string): string {
  // The engine puts it together to look at it, which it leaves out where the answer is clear beforehand.
  return text.charCodeAt(0) === 0 ? '' : text;
}
