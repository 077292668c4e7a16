import { decodeText, detached, foldSpace } from './entities.ts';
import { BANG, isLetter, QUESTION, SLASH, startsWithName } from './names.ts';
import { MarkupReader } from './reader.ts';

/** How far a text is looked for: longer markup without text is not worth it. */
const LONGEST_MARKUP = 16_384;

/** The text between two places, without tags and comments, white space folded, cut at `most` characters. */
export function textOf(html: string, start: number, end: number, most: number): string {
  const stop = Math.min(end, start + LONGEST_MARKUP);
  const lt = html.indexOf('<', start);
  const raw = lt < 0 || lt >= stop ? html.slice(start, stop) : withoutMarkup(html.slice(start, stop), most);
  const text = foldSpace(decodeText(raw));
  return detached(text.length > most ? text.slice(0, most).trimEnd() : text);
}

function withoutMarkup(html: string, most: number): string {
  const reader = new MarkupReader(html);
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
    if (at - name === raw.length && startsWithName(html, name, raw)) return reader.endOfText(end, raw);
  }
  return end;
}

/** Whether a tag's name goes on. */
function isNameCode(code: number): boolean {
  return !(code === SLASH || code === 62 || code === 32 || (code >= 9 && code <= 13 && code !== 11));
}
