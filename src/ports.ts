import type { LookupFunction } from 'node:net';
import type { CrawlRequest, Explanation, Headers, Page, ResponseHead } from './types.ts';

/** Time as the library reads it, so that tests can move it by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() };

/** What the frontier remembers of one host. Times are milliseconds since the epoch. */
export interface HostState {
  readonly host: string;
  /** The host is not asked before this moment (0: at once). */
  readonly nextAt: number;
  /** Nor before this one: Retry-After, back-off, an unreachable robots.txt (0: not blocked). */
  readonly blockedUntil: number;
  /** The gap in force, in milliseconds: the adaptive delay without the crawl delay. */
  readonly delayMs: number;
  /** From robots.txt, in milliseconds; 0 for none. */
  readonly crawlDelayMs: number;
  /** Back-off step, 0 for none: the n of 30 s · 2^(n−1). */
  readonly backoff: number;
  /** Good answers since the last back-off step was taken back. */
  readonly successes: number;
  /** Transport failures in a row. */
  readonly failures: number;
  /** Refusals (401, 403, 407) in a row. */
  readonly refusals: number;
  /** Pages delivered. */
  readonly pages: number;
  /** Leases that are out. */
  readonly inFlight: number;
  /** The IP address it was last found at; hosts of one address share a clock. */
  readonly address?: string | undefined;
}

/** Changes to a {@link HostState}; what is absent stays. */
export type HostPatch = Partial<Omit<HostState, 'host' | 'inFlight' | 'pages'>>;

/** A URL handed out, and its host closed to others until it is settled. */
export interface Lease {
  /** Fencing number: grows with every lease of the store; a settlement by an older one is refused. */
  readonly fence: number;
  readonly request: CrawlRequest;
  /** Same as `request.url`. */
  readonly url: string;
  /** The host as it was when the lease was given, this lease included in `inFlight`. */
  readonly host: HostState;
  readonly leasedAt: number;
  readonly expiresAt: number;
}

/** How a lease ended. `deferred` and `retry` queue the URL again, all others are final. */
export type OutcomeKind = 'done' | 'failed' | 'skipped' | 'redirected' | 'deferred' | 'retry';

/** Limits that hold for every host of a crawl, read at each lease. */
export interface LeaseRules {
  /** Leases one host may have out at a time; 0 for no limit. */
  readonly connectionsPerHost: number;
  /** Pages of one host; leases in flight count as pages until they are settled. Hosts at the limit are leased all the same once nothing is in flight, so that their URLs can be skipped by name. */
  readonly pagesPerHost: number;
  /**
   * Smallest gap between two requests of a host. max(this, `delayMs`, `crawlDelayMs`) is what a lease itself puts on its
   * host's clock where `connectionsPerHost` is not 1, counted from the lease, and what a lease that ran out puts on it,
   * counted from its end; to the address of the latter this alone applies.
   */
  readonly startGapMs: number;
  /** Whether hosts of one address exclude each other. */
  readonly shareAddress: boolean;
}

/**
 * What the store keeps of a URL for `explain`. `url`, `foundOn`, `source`, `depth` and `level` are those of the request that
 * was queued first, also when the URL is visited again.
 */
export interface UrlRecord {
  readonly key: string;
  readonly url: string;
  readonly state: Explanation['state'];
  readonly reason?: string | undefined;
  readonly foundOn?: string | undefined;
  readonly source?: string | undefined;
  readonly depth?: number | undefined;
  readonly level?: number | undefined;
  readonly leases?: number | undefined;
  readonly fetches?:
    | readonly { at: number; status?: number | undefined; error?: string | undefined; ms?: number | undefined }[]
    | undefined;
  readonly duplicateOf?: string | undefined;
  readonly redirectedTo?: string | undefined;
  readonly nextDueAt?: number | undefined;
}

/**
 * What one fetch adds to a {@link UrlRecord}; the store joins it to what it knows of the request. With a status, an error
 * or a duration it is a fetch, dated by the lease's `leasedAt`; the last ten at least are kept.
 */
export interface RecordPatch {
  readonly reason?: string | undefined;
  readonly status?: number | undefined;
  readonly error?: string | undefined;
  readonly ms?: number | undefined;
  readonly duplicateOf?: string | undefined;
  readonly redirectedTo?: string | undefined;
}

/** The one commit that ends a lease. */
export interface Settlement {
  readonly outcome: OutcomeKind;
  /** Offered in the same commit, seen test included. */
  readonly outlinks?: readonly CrawlRequest[] | undefined;
  /** The host's new clock and state; times never go back by it. */
  readonly host?: HostPatch | undefined;
  /** For `deferred` and `retry`: the request as it is to be queued again, with all its fields, and when it comes due. It keeps its place before the URLs that were offered after it. */
  readonly requeue?: { readonly request: CrawlRequest; readonly dueAt: number } | undefined;
  /** The shared address is not asked before this moment. */
  readonly addressNextAt?: number | undefined;
  /** Whether a page was delivered (counts towards `pagesPerHost` and `maxPages`). */
  readonly delivered?: boolean | undefined;
  readonly record?: RecordPatch | undefined;
  /** Written in the same commit: robots bodies, fingerprints, validators, statistics; `undefined` removes. */
  readonly meta?: readonly (readonly [name: string, value: Uint8Array | undefined])[] | undefined;
}

/** What became of a settlement. */
export interface SettleResult {
  /** `false` where the fencing number was stale: nothing was changed. */
  readonly accepted: boolean;
  /** Out-links that were new, or are to be visited again. */
  readonly offered: number;
}

/** Counts of a store. */
export interface StoreStats {
  /** Requests waiting, deferred and delayed ones and robots files among them. */
  readonly queued: number;
  readonly leased: number;
  /** URLs ever offered, each once; robots files are none. Robots files and revisits apart, queued + leased + final outcomes. */
  readonly seen: number;
  /** Hosts that have a state: those of all requests and of `setHost`. */
  readonly hosts: number;
  /** Final outcomes so far, one for each visit; robots files are not counted. */
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  readonly redirected: number;
  /** Pages delivered. */
  readonly pages: number;
}

/** Called for each request of an offer that had been seen before, with its index. */
export type OnKnown = (index: number) => void;

/**
 * Where the frontier lives. Few verbs, each atomic: a crash between two of them loses nothing and repeats at most what
 * was leased. `polite-crawler/testing` has a contract kit that every store must pass.
 *
 * All times are milliseconds since the epoch and come from the caller, so that a virtual clock can drive a store.
 */
export interface CrawlStore {
  /** Whether it outlives the process; a crawl on such a store is resumed by opening it again. @defaultValue `false` */
  readonly durable?: boolean;
  /**
   * Queues the requests never seen before, in order, each behind those of its host and level. One with `revisit` is
   * queued also where its URL was seen and has come to its end: as if it had been leased before, since its end. While
   * the URL waits or is leased it is known like any other.
   * Requests of a kind other than `page` and `sitemap` are queued always, at the head of their host and behind those of
   * their own kind; they are neither seen nor counted as new, nor is a record kept of them.
   * @returns how many were new or are to be visited again.
   */
  offer(batch: readonly CrawlRequest[], now: number, onKnown?: OnKnown): Promise<number>;
  /**
   * Hands out the best due URL of up to `limit` hosts that are due and free; a host that may have several leases out
   * may be handed out again in one call. The host that has been due for longest is first. Within a host: robots files,
   * then the level that `chooseLevel` names for the host's turn (its count of leases but for robots files); within the
   * level what was leased before, in the order of the first leases, then the order of offers.
   *
   * A host whose address is known takes it with the lease: it is handed out only when no other host's lease holds the
   * address and the address's clock is due.
   *
   * Expired leases are taken back first: their URLs are due at once in their old place, and their hosts and addresses
   * count as asked until the lease ran out (see {@link LeaseRules.startGapMs}). Until it is taken back an expired lease
   * may still be settled or renewed. A store that one process at a time can have takes back what the last
   * process held at its first `lease` or `nextDueAt`, as if it had run out at that moment.
   */
  lease(now: number, limit: number, ttlMs: number, rules: LeaseRules): Promise<Lease[]>;
  /**
   * Ends a lease, and its hold on an address. Idempotent: a second settlement with the same fencing number is refused.
   * `deferred` and `retry` without `requeue` queue the lease's own request, due at once.
   */
  settle(lease: Lease, settlement: Settlement, now: number, onKnown?: OnKnown): Promise<SettleResult>;
  /** Prolongs a lease; `false` where it is no longer held. */
  renew(lease: Lease, now: number, ttlMs: number): Promise<boolean>;
  /**
   * Says which address a leased host was found at, and takes it for this lease, which lets go of any other. The host
   * keeps the address also where it can't be had, so that it is not leased again before the address is free and due.
   * @returns 0 where the lease may go on, else the moment to try again at (the address is busy or not due, or the lease
   * no longer held); such a lease holds no address.
   */
  claimAddress(lease: Lease, address: string, now: number): Promise<number>;
  /** Sets what is given, also of a host not met before; unlike a settlement it may move times back. */
  setHost(host: string, patch: HostPatch): Promise<void>;
  getHost(host: string): Promise<HostState | undefined>;
  /**
   * The earliest moment at which `lease` may give something, exact but for leases that run out: not after `now` where it
   * gives something at once, `undefined` where nothing waits but for leases that are out. Expired leases count as taken
   * back. Where several workers share a store, `undefined` is no end of the crawl while `stats` tells of leases.
   */
  nextDueAt(now: number, rules: LeaseRules): Promise<number | undefined>;
  /**
   * Hosts that are due next, `limit` of them at most: a hint by which their addresses are looked up ahead of time. It
   * should be cheap rather than exact. A store without it is asked for nothing.
   */
  upcoming?(limit: number): Promise<readonly string[]>;
  stats(): Promise<StoreStats>;
  /** Whether the canonical URL was ever offered. */
  has(key: string): Promise<boolean>;
  /** What is known of a canonical URL. */
  record(key: string): Promise<UrlRecord | undefined>;
  /** Notes that a URL was refused, for `explain`; does not count as seen, and changes nothing where the URL is. */
  note(
    key: string,
    record: RecordPatch & { readonly url: string; readonly foundOn?: string | undefined },
  ): Promise<void>;
  getMeta(name: string): Promise<Uint8Array | undefined>;
  setMeta(name: string, value: Uint8Array | undefined): Promise<void>;
  /** Resolves when all that was settled so far is durable. */
  flush(): Promise<void>;
  /** Flushes and lets go; leases that are out are given back. A second call does nothing. */
  close(): Promise<void>;
}

/** Where delivered pages go. */
export interface Sink {
  /** Resolves when the page is written. May be called for several pages at once; the same page may come again after a crash, or since its stream broke. */
  write(page: Page): Promise<void>;
  close(): Promise<void>;
}

/** One request, one answer; no redirects, no retries, no statuses thrown. */
export interface TransportRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  /** Its reason is a `CrawlError`, which the request or the body then ends with. */
  readonly signal: AbortSignal;
  /** How sockets find their host; gives only addresses that may be connected to. */
  readonly lookup: LookupFunction;
  /** Asked about the far end of the socket, kept-alive ones too, before a byte is sent. Throws to refuse. */
  readonly checkAddress: (address: string) => void;
  /** Whether what was lost with a kept-alive connection, before any answer came, may be sent once more without a word. @defaultValue `false` */
  readonly resend?: boolean;
}

/** The head of an answer, and its body still to be read. */
export interface TransportResponse {
  readonly status: number;
  /** Names in lower case; several lines of one name are an array. */
  readonly headers: Headers;
  /** The body as sent: still compressed. Ends with an error where fewer bytes came than were promised. */
  readonly body: NodeJS.ReadableStream & { destroy(error?: Error): void };
  readonly timings: {
    readonly dns?: number;
    readonly connect?: number;
    readonly tls?: number;
    readonly firstByte?: number;
  };
  /** The address that answered. */
  readonly remoteAddress?: string | undefined;
}

/** Sends requests; `got` is the default. */
export interface Transport {
  /** Resolves when the head of the answer is there. Rejects with a `CrawlError`. */
  request(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}

/** What cookies are kept in; the `CookieJar` of tough-cookie is one. */
export interface CookieStore {
  /** The value of the `Cookie` header for a URL; empty for none. */
  getCookieString(url: string): Promise<string>;
  /** @param cookie - The value of one `Set-Cookie` line, as the server sent it. A rejection means that it was no good. */
  setCookie(cookie: string, url: string): Promise<unknown>;
}

/** What `RobotsCache` needs from HTTP: one GET without redirects, the body cut at `maxBytes`. */
export interface RobotsSource {
  getOnce(
    url: string,
    options: {
      readonly maxBytes: number;
      readonly userAgent: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly signal?: AbortSignal;
      /** The origin whose file is looked for: where `url` is elsewhere, a redirect led there, and nobody has named it. */
      readonly origin?: string;
    },
  ): Promise<{ readonly status: number; readonly headers: Headers; readonly body: Uint8Array; readonly url: string }>;
}

/** Small durable map that a cache may keep its entries in. */
export interface MetaStorage {
  getMeta(name: string): Promise<Uint8Array | undefined>;
  setMeta(name: string, value: Uint8Array | undefined): Promise<void>;
}

export type { Headers, ResponseHead };
