import { ByteReader, ByteWriter } from './bytes.ts';
import { Address, Host } from './host.ts';
import type { Names } from './names.ts';
import type { StoreState } from './state.ts';
import type { Table } from './table.ts';

/** Hosts and addresses kept in memory besides those at work. */
const CACHED = 2_048;
const BATCH = 500;

/** Hosts and addresses. Those at work are in memory and written with the next commit; all others are on disk only. */
export class HostTable {
  readonly #hostTable: Table;
  readonly #addressTable: Table;
  readonly #names: Names;
  readonly #state: StoreState;
  readonly #hosts = new Map<number, Host>();
  readonly #addresses = new Map<number, Address>();
  readonly #changedHosts = new Set<Host>();
  readonly #changedAddresses = new Set<Address>();
  readonly #key: Buffer = Buffer.allocUnsafeSlow(4);
  readonly #out: ByteWriter = new ByteWriter();
  #last: Host | undefined;

  constructor(hosts: Table, addresses: Table, names: Names, state: StoreState) {
    this.#hostTable = hosts;
    this.#addressTable = addresses;
    this.#names = names;
    this.#state = state;
  }

  /** The host of this name; `undefined` where it has no state. */
  find(name: string): Host | undefined {
    if (this.#last?.name === name) return this.#last;
    const id = this.#names.find(name);
    const host = id === undefined ? undefined : this.#load(id);
    if (host !== undefined) this.#last = host;
    return host;
  }

  /** The host of this name, with an empty state where it has none. */
  get(name: string): Host {
    const found = this.find(name);
    if (found !== undefined) return found;
    const host = new Host(this.#names.id(name), name);
    this.#hosts.set(host.id, host);
    this.#state.all.hosts++;
    this.changed(host);
    return host;
  }

  byId(id: number): Host {
    const host = this.#load(id);
    if (host === undefined) throw new Error(`No record of host ${id}`);
    return host;
  }

  address(name: string): Address {
    const id = this.#names.findAddress(name);
    if (id !== undefined) return this.addressById(id);
    const address = new Address(this.#names.newAddress(name), name);
    this.#addresses.set(address.id, address);
    this.addressChanged(address);
    return address;
  }

  addressById(id: number): Address {
    const cached = this.#addresses.get(id);
    if (cached !== undefined) return cached;
    const record = this.#addressTable.get(this.#at(id));
    if (record === undefined) throw new Error(`No record of address ${id}`);
    const address = Address.read(new ByteReader().over(record), id);
    this.#addresses.set(id, address);
    return address;
  }

  /** Whether something in memory is not on disk. */
  get hasChanged(): boolean {
    return this.#changedHosts.size > 0 || this.#changedAddresses.size > 0;
  }

  changed(host: Host): void {
    this.#changedHosts.add(host);
  }

  addressChanged(address: Address): void {
    this.#changedAddresses.add(address);
  }

  /** Writes what has changed, and forgets what is not at work where that has become much. */
  save(): void {
    for (const host of this.#changedHosts) {
      host.write(this.#out.start());
      this.#hostTable.put(this.#at(host.id), this.#out.view());
    }
    for (const address of this.#changedAddresses) {
      address.write(this.#out.start());
      this.#addressTable.put(this.#at(address.id), this.#out.view());
    }
    this.#changedHosts.clear();
    this.#changedAddresses.clear();
    if (this.#hosts.size > CACHED || this.#addresses.size > CACHED) this.#forget();
  }

  /** Forgets what is in memory, changed or not. */
  clear(): void {
    this.#hosts.clear();
    this.#addresses.clear();
    this.#changedHosts.clear();
    this.#changedAddresses.clear();
    this.#last = undefined;
  }

  /** Every host, and before them every address; what is done to them is written as it goes. */
  visitAll(address: (address: Address) => void, host: (host: Host) => void): void {
    for (const id of this.#ids(this.#addressTable)) address(this.addressById(id));
    for (const id of this.#ids(this.#hostTable)) host(this.byId(id));
  }

  *#ids(table: Table): Iterable<number> {
    this.save();
    const start = Buffer.alloc(4);
    const end = Buffer.from([255, 255, 255, 255]);
    for (;;) {
      const keys = table.keys(start, end, BATCH);
      for (const key of keys) yield key.readUInt32BE(0);
      const last = keys.at(-1);
      if (last === undefined || keys.length < BATCH) return;
      start.writeUInt32BE(last.readUInt32BE(0) + 1, 0);
      this.save();
    }
  }

  /** An address stays as long as a host in memory is at it, so that there are never two of one. */
  #forget(): void {
    this.#last = undefined;
    for (const [id, host] of this.#hosts) if (host.inFlight === 0) this.#hosts.delete(id);
    const used = new Set<Address>();
    for (const { address } of this.#hosts.values()) if (address !== undefined) used.add(address);
    for (const [id, address] of this.#addresses) {
      if (address.held === 0 && !used.has(address)) this.#addresses.delete(id);
    }
  }

  #load(id: number): Host | undefined {
    const cached = this.#hosts.get(id);
    if (cached !== undefined) return cached;
    const record = this.#hostTable.get(this.#at(id));
    if (record === undefined) return undefined;
    const { host, address } = Host.read(new ByteReader().over(record), id);
    if (address > 0) host.address = this.addressById(address);
    this.#hosts.set(id, host);
    return host;
  }

  #at(id: number): Buffer {
    this.#key.writeUInt32BE(id, 0);
    return this.#key;
  }
}
