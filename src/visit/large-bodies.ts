/** How many large bodies are kept at once. Each may be of 50 MiB, and takes as much again while it is read. */
const AT_ONCE = 2;

/** Leave for one body to be large. */
export interface LargeBodyPass {
  /** Resolves when it is this body's turn. */
  readonly wait: () => Promise<void>;
  /** The body is done with, or will never come. */
  done(): void;
}

/** Sees to it that few large bodies are in memory at one time, however many servers send them. */
export class LargeBodies {
  readonly #atOnce: number;
  readonly #waiting = new Set<() => void>();
  #kept = 0;

  constructor(atOnce: number = AT_ONCE) {
    this.#atOnce = atOnce;
  }

  pass(): LargeBodyPass {
    let isKept = false;
    let begin: (() => void) | undefined;
    const keep = (): void => {
      isKept = true;
      this.#kept++;
    };
    return {
      wait: () => {
        if (this.#kept < this.#atOnce) {
          keep();
          return Promise.resolve();
        }
        return new Promise((resolve) => {
          begin = () => {
            keep();
            resolve();
          };
          this.#waiting.add(begin);
        });
      },
      done: () => {
        if (begin !== undefined) this.#waiting.delete(begin);
        if (!isKept) return;
        isKept = false;
        this.#kept--;
        this.#next();
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
