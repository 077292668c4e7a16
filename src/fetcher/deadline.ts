import { CrawlError } from '../errors.ts';

/** What a timer may be early by, against a finer clock. */
const EARLY_MS = 1;

/**
 * The wall a fetch ends at: its time is up, its caller gave up, or the fetcher was closed. One timer for all requests of
 * a chain, their phases and the body: it is set again only when something comes due earlier than it fires.
 */
export class Deadline {
  readonly #url: string;
  readonly #pageTimeoutMs: number;
  readonly #pageAt: number;
  readonly #outer: AbortSignal | undefined;
  readonly #onEnd: (deadline: Deadline) => void;
  readonly #onOuterAbort: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #firesAt = Number.POSITIVE_INFINITY;
  #phaseAt = Number.POSITIVE_INFINITY;
  #onLate: (() => void) | undefined;
  #onAbort: ((reason: CrawlError) => void) | undefined;
  #controller: AbortController | undefined;
  #reason: CrawlError | undefined;

  /**
   * @param firstPhaseMs - How long the first phase may take, so that the timer need not be set twice.
   * @param onEnd - Called once, when the fetch is over.
   */
  constructor(
    url: string,
    times: { readonly pageMs: number; readonly firstPhaseMs: number },
    outer: AbortSignal | undefined,
    onEnd: (self: Deadline) => void,
  ) {
    this.#url = url;
    this.#pageTimeoutMs = times.pageMs;
    this.#pageAt = performance.now() + times.pageMs;
    this.#outer = outer;
    this.#onEnd = onEnd;
    this.#arm(Math.min(times.pageMs, times.firstPhaseMs));
    if (outer === undefined) return;
    if (outer.aborted) this.#aborted();
    else {
      this.#onOuterAbort = () => this.#aborted();
      outer.addEventListener('abort', this.#onOuterAbort, { once: true });
    }
  }

  /** Why the fetch ends before its time; `undefined` while it goes on. */
  get reason(): CrawlError | undefined {
    return this.#reason;
  }

  /** For those who want a signal; its reason is a `CrawlError`. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: CrawlError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#onAbort?.(reason);
  }

  /** @throws what the fetch was ended with, if it was. */
  throwIfAborted(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** Says who is to be told when the fetch is ended: whoever works on it now, in place of who did before. */
  watch(onAbort: (reason: CrawlError) => void): void {
    this.#onAbort = onAbort;
    if (this.#reason !== undefined) onAbort(this.#reason);
  }

  /** Begins a phase, which ends the one before; `onLate` is called where it takes longer than `ms`. */
  beginPhase(ms: number, onLate: () => void): void {
    const now = performance.now();
    this.#phaseAt = now + ms;
    this.#onLate = onLate;
    if (this.#phaseAt < this.#firesAt && this.#timer !== undefined) this.#arm(ms);
  }

  endPhase(): void {
    this.#phaseAt = Number.POSITIVE_INFINITY;
    this.#onLate = undefined;
  }

  /** The outcome of `work`, or a rejection when the wall is reached first. Who watched before goes on watching. */
  async race<T>(work: Promise<T>): Promise<T> {
    const before = this.#onAbort;
    try {
      return await new Promise<T>((resolve, reject) => {
        this.watch((reason) => {
          before?.(reason);
          reject(reason);
        });
        work.then(resolve, reject);
      });
    } finally {
      this.#onAbort = before;
    }
  }

  /** The fetch is over: nothing is left that could fire. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.endPhase();
    if (this.#onOuterAbort !== undefined) this.#outer?.removeEventListener('abort', this.#onOuterAbort);
    this.#onEnd(this);
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#firesAt = performance.now() + ms;
    this.#timer = setTimeout(() => this.#fired(), Math.max(1, Math.ceil(ms)));
  }

  #fired(): void {
    const now = performance.now() + EARLY_MS;
    if (now >= this.#pageAt) {
      this.abort(this.#tooLate());
      return;
    }
    if (now >= this.#phaseAt) {
      const onLate = this.#onLate;
      this.endPhase();
      onLate?.();
    }
    if (this.#timer !== undefined) this.#arm(Math.min(this.#pageAt, this.#phaseAt) - now + EARLY_MS);
  }

  #tooLate(): CrawlError {
    const message = `Not complete within ${this.#pageTimeoutMs} ms (timeouts.page): ${this.#url}`;
    return new CrawlError('CRAWL_PAGE_TIMEOUT', message, { url: this.#url, retryable: true });
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
