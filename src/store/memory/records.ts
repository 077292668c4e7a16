import type { RecordPatch, UrlRecord } from '../../ports.ts';
import type { CrawlRequest } from '../../types.ts';

/** Fetches of one URL that are remembered. */
const FETCHES = 10;

interface Entry {
  /** Its turn in the ring; an older turn of the same key is void. */
  turn: number;
  request: Pick<CrawlRequest, 'key' | 'url' | 'referrer'> & Partial<CrawlRequest>;
  state: UrlRecord['state'];
  leases: number;
  nextDueAt: number | undefined;
  /** What settlements and notes have told. */
  told: Omit<RecordPatch, 'status' | 'error' | 'ms'> | undefined;
  fetches: NonNullable<UrlRecord['fetches']>;
}

const NONE: Entry['fetches'] = [];

/** What happened to the URLs that were touched last, for `explain`. */
export class Records {
  readonly #max: number;
  readonly #entries = new Map<string, Entry>();
  readonly #ring: string[] = [];
  #turn = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @param leased - The request, while it is out: leases themselves are not written down. */
  get(key: string, leased: CrawlRequest | undefined): UrlRecord | undefined {
    const entry = this.#entries.get(key) ?? (leased === undefined ? undefined : newEntry(0, leased, 'leased'));
    if (entry === undefined || this.#max === 0) return undefined;
    const { request, fetches, told } = entry;
    const { url, referrer: foundOn, source, depth, level } = request;
    const state = leased === undefined ? entry.state : 'leased';
    const leases = leased === undefined ? entry.leases : entry.leases + 1;
    const nextDueAt = leased === undefined ? entry.nextDueAt : undefined;
    return { key, url, state, foundOn, source, depth, level, leases, fetches, nextDueAt, ...told };
  }

  queued(request: CrawlRequest): void {
    this.#found(request, 'queued');
  }

  /** Queued again after its end; what that was is over. */
  revisited(request: CrawlRequest): void {
    const entry = this.#put(request, 'queued');
    if (entry === undefined) return;
    entry.nextDueAt = undefined;
    entry.told = entry.told && { duplicateOf: entry.told.duplicateOf };
  }

  /** Queued again since its lease ran out. */
  takenBack(request: CrawlRequest): void {
    const entry = this.#put(request, 'queued');
    if (entry === undefined) return;
    entry.leases++;
    entry.nextDueAt = undefined;
  }

  /** Adds what a fetch showed; `at` is when it began. */
  settled(
    request: CrawlRequest,
    state: UrlRecord['state'],
    patch: RecordPatch,
    at: number,
    nextDueAt: number | undefined,
  ): void {
    const entry = this.#put(request, state);
    if (entry === undefined) return;
    const { status, error, ms, ...told } = patch;
    entry.leases++;
    entry.nextDueAt = nextDueAt;
    entry.told = { ...entry.told, ...told };
    if (status === undefined && error === undefined && ms === undefined) return;
    entry.fetches = [...entry.fetches, { at, status, error, ms }].slice(-FETCHES);
  }

  noted(key: string, note: RecordPatch & { readonly url: string; readonly foundOn?: string | undefined }): void {
    const { url, foundOn, reason } = note;
    const entry = this.#found({ key, url, referrer: foundOn }, 'skipped');
    if (entry !== undefined) entry.told = { reason };
  }

  clear(): void {
    this.#entries.clear();
    this.#ring.length = 0;
  }

  /** A note before the URL was offered tells less of how it was found. */
  #found(request: Entry['request'], state: Entry['state']): Entry | undefined {
    const entry = this.#put(request, state);
    if (entry !== undefined) entry.request = request;
    return entry;
  }

  /** The request counts where the URL is not known yet: a record tells how it was found first. */
  #put(request: Entry['request'], state: Entry['state']): Entry | undefined {
    if (this.#max === 0) return undefined;
    const { key } = request;
    const turn = this.#turn++;
    const slot = turn % this.#max;
    const oldest = this.#ring[slot];
    if (oldest !== undefined && this.#entries.get(oldest)?.turn === turn - this.#max) this.#entries.delete(oldest);
    this.#ring[slot] = key;
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = newEntry(turn, request, state);
      this.#entries.set(key, entry);
    } else {
      entry.turn = turn;
      entry.state = state;
    }
    return entry;
  }
}

function newEntry(turn: number, request: Entry['request'], state: Entry['state']): Entry {
  return { turn, request, state, leases: 0, nextDueAt: undefined, told: undefined, fetches: NONE };
}
