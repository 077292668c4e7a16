import { endianness } from 'node:os';

/** So many places behind the end of a text may be looked at; they hold 0. */
export const PADDING = 64;
/** Memory for texts up to this length is kept for the next one. */
const KEPT_LENGTH = 1 << 21;

const kept: Uint16Array[] = [];

/**
 * The character codes of a text, which can be read several times faster than those of a string. They hold until codes
 * are asked for again at the same depth.
 *
 * @param depth - 0 for a document, 1 for a document within one.
 */
export function codesOf(text: string, depth: number): Uint16Array {
  const needed = text.length + PADDING;
  let codes = kept[depth];
  if (codes === undefined || codes.length < needed) {
    codes = new Uint16Array(Math.max(needed, 4096, Math.min(needed * 2, KEPT_LENGTH)));
    if (codes.length <= KEPT_LENGTH) kept[depth] = codes;
  }
  if (IS_LITTLE_ENDIAN) Buffer.from(codes.buffer).write(text, 0, 'utf16le');
  else for (let at = 0; at < text.length; at++) codes[at] = text.charCodeAt(at);
  codes.fill(0, text.length, needed);
  return codes;
}

const IS_LITTLE_ENDIAN = endianness() === 'LE';
