import type { Ranked } from './recent-index.ts';

/** Entries put in order at a time: so few that it takes about a millisecond. */
const PIECE = 2_048;
const SAMPLES = 4_096;

/** Neighbouring pieces whose entries are not yet told apart. */
interface Pieces {
  /** Number of the first piece, and of that behind the last. */
  readonly first: number;
  readonly last: number;
  /** Where their entries are. */
  readonly from: number;
  readonly end: number;
}

/**
 * Gives the places of ranked entries in the order of their ranks, without ever sorting them all in one go. As in a
 * quicksort of which the left side comes first and the right one is left for later, entries are parted into halves, and
 * the left halves again, down to a piece, which is sorted. An entry is looked at once for each halving, eight times of
 * 400,000; the first call looks at twice as many as there are (4 ms), any later one at no more than all of them, and most
 * at those of a piece or two (half a millisecond).
 */
export class MergeOrder {
  readonly #ranked: Ranked;
  /** The least rank of each piece; where many are equal, pieces are empty. */
  readonly #bounds: Float64Array;
  readonly #entries: Uint32Array;
  /** What is to come, the next of it last. */
  readonly #left: Pieces[];
  #at = 0;
  #end = 0;

  constructor(ranked: Ranked) {
    this.#ranked = ranked;
    this.#bounds = boundsOf(ranked.ranks);
    const end = ranked.ranks.length;
    this.#entries = new Uint32Array(end);
    for (let n = 0; n < end; n++) this.#entries[n] = n;
    this.#left = [{ first: 0, last: this.#bounds.length, from: 0, end }];
  }

  /** The next place; `undefined` after the last. */
  next(): number | undefined {
    while (this.#at === this.#end) {
      const pieces = this.#left.pop();
      if (pieces === undefined) return undefined;
      this.#sortFirst(pieces);
    }
    return this.#ranked.places[this.#entries[this.#at++]!];
  }

  #sortFirst({ first, last, from, end }: Pieces): void {
    const { ranks } = this.#ranked;
    let [behind, to] = [last, end];
    while (behind - first > 1) {
      const middle = (first + behind) >>> 1;
      const parted = part(this.#entries, ranks, this.#bounds[middle]!, from, to);
      this.#left.push({ first: middle, last: behind, from: parted, end: to });
      [behind, to] = [middle, parted];
    }
    // Those of equal ranks are in one piece, and come in the order in which they were given.
    this.#entries.subarray(from, to).sort((a, b) => ranks[a]! - ranks[b]! || a - b);
    this.#at = from;
    this.#end = to;
  }
}

function boundsOf(ranks: Float64Array): Float64Array {
  const step = Math.max(1, Math.floor(ranks.length / SAMPLES));
  const samples = Float64Array.from({ length: Math.ceil(ranks.length / step) }, (_, n) => ranks[n * step]!).sort();
  const pieces = Math.max(1, Math.ceil(ranks.length / PIECE));
  return Float64Array.from({ length: pieces }, (_, n) =>
    n === 0 ? Number.NEGATIVE_INFINITY : samples[Math.floor((n * samples.length) / pieces)]!,
  );
}

/** Moves entries below a rank before all others. @returns where the others begin. */
function part(entries: Uint32Array, ranks: Float64Array, rank: number, from: number, end: number): number {
  let others = from;
  for (let n = from; n < end; n++) {
    const entry = entries[n]!;
    entries[n] = entries[others]!;
    entries[others] = entry;
    others += Number(ranks[entry]! < rank);
  }
  return others;
}
