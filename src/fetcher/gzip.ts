import zlib from 'node:zlib';
import { crc32OfBytes } from '../fingerprint.ts';

const FLAG_HEADER_CRC = 0x02;
const FLAG_EXTRA = 0x04;
const FLAG_NAME = 0x08;
const FLAG_COMMENT = 0x10;

/** Checksum and length behind the data of a member. */
export const TRAILER_BYTES = 8;

/**
 * Undoes gzip (RFC 1952), all members of it, and ignores what follows the last, as browsers do; zlib itself takes
 * anything but zeros there for a broken member.
 * @throws the error of zlib; `ERR_BUFFER_TOO_LARGE` where there is more than `most`.
 */
export function gunzip(body: Buffer, most: number): Buffer {
  try {
    return zlib.gunzipSync(body, { maxOutputLength: most });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const members = code === 'Z_DATA_ERROR' || code === 'Z_BUF_ERROR' ? wholeMembers(body, most) : undefined;
    if (members === undefined) throw error;
    return members;
  }
}

/** The members up to something that is none; `undefined` where one is broken, or there is none. */
function wholeMembers(body: Buffer, most: number): Buffer | undefined {
  const outputs: Buffer[] = [];
  let at = 0;
  let room = most;
  while (isMember(body, at)) {
    const start = endOfHeader(body, at);
    const member = start === undefined ? undefined : inflate(body.subarray(start), room);
    if (start === undefined || member === undefined) return undefined;
    outputs.push(member.output);
    room -= member.output.length;
    at = start + member.used + TRAILER_BYTES;
  }
  return outputs.length === 0 ? undefined : Buffer.concat(outputs);
}

/** Whether a member of gzip begins here. */
export function isMember(body: Buffer, at: number): boolean {
  return body[at] === 0x1f && body[at + 1] === 0x8b && body[at + 2] === 8;
}

/** Where the data of the member that begins at `start` begins; `undefined` where that has not come yet. */
export function endOfHeader(body: Buffer, start: number): number | undefined {
  const flags = body[start + 3] ?? 0;
  let at = start + 10;
  if (flags & FLAG_EXTRA) at += 2 + (body[at] ?? 0) + 256 * (body[at + 1] ?? 0);
  for (const flag of [FLAG_NAME, FLAG_COMMENT]) {
    if (!(flags & flag)) continue;
    const zero = body.indexOf(0, at);
    if (zero < 0) return undefined;
    at = zero + 1;
  }
  if (flags & FLAG_HEADER_CRC) at += 2;
  return at < body.length ? at : undefined;
}

/** One member's data, its checksum and length compared with its trailer. */
function inflate(data: Buffer, most: number): { readonly output: Buffer; readonly used: number } | undefined {
  const { buffer: output, engine } = inflateWithInfo(data, most);
  const used = engine.bytesWritten;
  if (used + TRAILER_BYTES > data.length) return undefined;
  const isWhole = data.readUInt32LE(used) === crc32OfBytes(output);
  return isWhole && data.readUInt32LE(used + 4) === output.length ? { output, used } : undefined;
}

/** Node's types leave out what `info` gives. */
function inflateWithInfo(data: Buffer, most: number): { buffer: Buffer; engine: zlib.InflateRaw } {
  const options = { maxOutputLength: Math.max(1, most), info: true };
  return zlib.inflateRawSync(data, options) as unknown as { buffer: Buffer; engine: zlib.InflateRaw };
}
