import { CrawlError } from '../../errors.ts';
import { crc32, crc32c } from '../../fingerprint.ts';
import { type Complete, integer, onlyKnown } from '../../options.ts';
import type {
  CrawlStore,
  HostPatch,
  HostState,
  Lease,
  LeaseRules,
  OnKnown,
  RecordPatch,
  Settlement,
  SettleResult,
  StoreStats,
  UrlRecord,
} from '../../ports.ts';
import type { CrawlRequest } from '../../types.ts';
import { Arena } from './arena.ts';
import { Host } from './host.ts';
import { type LeaseEntry, LeaseTable } from './lease-table.ts';
import { Records } from './records.ts';
import { RequestCodec } from './request-codec.ts';
import { Schedule } from './schedule.ts';
import { SeenTable } from './seen-table.ts';
import type { QueueMemory } from './url-queue.ts';

/** Options of {@link MemoryStore.open}. */
export interface MemoryStoreOptions {
  /** URLs whose history `record` can tell; those touched last are kept. @defaultValue 10 000 */
  readonly maxRecords?: number | undefined;
}

/** Every default of {@link MemoryStoreOptions}, written once. */
export const MEMORY_STORE_DEFAULTS: Complete<MemoryStoreOptions> = { maxRecords: 10_000 };

/**
 * A {@link CrawlStore} that lives in this process and ends with it.
 *
 * Waiting URLs are bytes, not objects: about 100 bytes of memory for a queued URL of 80 characters. The seen test is a
 * table of 64-bit fingerprints, CRC-32 and CRC-32C of the canonical URL, about 10 bytes a URL. It may take a new URL
 * for a known one: 1 chance in 370,000 of losing one among ten million. Someone who wants to can make two URLs with
 * the same fingerprint; where that matters, take a store on disk, whose test is exact.
 */
export class MemoryStore implements CrawlStore {
  #memory: QueueMemory = emptyMemory();
  readonly #hosts = new Map<string, Host>();
  /** Links of a page are mostly of one host. */
  #lastHost: Host | undefined;
  readonly #schedule = new Schedule();
  readonly #leases = new LeaseTable();
  readonly #seen = new SeenTable();
  readonly #meta = new Map<string, Uint8Array>();
  readonly #records: Records;
  readonly #ended = { done: 0, failed: 0, skipped: 0, redirected: 0 };
  #pages = 0;
  #queued = 0;
  /** Grows with every lease and every robots file queued. */
  #sequence = 0;
  #closed = false;

  /** @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`. */
  constructor(options: MemoryStoreOptions = {}) {
    onlyKnown('MemoryStore', options, Object.keys(MEMORY_STORE_DEFAULTS));
    this.#records = new Records(
      integer('maxRecords', options.maxRecords, MEMORY_STORE_DEFAULTS.maxRecords, 0, 2 ** 24),
    );
  }

  /**
   * The same as `new MemoryStore(options)`, as all stores are opened.
   * Rejects with `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`.
   */
  static async open(options: MemoryStoreOptions = {}): Promise<MemoryStore> {
    return new MemoryStore(options);
  }

  async offer(batch: readonly CrawlRequest[], now: number, onKnown?: OnKnown): Promise<number> {
    this.#mustBeOpen();
    return this.#offer(batch, now, onKnown);
  }

  async lease(now: number, limit: number, ttlMs: number, rules: LeaseRules): Promise<Lease[]> {
    this.#mustBeOpen();
    this.#schedule.apply(rules, this.#hosts.values());
    this.#takeBackExpired(now);
    this.#schedule.sweep(now);
    const leases: Lease[] = [];
    while (leases.length < limit) {
      const host = this.#schedule.next(now);
      if (host === undefined) break;
      leases.push(this.#handOut(host, now, ttlMs));
    }
    return leases;
  }

  async settle(lease: Lease, settlement: Settlement, now: number, onKnown?: OnKnown): Promise<SettleResult> {
    this.#mustBeOpen();
    const entry = this.#leases.get(lease.fence);
    if (entry === undefined) return { accepted: false, offered: 0 };
    const { host, request } = entry;
    const { outcome, requeue } = settlement;
    this.#endLease(entry);
    this.#patch(host, settlement.host ?? {}, Math.max);
    if (settlement.delivered === true) {
      host.pages++;
      this.#pages++;
    }
    if (outcome === 'deferred' || outcome === 'retry') {
      const { request: again, dueAt } = requeue ?? { request, dueAt: now };
      if (again.key !== request.key && counts(request)) this.#replace(request, again);
      this.#putBack(again, entry.place, dueAt, now);
      this.#note(request, 'queued', settlement.record, entry.leasedAt, dueAt);
    } else {
      if (counts(request)) {
        this.#ended[outcome]++;
        this.#seen.end(crc32(request.key), crc32c(request.key));
      }
      this.#note(request, outcome, settlement.record, entry.leasedAt);
    }
    for (const [name, value] of settlement.meta ?? []) this.#setMeta(name, value);
    this.#releaseAddress(entry, settlement.addressNextAt ?? 0);
    this.#schedule.place(host);
    return { accepted: true, offered: this.#offer(settlement.outlinks ?? [], now, onKnown) };
  }

  async renew(lease: Lease, now: number, ttlMs: number): Promise<boolean> {
    this.#mustBeOpen();
    const entry = this.#leases.get(lease.fence);
    if (entry === undefined) return false;
    this.#leases.prolong(entry, now + ttlMs);
    return true;
  }

  async claimAddress(lease: Lease, address: string, now: number): Promise<number> {
    this.#mustBeOpen();
    const entry = this.#leases.get(lease.fence);
    if (entry === undefined) return now + 1;
    const { host } = entry;
    const found = this.#schedule.move(host, address);
    if (entry.address === found) return 0;
    this.#releaseAddress(entry, 0);
    if (found.holder !== undefined && found.holder !== host) return Math.max(found.nextAt, now + 1);
    if (found.nextAt > now) return found.nextAt;
    entry.address = found;
    this.#schedule.hold(found, host);
    return 0;
  }

  async setHost(host: string, patch: HostPatch): Promise<void> {
    this.#mustBeOpen();
    const found = this.#host(host);
    this.#patch(found, patch, (_, given) => given);
    this.#schedule.place(found);
  }

  async getHost(host: string): Promise<HostState | undefined> {
    this.#mustBeOpen();
    return this.#hosts.get(host)?.state();
  }

  async nextDueAt(now: number, rules: LeaseRules): Promise<number | undefined> {
    this.#mustBeOpen();
    this.#schedule.apply(rules, this.#hosts.values());
    this.#takeBackExpired(now);
    return this.#schedule.nextAt();
  }

  async upcoming(limit: number): Promise<string[]> {
    this.#mustBeOpen();
    return this.#schedule.upcoming(limit);
  }

  async stats(): Promise<StoreStats> {
    this.#mustBeOpen();
    return {
      queued: this.#queued,
      leased: this.#leases.size,
      seen: this.#seen.size,
      hosts: this.#hosts.size,
      ...this.#ended,
      pages: this.#pages,
    };
  }

  async has(key: string): Promise<boolean> {
    this.#mustBeOpen();
    return this.#seen.has(crc32(key), crc32c(key));
  }

  async record(key: string): Promise<UrlRecord | undefined> {
    this.#mustBeOpen();
    return this.#records.get(key, this.#leases.find(key, counts));
  }

  async note(
    key: string,
    record: RecordPatch & { readonly url: string; readonly foundOn?: string | undefined },
  ): Promise<void> {
    this.#mustBeOpen();
    if (!this.#seen.has(crc32(key), crc32c(key))) this.#records.noted(key, record);
  }

  async getMeta(name: string): Promise<Uint8Array | undefined> {
    this.#mustBeOpen();
    return this.#meta.get(name)?.slice();
  }

  async setMeta(name: string, value: Uint8Array | undefined): Promise<void> {
    this.#mustBeOpen();
    this.#setMeta(name, value);
  }

  async flush(): Promise<void> {
    this.#mustBeOpen();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#schedule.clear();
    this.#hosts.clear();
    this.#lastHost = undefined;
    this.#leases.clear();
    this.#seen.clear();
    this.#records.clear();
    this.#meta.clear();
    this.#memory = emptyMemory();
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new CrawlError('CRAWL_CLOSED', 'The store is closed; open another one.');
  }

  #offer(batch: readonly CrawlRequest[], now: number, onKnown: OnKnown | undefined): number {
    let fresh = 0;
    const known: number[] = [];
    for (let i = 0; i < batch.length; i++) {
      const request = batch[i]!;
      if (!counts(request)) {
        this.#putBack(request, ++this.#sequence, 0, now);
      } else if (this.#seen.add(crc32(request.key), crc32c(request.key))) {
        fresh++;
        this.#enqueue(request, now);
      } else if (request.revisit === true && this.#seen.reopen(crc32(request.key), crc32c(request.key))) {
        fresh++;
        this.#putBack(request, ++this.#sequence, 0, now);
        this.#records.revisited(request);
      } else if (onKnown !== undefined) {
        known.push(i);
      }
    }
    // Last, since it is foreign code: what it throws finds the batch queued.
    for (const index of known) onKnown?.(index);
    return fresh;
  }

  #enqueue(request: CrawlRequest, now: number): void {
    const host = this.#host(request.host);
    const asleep = host.dueAt > 0; // Nothing waits, or only what is to be tried again later.
    host.push(this.#memory, request);
    this.#queued++;
    this.#records.queued(request);
    if (asleep) this.#wake(host, now);
  }

  /** A URL waits in the place of another, as of the page that set a cookie: that one has come to its end. */
  #replace(old: CrawlRequest, by: CrawlRequest): void {
    this.#seen.end(crc32(old.key), crc32c(old.key));
    this.#seen.reopen(crc32(by.key), crc32c(by.key));
  }

  #putBack(request: CrawlRequest, place: number, dueAt: number, now: number): void {
    const host = this.#host(request.host);
    host.putBack(request, place, dueAt);
    this.#queued++;
    this.#wake(host, now);
  }

  #wake(host: Host, now: number): void {
    if (host.waiting === 1) host.since = Math.max(host.since, now);
    this.#schedule.place(host);
  }

  #handOut(host: Host, now: number, ttlMs: number): Lease {
    const fence = ++this.#sequence;
    const { request, place } = host.take(this.#memory, now, fence)!;
    const { rules } = this.#schedule;
    const entry: LeaseEntry = {
      fence,
      request,
      place,
      host,
      leasedAt: now,
      address: rules.shareAddress ? host.address : undefined,
      key: now + ttlMs,
      order: fence,
      slot: -1,
    };
    this.#queued--;
    this.#leases.add(entry);
    host.inFlight++;
    host.since = now;
    if (rules.connectionsPerHost !== 1) host.nextAt = Math.max(host.nextAt, now + gap(host, rules));
    if (entry.address !== undefined) this.#schedule.hold(entry.address, host);
    this.#schedule.place(host);
    return { fence, request, url: request.url, host: host.state(), leasedAt: now, expiresAt: entry.key };
  }

  /** Leases that ran out go back to the head of their level; their hosts count as asked until that moment. */
  #takeBackExpired(now: number): void {
    for (let entry = this.#leases.expired(now); entry !== undefined; entry = this.#leases.expired(now)) {
      const { host, request } = entry;
      const { rules } = this.#schedule;
      this.#endLease(entry);
      host.nextAt = Math.max(host.nextAt, entry.key + gap(host, rules));
      this.#putBack(request, entry.place, 0, now);
      if (counts(request)) this.#records.takenBack(request);
      this.#releaseAddress(entry, entry.key + rules.startGapMs);
      this.#schedule.place(host);
    }
  }

  #endLease(entry: LeaseEntry): void {
    this.#leases.end(entry);
    entry.host.inFlight--;
  }

  #releaseAddress(entry: LeaseEntry, nextAt: number): void {
    const { address } = entry;
    entry.address = undefined;
    if (address !== undefined) this.#schedule.release(address, nextAt);
    else if (nextAt > 0 && entry.host.address !== undefined) this.#schedule.delay(entry.host.address, nextAt);
  }

  #patch(host: Host, patch: HostPatch, time: (old: number, given: number) => number): void {
    if (patch.nextAt !== undefined) host.nextAt = time(host.nextAt, patch.nextAt);
    if (patch.blockedUntil !== undefined) host.blockedUntil = time(host.blockedUntil, patch.blockedUntil);
    host.setCounts(patch);
    if (patch.address !== undefined) this.#schedule.move(host, patch.address);
  }

  #note(
    request: CrawlRequest,
    state: UrlRecord['state'],
    patch: RecordPatch | undefined,
    at: number,
    dueAt?: number,
  ): void {
    if (!counts(request)) return;
    this.#records.settled(request, state, patch ?? {}, at, dueAt);
  }

  #setMeta(name: string, value: Uint8Array | undefined): void {
    if (value === undefined) this.#meta.delete(name);
    else this.#meta.set(name, value.slice());
  }

  #host(name: string): Host {
    if (this.#lastHost?.name === name) return this.#lastHost;
    let host = this.#hosts.get(name);
    if (host === undefined) {
      host = new Host(name);
      this.#hosts.set(name, host);
    }
    this.#lastHost = host;
    return host;
  }
}

function emptyMemory(): QueueMemory {
  return { arena: new Arena(), codec: new RequestCodec() };
}

/** Whether a request is a URL of the crawl: robots files are queued and leased, but neither seen nor counted. */
function counts(request: CrawlRequest): boolean {
  return request.kind === 'page' || request.kind === 'sitemap';
}

function gap(host: Host, rules: LeaseRules): number {
  return Math.max(rules.startGapMs, host.delayMs, host.crawlDelayMs);
}
