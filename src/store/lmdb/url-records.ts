import { setImmediate as nextTurn } from 'node:timers/promises';
import { LOG_LIMITS, type LogLimits } from './log-limits.ts';
import { MergeOrder } from './merge-order.ts';
import { RecentIndex } from './recent-index.ts';
import { SmallSites } from './small-sites.ts';
import type { StoreState } from './state.ts';
import type { Table } from './table.ts';

const KEY_BYTES = 10;
/**
 * For each record written since the last commit, records merged, and rows of merged ones removed: so few that a merge
 * costs about the same all the time, and so many that it has ended before as much was written again.
 */
const MERGED_FOR_EACH = 1.25;
const REMOVED_FOR_EACH = 8;
/** The log of a store that is opened is read for so long, in milliseconds, before others have their turn. */
const READ_MS = 10;
/** Rows read between two looks at the clock. */
const READ_ROWS = 128;

/**
 * The records of all URLs by their keys, in two layers, as in a log-structured merge tree (O'Neil and others, 1996). Keys
 * are hashes, so that each record lies on a page of its own, and writing one there costs a page and those above it. What
 * is written goes to a log first, one behind the other, with an index in memory; now and then the log is merged into the
 * table, a little with each commit and in the order of the keys, where many lie on one page.
 *
 * The number of known URLs never falls, so that once the log is in use nothing goes past it but new records of a small site
 * that follow one another, which lie on one page or two.
 */
export class UrlRecords {
  readonly #table: Table;
  readonly #findLog: () => Table | undefined;
  /** `undefined` where a store of format 1, which has none, is only looked at. */
  #log: Table | undefined;
  readonly #state: StoreState;
  readonly #limits: LogLimits;
  readonly #index = new RecentIndex();
  readonly #sites = new SmallSites();
  readonly #place: Buffer = Buffer.allocUnsafeSlow(6);
  #row: Buffer = Buffer.allocUnsafeSlow(1_024);
  /** What is in the index is written before this place. */
  #indexed = 0;
  #order: MergeOrder | undefined;
  #written = 0;

  constructor(table: Table, findLog: () => Table | undefined, state: StoreState, limits: LogLimits = LOG_LIMITS) {
    this.#table = table;
    this.#findLog = findLog;
    this.#log = findLog();
    this.#state = state;
    this.#limits = limits;
  }

  /** The record, in memory that the next call on any table uses again. */
  peek(key: Buffer): Buffer | undefined {
    return this.#recent(key)?.subarray(KEY_BYTES) ?? this.#table.peek(key);
  }

  /** The record, to keep. */
  get(key: Buffer): Buffer | undefined {
    const recent = this.#recent(key);
    return recent === undefined ? this.#table.get(key) : Buffer.from(recent.subarray(KEY_BYTES));
  }

  /** Key and record may be used again once this has returned. */
  put(key: Buffer, record: Buffer): void {
    const slot = this.#slotOf(key);
    if (slot >= 0) this.#index.replace(slot, this.#append(key, record));
    else if (this.#hasFew) this.#table.put(key, record);
    else this.#index.add(key, this.#append(key, record));
  }

  /** Puts where there is no record yet. @returns whether there was none. */
  add(key: Buffer, record: Buffer): boolean {
    if (this.#slotOf(key) >= 0) return false;
    if (this.#hasFew) return this.#table.add(key, record);
    if (this.#table.peek(key) !== undefined) return false;
    // Nothing is in the log that a merge could put over it.
    if (this.#sites.follows(key)) return this.#table.add(key, record);
    this.#index.add(key, this.#append(key, record));
    return true;
  }

  /** Forgets what is in memory, and reads the log, with turns of the event loop in between: it may be long. */
  async load(): Promise<void> {
    const { frozen, isMerged, first, next } = this.#state.all.recent;
    this.#indexed = isMerged ? frozen : first;
    this.#order = undefined;
    this.#index.clear(next - this.#indexed);
    while (!this.#read(READ_MS)) await nextTurn();
  }

  /** Reads what another process has written since. */
  look(): void {
    this.#read(Number.POSITIVE_INFINITY);
    // Rows that another process has removed stay in it, and lead to the table.
    if (this.#index.size > 2 * this.#limits.most) this.#index.forget(this.#state.all.recent.first);
  }

  /** Before a commit: merges a part of what was written, so that it never becomes too much. */
  save(): void {
    const { recent, seen } = this.#state.all;
    const { part, most, work } = this.#limits;
    const written = this.#written;
    this.#written = 0;
    if (recent.frozen <= recent.first) {
      if (recent.next - recent.first < Math.min(most, seen * part)) return;
      recent.frozen = recent.next;
      recent.isMerged = false;
    }
    if (recent.isMerged) this.#remove(Math.max(work, written * REMOVED_FOR_EACH));
    else this.#merge(Math.max(work, written * MERGED_FOR_EACH));
  }

  get #hasFew(): boolean {
    return this.#state.all.seen < this.#limits.from;
  }

  /** Reads the log on for so many milliseconds. @returns whether that was all of it. */
  #read(ms: number): boolean {
    const { first, next } = this.#state.all.recent;
    const from = Math.max(first, this.#indexed);
    if (from >= next) return true;
    // Another process has made it since.
    this.#log ??= this.#findLog();
    const until = performance.now() + ms;
    let rows = 0;
    // Merged rows, too: where one is still there that was indexed before, the later one of its key counts.
    for (const { key, value } of this.#log!.entries(placeKey(from))) {
      const place = key.readUIntBE(0, 6);
      if (place >= next) break;
      const slot = this.#slotOf(value);
      if (slot < 0) this.#index.add(value, place);
      else this.#index.replace(slot, place);
      this.#indexed = place + 1;
      if (++rows % READ_ROWS === 0 && performance.now() >= until) return false;
    }
    this.#indexed = next;
    return true;
  }

  #merge(most: number): void {
    const { recent } = this.#state.all;
    // Of a merge that another process began nothing is known: what it has merged already does no harm.
    this.#order ??= new MergeOrder(this.#index.before(recent.frozen));
    for (let merged = 0; merged < most; merged++) {
      const place = this.#order.next();
      if (place === undefined) {
        this.#order = undefined;
        recent.isMerged = true;
        this.#index.forget(recent.frozen);
        return;
      }
      const row = this.#log!.get(this.#at(place))!;
      this.#table.put(row.subarray(0, KEY_BYTES), row.subarray(KEY_BYTES));
    }
  }

  #remove(most: number): void {
    const { recent } = this.#state.all;
    const end = Math.min(recent.frozen, recent.first + most);
    for (; recent.first < end; recent.first++) this.#log!.remove(this.#at(recent.first));
  }

  #append(key: Buffer, record: Buffer): number {
    const { recent } = this.#state.all;
    const length = KEY_BYTES + record.length;
    if (length > this.#row.length) this.#row = Buffer.allocUnsafeSlow(length * 2);
    key.copy(this.#row);
    record.copy(this.#row, KEY_BYTES);
    this.#log!.append(this.#at(recent.next), this.#row.subarray(0, length));
    this.#written++;
    this.#indexed = recent.next + 1;
    return recent.next++;
  }

  /** The slot in the index; −1 where the key is not in the log. */
  #slotOf(key: Buffer): number {
    let slot = this.#index.seek(key);
    while (slot >= 0 && !isOf(this.#log!.peek(this.#at(this.#index.placeAt(slot))), key)) {
      slot = this.#index.seekNext(slot, key);
    }
    return slot;
  }

  /** The row in the log. */
  #recent(key: Buffer): Buffer | undefined {
    for (let slot = this.#index.seek(key); slot >= 0; slot = this.#index.seekNext(slot, key)) {
      const row = this.#log!.peek(this.#at(this.#index.placeAt(slot)));
      if (isOf(row, key)) return row;
    }
    return undefined;
  }

  #at(place: number): Buffer {
    this.#place.writeUIntBE(place, 0, 6);
    return this.#place;
  }
}

/** To keep. */
function placeKey(place: number): Buffer {
  const key = Buffer.allocUnsafe(6);
  key.writeUIntBE(place, 0, 6);
  return key;
}

function isOf(row: Buffer | undefined, key: Buffer): boolean {
  return row !== undefined && row.compare(key, 0, KEY_BYTES, 0, KEY_BYTES) === 0;
}
