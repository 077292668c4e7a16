import { codesOf } from './codes.ts';
import { decodeText, detached, foldSpace } from './entities.ts';
import { BANG, isLetter, LT, QUESTION, SLASH, SPACE, startsWithName } from './names.ts';
import { MarkupReader } from './reader.ts';

/** How far a text is looked for: longer markup without text is not worth it. */
const LONGEST_MARKUP = 16_384;

/** The text between two places, without tags and comments, white space folded, cut at `most` characters. */
export function textOf(html: string, codes: Uint16Array, start: number, end: number, most: number): string {
  if (end - start <= most && isPlain(codes, start, end)) return detached(html.slice(start, end));
  const raw = html.slice(start, Math.min(end, start + LONGEST_MARKUP));
  const text = foldSpace(decodeText(raw.includes('<') ? withoutMarkup(raw, most) : raw));
  return detached(text.length > most ? text.slice(0, most).trimEnd() : text);
}

/** Whether a text is what it says: no markup, no references, no white space but single spaces between words. */
function isPlain(codes: Uint16Array, start: number, end: number): boolean {
  let wasSpace = true;
  for (let at = start; at < end; at++) {
    const code = codes[at] as number;
    if (code > LT) wasSpace = false;
    else if (code === SPACE) {
      if (wasSpace) return false;
      wasSpace = true;
    } else if (code < SPACE || code === AMPERSAND || code === LT) return false;
    else wasSpace = false;
  }
  return !wasSpace || start === end;
}

const AMPERSAND = 38;

function withoutMarkup(html: string, most: number): string {
  const reader = new MarkupReader(html, codesOf(html, 2));
  let text = '';
  let at = 0;
  while (at >= 0 && text.length <= most * 4) {
    const lt = html.indexOf('<', at);
    if (lt < 0) return text + html.slice(at);
    text += html.slice(at, lt);
    at = endOfMarkup(reader, lt);
    if (at === lt) {
      text += '<';
      at++;
    }
  }
  return text;
}

/** Where the markup at `lt` ends: `lt` where there is none, -1 where it does not end. */
function endOfMarkup(reader: MarkupReader, lt: number): number {
  const { html, lastGt } = reader;
  let at = lt + 1;
  const code = html.charCodeAt(at);
  if (code === BANG || code === QUESTION) return reader.endOfDeclaration(lt);
  const isEnd = code === SLASH;
  if (isEnd) at++;
  if (!isLetter(html.charCodeAt(at))) return isEnd ? html.indexOf('>', at) + 1 || -1 : lt;
  if (lt > lastGt) return -1;
  const name = at;
  while (isNameCode(html.charCodeAt(at))) at++;
  const end = reader.skipAttributes(at);
  if (isEnd || end < 0) return end;
  for (const raw of ['script', 'style']) {
    if (at - name === raw.length && startsWithName(reader.codes, name, raw)) return reader.endOfText(end, raw);
  }
  return end;
}

/** Whether a tag's name goes on. */
function isNameCode(code: number): boolean {
  return !(code === SLASH || code === 62 || code === 32 || (code >= 9 && code <= 13 && code !== 11));
}
