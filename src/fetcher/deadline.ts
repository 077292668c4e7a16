import { CrawlError } from '../errors.ts';

/**
 * The wall a fetch ends at: its time is up, its caller gave up, or the fetcher was closed. One timer, one signal for
 * all requests of a chain and for the body.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #url: string;
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #onEnd: (deadline: Deadline) => void;
  readonly #onOuterAbort = () => this.#aborted();

  /** @param onEnd - Called once, when the fetch is over. */
  constructor(url: string, pageTimeoutMs: number, outer: AbortSignal | undefined, onEnd: (self: Deadline) => void) {
    this.#url = url;
    this.#onEnd = onEnd;
    this.#outer = outer;
    this.#timer = setTimeout(() => {
      this.abort(
        new CrawlError('CRAWL_PAGE_TIMEOUT', `Not complete within ${pageTimeoutMs} ms (timeouts.page): ${url}`, {
          url,
          retryable: true,
        }),
      );
    }, pageTimeoutMs);
    if (outer?.aborted === true) this.#aborted();
    else outer?.addEventListener('abort', this.#onOuterAbort, { once: true });
  }

  /** Its reason is a `CrawlError`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: CrawlError): void {
    if (!this.signal.aborted) this.#controller.abort(reason);
  }

  /** The outcome of `work`, or a rejection when the wall is reached first. */
  async race<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    signal.throwIfAborted();
    let stop: (() => void) | undefined;
    const wall = new Promise<never>((_resolve, reject) => {
      stop = () => reject(signal.reason);
      signal.addEventListener('abort', stop, { once: true });
    });
    try {
      return await Promise.race([work, wall]);
    } finally {
      if (stop !== undefined) signal.removeEventListener('abort', stop);
    }
  }

  /** The fetch is over: nothing is left that could fire. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#onOuterAbort);
    this.#onEnd(this);
  }

  #aborted(): void {
    this.abort(
      new CrawlError('CRAWL_ABORTED', `Aborted by its caller: ${this.#url}`, {
        url: this.#url,
        cause: this.#outer?.reason,
      }),
    );
  }
}
