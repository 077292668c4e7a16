import type { Checkpoints } from './checkpoint.ts';
import type { Core } from './core.ts';
import type { Environment } from './environment.ts';

/** A commit is not put off for more changes than this: what waits is held in memory, a page of 4 KiB for each. */
const MAX_CHANGES = 5_000;

export interface CommitParts {
  readonly environment: Environment;
  readonly core: Core;
  readonly checkpoints: Checkpoints;
  readonly commitEveryMs: number;
  readonly checkpointEveryMs: number;
  /** Told what LMDB or the disk threw; nothing is written any more. */
  readonly onFailure: (thrown: unknown) => void;
}

/** Of the time between commits, the part that they may take. */
const COMMIT_SHARE = 0.2;
/** A commit that takes no longer, in milliseconds, is worth no delay. */
const QUICK_MS = 2;

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (thrown: unknown) => void;
}

/** Decides when what was written is committed: many calls at a time, and none too late. */
export class GroupCommit {
  readonly #parts: CommitParts;
  #timer: NodeJS.Timeout | undefined;
  #commitAt = 0;
  /** Calls off the commit that has been waited for. */
  #callOff: (() => void) | undefined;
  #lastMs = 0;
  #waiters: Waiter[] = [];
  #checkpointTimer: NodeJS.Timeout | undefined;
  #checkpoint: Promise<void> | undefined;
  #isClosed = false;

  constructor(parts: CommitParts) {
    this.#parts = parts;
  }

  /** Before anything is written. */
  begin(): void {
    this.#parts.environment.begin();
  }

  /** After a call has written. */
  written(): void {
    const { core, commitEveryMs } = this.#parts;
    if (!core.hasChanged) return;
    if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.commit(), commitEveryMs);
      this.#commitAt = performance.now() + commitEveryMs;
    } else if (core.changes >= MAX_CHANGES || performance.now() >= this.#commitAt) {
      // Timers don't run while one call follows another without a pause.
      this.commit();
    }
  }

  /**
   * Resolves when all that was written so far is committed: at the end of this turn of the event loop, or where commits
   * are slow, as in a large file with much to reuse, so much later that they don't take up the crawl's time.
   */
  committed(): Promise<void> {
    if (!this.#parts.environment.isWriting) return Promise.resolve();
    this.#callOff ??= this.#commitSoon();
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  #commitSoon(): () => void {
    if (this.#lastMs <= QUICK_MS) {
      const immediate = setImmediate(() => this.commit());
      return () => clearImmediate(immediate);
    }
    const timer = setTimeout(() => this.commit(), Math.min(this.#parts.commitEveryMs, this.#lastMs / COMMIT_SHARE));
    return () => clearTimeout(timer);
  }

  /** Never throws: a failure is told to `onFailure`, and to who waits. */
  commit(): void {
    const { environment, core, onFailure } = this.#parts;
    this.#clearTimers();
    const waiters = this.#waiters.splice(0);
    try {
      // Without a transaction there is nothing to commit, or the store has failed and must not be written.
      if (!core.hasChanged || !environment.isWriting) environment.abort();
      else {
        const startedAt = performance.now();
        core.save();
        environment.commit();
        this.#lastMs = performance.now() - startedAt;
        this.#checkpointLater();
      }
      for (const { resolve } of waiters) resolve();
    } catch (thrown) {
      onFailure(thrown);
      this.giveUp(thrown, waiters);
    }
  }

  /** Commits, and resolves when that outlives the machine. Rejects with what the disk says. */
  async flush(): Promise<void> {
    this.commit();
    // One under way may have begun before this commit.
    await this.#checkpoint?.catch(() => undefined);
    await this.#makeCheckpoint();
  }

  /** Gives up what is not committed, and tells who waits for it why. */
  giveUp(reason: unknown, waiters: readonly Waiter[] = this.#waiters.splice(0)): void {
    this.#clearTimers();
    clearTimeout(this.#checkpointTimer);
    this.#parts.environment.abort();
    for (const { reject } of waiters) reject(reason);
  }

  /** Stops all timers; what is not committed is given up. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.giveUp(new Error('The store is closed'));
    await this.#checkpoint?.catch(() => undefined);
  }

  #clearTimers(): void {
    clearTimeout(this.#timer);
    this.#callOff?.();
    this.#timer = undefined;
    this.#callOff = undefined;
  }

  #checkpointLater(): void {
    if (this.#checkpointTimer !== undefined || this.#isClosed) return;
    this.#checkpointTimer = setTimeout(() => {
      this.#checkpointTimer = undefined;
      this.#makeCheckpoint().catch(this.#parts.onFailure);
    }, this.#parts.checkpointEveryMs);
    // The system keeps what is committed, also when the process ends before.
    this.#checkpointTimer.unref();
  }

  #makeCheckpoint(): Promise<void> {
    if (this.#checkpoint !== undefined) return this.#checkpoint;
    this.commit();
    if (this.#isClosed) return Promise.resolve();
    const { checkpoints } = this.#parts;
    const { loss } = checkpoints;
    if (loss !== undefined) return Promise.reject(loss);
    if (!checkpoints.isBehind) return Promise.resolve();
    const made = checkpoints.make().finally(() => {
      this.#checkpoint = undefined;
    });
    this.#checkpoint = made;
    return made;
  }
}
