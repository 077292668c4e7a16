import { type Complete, integer, onlyKnown } from './options.ts';
import { type Clock, systemClock } from './ports.ts';
import { HostTable } from './stats/host-table.ts';
import { LatencyHistogram } from './stats/latency.ts';
import { isCount, Tally } from './stats/tally.ts';
import { steady } from './steady-clock.ts';
import type { CrawlStats, SkipReason } from './types.ts';

export { OTHERS } from './stats/tally.ts';

/** Options of {@link StatsCollector}. */
export interface StatsCollectorOptions {
  /** Hosts counted one by one; all others are summed up as `(others)`. @defaultValue 1000 */
  readonly maxHosts?: number | undefined;
  /** Content types, statuses, skip reasons and error codes counted one by one, of each. @defaultValue 200 */
  readonly maxNames?: number | undefined;
  /** @defaultValue the machine's clock */
  readonly clock?: Clock | undefined;
}

/** Every default of {@link StatsCollectorOptions}, written once. */
export const STATS_COLLECTOR_DEFAULTS: Complete<StatsCollectorOptions> = {
  maxHosts: 1000,
  maxNames: 200,
  clock: systemClock,
};

/** What a snapshot needs from elsewhere. */
export interface StatsContext {
  /** URLs waiting. */
  readonly queued: number;
  /** URLs being fetched or delivered. */
  readonly inFlight: number;
  /** Hosts met; the number of those counted one by one where it is not given. */
  readonly hosts?: number | undefined;
}

// States that were written before know fewer: what is new comes last.
// biome-ignore format: one list
const TOTALS = [
  'pages', 'requests', 'offered', 'redirects', 'retries', 'duplicates', 'errors', 'skipped', 'bytes', 'unchanged',
] as const;

type Totals = Record<(typeof TOTALS)[number], number>;

/**
 * Counts what happens in a crawl, in a memory that does not grow with it. Each method is a few additions; none throws.
 * All times are milliseconds since the epoch.
 */
export class StatsCollector {
  readonly #clock: Clock;
  readonly #totals: Totals = zeroTotals();
  readonly #statuses: Tally;
  readonly #contentTypes: Tally;
  readonly #skips: Tally;
  readonly #errorCodes: Tally;
  readonly #hosts: HostTable;
  readonly #latency = new LatencyHistogram();
  #startedAt: number | undefined;
  /** When this run began; `undefined` between runs. */
  #runningSince: number | undefined;
  /** Of this run, once it is over. */
  #runMs = 0;
  /** Of the runs before this one. */
  #earlierMs = 0;
  /** Totals at the start of this run: rates leave them out. */
  #earlierPages = 0;
  #earlierBytes = 0;

  /** @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`. */
  constructor(options: StatsCollectorOptions = {}) {
    onlyKnown('StatsCollector', options, Object.keys(STATS_COLLECTOR_DEFAULTS));
    const maxNames = integer('maxNames', options.maxNames, STATS_COLLECTOR_DEFAULTS.maxNames, 1);
    this.#hosts = new HostTable(integer('maxHosts', options.maxHosts, STATS_COLLECTOR_DEFAULTS.maxHosts, 1));
    this.#clock = steady(options.clock ?? STATS_COLLECTOR_DEFAULTS.clock);
    this.#statuses = new Tally(maxNames);
    this.#contentTypes = new Tally(maxNames);
    this.#skips = new Tally(maxNames);
    this.#errorCodes = new Tally(maxNames);
  }

  /** A run begins: its time and its rates count from here. */
  started(at: number): void {
    this.stopped(at);
    this.#earlierMs += this.#runMs;
    this.#runMs = 0;
    this.#earlierPages = this.#totals.pages;
    this.#earlierBytes = this.#totals.bytes;
    this.#startedAt ??= at;
    this.#runningSince = at;
  }

  /** The run is over: the time stands still. */
  stopped(at: number): void {
    if (this.#runningSince === undefined) return;
    this.#runMs = Math.max(0, at - this.#runningSince);
    this.#runningSince = undefined;
  }

  /** `n` URLs were queued. */
  offered(n = 1): void {
    this.#totals.offered += n;
  }

  /** `n` URLs left the road for one reason. */
  skipped(reason: SkipReason, n = 1): void {
    this.#totals.skipped += n;
    this.#skips.add(reason, n);
  }

  /** A request is sent. Every one must be followed by `answered`, by `failed` with a time, or by `ended`. */
  requested(host: string, at: number): void {
    this.#totals.requests++;
    const entry = this.#hosts.get(host);
    entry.requests++;
    if (entry.inFlight > 0) entry.smallestGapMs = 0;
    else if (entry.lastEndedAt >= 0 && at >= entry.lastEndedAt) {
      entry.smallestGapMs = Math.min(entry.smallestGapMs, at - entry.lastEndedAt);
    }
    entry.inFlight++;
  }

  /** A request came to its end with an answer, redirects and error statuses among them. */
  answered(host: string, status: number, contentType: string, bytes: number, durationMs: number, at: number): void {
    this.ended(host, at);
    this.#statuses.add(status, 1);
    this.#contentTypes.add(contentType === '' ? '(none)' : contentType, 1);
    this.#latency.add(durationMs);
    if (!isCount(bytes)) return;
    this.#totals.bytes += bytes;
    this.#hosts.get(host).bytes += bytes;
  }

  /** A request came to its end with neither an answer nor an error: it was called off. */
  ended(host: string, at: number): void {
    const entry = this.#hosts.get(host);
    if (entry.inFlight > 0) entry.inFlight--;
    entry.lastEndedAt = Math.max(entry.lastEndedAt, at);
  }

  /** A page was delivered. */
  delivered(host: string): void {
    this.#totals.pages++;
    this.#hosts.get(host).pages++;
  }

  /** Pages delivered so far. */
  get pages(): number {
    return this.#totals.pages;
  }

  /** Puts the pages right after {@link StatsCollector.restore}, where the store knows better: it counts in each commit. */
  correctPages(pages: number): void {
    this.#totals.pages = pages;
    this.#earlierPages = pages;
  }

  /** An answer led elsewhere. */
  redirected(): void {
    this.#totals.redirects++;
  }

  /** A request that failed will be made again. */
  retried(): void {
    this.#totals.retries++;
  }

  /** A page visited again was still as it had been delivered. */
  unchanged(): void {
    this.#totals.unchanged++;
  }

  /** A delivered page had the body of an earlier one. */
  duplicate(): void {
    this.#totals.duplicates++;
  }

  /**
   * Something failed.
   * @param host - Where it was the matter of one host.
   * @param at - Where it was the end of a request that got no answer.
   */
  failed(code: string, host?: string, at?: number): void {
    this.#totals.errors++;
    this.#errorCodes.add(code, 1);
    if (host === undefined) return;
    this.#hosts.get(host).errors++;
    if (at !== undefined) this.ended(host, at);
  }

  /** The state of things, in objects of its own that do not change any more. */
  snapshot(context: StatsContext): CrawlStats {
    const now = this.#clock.now();
    const runMs = this.#currentRunMs(now);
    const perSecond = (count: number) => (runMs > 0 ? (count * 1000) / runMs : 0);
    return {
      startedAt: new Date(this.#startedAt ?? now),
      elapsedMs: this.#earlierMs + runMs,
      ...this.#totals,
      queued: context.queued,
      inFlight: context.inFlight,
      hosts: context.hosts ?? this.#hosts.size,
      statuses: this.#statuses.toRecord(),
      contentTypes: this.#contentTypes.toRecord(),
      skips: this.#skips.toRecord(),
      errorCodes: this.#errorCodes.toRecord(),
      perHost: this.#hosts.toRecord(),
      latencyMs: this.#latency.percentiles(),
      pagesPerSecond: perSecond(this.#totals.pages - this.#earlierPages),
      bytesPerSecond: perSecond(this.#totals.bytes - this.#earlierBytes),
    };
  }

  #currentRunMs(now: number): number {
    return this.#runningSince === undefined ? this.#runMs : Math.max(0, now - this.#runningSince);
  }

  /** All counts, to be kept with the crawl and given to {@link StatsCollector.restore} when it is resumed. */
  toJSON(): StatsState {
    return {
      version: 1,
      startedAt: this.#startedAt,
      elapsedMs: this.#earlierMs + this.#currentRunMs(this.#clock.now()),
      totals: TOTALS.map((name) => this.#totals[name]),
      statuses: this.#statuses.toJSON(),
      contentTypes: this.#contentTypes.toJSON(),
      skips: this.#skips.toJSON(),
      errorCodes: this.#errorCodes.toJSON(),
      hosts: this.#hosts.toJSON(),
      latency: this.#latency.toJSON(),
    };
  }

  /**
   * Goes on from what {@link StatsCollector.toJSON} gave; call it before `started`. Requests that were under way then
   * are taken as ended. Never throws.
   * @returns `false` where it is no such state: then nothing has changed.
   */
  restore(state: unknown): boolean {
    if (!isState(state)) return false;
    TOTALS.forEach((name, index) => {
      this.#totals[name] = state.totals[index] ?? 0;
    });
    this.#startedAt = isCount(state.startedAt) ? state.startedAt : undefined;
    this.#runningSince = undefined;
    this.#runMs = 0;
    this.#earlierMs = isCount(state.elapsedMs) ? state.elapsedMs : 0;
    this.#earlierPages = this.#totals.pages;
    this.#earlierBytes = this.#totals.bytes;
    this.#statuses.restore(state.statuses);
    this.#contentTypes.restore(state.contentTypes);
    this.#skips.restore(state.skips);
    this.#errorCodes.restore(state.errorCodes);
    this.#hosts.restore(state.hosts);
    this.#latency.restore(state.latency);
    return true;
  }
}

/** Counts in a form that JSON can carry. What is in it is the collector's own matter. */
export interface StatsState {
  readonly version: 1;
  readonly startedAt: number | undefined;
  readonly elapsedMs: number;
  readonly totals: readonly number[];
  readonly statuses: unknown;
  readonly contentTypes: unknown;
  readonly skips: unknown;
  readonly errorCodes: unknown;
  readonly hosts: unknown;
  readonly latency: unknown;
}

function zeroTotals(): Totals {
  return Object.fromEntries(TOTALS.map((name) => [name, 0])) as Totals;
}

function isState(value: unknown): value is StatsState {
  if (value === null || typeof value !== 'object' || !('version' in value) || value.version !== 1) return false;
  return 'totals' in value && Array.isArray(value.totals) && value.totals.every(isCount);
}
