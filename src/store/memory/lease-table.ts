import type { CrawlRequest } from '../../types.ts';
import { Heap, type HeapNode } from './heap.ts';
import type { AddressGroup, Host, Taken } from './host.ts';

/** A lease that is out, ranked by the moment it expires. */
export interface LeaseEntry extends HeapNode, Taken {
  readonly fence: number;
  readonly host: Host;
  readonly leasedAt: number;
  /** The address that it holds. */
  address: AddressGroup | undefined;
}

/** The leases that are out, by fence and by expiry. */
export class LeaseTable {
  readonly #byFence = new Map<number, LeaseEntry>();
  readonly #byExpiry = new Heap<LeaseEntry>();

  get size(): number {
    return this.#byFence.size;
  }

  get(fence: number): LeaseEntry | undefined {
    return this.#byFence.get(fence);
  }

  add(entry: LeaseEntry): void {
    this.#byFence.set(entry.fence, entry);
    this.#byExpiry.place(entry);
  }

  /** Holds a lease until then; never for shorter than it was held before. */
  prolong(entry: LeaseEntry, expiresAt: number): void {
    entry.key = Math.max(entry.key, expiresAt);
    this.#byExpiry.place(entry);
  }

  end(entry: LeaseEntry): void {
    this.#byFence.delete(entry.fence);
    this.#byExpiry.remove(entry);
  }

  /** The lease that ran out first. */
  expired(now: number): LeaseEntry | undefined {
    const first = this.#byExpiry.peek();
    return first !== undefined && first.key <= now ? first : undefined;
  }

  /** The request with this key that is out, of those that `counts` lets pass. */
  find(key: string, counts: (request: CrawlRequest) => boolean): CrawlRequest | undefined {
    for (const { request } of this.#byFence.values()) if (request.key === key && counts(request)) return request;
    return undefined;
  }

  clear(): void {
    this.#byFence.clear();
    this.#byExpiry.clear();
  }
}
