import assert from 'node:assert/strict';
import type { HostPatch, HostState, Lease, LeaseRules, Settlement, StoreStats } from '../ports.ts';
import { LEVELS } from '../request.ts';
import { chooseLevel } from '../store/levels.ts';
import type { CrawlRequest } from '../types.ts';
import { known, sameRequest } from './fixture.ts';

interface Waiting {
  readonly request: CrawlRequest;
  readonly dueAt: number;
  /** The fence of the first lease, where there was one; or what puts a robots file behind those before it. */
  readonly place: number | undefined;
  readonly arrival: number;
}

interface Held {
  readonly request: CrawlRequest;
  readonly place: number;
  expiresAt: number;
  address: string | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

interface ModelHost {
  readonly state: Mutable<Required<Omit<HostState, 'address'>>> & { address?: string | undefined };
  waiting: Waiting[];
  turn: number;
  since: number;
}

/** What a store must do, in the plainest words: lists that are searched from end to end. */
export class Model {
  readonly #rules: LeaseRules;
  readonly #hosts = new Map<string, ModelHost>();
  readonly #seen = new Set<string>();
  readonly #ended = new Map<string, string>();
  readonly #leases = new Map<number, Held>();
  readonly #addresses = new Map<string, number>();
  readonly #counts = { done: 0, failed: 0, skipped: 0, redirected: 0, pages: 0 };
  #arrivals = 0;
  #revisits = 0;
  #lastFence = 0;

  constructor(rules: LeaseRules) {
    this.#rules = rules;
  }

  offer(batch: readonly CrawlRequest[], now: number): { fresh: number; known: number[] } {
    const known: number[] = [];
    let fresh = 0;
    for (const [index, request] of batch.entries()) {
      if (request.kind !== 'robots' && this.#seen.has(request.key)) {
        if (request.revisit === true && this.#ended.delete(request.key)) {
          fresh++;
          this.#revisits++;
          this.#queue(request, this.#lastFence + 0.5, 0, now);
        } else known.push(index);
        continue;
      }
      if (request.kind !== 'robots') {
        this.#seen.add(request.key);
        fresh++;
      }
      this.#queue(request, undefined, 0, now);
    }
    return { fresh, known };
  }

  /** Takes note of a lease, and checks that it was the right one to give. */
  leased(lease: Lease, now: number, ttlMs: number): void {
    const { request, fence } = lease;
    const host = this.#host(request.host);
    assert.ok(fence > this.#lastFence, `fence ${fence} after ${this.#lastFence}`);
    this.#lastFence = fence;
    assert.ok(this.#mayBeAsked(host, now), `${request.host} is not due or not free`);
    const expected = this.#best(host, now);
    assert.equal(request.url, expected?.request.url, 'the best URL of its host');
    sameRequest(request, expected!.request);
    const longest = this.#candidates(now).reduce((least, one) => Math.min(least, this.#dueSince(one)), Infinity);
    assert.equal(this.#dueSince(host), longest, `another host has been due for longer than ${request.host}`);
    host.waiting = host.waiting.filter((one) => one !== expected);
    if (request.kind !== 'robots') host.turn++;
    host.since = now;
    host.state.inFlight++;
    if (this.#rules.connectionsPerHost !== 1) host.state.nextAt = Math.max(host.state.nextAt, now + this.#gap(host));
    const address = this.#rules.shareAddress ? host.state.address : undefined;
    this.#leases.set(fence, { request, place: expected!.place ?? fence, expiresAt: now + ttlMs, address });
    assert.deepEqual(known(lease.host), this.state(request.host));
    assert.deepEqual([lease.url, lease.leasedAt, lease.expiresAt], [request.url, now, now + ttlMs]);
  }

  /** A host that is due and free. */
  free(now: number): string | undefined {
    return this.#candidates(now)[0]?.state.host;
  }

  settle(
    lease: Lease,
    settlement: Settlement,
    now: number,
    accepted: boolean,
  ): { accepted: boolean; fresh: number; known: number[] } {
    const held = this.#leases.get(lease.fence);
    if (!this.#stillHeld(lease, now, accepted) || held === undefined) return { accepted: false, fresh: 0, known: [] };
    const host = this.#host(held.request.host);
    this.#leases.delete(lease.fence);
    host.state.inFlight--;
    const { nextAt = 0, blockedUntil = 0, ...rest } = settlement.host ?? {};
    Object.assign(host.state, rest);
    host.state.nextAt = Math.max(host.state.nextAt, nextAt);
    host.state.blockedUntil = Math.max(host.state.blockedUntil, blockedUntil);
    this.#delayAddress(held.address ?? host.state.address, settlement.addressNextAt ?? 0);
    if (settlement.delivered === true) {
      host.state.pages++;
      this.#counts.pages++;
    }
    const { outcome, requeue } = settlement;
    if (outcome === 'deferred' || outcome === 'retry') {
      this.#queue(requeue?.request ?? held.request, held.place, requeue?.dueAt ?? now, now);
    } else if (held.request.kind !== 'robots') {
      assert.equal(this.#ended.get(held.request.key), undefined, `${held.request.url} came to its end twice`);
      this.#ended.set(held.request.key, outcome);
      this.#counts[outcome]++;
    }
    return { accepted: true, ...this.offer(settlement.outlinks ?? [], now) };
  }

  renew(lease: Lease, now: number, ttlMs: number, renewed: boolean): boolean {
    if (!this.#stillHeld(lease, now, renewed)) return false;
    const held = this.#leases.get(lease.fence)!;
    held.expiresAt = Math.max(held.expiresAt, now + ttlMs);
    return true;
  }

  /** 0 where the address may be had by this lease, which must not have run out unnoticed. */
  claim(lease: Lease, address: string, now: number): number {
    const held = this.#leases.get(lease.fence);
    if (held === undefined) return now + 1;
    const host = this.#host(held.request.host);
    host.state.address = address;
    if (held.address === address) return 0;
    held.address = undefined;
    if (this.#heldByOther(address, held.request.host)) return now + 1;
    const nextAt = this.#addresses.get(address) ?? 0;
    if (nextAt > now) return nextAt;
    held.address = address;
    return 0;
  }

  setHost(host: string, patch: HostPatch): void {
    Object.assign(this.#host(host).state, patch);
  }

  takeBackExpired(now: number): void {
    const expired = [...this.#leases].filter(([, held]) => held.expiresAt <= now);
    for (const [fence] of expired.sort((a, b) => a[1].expiresAt - b[1].expiresAt)) this.#takeBack(fence, now);
  }

  /** Whether a lease has run out and was not taken back. */
  hasExpired(now: number): boolean {
    return [...this.#leases.values()].some((held) => held.expiresAt <= now);
  }

  /** When something may be leased, while no lease has run out. */
  nextDueAt(): number | undefined {
    const moments = [...this.#hosts.values()].filter((host) => this.#isOpen(host)).map((host) => this.#dueAt(host));
    return moments.length === 0 ? undefined : Math.min(...moments);
  }

  state(host: string): HostState | undefined {
    const state = this.#hosts.get(host)?.state;
    return state === undefined ? undefined : known(state);
  }

  states(): [string, HostState][] {
    return [...this.#hosts].map(([name, { state }]) => [name, known(state)]);
  }

  stats(): StoreStats {
    const queued = [...this.#hosts.values()].reduce((sum, host) => sum + host.waiting.length, 0);
    const { size: leased } = this.#leases;
    return { queued, leased, seen: this.#seen.size, hosts: this.#hosts.size, ...this.#counts };
  }

  /** Visits after the first of each URL. */
  get revisits(): number {
    return this.#revisits;
  }

  mustBeFinished(): void {
    for (const key of this.#seen) assert.ok(this.#ended.has(key), `${key} was lost`);
  }

  #queue(request: CrawlRequest, place: number | undefined, dueAt: number, now: number): void {
    const host = this.#host(request.host);
    if (host.waiting.length === 0) host.since = Math.max(host.since, now);
    host.waiting.push({ request, dueAt, place, arrival: this.#arrivals++ });
  }

  /** Whether a lease is held; one that ran out may be or not, and the store says which. */
  #stillHeld(lease: Lease, now: number, accepted: boolean): boolean {
    const held = this.#leases.get(lease.fence);
    if (held === undefined) return false;
    if (held.expiresAt > now || accepted) return true;
    this.#takeBack(lease.fence, now);
    return false;
  }

  #takeBack(fence: number, now: number): void {
    const held = this.#leases.get(fence)!;
    const host = this.#host(held.request.host);
    this.#leases.delete(fence);
    host.state.inFlight--;
    host.state.nextAt = Math.max(host.state.nextAt, held.expiresAt + this.#gap(host));
    this.#delayAddress(held.address ?? host.state.address, held.expiresAt + this.#rules.startGapMs);
    this.#queue(held.request, held.place, 0, now);
  }

  #delayAddress(address: string | undefined, nextAt: number): void {
    if (address !== undefined) this.#addresses.set(address, Math.max(this.#addresses.get(address) ?? 0, nextAt));
  }

  #candidates(now: number): ModelHost[] {
    return [...this.#hosts.values()].filter((host) => this.#mayBeAsked(host, now));
  }

  #mayBeAsked(host: ModelHost, now: number): boolean {
    return this.#isOpen(host) && this.#dueAt(host) <= now;
  }

  /** Whether only time keeps a host from being asked. */
  #isOpen({ state, waiting }: ModelHost): boolean {
    const { connectionsPerHost, pagesPerHost, shareAddress } = this.#rules;
    if (waiting.length === 0) return false;
    if (shareAddress && state.address !== undefined && this.#heldByOther(state.address, state.host)) return false;
    if (state.inFlight === 0) return true;
    if (connectionsPerHost !== 0 && state.inFlight >= connectionsPerHost) return false;
    return state.pages + state.inFlight < pagesPerHost;
  }

  #heldByOther(address: string, host: string): boolean {
    return [...this.#leases.values()].some((held) => held.address === address && held.request.host !== host);
  }

  #dueAt({ state, waiting }: ModelHost): number {
    const shared = this.#rules.shareAddress && state.address !== undefined;
    const address = shared ? (this.#addresses.get(state.address ?? '') ?? 0) : 0;
    return Math.max(state.nextAt, state.blockedUntil, address, Math.min(...waiting.map((one) => one.dueAt)));
  }

  #dueSince(host: ModelHost): number {
    return Math.max(this.#dueAt(host), host.since);
  }

  #best(host: ModelHost, now: number): Waiting | undefined {
    const due = host.waiting.filter((one) => one.dueAt <= now).sort(inOrder);
    const robots = due.find((one) => one.request.kind === 'robots');
    if (robots !== undefined || due.length === 0) return robots;
    const levels = due.reduce((bits, one) => bits | (1 << (one.request.level - LEVELS.lowest)), 0);
    const level = chooseLevel(host.turn, levels);
    return due.find((one) => one.request.level === level);
  }

  #gap({ state }: ModelHost): number {
    return Math.max(this.#rules.startGapMs, state.delayMs, state.crawlDelayMs);
  }

  #host(name: string): ModelHost {
    const found = this.#hosts.get(name);
    if (found !== undefined) return found;
    const times = { nextAt: 0, blockedUntil: 0, delayMs: 0, crawlDelayMs: 0 };
    const counts = { backoff: 0, successes: 0, failures: 0, refusals: 0, pages: 0, inFlight: 0 };
    const host = { state: { host: name, ...times, ...counts }, waiting: [], turn: 0, since: 0 };
    this.#hosts.set(name, host);
    return host;
  }
}

/** What was leased before, by its first lease; then what was not, by arrival. */
function inOrder(a: Waiting, b: Waiting): number {
  return (a.place ?? Infinity) - (b.place ?? Infinity) || a.arrival - b.arrival;
}
