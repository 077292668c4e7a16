import assert from 'node:assert/strict';
import type { CrawlStore, HostPatch, Lease, LeaseRules, Settlement, SettleResult } from '../ports.ts';
import { createRequest, type RequestInit } from '../request.ts';
import type { CrawlRequest } from '../types.ts';

/** One thing a store must do: `run` resolves where it does, and rejects with an assertion where it does not. */
export interface StoreCase {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/** A case before it knows which store it is run on. */
export type CaseOn<T> = readonly [name: string, run: (subject: T) => Promise<void>];

/** When the cases begin. */
export const T0 = 1_700_000_000_000;
export const TTL = 60_000;

/** One lease a host, one host an address, no gaps but those of the cases. */
export const RULES: LeaseRules = {
  connectionsPerHost: 1,
  pagesPerHost: Number.POSITIVE_INFINITY,
  startGapMs: 0,
  shareAddress: true,
};

/** The request for a URL or a path on `host.test`. */
export function request(init: string | RequestInit): CrawlRequest {
  const given = typeof init === 'string' ? { url: init } : init;
  const made = createRequest({ ...given, url: new URL(given.url, 'https://host.test/') });
  assert.ok(made !== null, `${given.url} is no URL for a case`);
  return made;
}

export function requests(...inits: readonly (string | RequestInit)[]): CrawlRequest[] {
  return inits.map(request);
}

/** A store with the verbs as short as cases want them. */
export class Subject {
  readonly store: CrawlStore;

  constructor(store: CrawlStore) {
    this.store = store;
  }

  offer(...inits: readonly (string | RequestInit)[]): Promise<number> {
    return this.store.offer(requests(...inits), T0);
  }

  lease(now: number = T0, limit = 1, rules: Partial<LeaseRules> = {}): Promise<Lease[]> {
    return this.store.lease(now, limit, TTL, { ...RULES, ...rules });
  }

  /** The one URL that is due. */
  async one(now: number = T0, rules: Partial<LeaseRules> = {}): Promise<Lease> {
    const [lease] = await this.lease(now, 1, rules);
    assert.ok(lease !== undefined, `nothing is leased ${now - T0} ms after the start`);
    return lease;
  }

  settle(lease: Lease, settlement: Partial<Settlement> = {}, now: number = T0): Promise<SettleResult> {
    return this.store.settle(lease, { outcome: 'done', ...settlement }, now);
  }

  /** Asks for the next URL and settles it as done; the host's clock as in `host`. */
  async turn(now: number = T0, host: HostPatch = {}): Promise<string> {
    const lease = await this.one(now);
    await this.settle(lease, { host }, now);
    return pathOf(lease);
  }

  /** Paths in the order in which they come, until nothing is due. */
  async drain(now: number = T0): Promise<string[]> {
    const paths: string[] = [];
    for (let [lease] = await this.lease(now); lease !== undefined; [lease] = await this.lease(now)) {
      paths.push(pathOf(lease));
      await this.settle(lease, {}, now);
    }
    return paths;
  }

  nextDueAt(now: number = T0, rules: Partial<LeaseRules> = {}): Promise<number | undefined> {
    return this.store.nextDueAt(now, { ...RULES, ...rules });
  }
}

/** Path and query of a lease's URL. */
export function pathOf(lease: Lease): string {
  const { pathname, search } = new URL(lease.url);
  return pathname + search;
}

export function hostsOf(leases: readonly Lease[]): string[] {
  return leases.map((lease) => lease.request.host).sort();
}

/** Without the fields that are `undefined`: a store may leave them out. */
export function known<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

/** Whether two requests are the same but for fields that are `undefined`. */
export function sameRequest(actual: CrawlRequest, expected: CrawlRequest): void {
  assert.deepEqual(known(actual), known(expected));
}
