import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const CHECKPOINT_FILE = 'crawl.checkpoint';
/** Two slots that are written in turn, so that one is whole whenever the power fails. */
const SLOTS = [0, 1];
const SLOT_BYTES = 262_144;
const DIGEST_BYTES = 32;

/** A commit that is on the disk whole. */
export interface Checkpoint {
  /** Number of the commit. */
  readonly commit: number;
  /** The start of the machine it was made after. */
  readonly boot: string;
  /** Bytes of the data file. */
  readonly fileBytes: number;
  /** The two meta pages of the data file as they were then. */
  readonly metas: Buffer;
}

/** Opens the file, or makes it. @throws what the file system throws. */
export function openCheckpoints(directory: string): number {
  const path = join(directory, CHECKPOINT_FILE);
  try {
    return openSync(path, 'r+');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
    return openSync(path, 'wx+');
  }
}

/** The last checkpoint, and its slot; `undefined` where there is none. */
export function lastCheckpoint(directory: string): (Checkpoint & { readonly slot: number }) | undefined {
  let file: number;
  try {
    file = openSync(join(directory, CHECKPOINT_FILE), 'r');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
  try {
    const [a, b] = SLOTS.map((slot) => read(file, slot));
    return (a?.commit ?? -1) > (b?.commit ?? -1) ? a : b;
  } finally {
    closeSync(file);
  }
}

export function writeCheckpoint(file: number, slot: number, { metas, ...head }: Checkpoint): void {
  const text = Buffer.from(JSON.stringify({ ...head, metaBytes: metas.length }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  const body = Buffer.concat([length, text, metas]);
  const bytes = Buffer.concat([digest(body), body]);
  writeSync(file, bytes, 0, bytes.length, slot * SLOT_BYTES);
}

function read(file: number, slot: number): (Checkpoint & { readonly slot: number }) | undefined {
  const bytes = Buffer.alloc(SLOT_BYTES);
  const length = readSync(file, bytes, 0, SLOT_BYTES, slot * SLOT_BYTES);
  const checkpoint = decode(bytes.subarray(0, length));
  return checkpoint === undefined ? undefined : { ...checkpoint, slot };
}

/** What is in a slot; `undefined` where that was not written to its end. */
function decode(slot: Buffer): Checkpoint | undefined {
  if (slot.length < DIGEST_BYTES + 4) return undefined;
  const textAt = DIGEST_BYTES + 4;
  const metasAt = textAt + slot.readUInt32BE(DIGEST_BYTES);
  if (metasAt === textAt || metasAt > slot.length) return undefined;
  try {
    const { metaBytes, ...head } = JSON.parse(slot.toString('utf8', textAt, metasAt)) as Checkpoint & {
      metaBytes: number;
    };
    const end = metasAt + metaBytes;
    if (!digest(slot.subarray(DIGEST_BYTES, end)).equals(slot.subarray(0, DIGEST_BYTES))) return undefined;
    return { ...head, metas: slot.subarray(metasAt, end) };
  } catch {
    return undefined;
  }
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
