import type { LeaseRules } from '../../ports.ts';
import { readOrdered, writeOrdered } from './bytes.ts';
import { Address, type Host, type Placed } from './host.ts';
import type { HostTable } from './host-table.ts';
import type { StoreState } from './state.ts';
import type { Table } from './table.ts';

const WHOLE_STORE = 0;
const NOWHERE = -1;
const IS_ADDRESS = 1;
const KEY_BYTES = 23;
const EMPTY = Buffer.alloc(0);

interface Entry {
  readonly time: number;
  readonly order: number;
  readonly isAddress: boolean;
  readonly id: number;
}

const DEFAULT_RULES: LeaseRules = {
  connectionsPerHost: 1,
  pagesPerHost: Number.POSITIVE_INFINITY,
  startGapMs: 0,
  shareAddress: true,
};

/**
 * Which host is next: hosts and addresses in the order in which they are due, and under each address its hosts. All on
 * disk; an entry is nothing but its key: scope, time, order among equals, host or address, and its number.
 */
export class Schedule {
  readonly #table: Table;
  readonly #hosts: HostTable;
  readonly #state: StoreState;
  readonly #key: Buffer = Buffer.allocUnsafeSlow(KEY_BYTES);
  /** First of the whole store; `null` where there is none, `undefined` where it must be looked up. */
  #head: Entry | null | undefined;

  constructor(table: Table, hosts: HostTable, state: StoreState) {
    this.#table = table;
    this.#hosts = hosts;
    this.#state = state;
  }

  get rules(): LeaseRules {
    return this.#state.all.rules ?? DEFAULT_RULES;
  }

  /** Takes other rules; what they change is worked out anew for every host. @returns whether anything has changed. */
  apply(rules: LeaseRules): boolean {
    const old = this.rules;
    const same =
      rules.connectionsPerHost === old.connectionsPerHost &&
      rules.pagesPerHost === old.pagesPerHost &&
      rules.shareAddress === old.shareAddress;
    if (same && rules.startGapMs === old.startGapMs) return false;
    this.#state.all.rules = { ...rules };
    if (same) return true;
    this.#hosts.visitAll(
      (address) => this.#rank(address, WHOLE_STORE, undefined),
      (host) => this.place(host),
    );
    return true;
  }

  /** Puts a host where it now belongs: by its due time, or nowhere while it has nothing to do or may not. */
  place(host: Host): void {
    const address = this.rules.shareAddress ? host.address : undefined;
    this.#rank(host, address?.id ?? WHOLE_STORE, this.#eligible(host) ? dueAt(host) : undefined);
    if (address !== undefined) this.#placeAddress(address);
  }

  /** The host that is due for longest. It stays where it is until it is placed again. */
  next(now: number): Host | undefined {
    const head = this.#first();
    return head === undefined || head.time > now ? undefined : this.#hostOf(head);
  }

  /** The host that is due first, now or later. */
  first(): Host | undefined {
    const head = this.#first();
    return head === undefined ? undefined : this.#hostOf(head);
  }

  /** The hosts that are due first. */
  upcoming(most: number): string[] {
    const keys = this.#table.keys(scopeKey(WHOLE_STORE), scopeKey(WHOLE_STORE + 1), most);
    return keys.map((key) => this.#hostOf(toEntry(key)).name);
  }

  /** When the next host is due. */
  nextAt(): number | undefined {
    return this.#first()?.time;
  }

  /** Notes where a host was found. */
  move(host: Host, name: string): Address {
    const old = host.address;
    if (old?.name === name) return old;
    const address = this.#hosts.address(name);
    host.address = address;
    this.#hosts.changed(host);
    this.place(host);
    if (old !== undefined) this.#placeAddress(old);
    return address;
  }

  hold(address: Address, host: Host): void {
    address.holder = host;
    address.held++;
    this.#placeAddress(address);
  }

  /** Ends a lease's hold on an address. */
  release(address: Address, nextAt: number): void {
    if (address.held > 0 && --address.held === 0) address.holder = undefined;
    this.delay(address, nextAt);
  }

  /** Ends a lease's hold on the address of its host; without one, moves that address's clock on. */
  releaseOf(lease: { address: Address | undefined; readonly host: Host }, nextAt: number): void {
    const { address, host } = lease;
    lease.address = undefined;
    if (address !== undefined) this.release(address, nextAt);
    else if (nextAt > 0 && host.address !== undefined) this.delay(host.address, nextAt);
  }

  /** Moves an address's clock on. */
  delay(address: Address, nextAt: number): void {
    if (nextAt > address.nextAt) {
      address.nextAt = nextAt;
      this.#hosts.addressChanged(address);
    }
    this.#placeAddress(address);
  }

  /** Forgets what is in memory. */
  clear(): void {
    this.#head = undefined;
  }

  #eligible(host: Host): boolean {
    if (host.waiting === 0) return false;
    const { connectionsPerHost, pagesPerHost } = this.rules;
    if (host.inFlight === 0) return true;
    return (
      (connectionsPerHost === 0 || host.inFlight < connectionsPerHost) && host.pages + host.inFlight < pagesPerHost
    );
  }

  #placeAddress(address: Address): void {
    const { holder, id } = address;
    const time = this.rules.shareAddress
      ? holder === undefined
        ? this.#firstOf(id)?.time
        : holder.scope === id
          ? holder.time
          : undefined
      : undefined;
    this.#rank(address, WHOLE_STORE, time === undefined ? undefined : Math.max(time, address.nextAt));
  }

  #hostOf(entry: Entry): Host {
    if (!entry.isAddress) return this.#hosts.byId(entry.id);
    const { holder } = this.#hosts.addressById(entry.id);
    return holder ?? this.#hosts.byId(this.#firstOf(entry.id)!.id);
  }

  #rank(placed: Host | Address, scope: number, time: number | undefined): void {
    // Who keeps a rank keeps the place among equals.
    if (time === undefined ? placed.scope === NOWHERE : placed.scope === scope && placed.time === time) return;
    const isAddress = placed instanceof Address;
    if (placed.scope !== NOWHERE) this.#remove(placed, isAddress);
    placed.scope = time === undefined ? NOWHERE : scope;
    if (time !== undefined) {
      placed.time = time;
      placed.order = this.#state.all.order++;
      this.#insert(placed, isAddress);
    }
    if (isAddress) this.#hosts.addressChanged(placed);
    else this.#hosts.changed(placed);
  }

  #insert(placed: Placed, isAddress: boolean): void {
    const { scope, time, order, id } = placed;
    this.#table.put(this.#keyOf(placed, isAddress), EMPTY);
    if (scope !== WHOLE_STORE || this.#head === undefined) return;
    if (this.#head === null || time < this.#head.time) this.#head = { time, order, isAddress, id };
  }

  #remove(placed: Placed, isAddress: boolean): void {
    this.#table.remove(this.#keyOf(placed, isAddress));
    if (placed.scope === WHOLE_STORE && this.#head?.order === placed.order) this.#head = undefined;
  }

  #first(): Entry | undefined {
    if (this.#head === undefined) this.#head = this.#firstOf(WHOLE_STORE) ?? null;
    return this.#head ?? undefined;
  }

  #firstOf(scope: number): Entry | undefined {
    const key = this.#table.first(scopeKey(scope), scopeKey(scope + 1));
    return key === undefined ? undefined : toEntry(key);
  }

  #keyOf({ scope, time, order, id }: Placed, isAddress: boolean): Buffer {
    const key = this.#key;
    key.writeUInt32BE(scope, 0);
    writeOrdered(key, 4, time);
    key.writeUIntBE(order, 12, 6);
    key[18] = isAddress ? IS_ADDRESS : 0;
    key.writeUInt32BE(id, 19);
    return key;
  }
}

function dueAt(host: Host): number {
  return Math.max(host.nextAt, host.blockedUntil, host.dueAt, host.since);
}

/** Where the keys of a scope begin. */
function scopeKey(scope: number): Buffer {
  const key = Buffer.allocUnsafe(4);
  key.writeUInt32BE(scope, 0);
  return key;
}

function toEntry(key: Buffer): Entry {
  return {
    time: readOrdered(key, 4),
    order: key.readUIntBE(12, 6),
    isAddress: key[18] === IS_ADDRESS,
    id: key.readUInt32BE(19),
  };
}
