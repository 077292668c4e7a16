import { OWN_MEMORY } from './codes.ts';
import { hashCode, spread } from './hashing.ts';
import { SPACE } from './names.ts';

/** How far a place for a reference is looked for; hostile texts may have many that fall together. */
const MOST_PROBES = 16;

/** So many references are told apart; a larger table would no longer be at hand for the processor. */
const MOST_TOLD = 65_536;

const HASH_SIGN = 35;
const AMPERSAND = 38;

/** What {@link ReferenceTable.find} says besides what it was told. */
export const NEW = -2;
/** Whether it was seen before can't be told here. */
export const UNTOLD = -3;
const FIELDS = 4;

/**
 * Tells references that were seen before, by their source and by their characters up to the fragment, where they stand
 * in the text: most are repeated, and need not be cut out then.
 */
export class ReferenceTable {
  readonly #codes: Uint16Array;
  readonly #memory: Memory;
  readonly #mask: number;
  #kept = 0;
  #slot = 0;
  #hash = 0;
  /** Where the reference asked for last ends: before its fragment, unless it is encoded. */
  end = 0;
  /**
   * Whether the reference asked for last is not as it is written: it holds a character reference or NUL, or white space
   * before its fragment.
   */
  isEncoded = false;

  /**
   * @param count - Most references there will be.
   * @param depth - As for `codesOf`; the table made before at this depth is lost.
   */
  constructor(codes: Uint16Array, count: number, depth: number) {
    this.#codes = codes;
    const most = Math.min(count, MOST_TOLD);
    this.#memory = memoryFor(most, depth);
    const length = 2 << (32 - Math.clz32(most));
    this.#mask = length - 1;
    this.#memory.slots.fill(0, 0, length);
  }

  /** What was kept with an equal reference before, {@link NEW} or {@link UNTOLD}. */
  find(start: number, end: number, source: number): number {
    const codes = this.#codes;
    let hash = source + 1;
    let at = start;
    this.isEncoded = false;
    // Two at a time, as long as neither means anything.
    for (let first = 0, second = 0; at + 1 < end; at += 2) {
      first = codes[at] as number;
      second = codes[at + 1] as number;
      if (first <= AMPERSAND || second <= AMPERSAND) break;
      hash = hashCode(hash, first | (second << 16));
    }
    for (; at < end; at++) {
      const code = codes[at] as number;
      if (code <= AMPERSAND) {
        // Behind `&` this may be a part of a character reference.
        if (code === HASH_SIGN && !this.isEncoded) {
          if (at === start || (codes[at - 1] as number) > SPACE) break;
          this.isEncoded = true;
        }
        if (code === AMPERSAND || code === 0) this.isEncoded = true;
      }
      hash = hashCode(hash, code);
    }
    this.end = at;
    hash = spread(hash);
    this.#hash = hash;
    const { slots, hashes, places } = this.#memory;
    const mask = this.#mask;
    let slot = hash & mask;
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const number = (slots[slot] as number) - 1;
      if (number < 0) {
        this.#slot = slot;
        return NEW;
      }
      if (hashes[number] === hash && this.#isSame(number, start, at, source)) {
        return places[number * FIELDS + 3] as number;
      }
      slot = (slot + 1) & mask;
    }
    return UNTOLD;
  }

  /**
   * Keeps the reference that was just found new, if there are not too many.
   * @param answer - What {@link find} is to say of equal ones, at least -1.
   */
  keep(start: number, source: number, answer: number): void {
    if (this.#kept >= MOST_TOLD) return;
    const number = this.#kept++;
    const { slots, hashes, places } = this.#memory;
    slots[this.#slot] = number + 1;
    hashes[number] = this.#hash;
    places[number * FIELDS] = start;
    places[number * FIELDS + 1] = this.end;
    places[number * FIELDS + 2] = source;
    places[number * FIELDS + 3] = answer;
  }

  #isSame(number: number, start: number, end: number, source: number): boolean {
    const codes = this.#codes;
    const { places } = this.#memory;
    const other = places[number * FIELDS] as number;
    const length = end - start;
    if (places[number * FIELDS + 2] !== source || (places[number * FIELDS + 1] as number) - other !== length)
      return false;
    for (let at = 0; at < length; at++) if (codes[start + at] !== codes[other + at]) return false;
    return true;
  }
}

interface Memory {
  readonly slots: Int32Array;
  readonly hashes: Int32Array;
  /** Start, end and source of each reference, and what is said of it. */
  readonly places: Int32Array;
}

const memories: (Memory | undefined)[] = [];

function memoryFor(count: number, depth: number): Memory {
  let memory = memories[depth];
  if (memory !== undefined && memory.hashes.length >= count) return memory;
  const size = Math.max(256, 1 << (32 - Math.clz32(count)));
  memory = { slots: new Int32Array(size * 4), hashes: new Int32Array(size), places: new Int32Array(size * FIELDS) };
  if (depth !== OWN_MEMORY) memories[depth] = memory;
  return memory;
}
