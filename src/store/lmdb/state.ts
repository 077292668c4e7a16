import { CrawlError } from '../../errors.ts';
import type { LeaseRules, StoreStats } from '../../ports.ts';
import type { Table } from './table.ts';

/**
 * Versions of the layout of tables and records. Format 1 had no log of recent records, and no recent requests in its hosts:
 * it is read as one in which there are none, and is of format 2 once it was opened for writing.
 */
const FORMATS = [1, 2];
const FORMAT = Math.max(...FORMATS);
const FORMAT_KEY = Buffer.from('format');
const FORMAT_NAME = 'polite-crawler';
const COUNTERS_KEY = Buffer.from('counters');
/** Sources of links that have a number; the rest are written out. */
const MAX_SOURCES = 200;
/**
 * Numbers left out when a store is opened: leases may have been handed out since the last commit, and theirs must not
 * be given again. A commit is never put off for so many.
 */
const SEQUENCE_GAP = 2 ** 20;

/** Every host may have been asked until `at`: the process before this one has died. */
export interface Floor {
  /** Hosts leased in this session or a later one are past it. */
  readonly session: number;
  /** `null` until the first lease is asked for, which tells the time. */
  readonly at: number | null;
  /** Whether nothing was leased since. */
  readonly untouched: boolean;
}

/** The rows of the log of URLs' records. */
export interface RecentRows {
  /** The first that is there. */
  first: number;
  /** The next to be written. */
  next: number;
  /** Those before it are being merged into the table, and then removed. */
  frozen: number;
  isMerged: boolean;
}

interface Counters {
  /** Counts the openings of the store for writing. */
  session: number;
  /** Whether it was closed with no lease out. */
  clean: boolean;
  floor: Floor | undefined;
  rules: LeaseRules | undefined;
  recent: RecentRows;
  sequence: number;
  order: number;
  lastId: number;
  sources: string[];
  queued: number;
  seen: number;
  hosts: number;
  done: number;
  failed: number;
  skipped: number;
  redirected: number;
  pages: number;
  leased: number;
}

const NO_ROWS: RecentRows = { first: 1, next: 1, frozen: 1, isMerged: false };

const EMPTY: Counters = {
  session: 0,
  clean: true,
  floor: undefined,
  rules: undefined,
  recent: NO_ROWS,
  sequence: 0,
  order: 0,
  lastId: 0,
  sources: [],
  queued: 0,
  seen: 0,
  hosts: 0,
  done: 0,
  failed: 0,
  skipped: 0,
  redirected: 0,
  pages: 0,
  leased: 0,
};

/** The few numbers that the whole store shares; written with every commit. */
export class StoreState {
  readonly #table: Table;
  #counters: Counters = EMPTY;
  #sourceIds = new Map<string, number>();
  #isNamed = false;

  constructor(table: Table) {
    this.#table = table;
  }

  /** @throws {@link CrawlError} `CRAWL_STORE_FORMAT` where the table is of another program, or of another version. */
  static check(table: Table | undefined, directory: string): void {
    const [name, version] = table?.get(FORMAT_KEY)?.toString('utf8').split(' ') ?? [];
    if (name !== FORMAT_NAME) {
      throw new CrawlError(
        'CRAWL_STORE_FORMAT',
        `The database in ${directory} is not a crawl store: another program has entries in it. Nothing was changed: choose another directory, or move data.mdb and lock.mdb out of this one.`,
      );
    }
    if (!FORMATS.includes(Number(version))) {
      throw new CrawlError(
        'CRAWL_STORE_FORMAT',
        `The store in ${directory} has format ${version}, this version of polite-crawler reads ${FORMATS.join(' and ')}. Nothing was changed: open it with the version that wrote it, or crawl into another directory.`,
      );
    }
  }

  get all(): Counters {
    return this.#counters;
  }

  load(): void {
    const text = this.#table.get(COUNTERS_KEY)?.toString('utf8');
    const stored = text === undefined ? {} : (JSON.parse(text, revive) as Counters);
    this.#counters = { ...EMPTY, sources: [], recent: { ...NO_ROWS }, ...stored };
    this.#sourceIds = new Map(this.#counters.sources.map((source, index) => [source, index + 1]));
  }

  /** Begins a session of writing. */
  begin(): void {
    const counters = this.#counters;
    const died = counters.session > 0 && !counters.clean;
    counters.session++;
    counters.sequence += counters.session === 1 ? 0 : SEQUENCE_GAP;
    if (died) counters.floor = { session: counters.session, at: null, untouched: true };
    counters.clean = false;
    this.#isNamed = false;
  }

  save(): void {
    if (!this.#isNamed) this.#table.put(FORMAT_KEY, Buffer.from(`${FORMAT_NAME} ${FORMAT}`));
    this.#isNamed = true;
    this.#table.put(COUNTERS_KEY, Buffer.from(JSON.stringify(this.#counters, replace)));
  }

  /** Number of a source of links; 0 where it has none and is to be written out. */
  sourceId(source: string): number {
    const known = this.#sourceIds.get(source);
    if (known !== undefined) return known;
    const { sources } = this.#counters;
    if (sources.length >= MAX_SOURCES || source.length > 100) return 0;
    sources.push(source);
    this.#sourceIds.set(source, sources.length);
    return sources.length;
  }

  source(id: number): string {
    return this.#counters.sources[id - 1] ?? '';
  }

  stats(leased: number): StoreStats {
    const { queued, seen, hosts, done, failed, skipped, redirected, pages } = this.#counters;
    return { queued, leased, seen, hosts, done, failed, skipped, redirected, pages };
  }
}

/** JSON has no infinity. */
function replace(_: string, value: unknown): unknown {
  return value === Number.POSITIVE_INFINITY ? 'Infinity' : value;
}

function revive(_: string, value: unknown): unknown {
  return value === 'Infinity' ? Number.POSITIVE_INFINITY : value;
}
