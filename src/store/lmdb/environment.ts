import type * as Lmdb from 'lmdb';
import { Table, type Writes } from './table.ts';

/** A snapshot that is kept from being overwritten. */
export interface Pin {
  release(): void;
}

interface OpenTransaction {
  readonly commit: (result: unknown) => unknown;
  readonly abort: (reason: Error) => unknown;
}

/** Where a file may be mapped far beyond its end, so that it never has to be mapped anew while it grows. */
const MAP_BYTES = process.platform === 'win32' ? undefined : 2 ** 36;

/**
 * Numbers of free pages that LMDB takes into memory in search of some that lie together, and that it keeps there after a
 * commit. It writes and checks all that it holds with every commit: with its own limits, of 50,000 and 75,000, that came
 * to 0.1 to 1.5 s each in a file of 1.6 GB. What it keeps from one commit to the next it also writes in part only, and
 * fails (`MDB_BAD_TXN`, "reserved freelist had a data entry with zero-size") where the parts have moved meanwhile.
 */
const FREE_PAGES = { maxFreeSpaceToLoad: 500, maxFreeSpaceToRetain: 0 };

/**
 * One LMDB environment, with one write transaction that stays open over many calls: what is read meanwhile is what was
 * written, and all of it is committed at once.
 *
 * It is opened with `noSync`: a commit hands its pages to the operating system and returns. They outlive the process;
 * that they outlive the machine is the work of `Checkpoints`.
 */
export class Environment {
  readonly #root: Lmdb.RootDatabase<Buffer, Buffer>;
  readonly #writes: Writes = { count: 0 };
  #open: OpenTransaction | undefined;

  private constructor(root: Lmdb.RootDatabase<Buffer, Buffer>) {
    this.#root = root;
  }

  static open(
    lmdb: typeof Lmdb,
    path: string,
    options: {
      readonly readOnly: boolean;
      readonly mapSize: number | undefined;
      /** Whether `path` is that of the data file, and not of the directory it is in. */
      readonly isFile?: boolean | undefined;
    },
  ): Environment {
    const mapSize = options.mapSize ?? MAP_BYTES;
    return new Environment(
      lmdb.open<Buffer, Buffer>({
        path,
        noSubdir: options.isFile === true, // Else a directory with a dot in its name is taken for a file.
        readOnly: options.readOnly,
        noSync: true,
        overlappingSync: false,
        noMemInit: true,
        eventTurnBatching: false,
        compression: false,
        cache: false,
        encoding: 'binary',
        keyEncoding: 'binary',
        maxDbs: 16,
        ...FREE_PAGES,
        ...(mapSize === undefined ? {} : { mapSize }),
      }),
    );
  }

  /** The table of this name; `undefined` where there is none and it can't be made. */
  table(name: string): Table | undefined {
    const database = this.#root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' });
    return (database as typeof database | undefined) === undefined ? undefined : new Table(database, this.#writes);
  }

  /** Whether it holds nothing but the first few of these tables, or none, and they hold nothing. */
  hasNothingBut(tables: readonly string[]): boolean {
    const entries = [...this.#root.getKeys({ limit: tables.length + 1 })].map((key) => key.toString('latin1'));
    const first = tables.slice(0, entries.length);
    // `lmdb` keeps a table under its name and a zero.
    const expected = new Set(first.map((name) => `${name}\0`));
    if (entries.length !== expected.size || !entries.every((entry) => expected.has(entry))) return false;
    return first.every((name) => this.table(name)?.isEmpty === true);
  }

  get isWriting(): boolean {
    return this.#open !== undefined;
  }

  /** Whether anything was written since the transaction was opened. */
  get hasWritten(): boolean {
    return this.#writes.count > 0;
  }

  /** Opens the transaction if there is none. */
  begin(): void {
    if (this.#open !== undefined) return;
    this.#writes.count = 0;
    // `transactionSync` ends the transaction when what its callback gave is settled, and that is settled from outside:
    // by calling `commit` or `abort`, at once and not in a later tick.
    this.#root.transactionSync(
      () =>
        ({
          // biome-ignore lint/suspicious/noThenProperty: it is there to be waited for.
          then: (commit: OpenTransaction['commit'], abort: OpenTransaction['abort']) => {
            this.#open = { commit, abort };
          },
        }) as unknown as Promise<void>,
    );
  }

  /** @throws what LMDB throws; then nothing since `begin` has happened. */
  commit(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.commit(undefined);
  }

  abort(): void {
    const open = this.#open;
    this.#open = undefined;
    try {
      open?.abort(new Error('aborted'));
    } catch {
      // It throws what it is given.
    }
  }

  /** Keeps the pages of the last commit as they are, whatever is written from now on. */
  pin(): Pin {
    const transaction = this.#root.useReadTransaction();
    return { release: () => transaction.done() };
  }

  /** Number of the last commit, and how many pages the file has. */
  info(): { readonly commit: number; readonly pages: number; readonly pageSize: number } {
    const stats = this.#root.getStats() as { lastTxnId: number; lastPageNumber: number; pageSize: number };
    return { commit: stats.lastTxnId, pages: stats.lastPageNumber + 1, pageSize: stats.pageSize };
  }

  async close(): Promise<void> {
    this.abort();
    await this.#root.close();
  }
}
