import type { HostStats } from '../types.ts';
import { isCount, OTHERS } from './tally.ts';

/** Counts of one host. */
export interface HostEntry {
  pages: number;
  requests: number;
  errors: number;
  bytes: number;
  /** `Infinity` until two requests followed each other. */
  smallestGapMs: number;
  /** −1 until a request has ended. */
  lastEndedAt: number;
  inFlight: number;
}

/**
 * Counts of the hosts that were asked most. It holds at most twice `maxHosts`: when it is full, the half that was asked
 * least is summed up as {@link OTHERS}, and a host of that half that is met again counts anew.
 */
export class HostTable {
  readonly #hosts = new Map<string, HostEntry>();
  readonly #others: HostEntry = newEntry();
  readonly #maxHosts: number;

  constructor(maxHosts: number) {
    this.#maxHosts = maxHosts;
  }

  /** Hosts held. */
  get size(): number {
    return this.#hosts.size;
  }

  get(host: string): HostEntry {
    let entry = this.#hosts.get(host);
    if (entry === undefined) {
      if (this.#hosts.size >= 2 * this.#maxHosts) this.#shrink();
      entry = newEntry();
      this.#hosts.set(host, entry);
    }
    return entry;
  }

  #shrink(): void {
    for (const [host, entry] of this.#ranked().slice(this.#maxHosts)) {
      add(this.#others, entry);
      this.#hosts.delete(host);
    }
  }

  /** Those with a request under way, whose end is still to be noted, then the most asked; of equals the newest. */
  #ranked(): [string, HostEntry][] {
    const busy = (entry: HostEntry) => Number(entry.inFlight > 0);
    return [...this.#hosts].reverse().sort(([, a], [, b]) => busy(b) - busy(a) || b.requests - a.requests);
  }

  /** The hosts asked most, most first, and the sum of all others. */
  toRecord(): Record<string, HostStats> {
    const record: Record<string, HostStats> = Object.create(null);
    const ranked = [...this.#hosts].sort(([, a], [, b]) => b.requests - a.requests);
    for (const [host, entry] of ranked.slice(0, this.#maxHosts)) record[host] = toStats(entry);
    const others = { ...this.#others };
    for (const [, entry] of ranked.slice(this.#maxHosts)) add(others, entry);
    if (others.requests > 0 || others.errors > 0) record[OTHERS] = toStats(others);
    return record;
  }

  toJSON(): unknown[][] {
    const kept = this.#ranked();
    const others = { ...this.#others };
    for (const [, entry] of kept.splice(this.#maxHosts)) add(others, entry);
    return [...kept, [OTHERS, others] as const].map(([host, entry]) => toRow(host, entry));
  }

  /** Takes what {@link HostTable.toJSON} gave in place of the present counts; rows that are none are left out. */
  restore(rows: unknown): void {
    this.#hosts.clear();
    Object.assign(this.#others, newEntry());
    if (!Array.isArray(rows)) return;
    for (const row of rows) {
      if (!Array.isArray(row) || typeof row[0] !== 'string' || !row.slice(1, 5).every(isCount)) continue;
      const [host, pages = 0, requests = 0, errors = 0, bytes = 0, gap, lastEndedAt] = row;
      const entry = host === OTHERS ? this.#others : this.get(host);
      Object.assign(entry, { pages, requests, errors, bytes });
      if (isCount(gap)) entry.smallestGapMs = gap;
      if (isCount(lastEndedAt)) entry.lastEndedAt = lastEndedAt;
    }
  }
}

function newEntry(): HostEntry {
  return {
    pages: 0,
    requests: 0,
    errors: 0,
    bytes: 0,
    smallestGapMs: Number.POSITIVE_INFINITY,
    lastEndedAt: -1,
    inFlight: 0,
  };
}

function add(sum: HostEntry, entry: HostEntry): void {
  sum.pages += entry.pages;
  sum.requests += entry.requests;
  sum.errors += entry.errors;
  sum.bytes += entry.bytes;
  sum.smallestGapMs = Math.min(sum.smallestGapMs, entry.smallestGapMs);
}

function toStats({ pages, requests, errors, bytes, smallestGapMs }: HostEntry): HostStats {
  const counts = { pages, requests, errors, bytes };
  return Number.isFinite(smallestGapMs) ? { ...counts, smallestGapMs } : counts;
}

/** An entry as a short row: the name, four counts, the gap and the last end, as far as they are known. */
function toRow(host: string, entry: HostEntry): unknown[] {
  const row: unknown[] = [host, entry.pages, entry.requests, entry.errors, entry.bytes];
  if (entry.lastEndedAt < 0 && !Number.isFinite(entry.smallestGapMs)) return row;
  row.push(Number.isFinite(entry.smallestGapMs) ? entry.smallestGapMs : null);
  if (entry.lastEndedAt >= 0) row.push(entry.lastEndedAt);
  return row;
}
