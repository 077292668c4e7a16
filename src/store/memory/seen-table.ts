const BUCKETS = 65_536;
/**
 * Members of one chunk. A chunk is 128 bytes: a link, the lower 32 bits of each member, then 16 more bits of each, then a
 * bit for each that says whether its URL has come to its end.
 */
const CHUNK_MEMBERS = 20;
const CHUNK_WORDS = 32;
/** Where in a chunk the 16-bit parts begin, counted in such parts. */
const UPPER_PARTS = 2 + 2 * CHUNK_MEMBERS;
const ENDED_WORD = CHUNK_WORDS - 1;
const SLAB_CHUNKS = 2048;
const SLAB_SHIFT = 11;

/**
 * A set of 64-bit fingerprints: no object, no garbage, no rehashing, and never a copy of the whole.
 *
 * 16 bits of a fingerprint are the number of its bucket and need not be stored, so that a member takes 6 bytes, and
 * with links and half-filled chunks about 7 where there are many. A bucket is a chain of chunks, newest first.
 *
 * Of n URLs about n² / 2^65 pairs share a fingerprint, and the later one of such a pair is taken for known: for ten
 * million URLs that is 1 chance in 370,000 of losing one.
 */
export class SeenTable {
  readonly #words: Uint32Array[] = [];
  readonly #parts: Uint16Array[] = [];
  /** Number of each bucket's newest chunk, counted from 1; 0 for none. The other chunks of a bucket are full. */
  #heads = new Uint32Array(BUCKETS);
  #filled = new Uint8Array(BUCKETS);
  #chunks = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Bytes held. */
  get bytes(): number {
    return this.#words.length * SLAB_CHUNKS * CHUNK_WORDS * 4 + BUCKETS * 5;
  }

  /**
   * Adds a fingerprint given as two 32-bit halves.
   * @returns whether it was new.
   */
  add(high: number, low: number): boolean {
    const bucket = bucketOf(high, low);
    if (this.#find(bucket, high & 0xffff, low >>> 0) >= 0) return false;
    this.#append(bucket, high & 0xffff, low >>> 0);
    this.#size++;
    return true;
  }

  has(high: number, low: number): boolean {
    return this.#find(bucketOf(high, low), high & 0xffff, low >>> 0) >= 0;
  }

  /** Notes that a member's URL has come to its end. */
  end(high: number, low: number): void {
    const place = this.#find(bucketOf(high, low), high & 0xffff, low >>> 0);
    if (place >= 0) this.#setEnded(place, true);
  }

  /**
   * Takes back that a member's URL has come to its end.
   * @returns whether it had.
   */
  reopen(high: number, low: number): boolean {
    const place = this.#find(bucketOf(high, low), high & 0xffff, low >>> 0);
    return place >= 0 && this.#setEnded(place, false);
  }

  clear(): void {
    this.#words.length = 0;
    this.#parts.length = 0;
    this.#heads = new Uint32Array(BUCKETS);
    this.#filled = new Uint8Array(BUCKETS);
    this.#chunks = 0;
    this.#size = 0;
  }

  /** Where a member lies: number of its chunk, counted from 0, and of its place there, in one; below 0 where it is none. */
  #find(bucket: number, upper: number, lower: number): number {
    let filled = this.#filled[bucket]!;
    for (let chunk = this.#heads[bucket]!; chunk !== 0; filled = CHUNK_MEMBERS) {
      const slab = (chunk - 1) >>> SLAB_SHIFT;
      const words = this.#words[slab]!;
      const start = ((chunk - 1) & (SLAB_CHUNKS - 1)) * CHUNK_WORDS;
      for (let i = 0; i < filled; i++) {
        if (words[start + 1 + i] === lower && this.#parts[slab]![start * 2 + UPPER_PARTS + i] === upper) {
          return (chunk - 1) * CHUNK_MEMBERS + i;
        }
      }
      chunk = words[start]!;
    }
    return -1;
  }

  /** @returns what was noted before. */
  #setEnded(place: number, ended: boolean): boolean {
    const chunk = Math.floor(place / CHUNK_MEMBERS);
    const words = this.#words[chunk >>> SLAB_SHIFT]!;
    const at = (chunk & (SLAB_CHUNKS - 1)) * CHUNK_WORDS + ENDED_WORD;
    const bit = 1 << (place % CHUNK_MEMBERS);
    const before = (words[at]! & bit) !== 0;
    if (before !== ended) words[at] = words[at]! ^ bit;
    return before;
  }

  #append(bucket: number, upper: number, lower: number): void {
    if (this.#heads[bucket] === 0 || this.#filled[bucket] === CHUNK_MEMBERS) this.#addChunk(bucket);
    const chunk = this.#heads[bucket]! - 1;
    const start = (chunk & (SLAB_CHUNKS - 1)) * CHUNK_WORDS;
    const i = this.#filled[bucket]!;
    this.#words[chunk >>> SLAB_SHIFT]![start + 1 + i] = lower;
    this.#parts[chunk >>> SLAB_SHIFT]![start * 2 + UPPER_PARTS + i] = upper;
    this.#filled[bucket] = i + 1;
  }

  #addChunk(bucket: number): void {
    const chunk = this.#chunks++;
    if (chunk >>> SLAB_SHIFT === this.#words.length) {
      const words = new Uint32Array(SLAB_CHUNKS * CHUNK_WORDS);
      this.#words.push(words);
      this.#parts.push(new Uint16Array(words.buffer));
    }
    this.#words[chunk >>> SLAB_SHIFT]![(chunk & (SLAB_CHUNKS - 1)) * CHUNK_WORDS] = this.#heads[bucket]!;
    this.#heads[bucket] = chunk + 1;
    this.#filled[bucket] = 0;
  }
}

/**
 * 16 bits of the fingerprint, scattered by the 48 that are stored: CRCs of URLs that count up come in patterns, which
 * would crowd some buckets. The scattering can be undone, so that no two fingerprints become one.
 */
function bucketOf(high: number, low: number): number {
  let x = Math.imul(low ^ Math.imul(high & 0xffff, 0x85ebca6b), 0x9e3779b1);
  x = Math.imul(x ^ (x >>> 15), 0xc2b2ae35);
  return (high >>> 16) ^ (x >>> 16);
}
