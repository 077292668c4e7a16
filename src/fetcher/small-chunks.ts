import { Transform, type TransformCallback } from 'node:stream';

/** So many chunks are put together at a time: a buffer takes some 400 bytes besides its own. */
const TOGETHER = 256;
/** Chunks that are larger than this on average are left as they are. */
const SMALL_BYTES = 1024;
/** A turn is over after so many times that: a socket is read from two megabytes at a time, which may be all chunks. */
const JOINS_IN_A_TURN = 16;

/** Chunks of a body as they are kept, in memory that is a small multiple of their size however small each is. */
export class Chunks {
  readonly #kept: Buffer[] = [];
  /** How many of them, from the first on, are as they are to stay. */
  #settled = 0;
  #looseBytes = 0;
  #joins = 0;

  /** @returns whether so many small ones have come that others should have their turn. */
  add(chunk: Buffer): boolean {
    const kept = this.#kept;
    kept.push(chunk);
    this.#looseBytes += chunk.length;
    if (kept.length - this.#settled < TOGETHER) return false;
    const areSmall = this.#looseBytes < TOGETHER * SMALL_BYTES;
    if (areSmall) kept.push(Buffer.concat(kept.splice(this.#settled), this.#looseBytes));
    this.#settled = kept.length;
    this.#looseBytes = 0;
    return areSmall && ++this.#joins % JOINS_IN_A_TURN === 0;
  }

  /** All of it; not copied where it came as one. */
  whole(): Buffer {
    const [first] = this.#kept;
    return this.#kept.length === 1 && first !== undefined ? first : Buffer.concat(this.#kept);
  }
}

/** What waits to be joined at most, in bytes. */
const MOST_HELD_BYTES = 16_384;

/**
 * Joins small chunks that arrive together, as they do where a server sends many in one packet. A decompressor takes as
 * long for a byte as for a thousand.
 */
export class ChunkJoiner extends Transform {
  #held: Buffer[] = [];
  #heldBytes = 0;
  #due: NodeJS.Immediate | undefined;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    // What is pushed here and now is what backpressure is reckoned by.
    if (chunk.length >= SMALL_BYTES || this.#heldBytes >= MOST_HELD_BYTES) this.#pass();
    else this.#due ??= setImmediate(() => this.#pass());
    callback();
  }

  override _flush(callback: TransformCallback): void {
    this.#pass();
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearImmediate(this.#due);
    callback(error);
  }

  #pass(): void {
    clearImmediate(this.#due);
    this.#due = undefined;
    const [first] = this.#held;
    if (first === undefined) return;
    const joined = this.#held.length === 1 ? first : Buffer.concat(this.#held, this.#heldBytes);
    this.#held = [];
    this.#heldBytes = 0;
    this.push(joined);
  }
}
