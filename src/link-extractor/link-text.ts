import { decodeText, detached, foldSpace } from './entities.ts';
import { BANG, ENDS_NAME, GT, isLetter, LT, QUESTION, SLASH, SPACE, startsWithName } from './names.ts';
import type { MarkupReader } from './reader.ts';

/** How far a text is looked for: longer markup without text is not worth it. */
const LONGEST_MARKUP = 16_384;
const AMPERSAND = 38;

/** The text between two places, without tags and comments, white space folded, cut at `most` characters. */
export function textOf(reader: MarkupReader, start: number, end: number, most: number): string {
  const { html } = reader;
  if (end - start <= most && isPlain(reader.codes, start, end)) return detached(html.slice(start, end));
  const raw = withoutMarkup(reader, start, Math.min(end, start + LONGEST_MARKUP), most);
  const text = foldSpace(decodeText(raw));
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

function withoutMarkup(reader: MarkupReader, start: number, end: number, most: number): string {
  const { html } = reader;
  let text = '';
  for (let at = start; at >= 0 && at < end && text.length <= most * 4; ) {
    let lt = html.indexOf('<', at);
    if (lt < 0 || lt > end) lt = end;
    if (lt > at) text += html.slice(at, lt);
    if (lt === end) break;
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
  const { html, codes, lastGt } = reader;
  if (lt >= lastGt) return -1;
  const code = codes[lt + 1] as number;
  if (code === BANG || code === QUESTION) return reader.endOfDeclaration(lt);
  const isEnd = code === SLASH;
  const name = isEnd ? lt + 2 : lt + 1;
  if (!isLetter(codes[name] as number)) return isEnd ? html.indexOf('>', name) + 1 || -1 : lt;
  let at = name + 1;
  let next = codes[at] as number;
  while (next > GT || ((ENDS_NAME[next] as number) & 3) === 0) next = codes[++at] as number;
  const end = reader.skipAttributes(at);
  if (isEnd || end < 0 || at - name < 5) return end;
  for (const raw of ['script', 'style']) {
    if (at - name === raw.length && startsWithName(codes, name, raw)) return reader.endOfText(end, raw);
  }
  return end;
}
