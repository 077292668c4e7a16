import { CrawlError } from './errors.ts';
import { HeldLeases } from './frontier/held-leases.ts';
import { MOST_AT_ONCE, offerInParts } from './frontier/in-parts.ts';
import { type Offer, OfferReader } from './frontier/offers.ts';
import {
  type FrontierSettleResult,
  mustBeLease,
  mustBeOutcome,
  type Outcome,
  settlementOf,
} from './frontier/outcome.ts';
import { type Complete, integer, mustBeStore, mustTake, onlyKnown } from './options.ts';
import { Politeness, type PolitenessOptions } from './politeness.ts';
import type {
  Clock,
  CrawlStore,
  HostPatch,
  HostState,
  Lease,
  LeaseRules,
  OnKnown,
  RecordPatch,
  StoreStats,
  UrlRecord,
} from './ports.ts';
import type { CanonicalOptions } from './request.ts';
import { type SteadyClock, steady } from './steady-clock.ts';
import type { CrawlRequest } from './types.ts';
import { canonicalizeUrl } from './url.ts';

export type { FrontierSettleResult, Offer, Outcome };

/** Options of {@link Frontier.open}. */
export interface FrontierOptions {
  /** Where the frontier lives. It is not closed with the frontier: who opened it closes it. */
  readonly store: CrawlStore;
  /** @defaultValue `POLITENESS_DEFAULTS` */
  readonly politeness?: PolitenessOptions | Politeness | undefined;
  /** One that is set back goes on from where it was; with one that tells no time, `lease` rejects with `CRAWL_HOOK_FAILED`. @defaultValue the system's */
  readonly clock?: Clock | undefined;
  /** The front queue of a request that comes without a level: −8 (last) to 7 (first). @defaultValue 0 for each */
  readonly prioritize?: ((request: CrawlRequest) => number) | undefined;
  /** Pages delivered of one host. Past it the URLs are still leased, one at a time, to be skipped. @defaultValue `Infinity` */
  readonly maxPagesPerHost?: number | undefined;
  /** How long a lease is held without being renewed, in milliseconds. @defaultValue 300 000 */
  readonly leaseTtlMs?: number | undefined;
  /** Which parts of a URL its key leaves out; the same for the whole life of a store. @defaultValue none */
  readonly canonical?: CanonicalOptions | undefined;
}

/** Every default of {@link FrontierOptions} that is a number, written once. */
export const FRONTIER_DEFAULTS: Complete<Pick<FrontierOptions, 'maxPagesPerHost' | 'leaseTtlMs'>> = {
  maxPagesPerHost: Number.POSITIVE_INFINITY,
  leaseTtlMs: 300_000,
};

const OPTIONS = ['store', 'politeness', 'clock', 'prioritize', 'canonical', ...Object.keys(FRONTIER_DEFAULTS)];

/**
 * What is to be fetched, and when: URLs go in by `offer`, come out by `lease` when their host may be asked, and leave
 * by `settle`. Scheduling is Mercator's (Heydon and Najork, 1999): front queues by priority, one back queue per host,
 * a heap of hosts by the moment they may be asked next. The queues are the store's; the frontier brings the rules.
 *
 * It sets no timers: who works slowly calls `renew` before a lease runs out. All methods reject with `CRAWL_CLOSED`
 * after `close`, and with what the store throws.
 */
export class Frontier {
  readonly #store: CrawlStore;
  readonly #politeness: Politeness;
  readonly #clock: SteadyClock;
  readonly #offers: OfferReader;
  readonly #canonical: CanonicalOptions | undefined;
  readonly #leaseTtlMs: number;
  readonly #rules: LeaseRules;
  readonly #held = new HeldLeases();
  #closed = false;

  private constructor(options: FrontierOptions) {
    onlyKnown('Frontier', options, OPTIONS);
    mustBeStore('Frontier needs a CrawlStore as "store"', options.store);
    const { politeness } = options;
    this.#store = options.store;
    this.#politeness = politeness instanceof Politeness ? politeness : new Politeness(politeness);
    this.#clock = steady(options.clock);
    this.#offers = new OfferReader(options.canonical, options.prioritize);
    this.#canonical = options.canonical;
    this.#leaseTtlMs = integer('leaseTtlMs', options.leaseTtlMs, FRONTIER_DEFAULTS.leaseTtlMs, 1, 2 ** 40);
    this.#rules = this.#politeness.leaseRules(
      integer('maxPagesPerHost', options.maxPagesPerHost, FRONTIER_DEFAULTS.maxPagesPerHost),
    );
  }

  /**
   * A frontier on a store that is open. Rejects with {@link CrawlError} `CRAWL_OPTION_UNKNOWN` or
   * `CRAWL_OPTION_INVALID`.
   */
  static async open(options: FrontierOptions): Promise<Frontier> {
    return new Frontier(options);
  }

  /**
   * Queues those never seen before, all of them or, where one can't be used, none.
   *
   * @param onKnown - Called for each request that was seen before, with its index.
   * @returns how many were new. Rejects with {@link CrawlError} `CRAWL_URL_INVALID` where one is no http or https URL,
   * `CRAWL_HOOK_FAILED` where `prioritize` threw.
   */
  async offer(requests: Iterable<Offer> | string | URL, onKnown?: OnKnown): Promise<number> {
    this.#mustBeOpen();
    const offers = typeof requests === 'string' || requests instanceof URL ? [requests] : requests;
    const isList = typeof (offers as Iterable<Offer> | null | undefined)?.[Symbol.iterator] === 'function';
    mustTake('Frontier.offer', 'a URL, or a list of URLs and requests', isList, requests);
    const batch = this.#offers.requests(offers);
    if (batch.length <= MOST_AT_ONCE) return this.#store.offer(batch, this.#clock.now(), onKnown);
    const known: number[] = [];
    const fresh = await offerInParts(this.#store, this.#clock, batch, known);
    // Last, since it is foreign code: what it throws finds the batch queued.
    for (const index of known) onKnown?.(index);
    return fresh;
  }

  /**
   * Up to `limit` URLs whose hosts may be asked now, none where no host is due and free. Each is to be settled, and
   * renewed before its `expiresAt` if it takes that long.
   */
  async lease(limit = 1): Promise<Lease[]> {
    this.#mustBeOpen();
    const most = integer('limit', limit, 1, 0);
    const leases = await this.#store.lease(this.#now(), most, this.#leaseTtlMs, this.#rules);
    for (const lease of leases) this.#held.add(lease);
    return leases;
  }

  /**
   * Ends a lease: result, out-links, the host's clock and state in one commit. Of more than 1000 out-links those in front
   * are offered before that, so that no one commit is long; where the process dies in between, the lease is taken back
   * and nothing is lost.
   *
   * @param onKnown - Called for each out-link that was seen before, with its index.
   * @returns `accepted: false`, and nothing has changed (but for out-links offered before), where the lease had run out and
   * was taken back or was settled before. Rejects like {@link Frontier.offer}; the lease is then still held.
   */
  async settle(lease: Lease, outcome: Outcome, onKnown?: OnKnown): Promise<FrontierSettleResult> {
    this.#mustBeOpen();
    mustBeLease('settle', lease);
    mustBeOutcome(outcome);
    const outlinks = this.#offers.requests(outcome.outlinks ?? []);
    if (outlinks.length > MOST_AT_ONCE) return this.#settleInParts(lease, outcome, outlinks, onKnown);
    return this.#settle(lease, outcome, outlinks, onKnown);
  }

  async #settleInParts(
    lease: Lease,
    outcome: Outcome,
    outlinks: readonly CrawlRequest[],
    onKnown: OnKnown | undefined,
  ): Promise<FrontierSettleResult> {
    const inFront = outlinks.length - MOST_AT_ONCE;
    const known: number[] = [];
    const fresh = await offerInParts(this.#store, this.#clock, outlinks.slice(0, inFront), known);
    this.#mustBeOpen();
    const settled = await this.#settle(lease, outcome, outlinks.slice(inFront), (index) => known.push(inFront + index));
    for (const index of known) onKnown?.(index);
    return { ...settled, offered: settled.offered + fresh };
  }

  async #settle(
    lease: Lease,
    outcome: Outcome,
    outlinks: readonly CrawlRequest[],
    onKnown: OnKnown | undefined,
  ): Promise<FrontierSettleResult> {
    const now = this.#clock.now();
    const { observation } = outcome;
    const verdict =
      observation === undefined ? undefined : this.#politeness.after(this.#held.stateOf(lease), observation, now);
    const { status, ...patch } = verdict ?? {};
    if (verdict !== undefined) this.#held.learn(lease.request.host, patch);
    const settled = await this.#store.settle(
      lease,
      settlementOf(lease, outcome, { outlinks, host: patch, now, ipDelayMs: this.#politeness.ipDelayMs }),
      now,
      onKnown,
    );
    this.#held.remove(lease);
    if (!settled.accepted || status === undefined || verdict === undefined) return settled;
    const nextAt = Math.max(verdict.nextAt, verdict.blockedUntil);
    return { ...settled, host: { status, nextAt, delayMs: verdict.delayMs } };
  }

  /** Holds a lease for another `leaseTtlMs`; `false` where it was lost. */
  async renew(lease: Lease): Promise<boolean> {
    this.#mustBeOpen();
    mustBeLease('renew', lease);
    return this.#store.renew(lease, this.#clock.now(), this.#leaseTtlMs);
  }

  /**
   * Says which IP address the host of a lease was found at, before it is connected to. Hosts of one address share a
   * clock and are asked one at a time.
   * @returns 0 where the lease may go on; else it is to be settled as `deferred`, and is leased again once the address
   * is free. The moment returned is the earliest for that.
   */
  async claimAddress(lease: Lease, address: string): Promise<number> {
    this.#mustBeOpen();
    mustBeLease('claimAddress', lease);
    if (!this.#rules.shareAddress) return 0;
    return this.#store.claimAddress(lease, address, this.#clock.now());
  }

  /** Sets what is given of a host's clock and state; times may go back by it. */
  async setHost(host: string, patch: HostPatch): Promise<void> {
    this.#mustBeOpen();
    this.#held.learn(host, patch);
    await this.#store.setHost(host, patch);
  }

  /** What is known of a host, by its name as in {@link CrawlRequest.host}. */
  async getHost(host: string): Promise<HostState | undefined> {
    this.#mustBeOpen();
    return this.#store.getHost(host);
  }

  /** The earliest moment at which `lease` may give something; `undefined` where nothing waits but for leases that are out. */
  async nextDueAt(): Promise<number | undefined> {
    this.#mustBeOpen();
    return this.#store.nextDueAt(this.#now(), this.#rules);
  }

  /** Hosts that are due next, as far as the store can tell them: a hint, `limit` of them at most. */
  async upcoming(limit: number): Promise<readonly string[]> {
    this.#mustBeOpen();
    return (await this.#store.upcoming?.(limit)) ?? [];
  }

  async stats(): Promise<StoreStats> {
    this.#mustBeOpen();
    return this.#store.stats();
  }

  /** Whether a URL was ever offered, in whatever spelling of its canonical form. */
  async has(url: string | URL): Promise<boolean> {
    this.#mustBeOpen();
    const key = canonicalizeUrl(String(url), undefined, this.#canonical);
    return key !== null && this.#store.has(key);
  }

  /** What is known of a URL. A store in memory knows only those touched last. */
  async record(url: string | URL): Promise<UrlRecord | undefined> {
    this.#mustBeOpen();
    const key = canonicalizeUrl(String(url), undefined, this.#canonical);
    return key === null ? undefined : this.#store.record(key);
  }

  /** Notes why a URL was not offered, for `record`; does nothing where it was offered, or is no http or https URL. */
  async note(url: string | URL, patch: RecordPatch & { readonly foundOn?: string | undefined }): Promise<void> {
    this.#mustBeOpen();
    const key = canonicalizeUrl(String(url), undefined, this.#canonical);
    if (key !== null) await this.#store.note(key, { ...patch, url: String(url) });
  }

  /** Resolves when all that was settled so far is durable. */
  async flush(): Promise<void> {
    this.#mustBeOpen();
    await this.#store.flush();
  }

  /**
   * Gives back the leases that are out, their hosts counting as asked until now, and flushes the store, which stays
   * open. A second call does nothing.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const now = this.#clock.now();
    for (const lease of this.#held.all()) {
      const { nextAt } = this.#politeness.after(this.#held.stateOf(lease), { endedAt: now }, now);
      const addressNextAt = now + this.#politeness.ipDelayMs;
      await this.#store.settle(lease, { outcome: 'deferred', host: { nextAt }, addressNextAt }, now);
    }
    this.#held.clear();
    await this.#store.flush();
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new CrawlError('CRAWL_CLOSED', 'The frontier is closed; open another one on the store.');
  }

  /** For what begins something; what is under way can be brought to its end by a clock that is broken. */
  #now(): number {
    const now = this.#clock.now();
    if (this.#clock.fault !== undefined) throw this.#clock.fault;
    return now;
  }
}
