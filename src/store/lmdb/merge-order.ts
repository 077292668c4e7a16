import type { Ranked } from './recent-index.ts';

/** Entries put in order at a time: so few that it takes no millisecond. */
const PIECE = 2_048;
const SAMPLES = 4_096;

/** Gives the places of ranked entries in the order of their ranks, without ever sorting them all in one go. */
export class MergeOrder {
  readonly #ranked: Ranked;
  /** Where the pieces begin. */
  readonly #bounds: Float64Array;
  #piece = 0;
  #places: number[] = [];
  #at = 0;

  constructor(ranked: Ranked) {
    this.#ranked = ranked;
    const { ranks } = ranked;
    const step = Math.max(1, Math.floor(ranks.length / SAMPLES));
    const samples = Float64Array.from({ length: Math.ceil(ranks.length / step) }, (_, n) => ranks[n * step]!).sort();
    const pieces = Math.max(1, Math.ceil(ranks.length / PIECE));
    this.#bounds = Float64Array.from({ length: pieces }, (_, n) =>
      n === 0 ? Number.NEGATIVE_INFINITY : samples[Math.floor((n * samples.length) / pieces)]!,
    );
  }

  /** The next place; `undefined` after the last. */
  next(): number | undefined {
    while (this.#at === this.#places.length) {
      if (this.#piece === this.#bounds.length) return undefined;
      this.#places = this.#sorted(this.#piece++);
      this.#at = 0;
    }
    return this.#places[this.#at++];
  }

  #sorted(piece: number): number[] {
    const { ranks, places } = this.#ranked;
    const from = this.#bounds[piece]!;
    const end = this.#bounds[piece + 1] ?? Number.POSITIVE_INFINITY;
    const found: number[] = [];
    for (let n = 0; n < ranks.length; n++) if (ranks[n]! >= from && ranks[n]! < end) found.push(n);
    return found.sort((a, b) => ranks[a]! - ranks[b]!).map((n) => places[n]!);
  }
}
