/** A fingerprint's segment is in the upper bits of its hash: 64 segments. */
const SEGMENT_SHIFT = 26;
/** Slots of one page; a page is 8 KiB. */
const PAGE_SLOTS = 1024;
const PAGE_SHIFT = 10;
/** Part of the slots that may be taken before a segment grows. */
const FULL = 0.88;
/** A segment grows by this part of its pages, and by one page at least. */
const GROWTH = 1 / 8;

/**
 * A set of 64-bit fingerprints in 8 bytes a slot, about 10 bytes a member: no object, no garbage, no doubling.
 *
 * Open addressing with linear probing. The table is cut into segments that grow one at a time, by an eighth, and only
 * ever add pages; while one grows its members pass through a scratch buffer that all segments share.
 *
 * Of n URLs about n² / 2^65 pairs share a fingerprint, and the later one of such a pair is taken for known: for ten
 * million URLs that is 1 chance in 370,000 of losing one.
 */
export class SeenTable {
  readonly #segments: Segment[] = [];
  #scratch = new Uint32Array(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Bytes held by pages and scratch. */
  get bytes(): number {
    return (
      this.#segments.reduce((sum, segment) => sum + segment.pages.length, 0) * PAGE_SLOTS * 8 + this.#scratch.byteLength
    );
  }

  /**
   * Adds a fingerprint given as two unsigned or signed 32-bit halves.
   * @returns whether it was new.
   */
  add(high: number, low: number): boolean {
    if (high === 0 && low === 0) low = 1; // An empty slot is 0, 0.
    const segment = this.#segment(high, low);
    if (segment.count >= segment.limit) this.#grow(segment);
    const added = put(segment, high >>> 0, low >>> 0);
    if (added) this.#size++;
    return added;
  }

  has(high: number, low: number): boolean {
    if (high === 0 && low === 0) low = 1;
    const { pages, slots } = this.#segment(high, low);
    if (slots === 0) return false;
    high >>>= 0;
    low >>>= 0;
    for (let slot = home(high, low, slots); ; slot = slot + 1 === slots ? 0 : slot + 1) {
      const page = pages[slot >>> PAGE_SHIFT]!;
      const at = (slot & (PAGE_SLOTS - 1)) << 1;
      if (page[at] === high && page[at + 1] === low) return true;
      if (page[at] === 0 && page[at + 1] === 0) return false;
    }
  }

  clear(): void {
    this.#segments.length = 0;
    this.#scratch = new Uint32Array(0);
    this.#size = 0;
  }

  #segment(high: number, low: number): Segment {
    const index = spread(low, high) >>> SEGMENT_SHIFT;
    this.#segments[index] ??= { pages: [], slots: 0, count: 0, limit: 0 };
    return this.#segments[index];
  }

  #grow(segment: Segment): void {
    const before = segment.slots * 2;
    if (this.#scratch.length < before) this.#scratch = new Uint32Array(Math.ceil(before * 1.5));
    const scratch = this.#scratch;
    for (const [i, page] of segment.pages.entries()) {
      scratch.set(page, i * PAGE_SLOTS * 2);
      page.fill(0);
    }
    for (let n = Math.max(1, Math.floor(segment.pages.length * GROWTH)); n > 0; n--) {
      segment.pages.push(new Uint32Array(PAGE_SLOTS * 2));
    }
    segment.slots = segment.pages.length * PAGE_SLOTS;
    segment.limit = Math.floor(segment.slots * FULL);
    segment.count = 0;
    for (let at = 0; at < before; at += 2) {
      if (scratch[at] !== 0 || scratch[at + 1] !== 0) put(segment, scratch[at]!, scratch[at + 1]!);
    }
  }
}

interface Segment {
  readonly pages: Uint32Array[];
  slots: number;
  count: number;
  limit: number;
}

function put(segment: Segment, high: number, low: number): boolean {
  const { pages, slots } = segment;
  for (let slot = home(high, low, slots); ; slot = slot + 1 === slots ? 0 : slot + 1) {
    const page = pages[slot >>> PAGE_SHIFT]!;
    const at = (slot & (PAGE_SLOTS - 1)) << 1;
    if (page[at] === high && page[at + 1] === low) return false;
    if (page[at] !== 0 || page[at + 1] !== 0) continue;
    page[at] = high;
    page[at + 1] = low;
    segment.count++;
    return true;
  }
}

/** The slot at which the search for a fingerprint begins. */
function home(high: number, low: number, slots: number): number {
  return Math.floor((spread(high, low) / 4_294_967_296) * slots);
}

/** CRCs of URLs that count up lie close together or in patterns; this scatters them over the slots. */
function spread(a: number, b: number): number {
  let x = Math.imul(a ^ Math.imul(b, 0x85ebca6b), 0x9e3779b1);
  x = Math.imul(x ^ (x >>> 15), 0xc2b2ae35);
  return (x ^ (x >>> 13)) >>> 0;
}
