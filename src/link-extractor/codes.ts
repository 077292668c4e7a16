import { endianness } from 'node:os';
import { LONGEST_KEPT, PADDING, vectorCode } from './vector-code.ts';

interface Memory {
  readonly codes: Uint16Array;
  readonly bytes: Buffer;
}

const kept: (Memory | undefined)[] = [];

/** The depth at which nothing is kept, and nothing taken that was. */
export const OWN_MEMORY = -1;

/**
 * The character codes of a text, which can be read several times faster than those of a string. They hold until codes
 * are asked for again at the same depth. Behind the end there are 64 places that hold 0.
 *
 * @param depth - 0 for a document, 1 for a document within one; texts that do not last have others. {@link OWN_MEMORY} for
 * a document that is read while others are.
 */
export function codesOf(text: string, depth: number): Uint16Array {
  const needed = text.length + PADDING;
  if (depth === 0) kept[0] ??= memoryOfDocuments();
  let memory = kept[depth];
  if (memory === undefined || memory.codes.length < needed) {
    const codes = new Uint16Array(Math.max(needed, 4096, Math.min(needed * 2, LONGEST_KEPT)));
    memory = { codes, bytes: Buffer.from(codes.buffer) };
    if (codes.length <= LONGEST_KEPT && depth !== OWN_MEMORY) kept[depth] = memory;
  }
  const { codes, bytes } = memory;
  if (IS_LITTLE_ENDIAN && text.length > SHORT) bytes.write(text, 0, 'utf16le');
  else for (let at = 0; at < text.length; at++) codes[at] = text.charCodeAt(at);
  codes.fill(0, text.length, needed);
  return codes;
}

/** Texts of so many characters are not worth a call into the engine. */
const SHORT = 64;
const IS_LITTLE_ENDIAN = endianness() === 'LE';

/** Memory where documents can be looked at with vector instructions; it is as long as any that is kept. */
function memoryOfDocuments(): Memory | undefined {
  const codes = vectorCode()?.document;
  return codes && { codes, bytes: Buffer.from(codes.buffer, codes.byteOffset, codes.byteLength) };
}
