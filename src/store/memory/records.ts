import type { RecordPatch, UrlRecord } from '../../ports.ts';
import type { CrawlRequest } from '../../types.ts';

/** Fetches of one URL that are remembered. */
const FETCHES = 10;

interface Entry {
  record: UrlRecord;
  /** Its turn in the ring; an older turn of the same key is void. */
  turn: number;
}

/** What happened to the URLs that were touched last, for `explain`. */
export class Records {
  readonly #max: number;
  readonly #entries = new Map<string, Entry>();
  readonly #ring: string[] = [];
  #turn = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get(key: string): UrlRecord | undefined {
    return this.#entries.get(key)?.record;
  }

  /** Offered, or taken back from a lease that ran out. */
  queued(request: CrawlRequest): void {
    if (this.#max === 0) return;
    const known = this.#entries.get(request.key)?.record;
    this.#put({ ...known, ...found(request), reason: undefined, state: 'queued' });
  }

  leased(request: CrawlRequest): void {
    if (this.#max === 0) return;
    const known = this.#entries.get(request.key)?.record;
    const leases = (known?.leases ?? 0) + 1;
    this.#put({ ...known, ...found(request), state: 'leased', leases, nextDueAt: undefined });
  }

  /** Adds what a fetch showed; `at` is when it began. */
  settled(
    request: CrawlRequest,
    state: UrlRecord['state'],
    patch: RecordPatch,
    at: number,
    nextDueAt: number | undefined,
  ): void {
    if (this.#max === 0) return;
    const known = this.#entries.get(request.key)?.record;
    const { status, error, ms, ...rest } = patch;
    const fetched = status !== undefined || error !== undefined || ms !== undefined;
    const fetches = fetched ? [...(known?.fetches ?? []), { at, status, error, ms }].slice(-FETCHES) : known?.fetches;
    this.#put({ ...known, ...found(request), ...rest, state, fetches, nextDueAt });
  }

  noted(key: string, note: RecordPatch & { readonly url: string; readonly foundOn?: string | undefined }): void {
    if (this.#max === 0) return;
    const { url, foundOn, reason } = note;
    this.#put({ key, url, state: 'skipped', reason, foundOn });
  }

  clear(): void {
    this.#entries.clear();
    this.#ring.length = 0;
  }

  #put(record: UrlRecord): void {
    const turn = this.#turn++;
    const slot = turn % this.#max;
    const oldest = this.#ring[slot];
    if (oldest !== undefined && this.#entries.get(oldest)?.turn === turn - this.#max) this.#entries.delete(oldest);
    this.#ring[slot] = record.key;
    const entry = this.#entries.get(record.key);
    if (entry === undefined) this.#entries.set(record.key, { record, turn });
    else Object.assign(entry, { record, turn });
  }
}

function found(request: CrawlRequest): Pick<UrlRecord, 'key' | 'url' | 'foundOn' | 'source' | 'depth' | 'level'> {
  const { key, url, referrer, source, depth, level } = request;
  return { key, url, foundOn: referrer, source, depth, level };
}
