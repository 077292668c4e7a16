import { CrawlError } from '../errors.ts';

/** What a timer may be early by, against a finer clock. */
const EARLY_MS = 1;

/** Times of one fetch, in milliseconds. */
export interface FetchTimes {
  readonly pageMs: number;
  /** How long the first phase may take, so that the timer need not be set twice. */
  readonly firstPhaseMs: number;
}

/**
 * The fetches that are running, and the one timer that watches over them: a timer for each phase of each fetch would
 * cost more than anything else a fetch does besides sending and reading. It is set again only when something comes due
 * before it fires.
 */
export class Deadlines {
  readonly #running = new Set<Deadline>();
  readonly #watch: Watch = { dueAt: (at) => this.#dueAt(at), ended: (deadline) => this.#ended(deadline) };
  #timer: NodeJS.Timeout | undefined;
  #firesAt = Number.POSITIVE_INFINITY;
  /** By the signal of their callers: one listener for all of a crawl, since to add and remove one is dear. */
  readonly #followers = new Map<AbortSignal, Followers>();

  start(url: string, times: FetchTimes, outer: AbortSignal | undefined): Deadline {
    const deadline = new Deadline(url, times, outer, this.#watch);
    this.#running.add(deadline);
    if (outer !== undefined && !outer.aborted) this.#follow(outer, deadline);
    if (this.#running.size === 1) this.#timer?.ref();
    this.#dueAt(performance.now() + Math.min(times.pageMs, times.firstPhaseMs));
    return deadline;
  }

  /** Ends all of them, and the timer. */
  close(reason: CrawlError): void {
    for (const deadline of this.#running) deadline.abort(reason);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#firesAt = Number.POSITIVE_INFINITY;
  }

  #follow(signal: AbortSignal, deadline: Deadline): void {
    let followers = this.#followers.get(signal);
    if (followers === undefined) {
      const deadlines = new Set<Deadline>();
      followers = {
        deadlines,
        onAbort: () => {
          for (const one of deadlines) one.abortedByCaller();
        },
      };
      this.#followers.set(signal, followers);
      signal.addEventListener('abort', followers.onAbort, { once: true });
    }
    followers.deadlines.add(deadline);
  }

  #unfollow(signal: AbortSignal, deadline: Deadline): void {
    const followers = this.#followers.get(signal);
    if (followers === undefined) return;
    followers.deadlines.delete(deadline);
    if (followers.deadlines.size > 0) return;
    this.#followers.delete(signal);
    signal.removeEventListener('abort', followers.onAbort);
  }

  #dueAt(at: number): void {
    if (at >= this.#firesAt) return;
    clearTimeout(this.#timer);
    this.#firesAt = at;
    this.#timer = setTimeout(() => this.#fired(), Math.max(1, Math.ceil(at - performance.now())));
  }

  #ended(deadline: Deadline): void {
    this.#running.delete(deadline);
    if (deadline.outer !== undefined) this.#unfollow(deadline.outer, deadline);
    // It is left to fire for nothing, which costs less than to clear it with every fetch.
    if (this.#running.size === 0) this.#timer?.unref();
  }

  #fired(): void {
    this.#timer = undefined;
    this.#firesAt = Number.POSITIVE_INFINITY;
    const now = performance.now() + EARLY_MS;
    let next = Number.POSITIVE_INFINITY;
    for (const deadline of this.#running) next = Math.min(next, deadline.check(now));
    if (this.#running.size > 0 && next < Number.POSITIVE_INFINITY) this.#dueAt(next);
  }
}

/** Who is ended with one signal. */
interface Followers {
  readonly deadlines: Set<Deadline>;
  readonly onAbort: () => void;
}

/** Whom a deadline tells. */
interface Watch {
  dueAt(at: number): void;
  ended(deadline: Deadline): void;
}

/** The wall a fetch ends at: its time is up, its caller gave up, or the fetcher was closed. */
export class Deadline {
  /** Of its caller. */
  readonly outer: AbortSignal | undefined;
  readonly #url: string;
  readonly #pageTimeoutMs: number;
  #pageAt: number;
  readonly #keeper: Watch;
  #phaseAt = Number.POSITIVE_INFINITY;
  #onLate: (() => void) | undefined;
  #onAbort: ((reason: CrawlError) => void) | undefined;
  #controller: AbortController | undefined;
  #reason: CrawlError | undefined;
  #isOver = false;

  constructor(url: string, times: FetchTimes, outer: AbortSignal | undefined, keeper: Watch) {
    this.#url = url;
    this.#pageTimeoutMs = times.pageMs;
    this.#pageAt = performance.now() + times.pageMs;
    this.outer = outer;
    this.#keeper = keeper;
    if (outer?.aborted === true) this.abortedByCaller();
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
    this.#phaseAt = performance.now() + ms;
    this.#onLate = onLate;
    this.#keeper.dueAt(this.#phaseAt);
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

  /**
   * The outcome of `work`, whose time is not the fetch's: it may take as long as a page, on top of that. Where it takes
   * longer the fetch is ended all the same.
   */
  async setAside<T>(work: Promise<T>): Promise<T> {
    const from = performance.now();
    this.#pageAt += this.#pageTimeoutMs;
    try {
      return await work;
    } finally {
      this.#pageAt += performance.now() - from - this.#pageTimeoutMs;
      if (!this.#isOver) this.#keeper.dueAt(this.#pageAt);
    }
  }

  /**
   * Ends what has come due.
   * @returns when the next thing does.
   */
  check(now: number): number {
    if (this.#reason !== undefined) return Number.POSITIVE_INFINITY;
    if (now >= this.#pageAt) {
      this.abort(this.#tooLate());
      return Number.POSITIVE_INFINITY;
    }
    if (now >= this.#phaseAt) {
      const onLate = this.#onLate;
      this.endPhase();
      onLate?.();
    }
    return Math.min(this.#pageAt, this.#phaseAt);
  }

  /** The fetch is over: nothing is left that could fire. */
  end(): void {
    this.#isOver = true;
    this.endPhase();
    // A connection remembers what it was opened for, as long as it lives.
    this.#onAbort = undefined;
    this.#keeper.ended(this);
  }

  #tooLate(): CrawlError {
    const message = `Not complete within ${this.#pageTimeoutMs} ms (timeouts.page): ${this.#url}`;
    return new CrawlError('CRAWL_PAGE_TIMEOUT', message, { url: this.#url, retryable: true });
  }

  abortedByCaller(): void {
    this.abort(
      new CrawlError('CRAWL_ABORTED', `Aborted by its caller: ${this.#url}`, {
        url: this.#url,
        cause: this.outer?.reason,
      }),
    );
  }
}
