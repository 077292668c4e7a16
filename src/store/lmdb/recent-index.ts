const FEWEST_SLOTS = 1_024;
/** Of the slots, the part that may be taken. */
const MOST_LOAD = 0.75;

/** What is in the index, in the order of the keys or nearly so. */
export interface Ranked {
  readonly ranks: Float64Array;
  readonly places: Float64Array;
}

/**
 * Where the record of a key was written last: a hash table in typed arrays, 16 bytes a slot. It knows of a key its site
 * and the 32 bits behind it; whether an entry is that of the whole key, its record tells.
 */
export class RecentIndex {
  #sites = new Uint32Array(FEWEST_SLOTS);
  #heads = new Uint32Array(FEWEST_SLOTS);
  /** 0 where a slot is free. */
  #places = new Float64Array(FEWEST_SLOTS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The slot of the first entry that may be that of a key; −1 where there is none. */
  seek(key: Buffer): number {
    const site = key.readUInt32BE(0);
    const head = key.readUInt32BE(4);
    return this.#match(hashOf(site, head), site, head);
  }

  /** The slot of the next one. */
  seekNext(slot: number, key: Buffer): number {
    return this.#match(slot + 1, key.readUInt32BE(0), key.readUInt32BE(4));
  }

  placeAt(slot: number): number {
    return this.#places[slot]!;
  }

  /** The record of the entry in a slot was written anew. */
  replace(slot: number, place: number): void {
    this.#places[slot] = place;
  }

  add(key: Buffer, place: number): void {
    if (this.#size >= this.#places.length * MOST_LOAD) this.#rebuild(0, this.#places.length * 2);
    this.#insert(key.readUInt32BE(0), key.readUInt32BE(4), place);
  }

  /** Forgets what was written before `least`. */
  forget(least: number): void {
    let kept = 0;
    for (const place of this.#places) if (place >= least && place > 0) kept++;
    this.#rebuild(least, slotsFor(kept));
  }

  /** Forgets all, and makes room for so many. */
  clear(most = 0): void {
    this.#rebuild(Number.POSITIVE_INFINITY, slotsFor(most));
  }

  /** All that was written before `end`. */
  before(end: number): Ranked {
    const ranks = new Float64Array(this.#size);
    const places = new Float64Array(this.#size);
    let count = 0;
    for (let slot = 0; slot < this.#places.length; slot++) {
      const place = this.#places[slot]!;
      if (place === 0 || place >= end) continue;
      ranks[count] = this.#sites[slot]! * 2 ** 32 + this.#heads[slot]!;
      places[count++] = place;
    }
    return { ranks: ranks.subarray(0, count), places: places.subarray(0, count) };
  }

  #match(from: number, site: number, head: number): number {
    const mask = this.#places.length - 1;
    for (let slot = from & mask; this.#places[slot] !== 0; slot = (slot + 1) & mask) {
      if (this.#sites[slot] === site && this.#heads[slot] === head) return slot;
    }
    return -1;
  }

  #insert(site: number, head: number, place: number): void {
    const mask = this.#places.length - 1;
    let slot = hashOf(site, head) & mask;
    while (this.#places[slot] !== 0) slot = (slot + 1) & mask;
    this.#sites[slot] = site;
    this.#heads[slot] = head;
    this.#places[slot] = place;
    this.#size++;
  }

  #rebuild(least: number, slots: number): void {
    const [sites, heads, places] = [this.#sites, this.#heads, this.#places];
    this.#sites = new Uint32Array(slots);
    this.#heads = new Uint32Array(slots);
    this.#places = new Float64Array(slots);
    this.#size = 0;
    for (let slot = 0; slot < places.length; slot++) {
      const place = places[slot]!;
      if (place > 0 && place >= least) this.#insert(sites[slot]!, heads[slot]!, place);
    }
  }
}

function slotsFor(entries: number): number {
  let slots = FEWEST_SLOTS;
  while (entries >= slots * MOST_LOAD) slots *= 2;
  return slots;
}

/** The bits behind the site are those of a hash, and those of two sites must not meet. */
function hashOf(site: number, head: number): number {
  return (head ^ Math.imul(site, 0x9e3779b1)) >>> 0;
}
