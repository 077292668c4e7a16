import PQueue from 'p-queue';
import { CrawlError } from '../errors.ts';
import type { Frontier } from '../frontier.ts';
import { LONGEST_TIMER_MS } from '../options.ts';
import type { Clock, Lease } from '../ports.ts';
import type { UnreachableHosts } from '../visit/unreachable-hosts.ts';

/** What the engine needs of a crawl. */
export interface EngineParts {
  readonly frontier: Frontier;
  readonly clock: Clock;
  readonly concurrency: number;
  /** Pages that may still be delivered; leases in flight count as pages until they are settled. */
  readonly pagesLeft: () => number;
  /** One lease to its settlement; rejects only where the store is lost. */
  readonly visit: (lease: Lease) => Promise<void>;
  readonly unreachable: UnreachableHosts;
  /** Begins to look for the addresses of hosts that will soon be asked. Never throws. */
  readonly prefetch: (hosts: readonly string[]) => void;
  /** Called after each visit. */
  readonly afterVisit: () => void;
}

/** Leases are renewed this often, well within their time. */
const RENEW_EVERY_MS = 60_000;

/** How often, and how far, it is looked which hosts come next. */
const LOOK_AHEAD_EVERY_MS = 100;
const LOOK_AHEAD_HOSTS = 64;

/** How long `pause` and `stop` wait for pages that are with the user's code, once nothing else is in flight. */
const DELIVERY_PATIENCE_MS = 100;

/**
 * Keeps workers busy: leases what is due, runs visits in a bounded pool, sleeps until something comes due, and knows
 * when all is done. It counts its own work in flight, because a pool that is idle for a moment has not finished.
 */
export class Engine {
  readonly #parts: EngineParts;
  readonly #pool: PQueue;
  readonly #held = new Set<Lease>();
  #paused = false;
  #stopping = false;
  #failure: { readonly thrown: unknown } | undefined;
  #adding = 0;
  #isOver = false;
  #woken = false;
  #wake: (() => void) | undefined;
  #delivering = 0;
  #asking = 0;
  #renewedAt = 0;
  #lookedAheadAt = Number.NEGATIVE_INFINITY;
  #patience: NodeJS.Timeout | undefined;
  #idle: ((state: 'idle' | 'delivering') => void)[] = [];

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#pool = new PQueue({ concurrency: parts.concurrency });
  }

  get inFlight(): number {
    return this.#held.size;
  }

  /**
   * Resolves when nothing is queued, leased or being delivered, or when it was stopped and nothing is in flight.
   * @throws what a visit or the frontier threw: the store is lost.
   */
  async run(): Promise<void> {
    const renewal = setInterval(() => void this.#renew(), RENEW_EVERY_MS);
    renewal.unref();
    try {
      // Something may be added in the very moment in which nothing else is left.
      while (!(await this.#step()) || (this.#adding > 0 && this.#failure === undefined));
    } catch (thrown) {
      this.fail(thrown);
      while (this.#held.size > 0) {
        this.#woken = false;
        await this.#sleep(undefined);
      }
    } finally {
      this.#isOver = true;
      clearInterval(renewal);
    }
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }

  /** Something changed: a URL was added, a visit ended. */
  wake(): void {
    this.#woken = true;
    this.#wake?.();
  }

  /** Starts no new request; resolves when none is in flight. */
  async pause(): Promise<void> {
    this.#paused = true;
    await this.#untilIdle();
  }

  /** Takes a pause back; whoever waits for it need wait no more. */
  resume(): void {
    this.#paused = false;
    if (!this.#stopping) this.#tell('idle');
    this.wake();
  }

  /**
   * Starts no new request and lets `run` resolve.
   * @returns when none is in flight: `'delivering'` where the user's code is still busy with pages.
   */
  stop(): Promise<'idle' | 'delivering'> {
    this.#stopping = true;
    this.wake();
    return this.#untilIdle();
  }

  /** Does the user's part of a visit, which nobody waits for who may be part of it. */
  async delivering<T>(work: () => Promise<T>): Promise<T> {
    this.#delivering++;
    this.#tellIdle();
    try {
      return await work();
    } finally {
      this.#delivering--;
    }
  }

  /** The same for what is part of no visit: what the user's code says of seeds and of URLs that are added. */
  async asking<T>(work: () => Promise<T>): Promise<T> {
    this.#asking++;
    this.#tellIdle();
    try {
      return await work();
    } finally {
      this.#asking--;
      this.#tellIdle();
    }
  }

  /** Keeps the crawl from ending while URLs are on their way into the frontier. Rejects with `CRAWL_CLOSED` once it has. */
  async adding<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isOver)
      throw new CrawlError('CRAWL_CLOSED', 'The crawl has just ended; add the URLs again for the next.');
    this.#adding++;
    try {
      return await work();
    } finally {
      this.#adding--;
      this.wake();
    }
  }

  /** @returns whether the crawl is over. */
  async #step(): Promise<boolean> {
    const { frontier, pagesLeft, concurrency } = this.#parts;
    this.#woken = false;
    const limited = pagesLeft() <= 0;
    if (this.#stopping || this.#failure !== undefined || limited) {
      // What is being added is queued first, unless the store is lost.
      if (this.#held.size === 0 && (this.#adding === 0 || this.#failure !== undefined)) return true;
      await this.#sleep(undefined);
      return false;
    }
    const room = Math.min(concurrency, pagesLeft()) - this.#held.size;
    if (this.#paused || room <= 0) {
      await this.#sleep(undefined);
      return false;
    }
    // A clock that has jumped, as after a machine's sleep, must not make leases run out that are being worked on.
    if (this.#held.size > 0 && this.#parts.clock.now() - this.#renewedAt >= RENEW_EVERY_MS) await this.#renew();
    const leases = await frontier.lease(room);
    if (this.#paused || this.#stopping) {
      // Whoever asked for it has been told that nothing is in flight.
      for (const lease of leases) await frontier.settle(lease, { outcome: 'deferred' });
      return false;
    }
    for (const lease of leases) this.#start(lease);
    if (leases.length > 0) await this.#lookAhead();
    if (leases.length >= room) return false;
    return this.#rest();
  }

  /** Not with every lease: what comes next hardly changes in so short a time. */
  async #lookAhead(): Promise<void> {
    const now = performance.now();
    if (now - this.#lookedAheadAt < LOOK_AHEAD_EVERY_MS) return;
    this.#lookedAheadAt = now;
    this.#parts.prefetch(await this.#parts.frontier.upcoming(LOOK_AHEAD_HOSTS));
  }

  /** Nothing more is due: sleeps, or finds that the crawl is over. */
  async #rest(): Promise<boolean> {
    const { frontier, clock, unreachable } = this.#parts;
    const dueAt = await frontier.nextDueAt();
    if (this.#woken) return false;
    const busy = this.#held.size > 0 || this.#adding > 0;
    if (dueAt === undefined) {
      if (!busy) return true;
      await this.#sleep(undefined);
      return false;
    }
    if (!busy && dueAt > clock.now() && unreachable.isWaitingAt(dueAt)) {
      for (const { host, until, before } of unreachable.giveUpFrom(dueAt)) {
        // What has come since then, as a Retry-After, still holds.
        if ((await frontier.getHost(host))?.blockedUntil === until)
          await frontier.setHost(host, { blockedUntil: before });
      }
      return false;
    }
    await this.#sleep(Math.max(0, dueAt - clock.now()));
    return false;
  }

  #start(lease: Lease): void {
    this.#held.add(lease);
    void this.#pool.add(async () => {
      try {
        await this.#parts.visit(lease);
      } catch (thrown) {
        this.fail(thrown);
      } finally {
        this.#held.delete(lease);
        this.#parts.afterVisit();
        this.#tellIdle();
        this.wake();
      }
    });
  }

  /** Ends the run with an error, once what is in flight has ended. */
  fail(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.wake();
  }

  /** Until woken, or for as long as `ms`. */
  #sleep(ms: number | undefined): Promise<void> {
    if (this.#woken) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(done, Math.min(Math.ceil(ms), LONGEST_TIMER_MS));
      const wake = done;
      this.#wake = wake;
      function done(): void {
        clearTimeout(timer);
        resolve();
      }
    });
  }

  async #renew(): Promise<void> {
    this.#renewedAt = this.#parts.clock.now();
    try {
      for (const lease of this.#held) await this.#parts.frontier.renew(lease);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  #untilIdle(): Promise<'idle' | 'delivering'> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      // Code of the user's that calls this counts as soon as it has given its promise.
      queueMicrotask(() => this.#tellIdle());
    });
  }

  #tellIdle(): void {
    if (this.#held.size === 0 && this.#asking === 0) this.#tell('idle');
    else if (this.#held.size === this.#delivering && this.#idle.length > 0) {
      // Most pages are soon done with; only who still holds one after this may be waiting for us.
      this.#patience ??= setTimeout(() => {
        this.#patience = undefined;
        if (this.#held.size === this.#delivering)
          this.#tell(this.#delivering + this.#asking > 0 ? 'delivering' : 'idle');
      }, DELIVERY_PATIENCE_MS);
    }
  }

  #tell(state: 'idle' | 'delivering'): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
    for (const resolve of this.#idle.splice(0)) resolve(state);
  }
}
