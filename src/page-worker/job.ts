import { begunAt, HAS_ENDED, type ThreadTask } from './messages.ts';

/** Longest times in milliseconds. */
export interface JobLimits {
  /** Until the handler is called: a new thread has to start and load the module first. */
  readonly loadMs: number;
  /** From then on. */
  readonly handleMs: number;
}

/** Why a task was not let come to its end. */
export class CutShort extends Error {
  readonly reason: 'stopped' | 'load' | 'handler';

  constructor(reason: CutShort['reason']) {
    super(`The task was cut short: ${reason}`);
    this.reason = reason;
  }
}

/**
 * One task in a thread, and the signal that ends it, in the shape of an `AbortSignal` and for one listener.
 */
export class Job {
  readonly task: ThreadTask;
  /** Why it was cut short, if it was. */
  cut: CutShort | undefined;
  readonly #sentAt = process.hrtime.bigint();
  #end: (() => void) | undefined;

  constructor(task: ThreadTask) {
    this.task = task;
  }

  get aborted(): boolean {
    return this.cut !== undefined;
  }

  get reason(): unknown {
    return this.cut;
  }

  addEventListener(_event: 'abort', listener: () => void): void {
    this.#end = listener;
  }

  removeEventListener(_event: 'abort', listener: () => void): void {
    if (this.#end === listener) this.#end = undefined;
  }

  /** Ends the thread that works on it. Never throws. */
  cutShort(reason: CutShort['reason']): void {
    if (this.cut !== undefined) return;
    this.cut = new CutShort(reason);
    try {
      this.#end?.();
    } catch {
      // The pool has rejected the task by then; it only misses it in the wrong one of its two queues.
    }
  }

  /** Cuts it short where its time is up. */
  check(now: bigint, limits: JobLimits): void {
    const begun = this.task === 'load' ? 0n : begunAt(this.task);
    // The answer is on its way, however long the main thread takes to see it.
    if (begun === HAS_ENDED) return;
    const [since, limitMs, reason] =
      begun === 0n ? ([this.#sentAt, limits.loadMs, 'load'] as const) : ([begun, limits.handleMs, 'handler'] as const);
    if (Number(now - since) > limitMs * 1_000_000) this.cutShort(reason);
  }
}
