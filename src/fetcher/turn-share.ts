import type { Readable } from 'node:stream';

/**
 * Lets a stream be read in shares, one in each turn of the event loop: what comes in very many small pieces would else
 * keep everything else waiting for as long as there is more of it.
 */
export class TurnShare {
  readonly #source: Pick<Readable, 'pause' | 'resume'>;
  readonly #most: number;
  #taken = 0;
  #waiting = false;
  #wanted = false;

  /** @param most - Pieces that are a turn's share. */
  constructor(source: Pick<Readable, 'pause' | 'resume'>, most: number) {
    this.#source = source;
    this.#most = most;
  }

  /** More is wanted: now, or where the share of this turn is used up in the next. */
  want(): void {
    this.#wanted = true;
    if (!this.#waiting) this.#source.resume();
  }

  /** No more is wanted for now. */
  stop(): void {
    this.#wanted = false;
    this.#source.pause();
  }

  /** Counts a piece. */
  took(): void {
    if (++this.#taken < this.#most) return;
    this.#taken = 0;
    if (this.#waiting) return;
    this.#waiting = true;
    this.#source.pause();
    setImmediate(() => {
      this.#waiting = false;
      if (this.#wanted) this.#source.resume();
    });
  }
}
