import type { Piscina } from 'piscina';
import { CrawlError } from '../errors.ts';
import { CutShort, Job, type JobLimits } from './job.ts';
import { HEADROOM_BYTES, MemoryWatch } from './memory-watch.ts';
import type { ThreadAnswer, ThreadData, ThreadTask } from './messages.ts';

/** What a pool is made of. */
export interface ThreadPoolParts {
  readonly threads: number;
  readonly memoryBytes: number;
  readonly limits: JobLimits;
  readonly data: ThreadData;
  /** Is told why a thread failed that had no task. */
  readonly onIdleFault: (thrown: unknown) => void;
}

type Pool = Piscina<ThreadTask, ThreadAnswer>;

/** How often running tasks are looked at, in milliseconds, and as a part of the shortest limit. */
const LOOK_EVERY = { least: 5, most: 500, part: 0.1 };
/** How often their memory is, in milliseconds: a loop fills the headroom in half a second. */
const WATCH_EVERY_MS = 25;

/**
 * Threads, each with one task at a time; whoever finds none free waits his turn. A thread whose task was cut short, or
 * that failed, is gone, and the next task starts a new one.
 */
export class ThreadPool {
  readonly #pool: Pool;
  readonly #memory: MemoryWatch | undefined;
  readonly #limits: JobLimits;
  readonly #lookEveryMs: number;
  readonly #jobs = new Set<Job>();
  readonly #waiting: (() => void)[] = [];
  #free: number;
  #watch: NodeJS.Timeout | undefined;
  #memoryWatch: NodeJS.Timeout | undefined;
  #stopped = false;

  /** @throws {@link CrawlError} `CRAWL_DEPENDENCY_MISSING` without `piscina`. */
  static async open(parts: ThreadPoolParts): Promise<ThreadPool> {
    const PiscinaPool = await loadPiscina();
    const isBounded = Number.isFinite(parts.memoryBytes);
    return new ThreadPool(parts, PiscinaPool, isBounded ? await MemoryWatch.open(parts.memoryBytes) : undefined);
  }

  private constructor(parts: ThreadPoolParts, PiscinaPool: typeof Piscina, memory: MemoryWatch | undefined) {
    const { threads, memoryBytes, limits, data, onIdleFault } = parts;
    const heapBytes = memoryBytes + (memory === undefined ? 0 : HEADROOM_BYTES);
    this.#memory = memory;
    const { least, most, part } = LOOK_EVERY;
    this.#limits = limits;
    this.#lookEveryMs = Math.max(least, Math.min(most, part * limits.loadMs, part * limits.handleMs));
    this.#free = threads;
    this.#pool = new PiscinaPool({
      // It stands beside this file where that was compiled, and where it was bundled, too.
      filename: new URL('./page-thread.js', import.meta.url).href,
      workerData: data,
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Otherwise an idle thread stands still, and with it what the user's code has going on in it.
      atomics: 'disabled',
      recordTiming: false,
      ...(Number.isFinite(heapBytes)
        ? { resourceLimits: { maxOldGenerationSizeMb: Math.ceil(heapBytes / 1_048_576) } }
        : {}),
    });
    this.#pool.on('error', onIdleFault);
  }

  /**
   * Has a thread do a task, which is made when there is one for it.
   * Rejects with {@link CutShort}, or with what ended the thread.
   */
  async run(makeTask: () => ThreadTask): Promise<ThreadAnswer> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    let job: Job | undefined;
    try {
      if (this.#stopped) throw new CutShort('stopped');
      job = new Job(makeTask());
      this.#jobs.add(job);
      this.#watch ??= setInterval(() => this.#look(), this.#lookEveryMs);
      if (this.#memory !== undefined)
        this.#memoryWatch ??= setInterval(() => this.#memory?.look(this.#pool.threads), WATCH_EVERY_MS).unref();
      return await this.#pool.run(job.task, { signal: job });
    } catch (thrown) {
      throw job?.cut ?? thrown;
    } finally {
      if (job !== undefined) this.#jobs.delete(job);
      this.#next();
    }
  }

  /** Cuts all tasks short and takes no more. */
  stop(): void {
    this.#stopped = true;
    for (const job of this.#jobs) job.cutShort('stopped');
  }

  /** Ends all threads. */
  async close(): Promise<void> {
    this.stop();
    this.#memory?.close();
    await this.#pool.destroy();
  }

  #next(): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#free++;
    else waiting();
    if (this.#jobs.size > 0) return;
    clearInterval(this.#watch);
    clearInterval(this.#memoryWatch);
    this.#watch = undefined;
    this.#memoryWatch = undefined;
  }

  #look(): void {
    const now = process.hrtime.bigint();
    for (const job of this.#jobs) job.check(now, this.#limits);
  }
}

async function loadPiscina(): Promise<typeof Piscina> {
  try {
    return (await import('piscina')).Piscina;
  } catch (thrown) {
    throw new CrawlError(
      'CRAWL_DEPENDENCY_MISSING',
      'The option pageWorker needs the package "piscina", which is not installed. Install it with: npm install piscina@5',
      { cause: thrown },
    );
  }
}
