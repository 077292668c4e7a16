import type { Clock } from '../ports.ts';

/** How many large sitemaps are kept at once. Each may be of 50 MiB, and takes as much again while it is read. */
const SITEMAPS_AT_ONCE = 2;
/** And pages, which take four times their size until their links are found. */
const PAGES_AT_ONCE = 8;

/** After so long, in milliseconds, the next begins all the same: servers that drip must not hold up all others. */
const SITEMAP_TURN_MS = 10_000;
const PAGE_TURN_MS = 3_000;

/** Leave for one body to be large. */
export interface LargeBodyPass {
  /** Resolves when it is this body's turn. */
  readonly wait: () => Promise<void>;
  /** How long that took, in milliseconds: no time of the server's. */
  readonly waitedMs: number;
  /** The body is done with, or will never come. */
  done(): void;
}

/** Sees to it that few large bodies are in memory at one time, however many servers send them. */
export class LargeBodies {
  readonly #atOnce: number;
  readonly #turnMs: number;
  readonly #waiting = new Set<() => void>();
  #kept = 0;

  static ofSitemaps(): LargeBodies {
    return new LargeBodies(SITEMAPS_AT_ONCE, SITEMAP_TURN_MS);
  }

  static ofPages(): LargeBodies {
    return new LargeBodies(PAGES_AT_ONCE, PAGE_TURN_MS);
  }

  constructor(atOnce: number, turnMs: number) {
    this.#atOnce = atOnce;
    this.#turnMs = turnMs;
  }

  pass(clock: Clock): LargeBodyPass {
    let waitedMs = 0;
    let turn: NodeJS.Timeout | undefined;
    let begin: (() => void) | undefined;
    const end = (): void => {
      turn = undefined;
      this.#kept--;
      this.#next();
    };
    const keep = (): void => {
      turn = setTimeout(end, this.#turnMs);
      turn.unref();
      this.#kept++;
    };
    return {
      wait: () => {
        if (this.#kept < this.#atOnce) {
          keep();
          return Promise.resolve();
        }
        const from = clock.now();
        return new Promise((resolve) => {
          begin = () => {
            waitedMs = Math.max(0, clock.now() - from);
            keep();
            resolve();
          };
          this.#waiting.add(begin);
        });
      },
      get waitedMs() {
        return waitedMs;
      },
      done: () => {
        if (begin !== undefined) this.#waiting.delete(begin);
        if (turn === undefined) return;
        clearTimeout(turn);
        end();
      },
    };
  }

  #next(): void {
    const [begin] = this.#waiting;
    if (begin === undefined || this.#kept >= this.#atOnce) return;
    this.#waiting.delete(begin);
    begin();
  }
}
