import { Heap, type HeapNode } from '../memory/heap.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import type { Address, Host } from './host.ts';
import type { Table } from './table.ts';
import type { UrlRef } from './url-record.ts';

/** A lease that is out; its rank is the moment it expires. */
export interface Lent extends HeapNode {
  readonly fence: number;
  readonly host: Host;
  readonly ref: UrlRef | undefined;
  /** The request as JSON, where that can't be read from its record. */
  readonly json: string | undefined;
  readonly level: number | undefined;
  readonly place: number;
  readonly leasedAt: number;
  address: Address | undefined;
}

/** What is needed to take back a lease of a process that has died. */
export interface SavedLease {
  readonly host: number;
  readonly ref: UrlRef | undefined;
  readonly json: string | undefined;
  readonly level: number | undefined;
  readonly place: number;
}

const ROBOTS_LEVEL = 255;

/** The leases that are out: in memory, and on disk those that were out at the last commit. */
export class Leases {
  readonly #table: Table;
  readonly #byFence = new Map<number, Lent>();
  readonly #urls = new Set<string>();
  readonly #expiry = new Heap<Lent>();
  readonly #unsaved = new Set<Lent>();
  readonly #endedSaved: number[] = [];
  readonly #out: ByteWriter = new ByteWriter();
  /** Leases of another process. */
  #seen = 0;

  constructor(table: Table) {
    this.#table = table;
  }

  get size(): number {
    return Math.max(this.#byFence.size, this.#seen);
  }

  get(fence: number): Lent | undefined {
    return this.#byFence.get(fence);
  }

  all(): Lent[] {
    return [...this.#byFence.values()];
  }

  isOut(ref: UrlRef): boolean {
    return this.#urls.has(name(ref));
  }

  add(lent: Lent): void {
    this.#byFence.set(lent.fence, lent);
    if (lent.ref !== undefined) this.#urls.add(name(lent.ref));
    this.#expiry.place(lent);
    this.#unsaved.add(lent);
    lent.host.inFlight++;
  }

  renew(lent: Lent, expiresAt: number): void {
    lent.key = Math.max(lent.key, expiresAt);
    this.#expiry.place(lent);
  }

  end(lent: Lent): void {
    this.#byFence.delete(lent.fence);
    if (lent.ref !== undefined) this.#urls.delete(name(lent.ref));
    this.#expiry.remove(lent);
    if (!this.#unsaved.delete(lent)) this.#endedSaved.push(lent.fence);
    lent.host.inFlight--;
  }

  /** The next lease that has run out. */
  expired(now: number): Lent | undefined {
    const first = this.#expiry.peek();
    return first !== undefined && first.key <= now ? first : undefined;
  }

  /** Writes what has changed since it was last called; a lease that began and ended in between costs nothing. */
  save(): void {
    for (const fence of this.#endedSaved.splice(0)) this.#table.remove(fenceKey(fence));
    for (const lent of this.#unsaved) {
      const { host, ref, json, level, place } = lent;
      this.#out
        .start()
        .u32(host.id)
        .u32(ref?.site ?? 0)
        .u48(ref?.slot ?? 0);
      this.#out.u8(level === undefined ? ROBOTS_LEVEL : level + 128).u48(place);
      if (json !== undefined) this.#out.raw(Buffer.from(json));
      this.#table.put(fenceKey(lent.fence), this.#out.view());
    }
    this.#unsaved.clear();
  }

  /** Knows the leases that another process has out. */
  look(): void {
    const saved = this.saved();
    this.#seen = saved.length;
    for (const { ref } of saved) if (ref !== undefined) this.#urls.add(name(ref));
  }

  /** Takes all leases of a process that has died out of the table. */
  takeSaved(): SavedLease[] {
    const saved = this.saved();
    for (const { fence } of saved) this.#table.remove(fenceKey(fence));
    return saved;
  }

  saved(): (SavedLease & { readonly fence: number })[] {
    return Array.from(this.#table.entries(Buffer.alloc(1)), ({ key, value }) => {
      const bytes = new ByteReader().over(value);
      const host = bytes.u32();
      const site = bytes.u32();
      const slot = bytes.u48();
      const level = bytes.u8();
      const place = bytes.u48();
      return {
        fence: key.readUIntBE(0, 6),
        host,
        ref: site === 0 ? undefined : { site, slot },
        level: level === ROBOTS_LEVEL ? undefined : level - 128,
        place,
        json: bytes.left === 0 ? undefined : bytes.text(bytes.left),
      };
    });
  }

  /** Forgets what is in memory. */
  clear(): void {
    this.#byFence.clear();
    this.#urls.clear();
    this.#expiry.clear();
    this.#unsaved.clear();
    this.#endedSaved.length = 0;
  }
}

function name({ site, slot }: UrlRef): string {
  return `${site}/${slot}`;
}

function fenceKey(fence: number): Buffer {
  const key = Buffer.allocUnsafe(6);
  key.writeUIntBE(fence, 0, 6);
  return key;
}
