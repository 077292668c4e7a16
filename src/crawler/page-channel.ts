import type { Page } from '../types.ts';

interface Waiting {
  readonly page: Page;
  readonly taken: (taken: boolean) => void;
}

/**
 * Hands pages from the crawl to the reader of `pages()`, one at a time: whoever offers a page waits until the reader has
 * asked for the next one, which is what slows the crawl to the reader's pace.
 */
export class PageChannel {
  readonly #waiting: Waiting[] = [];
  #reader: ((page: Page | undefined) => void) | undefined;
  #inHand: Waiting | undefined;
  #closed = false;

  /** Resolves with `true` when the reader is done with the page, with `false` where it never saw it. */
  offer(page: Page): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    return new Promise((taken) => {
      this.#waiting.push({ page, taken });
      this.#handOver();
    });
  }

  /** The next page, `undefined` after the last. Asking says that the page before is done with. */
  next(): Promise<Page | undefined> {
    this.#release();
    if (this.#closed && this.#waiting.length === 0) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#reader = resolve;
      this.#handOver();
    });
  }

  /** No more pages will come; those waiting can still be read. */
  end(): void {
    this.#closed = true;
    if (this.#waiting.length > 0) return;
    this.#reader?.(undefined);
    this.#reader = undefined;
  }

  /** The reader left: pages that wait were never seen by it, the one in hand was. */
  cancel(): void {
    this.#closed = true;
    this.#release();
    for (const { taken } of this.#waiting.splice(0)) taken(false);
  }

  #handOver(): void {
    if (this.#reader === undefined) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    const reader = this.#reader;
    this.#reader = undefined;
    this.#inHand = next;
    reader(next.page);
  }

  #release(): void {
    this.#inHand?.taken(true);
    this.#inHand = undefined;
  }
}
