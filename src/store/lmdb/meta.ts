import { createHash } from 'node:crypto';
import type { Table } from './table.ts';

const MAX_KEY_BYTES = 500;

/** Bytes under names. A name too long for a key is kept with its value, under its hash. */
export class Meta {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  get(name: string): Uint8Array | undefined {
    const { key, isHash } = keyOf(name);
    const value = this.#table.get(key);
    if (value === undefined) return undefined;
    const start = isHash ? Buffer.byteLength(name) : 0;
    // A plain array: a Buffer would be a window on memory that others use.
    return isHash && value.toString('utf8', 0, start) !== name ? undefined : new Uint8Array(value.subarray(start));
  }

  set(name: string, value: Uint8Array | undefined): void {
    const { key, isHash } = keyOf(name);
    if (value === undefined) this.#table.remove(key);
    else this.#table.put(key, isHash ? Buffer.concat([Buffer.from(name), value]) : Buffer.from(value));
  }
}

function keyOf(name: string): { readonly key: Buffer; readonly isHash: boolean } {
  const bytes = Buffer.from(name);
  const isHash = bytes.length > MAX_KEY_BYTES;
  const body = isHash ? createHash('sha256').update(bytes).digest() : bytes;
  return { key: Buffer.concat([Buffer.from([isHash ? 1 : 0]), body]), isHash };
}
