const SLAB_BYTES = 262_144;
/** A chunk's number is its slab's times this, plus its place in the slab. */
const CHUNKS_PER_SLAB = 4096;
/** The first bytes of a chunk hold the number of the next one. */
const LINK_BYTES = 4;
/** Chunks of a queue grow up to the last size: short queues waste little, long ones link seldom. */
const CHUNK_BYTES = [64, 128, 256, 512, 1024] as const;

interface Slab {
  readonly index: number;
  readonly size: number;
  readonly bytes: Buffer;
  /** Chunks never used so far begin here. */
  fresh: number;
  /** First of the chunks given back, linked through their first bytes; −1 for none. */
  freed: number;
  live: number;
  /** Place among the slabs of this size that have room; −1 where it has none. */
  place: number;
}

/** Memory for many byte queues at once: a few large buffers cut into small chunks, given back when they are empty. */
export class Arena {
  readonly #slabs: (Slab | undefined)[] = [];
  readonly #vacant: number[] = [];
  readonly #roomy: Slab[][] = CHUNK_BYTES.map(() => []);
  /** Where the last {@link ByteQueue.read} left its bytes. */
  view: Buffer = Buffer.alloc(0);
  viewStart = 0;
  #scratch: Buffer = Buffer.alloc(0);

  /** Bytes held, used or not. */
  get bytes(): number {
    return (this.#slabs.length - this.#vacant.length) * SLAB_BYTES;
  }

  alloc(sizeIndex: number): number {
    const roomy = this.#roomy[sizeIndex]!;
    const slab = roomy.at(-1) ?? this.#addSlab(sizeIndex);
    let chunk = slab.freed;
    if (chunk >= 0) slab.freed = slab.bytes.readInt32LE(chunk * slab.size);
    else chunk = slab.fresh++;
    slab.live++;
    if (slab.freed < 0 && (slab.fresh + 1) * slab.size > SLAB_BYTES) {
      roomy.pop();
      slab.place = -1;
    }
    return slab.index * CHUNKS_PER_SLAB + chunk;
  }

  free(id: number): void {
    const slab = this.slabOf(id);
    const chunk = id % CHUNKS_PER_SLAB;
    slab.bytes.writeInt32LE(slab.freed, chunk * slab.size);
    slab.freed = chunk;
    slab.live--;
    const roomy = this.#roomy[sizeIndexOf(slab.size)]!;
    if (slab.place < 0) {
      slab.place = roomy.length;
      roomy.push(slab);
    }
    if (slab.live === 0 && roomy.length > 1) this.#dropSlab(slab, roomy);
  }

  slabOf(id: number): Slab {
    return this.#slabs[Math.floor(id / CHUNKS_PER_SLAB)]!;
  }

  /** A buffer for what does not lie in one piece. */
  scratch(length: number): Buffer {
    if (this.#scratch.length < length) this.#scratch = Buffer.allocUnsafeSlow(Math.max(4096, length * 2));
    return this.#scratch;
  }

  #addSlab(sizeIndex: number): Slab {
    const roomy = this.#roomy[sizeIndex]!;
    const index = this.#vacant.pop() ?? this.#slabs.length;
    const slab: Slab = {
      index,
      size: CHUNK_BYTES[sizeIndex]!,
      bytes: Buffer.allocUnsafeSlow(SLAB_BYTES),
      fresh: 0,
      freed: -1,
      live: 0,
      place: roomy.length,
    };
    this.#slabs[index] = slab;
    roomy.push(slab);
    return slab;
  }

  #dropSlab(slab: Slab, roomy: Slab[]): void {
    const last = roomy.pop()!;
    if (last !== slab) {
      roomy[slab.place] = last;
      last.place = slab.place;
    }
    this.#slabs[slab.index] = undefined;
    this.#vacant.push(slab.index);
  }
}

/** Bytes first in, first out, in chunks of an {@link Arena}; a record may lie across chunks. */
export class ByteQueue {
  #head = -1;
  #headAt = LINK_BYTES;
  #tail = -1;
  #tailAt = 0;

  write(arena: Arena, bytes: Buffer, length: number): void {
    let done = 0;
    while (done < length) {
      let slab = this.#tail < 0 ? undefined : arena.slabOf(this.#tail);
      if (slab === undefined || this.#tailAt === slab.size) slab = this.#extend(arena, slab, length - done);
      const n = Math.min(length - done, slab.size - this.#tailAt);
      copy(bytes, done, slab.bytes, (this.#tail % CHUNKS_PER_SLAB) * slab.size + this.#tailAt, n);
      this.#tailAt += n;
      done += n;
    }
  }

  /** Takes the next bytes; they are in `arena.view` from `arena.viewStart` until the arena is used again. */
  read(arena: Arena, length: number): void {
    this.#skipEmptyHead(arena);
    const slab = arena.slabOf(this.#head);
    const start = (this.#head % CHUNKS_PER_SLAB) * slab.size + this.#headAt;
    if (this.#headAt + length <= slab.size) {
      arena.view = slab.bytes;
      arena.viewStart = start;
      this.#headAt += length;
      return;
    }
    const scratch = arena.scratch(length);
    let done = 0;
    while (done < length) {
      this.#skipEmptyHead(arena);
      const { bytes, size } = arena.slabOf(this.#head);
      const n = Math.min(length - done, size - this.#headAt);
      const from = (this.#head % CHUNKS_PER_SLAB) * size + this.#headAt;
      copy(bytes, from, scratch, done, n);
      this.#headAt += n;
      done += n;
    }
    arena.view = scratch;
    arena.viewStart = 0;
  }

  /** Gives all chunks back. */
  release(arena: Arena): void {
    while (this.#head >= 0) this.#dropHead(arena);
  }

  #skipEmptyHead(arena: Arena): void {
    if (this.#headAt === arena.slabOf(this.#head).size) this.#dropHead(arena);
  }

  #dropHead(arena: Arena): void {
    const slab = arena.slabOf(this.#head);
    const next = this.#head === this.#tail ? -1 : slab.bytes.readInt32LE((this.#head % CHUNKS_PER_SLAB) * slab.size);
    arena.free(this.#head);
    this.#head = next;
    this.#headAt = LINK_BYTES;
    if (next < 0) this.#tail = -1;
  }

  #extend(arena: Arena, slab: Slab | undefined, needed: number): Slab {
    const sizeIndex =
      slab === undefined
        ? sizeIndexFor(needed + LINK_BYTES)
        : Math.min(sizeIndexOf(slab.size) + 1, CHUNK_BYTES.length - 1);
    const next = arena.alloc(sizeIndex);
    if (slab === undefined) this.#head = next;
    else slab.bytes.writeInt32LE(next, (this.#tail % CHUNKS_PER_SLAB) * slab.size);
    this.#tail = next;
    this.#tailAt = LINK_BYTES;
    return arena.slabOf(next);
  }
}

/** The smallest chunk for so many bytes, or the largest there is. */
function sizeIndexFor(bytes: number): number {
  const found = CHUNK_BYTES.findIndex((size) => size >= bytes);
  return found < 0 ? CHUNK_BYTES.length - 1 : found;
}

function sizeIndexOf(size: number): number {
  return 25 - Math.clz32(size);
}

/** Byte by byte, which for so few is faster than a call out of JavaScript. */
function copy(from: Buffer, start: number, to: Buffer, at: number, length: number): void {
  for (let i = 0; i < length; i++) to[at + i] = from[start + i]!;
}
