import { statSync } from 'node:fs';
import { CrawlError } from '../../errors.ts';
import { boolean, type Complete, integer, onlyKnown, show } from '../../options.ts';
import type {
  CrawlStore,
  HostPatch,
  HostState,
  Lease,
  LeaseRules,
  OnKnown,
  RecordPatch,
  Settlement,
  SettleResult,
  StoreStats,
  UrlRecord,
} from '../../ports.ts';
import type { CrawlRequest } from '../../types.ts';
import type { Core } from './core.ts';
import { storeFailure } from './failure.ts';
import type { GroupCommit } from './group-commit.ts';
import { type OpenParts, openForReading, openForWriting } from './opening.ts';
import type { StoredHost } from './stored-host.ts';

/** Options of {@link LmdbStore.open}. */
export interface LmdbStoreOptions {
  /**
   * What was written is committed at least this often, in milliseconds, and after 5,000 URLs: what a killed process
   * may lose. At 0 every call that writes resolves when it is committed; those of one turn of the event loop share it.
   * @defaultValue 50
   */
  readonly commitEveryMs?: number | undefined;
  /** The last commit is brought to the disk this often, in milliseconds: what a power cut may cost. @defaultValue 1 000 */
  readonly checkpointEveryMs?: number | undefined;
  /** Bytes of address space to begin with; it grows by itself. @defaultValue 64 GiB, on Windows as needed */
  readonly mapSize?: number | undefined;
  /** Only looks: also beside a crawl that is running, and where nothing can be written. @defaultValue `false` */
  readonly readOnly?: boolean | undefined;
}

/** Every default of {@link LmdbStoreOptions}, written once. */
export const LMDB_STORE_DEFAULTS: Complete<Pick<LmdbStoreOptions, 'commitEveryMs' | 'checkpointEveryMs' | 'readOnly'>> =
  { commitEveryMs: 50, checkpointEveryMs: 1_000, readOnly: false };

/**
 * A {@link CrawlStore} in a directory, on LMDB: a crawl goes on where it stood, after `close` as after `kill -9`.
 *
 * Waiting URLs, idle hosts and all that is known of URLs are on disk only; memory holds what is being worked on. The
 * seen test compares whole URLs. Calls take effect at once and are committed many at a time:
 *
 * - `offer`, `setHost`, and a settlement that makes a host wait longer than before resolve when they are committed.
 * - A process that is killed loses what it wrote since the last commit, `commitEveryMs` at most: URLs leased since then
 *   are queued again. `offer`, `setHost`, the settlement of a delivered page and one that makes a host wait longer than
 *   before resolve when they are committed, at the end of the turn of the event loop, so that only pages in flight at
 *   the kill are delivered again. When the store is opened after a crash, no
 *   host is leased before its gap has passed since then, because it may have been asked until the end.
 * - A machine that loses power loses what was written since the last checkpoint, `checkpointEveryMs` or the last
 *   `flush`; the store is then as it was at that checkpoint.
 *
 * One process may have it open for writing, any number with `readOnly`. Needs the package `lmdb`.
 */
export class LmdbStore implements CrawlStore {
  readonly durable = true;
  readonly #directory: string;
  readonly #core: Core;
  readonly #commits: GroupCommit | undefined;
  readonly #release: OpenParts['release'];
  readonly #awaitsCommit: boolean;
  #failure: CrawlError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(directory: string, parts: OpenParts, awaitsCommit: boolean) {
    this.#directory = directory;
    this.#core = parts.core;
    this.#release = parts.release;
    this.#awaitsCommit = awaitsCommit;
    this.#commits = parts.commits?.((thrown) => this.#fail(thrown));
  }

  /**
   * Opens the store in a directory, which is made if there is none.
   *
   * Rejects with {@link CrawlError} `CRAWL_STORE_LOCKED` where a process has it open, `CRAWL_STORE_FORMAT` where the
   * directory holds something else, another version's store or a damaged one (nothing is changed then),
   * `CRAWL_STORE_READONLY` or `CRAWL_STORE_FULL` where it can't be written, `CRAWL_DEPENDENCY_MISSING` without `lmdb`,
   * `CRAWL_OPTION_UNKNOWN`, `CRAWL_OPTION_INVALID`.
   *
   * A write that fails later makes the call reject with one of these codes, and all calls after it: close the store,
   * mend what was wrong, open it again.
   */
  static async open(directory: string, options: LmdbStoreOptions = {}): Promise<LmdbStore> {
    const { commitEveryMs, checkpointEveryMs, mapSize, readOnly } = checked(directory, options);
    try {
      const parts = readOnly
        ? await openForReading(directory, mapSize)
        : await openForWriting(directory, { mapSize, commitEveryMs, checkpointEveryMs });
      return new LmdbStore(directory, parts, commitEveryMs === 0);
    } catch (thrown) {
      throw storeFailure(thrown, directory);
    }
  }

  async offer(batch: readonly CrawlRequest[], now: number, onKnown?: OnKnown): Promise<number> {
    mustBeRequests(batch);
    const { fresh, known } = await this.#write((core) => core.offer(batch, now), always);
    // Last, since it is foreign code: what it throws finds the batch queued.
    for (const index of known) onKnown?.(index);
    return fresh;
  }

  async lease(now: number, limit: number, ttlMs: number, rules: LeaseRules): Promise<Lease[]> {
    return this.#write((core) => core.lease(now, limit, ttlMs, rules));
  }

  async settle(lease: Lease, settlement: Settlement, now: number, onKnown?: OnKnown): Promise<SettleResult> {
    mustBeRequests(settlement.outlinks ?? []);
    const settled = await this.#write(
      (core) => core.settle(lease, settlement, now),
      ({ isUrgent }) => isUrgent,
    );
    for (const index of settled.known) onKnown?.(index);
    return { accepted: settled.accepted, offered: settled.fresh };
  }

  async renew(lease: Lease, now: number, ttlMs: number): Promise<boolean> {
    return this.#write((core) => core.renew(lease, now, ttlMs));
  }

  async claimAddress(lease: Lease, address: string, now: number): Promise<number> {
    return this.#write((core) => core.claimAddress(lease, address, now));
  }

  async setHost(host: string, patch: HostPatch): Promise<void> {
    await this.#write((core) => core.setHost(host, patch), always);
  }

  async getHost(host: string): Promise<HostState | undefined> {
    return this.#read((core) => core.getHost(host));
  }

  /**
   * Hosts with their clocks and what of them waits, those with most waiting first.
   * @param most - How many of them.
   */
  async hosts(most: number = Number.POSITIVE_INFINITY): Promise<StoredHost[]> {
    return this.#read((core) => core.hosts(integer('most', most, Number.POSITIVE_INFINITY)));
  }

  async nextDueAt(now: number, rules: LeaseRules): Promise<number | undefined> {
    return this.#write((core) => core.nextDueAt(now, rules));
  }

  async upcoming(limit: number): Promise<string[]> {
    return this.#read((core) => core.upcoming(limit));
  }

  async stats(): Promise<StoreStats> {
    return this.#read((core) => core.stats());
  }

  async has(key: string): Promise<boolean> {
    return this.#read((core) => core.has(key));
  }

  async record(key: string): Promise<UrlRecord | undefined> {
    return this.#read((core) => core.record(key));
  }

  async note(
    key: string,
    record: RecordPatch & { readonly url: string; readonly foundOn?: string | undefined },
  ): Promise<void> {
    await this.#write((core) => core.note(key, record));
  }

  async getMeta(name: string): Promise<Uint8Array | undefined> {
    return this.#read((core) => core.meta.get(name));
  }

  async setMeta(name: string, value: Uint8Array | undefined): Promise<void> {
    await this.#write((core) => core.setMeta(name, value));
  }

  async flush(): Promise<void> {
    this.#mustBeOpen();
    try {
      await this.#commits?.flush();
    } catch (thrown) {
      throw this.#fail(thrown);
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** As {@link CrawlStore.close}; rejects where what was written last could not be made durable, and lets go all the same. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    let failure: CrawlError | undefined;
    try {
      if (this.#failure === undefined && this.#commits !== undefined) {
        this.#commits.begin();
        this.#core.end();
        await this.#commits.flush();
        failure = this.#failure;
      }
    } catch (thrown) {
      failure = this.#fail(thrown);
    }
    await this.#commits?.close();
    await this.#release();
    if (failure !== undefined) throw failure;
  }

  #mustBeOpen(): void {
    if (this.#closing !== undefined) throw new CrawlError('CRAWL_CLOSED', 'The store is closed; open another one.');
    if (this.#failure !== undefined) throw this.#failure;
  }

  #read<T>(work: (core: Core) => T): T {
    this.#mustBeOpen();
    try {
      // What another process writes is not told.
      if (this.#commits === undefined) this.#core.look();
      return work(this.#core);
    } catch (thrown) {
      throw storeFailure(thrown, this.#directory);
    }
  }

  /** Resolves at once, or when it is committed: where `mustLast` says so of the result. */
  async #write<T>(work: (core: Core) => T, mustLast?: (result: T) => boolean): Promise<T> {
    this.#mustBeOpen();
    const commits = this.#commits;
    if (commits === undefined) {
      throw new CrawlError('CRAWL_STORE_READONLY', `The store in ${this.#directory} was opened with readOnly.`);
    }
    let result: T;
    try {
      commits.begin();
      result = work(this.#core);
    } catch (thrown) {
      throw this.#fail(thrown);
    }
    commits.written();
    if (this.#awaitsCommit || mustLast?.(result) === true) await this.#committed(commits);
    if (this.#failure !== undefined) throw this.#failure;
    return result;
  }

  async #committed(commits: GroupCommit): Promise<void> {
    try {
      await commits.committed();
    } catch (thrown) {
      throw this.#fail(thrown);
    }
  }

  /** From here on nothing is written: what is in memory may be ahead of what is on disk. */
  #fail(thrown: unknown): CrawlError {
    this.#failure ??= storeFailure(thrown, this.#directory);
    this.#commits?.giveUp(this.#failure);
    return this.#failure;
  }
}

function checked(
  directory: string,
  options: LmdbStoreOptions,
): Complete<Omit<LmdbStoreOptions, 'mapSize'>> & { readonly mapSize: number | undefined } {
  onlyKnown('LmdbStore', options, [...Object.keys(LMDB_STORE_DEFAULTS), 'mapSize']);
  if (typeof directory !== 'string' || directory === '') {
    throw new CrawlError(
      'CRAWL_OPTION_INVALID',
      `LmdbStore.open takes the path of a directory, not ${show(directory)}.`,
    );
  }
  if (isFile(directory)) {
    throw new CrawlError('CRAWL_OPTION_INVALID', `LmdbStore.open takes a directory, and ${directory} is a file.`);
  }
  const d = LMDB_STORE_DEFAULTS;
  return {
    commitEveryMs: integer('commitEveryMs', options.commitEveryMs, d.commitEveryMs, 0, 60_000),
    checkpointEveryMs: integer('checkpointEveryMs', options.checkpointEveryMs, d.checkpointEveryMs, 10, 3_600_000),
    mapSize: options.mapSize === undefined ? undefined : integer('mapSize', options.mapSize, 0, 2 ** 20, 2 ** 46),
    readOnly: boolean('readOnly', options.readOnly, d.readOnly),
  };
}

/** Where that can't be told, opening will fail and say why. */
function isFile(path: string): boolean {
  try {
    return !statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function always(): boolean {
  return true;
}

/** A mistake of the caller is told before anything is written. */
function mustBeRequests(batch: readonly CrawlRequest[]): void {
  for (const request of batch) {
    if (typeof request?.key === 'string' && typeof request.url === 'string' && typeof request.host === 'string')
      continue;
    throw new CrawlError('CRAWL_OPTION_INVALID', 'A store takes requests as createRequest makes them.');
  }
}
