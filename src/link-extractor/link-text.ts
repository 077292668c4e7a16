import { decodeText, detached, foldSpace } from './entities.ts';
import { BANG, ENDS_NAME, GT, isLetter, LT, QUESTION, SLASH, SPACE, startsWithName } from './names.ts';
import type { MarkupReader } from './reader.ts';

/** How far a text is looked for: longer markup without text is not worth it. */
const LONGEST_MARKUP = 16_384;
const AMPERSAND = 38;

/** The text between two places, without tags and comments, white space folded, cut at `most` characters. */
export function textOf(reader: MarkupReader, start: number, end: number, most: number): string {
  const state = new Plainness(reader.codes);
  let text = '';
  for (
    let at = start, last = Math.min(end, start + LONGEST_MARKUP);
    at >= 0 && at < last && text.length <= most * 4;
  ) {
    const lt = state.endOfText(at, last);
    // What lies between two pieces of markup is put together; most links have one piece of text.
    if (lt > at) text = text === '' ? reader.html.slice(at, lt) : text + reader.html.slice(at, lt);
    if (lt === last) break;
    at = endOfMarkup(reader, lt);
    if (at === lt) {
      text += '<';
      state.isSpace = false;
      at++;
    }
  }
  if (state.isPlain && !state.isSpace && text.length <= most) return detached(text);
  const folded = foldSpace(decodeText(text));
  return detached(folded.length > most ? folded.slice(0, most).trimEnd() : folded);
}

/** Whether a text is what it says: no references to characters, no white space but single spaces between words. */
class Plainness {
  readonly #codes: Uint16Array;
  isPlain = true;
  /** Whether the last character was white space; at the beginning it counts as that. */
  isSpace = true;

  constructor(codes: Uint16Array) {
    this.#codes = codes;
  }

  /** Looks at what there is up to the next `<`; returns where that is, or the end. */
  endOfText(start: number, end: number): number {
    const codes = this.#codes;
    for (let at = start; at < end; at++) {
      const code = codes[at] as number;
      if (code > LT) this.isSpace = false;
      else if (code === LT) return at;
      else if (code === SPACE) {
        if (this.isSpace) this.isPlain = false;
        this.isSpace = true;
      } else if (code < SPACE || code === AMPERSAND) this.isPlain = false;
      else this.isSpace = false;
    }
    return end;
  }
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
