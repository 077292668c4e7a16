import type { StoreState } from './state.ts';
import type { Table } from './table.ts';

const TEXT = 0;
const ID = 1;
const ADDRESS = 2;
/** Names longer than this have no number of their own. */
export const MAX_NAME_LENGTH = 500;
/** Names kept in memory. */
const CACHED = 8_192;

/** Numbers for the names of sites, hosts and addresses, which stand in keys and records in their place. */
export class Names {
  readonly #table: Table;
  readonly #state: StoreState;
  readonly #ids = new Map<string, number>();
  readonly #texts = new Map<number, string>();

  constructor(table: Table, state: StoreState) {
    this.#table = table;
    this.#state = state;
  }

  /** The number of a host or site; `undefined` where it has none. */
  find(text: string): number | undefined {
    const cached = this.#ids.get(text);
    if (cached !== undefined) return cached;
    const id = this.#table.peek(textKey(TEXT, text))?.readUInt32BE(0);
    if (id !== undefined) this.#remember(text, id);
    return id;
  }

  /** The number of a host or site, a new one where it has none. */
  id(text: string): number {
    const found = this.find(text);
    if (found !== undefined) return found;
    const id = ++this.#state.all.lastId;
    this.#table.put(textKey(TEXT, text), idValue(id));
    this.#table.put(idKey(id), Buffer.from(text));
    this.#remember(text, id);
    return id;
  }

  text(id: number): string {
    const cached = this.#texts.get(id);
    if (cached !== undefined) return cached;
    const text = this.#table.get(idKey(id))?.toString('utf8') ?? '';
    this.#remember(text, id);
    return text;
  }

  /** The number of an IP address. */
  findAddress(address: string): number | undefined {
    return this.#table.peek(textKey(ADDRESS, address))?.readUInt32BE(0);
  }

  newAddress(address: string): number {
    const id = ++this.#state.all.lastId;
    this.#table.put(textKey(ADDRESS, address), idValue(id));
    return id;
  }

  /** Forgets what is in memory. */
  clear(): void {
    this.#ids.clear();
    this.#texts.clear();
  }

  #remember(text: string, id: number): void {
    if (this.#ids.size >= CACHED) this.clear();
    this.#ids.set(text, id);
    this.#texts.set(id, text);
  }
}

function textKey(kind: number, text: string): Buffer {
  const key = Buffer.allocUnsafe(1 + Buffer.byteLength(text));
  key[0] = kind;
  key.write(text, 1);
  return key;
}

function idKey(id: number): Buffer {
  const key = Buffer.allocUnsafe(5);
  key[0] = ID;
  key.writeUInt32BE(id, 1);
  return key;
}

function idValue(id: number): Buffer {
  const value = Buffer.allocUnsafeSlow(4);
  value.writeUInt32BE(id, 0);
  return value;
}
