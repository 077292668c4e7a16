import type { CrawlErrorCode } from './errors.ts';
import { type Complete, integer, number, onlyKnown } from './options.ts';
import type { HostPatch, HostState, LeaseRules } from './ports.ts';
import type { HostStatus } from './types.ts';

/** How a crawl treats the hosts it visits. Times are milliseconds. */
export interface PolitenessOptions {
  /** Least time from the end of an answer to the next request to its host. @defaultValue 1 000 */
  readonly minDelayMs?: number | undefined;
  /** The gap grows with the host's response time: so many times as long as the last answer took. @defaultValue 5 */
  readonly delayFactor?: number | undefined;
  /** Where that growth ends; `minDelayMs` and a crawl delay are never cut by it. @defaultValue 60 000 */
  readonly maxDelayMs?: number | undefined;
  /** Requests one host may have in flight; 0 for no limit. @defaultValue 1 */
  readonly connectionsPerHost?: number | undefined;
  /** Gap between requests to one IP address under several names; never more than `minDelayMs`. @defaultValue 250 */
  readonly ipDelayMs?: number | undefined;
  /** Longest Crawl-delay that is honoured; longer ones count as this. @defaultValue 300 000 */
  readonly maxCrawlDelayMs?: number | undefined;
  /** First back-off after a 429, a 503 or a timeout; each further one doubles. @defaultValue 30 000 */
  readonly backoffMs?: number | undefined;
  /** Longest back-off, before jitter. @defaultValue 3 600 000 */
  readonly maxBackoffMs?: number | undefined;
  /** Longest Retry-After that is honoured; longer ones count as this. @defaultValue 86 400 000 */
  readonly maxRetryAfterMs?: number | undefined;
  /** Transport failures in a row that park a host; 0 never parks. @defaultValue 5 */
  readonly parkAfterFailures?: number | undefined;
  /** How long a host is parked, or paused after refusals. @defaultValue 3 600 000 */
  readonly parkMs?: number | undefined;
  /** Refusals (401, 403, 407) in a row that pause a host; 0 never pauses. @defaultValue 10 */
  readonly refusalsBeforePause?: number | undefined;
}

/** Every default of {@link PolitenessOptions}, written once. */
export const POLITENESS_DEFAULTS: Complete<PolitenessOptions> = {
  minDelayMs: 1_000,
  delayFactor: 5,
  maxDelayMs: 60_000,
  connectionsPerHost: 1,
  ipDelayMs: 250,
  maxCrawlDelayMs: 300_000,
  backoffMs: 30_000,
  maxBackoffMs: 3_600_000,
  maxRetryAfterMs: 86_400_000,
  parkAfterFailures: 5,
  parkMs: 3_600_000,
  refusalsBeforePause: 10,
};

/** What one request showed of its host. */
export interface Observation {
  /** When the answer ended, or the request failed: milliseconds since the epoch. */
  readonly endedAt: number;
  /** From the start of the request to the end of the body. */
  readonly durationMs?: number | undefined;
  /** The HTTP status, where there was an answer. */
  readonly status?: number | undefined;
  /** What went wrong, where something did; a `CrawlError` fits. */
  readonly error?: { readonly code: CrawlErrorCode; readonly retryable: boolean } | undefined;
  /** The Retry-After of the answer, as a time to wait. */
  readonly retryAfterMs?: number | undefined;
  /** The Crawl-delay in force for this host; what is absent leaves the one known. */
  readonly crawlDelayMs?: number | undefined;
}

/** The host's state after an {@link Observation}, and what there is to tell of it. */
export interface Verdict extends Required<Omit<HostPatch, 'address'>> {
  /** A turn for a `host` event. */
  readonly status?: HostStatus | undefined;
}

/** A back-off lasts up to this much longer, so that hosts blocked together do not come back together. */
const JITTER = 0.2;
const SUCCESSES_PER_STEP = 5;
/** A year: what is waited for must come. */
export const LONGEST_DELAY_MS: number = 31_536_000_000;
/** More than any answer takes, and with it no number that could not be counted with. */
const LARGEST_FACTOR = 1_000_000;

const TIMEOUTS: ReadonlySet<CrawlErrorCode> = new Set([
  'CRAWL_CONNECT_TIMEOUT',
  'CRAWL_HEADERS_TIMEOUT',
  'CRAWL_PAGE_TIMEOUT',
]);

const TRANSPORT_FAILURES: ReadonlySet<CrawlErrorCode> = new Set([
  ...TIMEOUTS,
  'CRAWL_DNS_FAILED',
  'CRAWL_CONNECT_FAILED',
  'CRAWL_TLS_FAILED',
  'CRAWL_CONNECTION_LOST',
  'CRAWL_PROTOCOL_INVALID',
]);

/**
 * Answers when a host may be asked again. Holds no state: that is the {@link HostState}, which the frontier keeps.
 *
 * The next request starts no sooner than max(`minDelayMs`, min(`delayFactor` × last response time, `maxDelayMs`),
 * Crawl-delay) after the end of the last answer. Only a 2xx answer shortens the gap in force, because error pages are
 * quick even where the site is in trouble. 429, 503 and timeouts block the whole host: by Retry-After (RFC 9110,
 * section 10.2.3), else by a back-off that doubles. The gap they leave behind shrinks as the back-off is taken back.
 */
export class Politeness {
  /** The options with their defaults. */
  readonly options: Complete<PolitenessOptions>;
  readonly #random: () => number;

  /**
   * @param random - Numbers from 0 to below 1, for the jitter of back-offs.
   * @throws `CrawlError` `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`.
   */
  constructor(options: PolitenessOptions = {}, random: () => number = Math.random) {
    onlyKnown('Politeness', options, Object.keys(POLITENESS_DEFAULTS));
    this.options = checked(options);
    this.#random = random;
  }

  /** `ipDelayMs`, cut at `minDelayMs`; at 0 hosts of one address do not know of each other. */
  get ipDelayMs(): number {
    return Math.min(this.options.ipDelayMs, this.options.minDelayMs);
  }

  /** The part of the rules that a store applies at each lease. */
  leaseRules(pagesPerHost: number = Number.POSITIVE_INFINITY): LeaseRules {
    return {
      connectionsPerHost: this.options.connectionsPerHost,
      pagesPerHost,
      startGapMs: this.options.minDelayMs,
      shareAddress: this.ipDelayMs > 0,
    };
  }

  /**
   * The host's state after what was observed; its times are whole milliseconds, and never earlier than those of `host`.
   * Never throws.
   *
   * @param now - The present; an `endedAt` in the future counts as it stands, one that is missing as now.
   */
  after(host: HostState, observation: Observation, now: number): Verdict {
    const endedAt = Number.isFinite(observation.endedAt) ? observation.endedAt : now;
    const crawlDelayMs = Math.min(amount(observation.crawlDelayMs) ?? host.crawlDelayMs, this.options.maxCrawlDelayMs);
    const counts = this.#counts(host, observation, endedAt);
    const delayMs = this.#delay(host, observation, counts);
    const block = this.#block(host, observation, counts);
    return {
      nextAt: Math.max(host.nextAt, Math.ceil(endedAt + Math.max(delayMs, crawlDelayMs))),
      blockedUntil: block.ms > 0 ? Math.max(host.blockedUntil, Math.ceil(endedAt + block.ms)) : host.blockedUntil,
      delayMs,
      crawlDelayMs,
      ...counts,
      refusals: block.pausedByRefusals ? 0 : counts.refusals,
      status: block.status ?? this.#recovered(host, observation, counts),
    };
  }

  /**
   * The adaptive gap in whole milliseconds: only a good answer brings it down, a server error doubles it. While the host
   * is backed off it stays, and goes half the way back with each step that is taken back.
   */
  #delay(host: HostState, { durationMs, status, error }: Observation, { backoff }: Pick<Verdict, 'backoff'>): number {
    const { minDelayMs, maxDelayMs, delayFactor } = this.options;
    const slow = delayFactor === 0 ? 0 : Math.min(delayFactor * (amount(durationMs) ?? 0), maxDelayMs);
    const target = Math.ceil(Math.max(minDelayMs, slow));
    if (status !== undefined && status >= 200 && status < 300 && error === undefined) {
      if (host.backoff === 0) return target;
      // One good answer is no proof that the old pace is right again: it comes back with the steps of the back-off.
      const held = backoff < host.backoff ? (host.delayMs + target) / 2 : host.delayMs;
      return Math.max(target, Math.ceil(held));
    }
    const failed = error !== undefined && status === undefined;
    const troubled = failed || (status ?? 0) >= 500 || status === 408 || status === 425 || status === 429;
    const held = Math.max(host.delayMs, minDelayMs) * (troubled ? 2 : 1);
    return Math.max(target, Math.min(held, Math.max(minDelayMs, maxDelayMs)));
  }

  #counts(
    host: HostState,
    { status, error, retryAfterMs }: Observation,
    endedAt: number,
  ): Pick<Verdict, 'backoff' | 'successes' | 'failures' | 'refusals'> {
    const failed = error !== undefined && TRANSPORT_FAILURES.has(error.code);
    const refused = status === 401 || status === 403 || status === 407;
    const failures = failed ? host.failures + 1 : status === undefined ? host.failures : 0;
    const refusals = refused ? host.refusals + 1 : status === undefined ? host.refusals : 0;
    if (overloaded(status, error)) {
      const told = (amount(retryAfterMs) ?? 0) > 0;
      // What was in flight when the block began belongs to the same step.
      const step = told || endedAt < host.blockedUntil ? 0 : 1;
      return { backoff: Math.min(host.backoff + step, this.#lastStep()), successes: 0, failures, refusals };
    }
    const good = status !== undefined && status >= 200 && status < 400 && error === undefined;
    if (!good || host.backoff === 0) return { backoff: host.backoff, successes: host.successes, failures, refusals };
    const successes = host.successes + 1;
    return successes < SUCCESSES_PER_STEP
      ? { backoff: host.backoff, successes, failures, refusals }
      : { backoff: host.backoff - 1, successes: 0, failures, refusals };
  }

  #block(
    host: HostState,
    { status, error, retryAfterMs }: Observation,
    counts: Pick<Verdict, 'backoff' | 'failures' | 'refusals'>,
  ): { ms: number; status?: HostStatus; pausedByRefusals?: boolean } {
    const { parkAfterFailures, refusalsBeforePause, parkMs, maxRetryAfterMs, backoffMs, maxBackoffMs } = this.options;
    if (parkAfterFailures > 0 && counts.failures > host.failures && counts.failures >= parkAfterFailures) {
      return { ms: parkMs, status: 'parked' };
    }
    if (refusalsBeforePause > 0 && counts.refusals >= refusalsBeforePause) {
      return { ms: parkMs, status: 'parked', pausedByRefusals: true };
    }
    const told = amount(retryAfterMs) ?? 0;
    if (told > 0 && status !== undefined && status >= 300) {
      return { ms: Math.min(told, maxRetryAfterMs), status: 'backing-off' };
    }
    if (!overloaded(status, error) || backoffMs === 0) return { ms: 0 };
    const step = Math.min(backoffMs * 2 ** Math.max(0, counts.backoff - 1), maxBackoffMs);
    return { ms: step * (1 + JITTER * this.#random()), status: 'backing-off' };
  }

  /** Past this step the back-off is `maxBackoffMs`; to count further would only put recovery off. */
  #lastStep(): number {
    const { backoffMs, maxBackoffMs } = this.options;
    if (backoffMs === 0 || maxBackoffMs <= backoffMs) return 1;
    return Math.min(53, Math.ceil(Math.log2(maxBackoffMs / backoffMs)) + 1);
  }

  #recovered(host: HostState, { status }: Observation, counts: Pick<Verdict, 'backoff'>): HostStatus | undefined {
    if (status === undefined || status >= 400) return undefined;
    const { parkAfterFailures } = this.options;
    const wasParked = parkAfterFailures > 0 && host.failures >= parkAfterFailures;
    return wasParked || (host.backoff > 0 && counts.backoff === 0) ? 'recovered' : undefined;
  }
}

function overloaded(status: number | undefined, error: Observation['error']): boolean {
  return status === 429 || status === 503 || (error !== undefined && TIMEOUTS.has(error.code));
}

/** A time that can be counted with; what was sent may be anything. */
function amount(ms: number | undefined): number | undefined {
  return ms === undefined || Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function checked(options: PolitenessOptions): Complete<PolitenessOptions> {
  const d = POLITENESS_DEFAULTS;
  return {
    minDelayMs: number('minDelayMs', options.minDelayMs, d.minDelayMs, 0, LONGEST_DELAY_MS),
    delayFactor: number('delayFactor', options.delayFactor, d.delayFactor, 0, LARGEST_FACTOR),
    maxDelayMs: limit('maxDelayMs', options.maxDelayMs, d.maxDelayMs),
    connectionsPerHost: integer('connectionsPerHost', options.connectionsPerHost, d.connectionsPerHost),
    ipDelayMs: limit('ipDelayMs', options.ipDelayMs, d.ipDelayMs),
    maxCrawlDelayMs: limit('maxCrawlDelayMs', options.maxCrawlDelayMs, d.maxCrawlDelayMs),
    backoffMs: number('backoffMs', options.backoffMs, d.backoffMs, 0, LONGEST_DELAY_MS),
    maxBackoffMs: limit('maxBackoffMs', options.maxBackoffMs, d.maxBackoffMs),
    maxRetryAfterMs: limit('maxRetryAfterMs', options.maxRetryAfterMs, d.maxRetryAfterMs),
    parkAfterFailures: integer('parkAfterFailures', options.parkAfterFailures, d.parkAfterFailures),
    parkMs: number('parkMs', options.parkMs, d.parkMs, 0, LONGEST_DELAY_MS),
    refusalsBeforePause: integer('refusalsBeforePause', options.refusalsBeforePause, d.refusalsBeforePause),
  };
}

/** A limit may be as large as it likes, also `Infinity`; past a year it means a year. */
function limit(name: string, value: number | undefined, fallback: number): number {
  return Math.min(number(name, value, fallback), LONGEST_DELAY_MS);
}
