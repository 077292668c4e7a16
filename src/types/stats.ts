/** Percentiles in milliseconds. */
export interface Latency {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Totals of a crawl. Counts go on over resumes; rates are those of this run. */
export interface CrawlStats {
  readonly startedAt: Date;
  readonly elapsedMs: number;
  /** Pages delivered. */
  readonly pages: number;
  /** Requests begun, robots files, sitemaps, redirects and retries among them. */
  readonly requests: number;
  /** URLs queued so far. */
  readonly offered: number;
  /** URLs waiting. */
  readonly queued: number;
  /** URLs being fetched or delivered. */
  readonly inFlight: number;
  readonly redirects: number;
  readonly retries: number;
  readonly duplicates: number;
  /** Pages visited again that have not changed (304). */
  readonly unchanged: number;
  readonly errors: number;
  readonly skipped: number;
  /** Bytes of bodies after decompression. */
  readonly bytes: number;
  readonly hosts: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly contentTypes: Readonly<Record<string, number>>;
  /** Skips by reason. */
  readonly skips: Readonly<Record<string, number>>;
  /** Errors by code. */
  readonly errorCodes: Readonly<Record<string, number>>;
  /** Pages, requests, bytes and smallest gap of the hosts that were asked most. */
  readonly perHost: Readonly<Record<string, HostStats>>;
  readonly latencyMs: Latency;
  readonly pagesPerSecond: number;
  readonly bytesPerSecond: number;
}

/** Totals of one host. */
export interface HostStats {
  readonly pages: number;
  readonly requests: number;
  readonly errors: number;
  readonly bytes: number;
  /** Smallest time between the end of one response and the start of the next request, in milliseconds. */
  readonly smallestGapMs?: number;
}
