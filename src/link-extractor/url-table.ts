import { OWN_MEMORY } from './codes.ts';
import { spread } from './hashing.ts';

interface Memory {
  readonly slots: Int32Array;
  readonly hashes: Int32Array;
}

const FIRST_SIZE = 512;
const MOST_KEPT = 65_536;
/** Memory that is kept for the next table. */
let kept: Memory = memoryFor(FIRST_SIZE);

function memoryFor(size: number): Memory {
  return { slots: new Int32Array(size * 2), hashes: new Int32Array(size) };
}

/** Tells URLs apart whose hashes are known anyway; what there is by a number is kept elsewhere. */
export class UrlTable {
  #slots: Int32Array;
  #hashes: Int32Array;
  readonly #isKept: boolean;
  /** As many slots are in use, and half as many hashes. */
  #size = FIRST_SIZE * 2;
  #count = 0;
  #hash = 0;
  #slot = 0;

  /** @param depth - As for `codesOf`. But for {@link OWN_MEMORY}, the table made before is lost. */
  constructor(depth: number) {
    this.#isKept = depth !== OWN_MEMORY;
    const { slots, hashes } = this.#isKept ? kept : memoryFor(FIRST_SIZE);
    this.#slots = slots;
    this.#hashes = hashes;
    this.#slots.fill(0, 0, this.#size);
  }

  /** The first number with this hash, or -1; {@link next} gives others. */
  first(hash: number): number {
    this.#hash = hash;
    this.#slot = spread(hash) & (this.#size - 1);
    return this.#search();
  }

  next(): number {
    this.#slot = (this.#slot + 1) & (this.#size - 1);
    return this.#search();
  }

  #search(): number {
    const slots = this.#slots;
    const mask = this.#size - 1;
    for (let slot = this.#slot; ; slot = (slot + 1) & mask) {
      const number = (slots[slot] as number) - 1;
      if (number < 0 || this.#hashes[number] === this.#hash) {
        this.#slot = slot;
        return number;
      }
    }
  }

  /** Gives the hash that was just looked for to the end the next number, beginning with 0. */
  add(): void {
    this.#hashes[this.#count++] = this.#hash;
    this.#slots[this.#slot] = this.#count;
    if (this.#count * 2 === this.#size) this.#grow();
  }

  #grow(): void {
    this.#size *= 2;
    if (this.#slots.length < this.#size) {
      const memory = memoryFor(this.#size / 2);
      memory.hashes.set(this.#hashes);
      this.#slots = memory.slots;
      this.#hashes = memory.hashes;
      if (memory.hashes.length <= MOST_KEPT && this.#isKept) kept = memory;
    }
    const slots = this.#slots.fill(0, 0, this.#size);
    const mask = this.#size - 1;
    for (let number = 0; number < this.#count; number++) {
      let slot = spread(this.#hashes[number] as number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
  }
}
