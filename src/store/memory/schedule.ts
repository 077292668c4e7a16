import type { LeaseRules } from '../../ports.ts';
import { Heap, type HeapNode } from './heap.ts';
import { AddressGroup, Host } from './host.ts';

/** Which host is next: a heap of hosts and of addresses (each a heap of its hosts), by the moment they are due. */
export class Schedule {
  readonly #heap = new Heap<Host | AddressGroup>();
  readonly #addresses = new Map<string, AddressGroup>();
  #rules: LeaseRules = {
    connectionsPerHost: 1,
    pagesPerHost: Number.POSITIVE_INFINITY,
    startGapMs: 0,
    shareAddress: true,
  };
  #order = 0;
  #sweepAt = 1024;

  get rules(): LeaseRules {
    return this.#rules;
  }

  /** Takes other rules; what they change is worked out anew for every host. */
  apply(rules: LeaseRules, hosts: Iterable<Host>): void {
    const old = this.#rules;
    this.#rules = rules;
    const same =
      rules.connectionsPerHost === old.connectionsPerHost &&
      rules.pagesPerHost === old.pagesPerHost &&
      rules.shareAddress === old.shareAddress;
    if (same) return;
    this.#heap.clear();
    for (const address of this.#addresses.values()) address.hosts.clear();
    for (const host of hosts) this.place(host);
  }

  /** Puts a host where it now belongs: by its due time, or nowhere while it has nothing to do or may not. */
  place(host: Host): void {
    const address = this.#rules.shareAddress ? host.address : undefined;
    this.#rank(address?.hosts ?? this.#heap, host, this.#eligible(host) ? dueAt(host) : undefined);
    if (address !== undefined) this.#placeAddress(address);
  }

  /** The host that is due for longest. It stays where it is until it is placed again. */
  next(now: number): Host | undefined {
    const first = this.#heap.peek();
    if (first === undefined || first.key > now) return undefined;
    return first instanceof Host ? first : (first.holder ?? first.hosts.peek());
  }

  /** Hosts that are due before most others. */
  upcoming(most: number): string[] {
    return this.#heap.top(most).flatMap((node) => {
      const host = node instanceof Host ? node : (node.holder ?? node.hosts.peek());
      return host === undefined ? [] : [host.name];
    });
  }

  /** When the next host is due. */
  nextAt(): number | undefined {
    return this.#heap.peek()?.key;
  }

  /** Notes where a host was found. */
  move(host: Host, name: string): AddressGroup {
    const old = host.address;
    if (old?.name === name) return old;
    if (old !== undefined) {
      old.members--;
      if (host.slot >= 0 && this.#rules.shareAddress) old.hosts.remove(host);
      this.#placeAddress(old);
    } else if (host.slot >= 0 && this.#rules.shareAddress) this.#heap.remove(host);
    const address = this.#addresses.get(name) ?? new AddressGroup(name);
    this.#addresses.set(name, address);
    address.members++;
    host.address = address;
    this.place(host);
    return address;
  }

  hold(address: AddressGroup, host: Host): void {
    address.holder = host;
    address.held++;
    this.#placeAddress(address);
  }

  release(address: AddressGroup, nextAt: number): void {
    address.nextAt = Math.max(address.nextAt, nextAt);
    if (address.held > 0 && --address.held === 0) address.holder = undefined;
    this.#placeAddress(address);
  }

  /** Moves an address's clock on without a lease on it. */
  delay(address: AddressGroup, nextAt: number): void {
    address.nextAt = Math.max(address.nextAt, nextAt);
    this.#placeAddress(address);
  }

  /** Forgets addresses that no host is at and whose clock has run down; called now and then. */
  sweep(now: number): void {
    if (this.#addresses.size < this.#sweepAt) return;
    for (const [name, address] of this.#addresses) {
      if (address.members === 0 && address.held === 0 && address.nextAt <= now) this.#addresses.delete(name);
    }
    this.#sweepAt = Math.max(1024, this.#addresses.size * 2);
  }

  clear(): void {
    this.#heap.clear();
    this.#addresses.clear();
  }

  #eligible(host: Host): boolean {
    if (host.waiting === 0) return false;
    const { connectionsPerHost, pagesPerHost } = this.#rules;
    if (host.inFlight === 0) return true;
    return (
      (connectionsPerHost === 0 || host.inFlight < connectionsPerHost) && host.pages + host.inFlight < pagesPerHost
    );
  }

  #placeAddress(address: AddressGroup): void {
    const { holder } = address;
    const host = holder === undefined ? address.hosts.peek() : holder;
    const free = host !== undefined && host.slot >= 0 && host.address === address && this.#rules.shareAddress;
    this.#rank(this.#heap, address, free ? Math.max(host.key, address.nextAt) : undefined);
  }

  #rank<T extends HeapNode>(heap: Heap<T>, node: T, key: number | undefined): void {
    if (key === undefined) {
      heap.remove(node);
      return;
    }
    // Who keeps a rank keeps the place among equals.
    if (node.slot >= 0 && node.key === key) return;
    node.key = key;
    node.order = this.#order++;
    heap.place(node);
  }
}

function dueAt(host: Host): number {
  return Math.max(host.nextAt, host.blockedUntil, host.dueAt, host.since);
}
