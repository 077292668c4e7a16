import type { Database } from 'lmdb';

/** What the open transaction has written, over all tables. */
export interface Writes {
  count: number;
}

/** A named map of bytes to bytes, ordered by key. Writing needs an open transaction. */
export class Table {
  readonly #database: Database<Buffer, Buffer>;
  readonly #writes: Writes;

  constructor(database: Database<Buffer, Buffer>, writes: Writes) {
    this.#database = database;
    this.#writes = writes;
  }

  /** The value, in memory that the next call on any table uses again. */
  peek(key: Buffer): Buffer | undefined {
    const bytes = this.#database.getBinaryFast(key);
    // What is given is longer than its `length` says.
    return bytes?.subarray(0, bytes.length);
  }

  /** The value, to keep. */
  get(key: Buffer): Buffer | undefined {
    return this.#database.getBinary(key);
  }

  /** Key and value may be used again once this has returned. */
  put(key: Buffer, value: Buffer): void {
    this.#writes.count++;
    this.#database.putSync(key, value);
  }

  /** Puts where there is no value yet. @returns whether there was none. */
  add(key: Buffer, value: Buffer): boolean {
    this.#writes.count++;
    // It gives whether it has put, whatever its type says.
    return (this.#database.putSync(key, value, ADD) as unknown) === true;
  }

  /** Puts behind all keys that are there: what is written so fills its pages. */
  append(key: Buffer, value: Buffer): void {
    this.#writes.count++;
    const isPut = this.#database.putSync(key, value, APPEND) as unknown;
    if (isPut !== true) throw new Error('A key to be appended is not behind the last one');
  }

  remove(key: Buffer): void {
    this.#writes.count++;
    this.#database.removeSync(key);
  }

  get isEmpty(): boolean {
    return [...this.#database.getKeys({ limit: 1 })].length === 0;
  }

  /** The first key from `start` to before `end`. */
  first(start: Buffer, end: Buffer): Buffer | undefined {
    for (const key of this.#database.getKeys({ start, end, limit: 1 })) return key;
    return undefined;
  }

  /** Keys from `start` to before `end`, the first `limit` of them. */
  keys(start: Buffer, end: Buffer, limit: number): Buffer[] {
    return [...this.#database.getKeys({ start, end, limit })];
  }

  /** All keys and values from `start` on; the table must not be changed meanwhile. */
  entries(start: Buffer): Iterable<{ key: Buffer; value: Buffer }> {
    return this.#database.getRange({ start, snapshot: false });
  }
}

const ADD = { noOverwrite: true };
const APPEND = { append: true };
