import { LONGEST_TIMER_MS } from '../options.ts';
import { promised } from '../promises.ts';

/** What {@link Patience.wait} gives where the time was over first. */
export const TIMED_OUT: unique symbol = Symbol('timed out');

/** How long the user's code is waited for once the crawl is to stop at once, in milliseconds. */
export const HURRY_MS = 10_000;

interface Waiting {
  dueAt: number;
  readonly giveUp: () => void;
}

/**
 * Waits for code of the user's, but not for ever. One timer serves all that is waited for, and none is set before
 * something is: code that answers at once costs nothing.
 */
export class Patience {
  #limitMs: number;
  /** In the order of their time, since all have the same. */
  readonly #waiting = new Set<Waiting>();
  #timer: NodeJS.Timeout | undefined;

  /** @param limitMs - How long each promise is waited for; `Infinity` for as long as it takes. */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** Rejects as the promise does; resolves with {@link TIMED_OUT} where it does not settle in time. */
  async wait<T>(promise: PromiseLike<T>): Promise<T | typeof TIMED_OUT> {
    const over = promised<typeof TIMED_OUT>();
    const waiting = { dueAt: performance.now() + this.#limitMs, giveUp: () => over.resolve(TIMED_OUT) };
    this.#waiting.add(waiting);
    this.#arm();
    try {
      return await Promise.race([promise, over.promise]);
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  /** Waits no longer than ten seconds from here on. */
  hurry(): void {
    this.#limitMs = Math.min(this.#limitMs, HURRY_MS);
    const latest = performance.now() + this.#limitMs;
    for (const waiting of this.#waiting) waiting.dueAt = Math.min(waiting.dueAt, latest);
    this.#disarm();
    this.#arm();
  }

  /** Lets go of the timer; what still waits is given up. */
  close(): void {
    this.#disarm();
    for (const { giveUp } of this.#waiting) giveUp();
  }

  #arm(): void {
    if (this.#timer !== undefined) return;
    const first = this.#waiting.values().next();
    if (first.done || first.value.dueAt === Number.POSITIVE_INFINITY) return;
    const ms = Math.max(1, Math.ceil(first.value.dueAt - performance.now()));
    this.#timer = setTimeout(() => this.#giveUpDue(), Math.min(ms, LONGEST_TIMER_MS));
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #giveUpDue(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const waiting of this.#waiting) {
      if (waiting.dueAt > now) break;
      this.#waiting.delete(waiting);
      waiting.giveUp();
    }
    this.#arm();
  }
}
