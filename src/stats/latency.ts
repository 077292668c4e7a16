import type { Latency } from '../types.ts';
import { isCount } from './tally.ts';

/** Upper bound of the first bucket, in milliseconds. */
const SMALLEST_MS = 0.1;
/** Each bucket is so much wider than the one before; a value is off by at most the root of it, which is below 4 %. */
const GROWTH = 1.08;
/** Enough for eight hours; what took longer is counted as that. */
const BUCKETS = 256;
const LOG_GROWTH = Math.log(GROWTH);

/** Durations in a histogram of fixed size whose buckets grow with the duration; less than 0.1 ms counts as 0. */
export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKETS);
  #total = 0;

  add(durationMs: number): void {
    if (!(durationMs >= 0)) return;
    this.#counts[bucketOf(durationMs)]! += 1;
    this.#total++;
  }

  /** Percentiles by nearest rank; 0 where nothing was measured. */
  percentiles(): Latency {
    return { p50: this.#at(0.5), p95: this.#at(0.95), p99: this.#at(0.99) };
  }

  #at(share: number): number {
    let rank = Math.ceil(share * this.#total);
    if (rank === 0) return 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      rank -= this.#counts[bucket]!;
      if (rank <= 0) return middleOf(bucket);
    }
    return middleOf(BUCKETS - 1);
  }

  /** Buckets that are not empty, with their counts. */
  toJSON(): [number, number][] {
    return Array.from(this.#counts, (count, bucket): [number, number] => [bucket, count]).filter(([, n]) => n > 0);
  }

  /** Takes what {@link LatencyHistogram.toJSON} gave in place of the present counts; entries that are none are left out. */
  restore(entries: unknown): void {
    this.#counts.fill(0);
    this.#total = 0;
    if (!Array.isArray(entries)) return;
    for (const entry of entries) {
      const [bucket, count] = Array.isArray(entry) ? entry : [];
      if (!isCount(bucket) || !Number.isInteger(bucket) || bucket >= BUCKETS || !isCount(count)) continue;
      this.#counts[bucket]! += count;
      this.#total += count;
    }
  }
}

function bucketOf(durationMs: number): number {
  if (durationMs < SMALLEST_MS) return 0;
  return Math.min(BUCKETS - 1, 1 + Math.floor(Math.log(durationMs / SMALLEST_MS) / LOG_GROWTH));
}

/** The geometric middle of a bucket, in milliseconds to the hundredth. */
function middleOf(bucket: number): number {
  if (bucket === 0) return 0;
  const middle = SMALLEST_MS * GROWTH ** (bucket - 0.5);
  return middle < 1 ? Number(middle.toPrecision(3)) : Math.round(middle * 100) / 100;
}
