import { LONGEST_TIMER_MS } from '../options.ts';
import type { CrawlStats } from '../types.ts';
import type { UserHooks } from './hooks.ts';
import type { Session } from './session.ts';
import type { Settings } from './settings.ts';

/** How old the counts that only the store knows may be, in milliseconds. */
const REFRESH_MS = 100;

/** What reports need of a run. */
export interface ReportParts {
  readonly session: Session;
  readonly settings: Settings;
  readonly user: Pick<UserHooks, 'emit'>;
  readonly inFlight: () => number;
  /** Told where the store can't be written any more. */
  readonly lost: (thrown: unknown) => void;
}

/** Tells what a run has come to, from time to time and every so many pages, and makes it durable with that. */
export class Reports {
  readonly #parts: ReportParts;
  #pagesAtTick = 0;
  #queued = 0;
  #hosts: number | undefined;
  #refreshedAt = 0;
  #ticking = false;
  #ticker: NodeJS.Timeout | undefined;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  /** @param pages - Delivered before. */
  begin(pages: number): void {
    const { statsEveryMs } = this.#parts.settings;
    this.#pagesAtTick = this.#lastFull(pages);
    this.#ticker = setInterval(() => void this.#tick(), Math.min(statsEveryMs, LONGEST_TIMER_MS));
  }

  /** To be called after each visit. */
  afterVisit(): void {
    const { lost, session, settings } = this.#parts;
    if (settings.clock.now() - this.#refreshedAt >= REFRESH_MS) void this.refresh().catch(lost);
    const { pages } = session.stats;
    if (pages - this.#pagesAtTick < settings.statsEveryPages) return;
    this.#pagesAtTick = this.#lastFull(pages);
    void this.#tick();
  }

  /** Asks the store for what only it knows of the statistics. */
  async refresh(): Promise<void> {
    const { session, settings } = this.#parts;
    this.#refreshedAt = settings.clock.now();
    const { queued, hosts } = await session.frontier.stats();
    this.#queued = queued;
    this.#hosts = hosts;
  }

  /** The totals so far. */
  snapshot(): CrawlStats {
    const { inFlight, session } = this.#parts;
    return session.stats.snapshot({ queued: this.#queued, inFlight: inFlight(), hosts: this.#hosts });
  }

  /** The last checkpoint. Rejects with what the store throws. */
  async end(): Promise<void> {
    this.stop();
    await this.refresh();
    await this.#checkpoint();
  }

  /** Tells nothing more. */
  stop(): void {
    clearInterval(this.#ticker);
  }

  /** Not while one is under way. */
  async #tick(): Promise<void> {
    if (this.#ticking) return;
    this.#ticking = true;
    try {
      await this.refresh();
      this.#parts.user.emit('stats', this.snapshot());
      await this.#checkpoint();
    } catch (thrown) {
      this.#parts.lost(thrown);
    } finally {
      this.#ticking = false;
    }
  }

  async #checkpoint(): Promise<void> {
    await this.#parts.session.checkpoint();
    this.#parts.user.emit('checkpoint');
  }

  #lastFull(pages: number): number {
    return pages - (pages % this.#parts.settings.statsEveryPages);
  }
}
