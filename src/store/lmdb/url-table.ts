import { hash } from 'node:crypto';
import type { RecordPatch, UrlRecord } from '../../ports.ts';
import { LEVELS, toLevel } from '../../request.ts';
import type { CrawlRequest } from '../../types.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import { afterLease, type History, NO_HISTORY, readHistory, writeHistory } from './history.ts';
import { MAX_NAME_LENGTH, type Names } from './names.ts';
import type { StoreState } from './state.ts';
import {
  type Fixed,
  isOf,
  isPlainDepth,
  joinKey,
  type RareFields,
  rareFields,
  readFixed,
  type SplitKey,
  type State,
  setState,
  skipFixed,
  splitKey,
  stateOf,
  type UrlRef,
  writeFixed,
} from './url-record.ts';
import type { UrlRecords } from './url-records.ts';

const SLOTS = 2 ** 48;

interface Found {
  readonly split: SplitKey;
  readonly ref: UrlRef;
  /** Good until the next call on a table. */
  readonly record: Buffer | undefined;
}

/**
 * One record for each URL that was ever met: the seen test, what is needed to request it, and what has happened to it.
 *
 * The key is the number of the site and 48 bits of a SHA-256 of the canonical URL; the record holds the URL, so that
 * two of one hash are told apart: the later one takes the next free slot. URLs of one site lie together.
 */
export class UrlTable {
  readonly #records: UrlRecords;
  readonly #names: Names;
  readonly #state: StoreState;
  readonly #key: Buffer = Buffer.allocUnsafeSlow(10);
  readonly #out: ByteWriter = new ByteWriter();
  readonly #in: ByteReader = new ByteReader();
  /** Whether the last URL offered was. */
  #wasNew = true;
  #lastReferrer: { readonly text: string; readonly known: string | UrlRef } | undefined;

  constructor(records: UrlRecords, names: Names, state: StoreState) {
    this.#records = records;
    this.#names = names;
    this.#state = state;
  }

  /** Writes the record of a request that was never offered before; `undefined` where it was. */
  add(request: CrawlRequest): UrlRef | undefined {
    const split = splitKey(request.key, MAX_NAME_LENGTH);
    const site = this.#names.id(split.site);
    // Before the key is set up: it reads the table.
    const referrer = request.referrer === undefined ? undefined : this.#referrer(request.referrer);
    for (let slot = slotOf(request.key); ; slot = (slot + 1) % SLOTS) {
      // Known links come in rows, and so do new ones: which is cheaper to try first depends on the one before.
      if (this.#wasNew && this.#insert(request, split, referrer, site, slot)) return { site, slot };
      const record = this.#records.peek(this.#at(site, slot));
      if (record !== undefined && !isOf(this.#in.over(record), split)) continue;
      this.#wasNew = record === undefined || stateOf(record) === 'noted';
      if (!this.#wasNew) return undefined;
      this.#records.put(this.#at(site, slot), this.#written(request, split, referrer, site));
      return { site, slot };
    }
  }

  /** Marks a URL that has come to its end as queued again; `undefined` where it has not. */
  revisit(key: string): UrlRef | undefined {
    const found = this.#find(key);
    if (found?.record === undefined) return undefined;
    const { ref } = found;
    const state = stateOf(found.record);
    if (state === 'queued' || state === 'noted') return undefined;
    this.#update(ref, 'queued', ({ leases, fetches, duplicateOf }) => ({ leases, fetches, duplicateOf }));
    return ref;
  }

  /** Whether the URL was ever offered. */
  has(key: string): boolean {
    const record = this.#find(key)?.record;
    return record !== undefined && stateOf(record) !== 'noted';
  }

  /** The request that was offered, for its host. */
  request(ref: UrlRef, host: string): CrawlRequest {
    const record = this.#records.get(this.#at(ref.site, ref.slot));
    if (record === undefined) throw new Error(`No record of URL ${ref.site}/${ref.slot}`);
    const fixed = readFixed(this.#in.over(record), ref.site);
    const key = joinKey(fixed.scheme, this.#names.text(ref.site), fixed.rest);
    const rare = fixed.rare === undefined ? undefined : (JSON.parse(fixed.rare) as RareFields);
    return {
      url: fixed.url ?? key,
      key,
      host,
      kind: fixed.isSitemap ? 'sitemap' : 'page',
      depth: rare?.depth ?? fixed.depth,
      level: fixed.level,
      referrer: this.#textOf(fixed.referrer),
      source: this.#sourceOf(fixed),
      redirects: rare?.redirects,
      attempts: rare?.attempts ?? 0,
      origin: rare?.origin,
      revisit: rare?.revisit,
      delivered: rare?.delivered,
    };
  }

  record(key: string): (UrlRecord & { readonly ref: UrlRef }) | undefined {
    const found = this.#find(key);
    if (found?.record === undefined) return undefined;
    this.#in.over(Buffer.from(found.record));
    const fixed = readFixed(this.#in, found.ref.site);
    const { leases, fetches, ...history } = readHistory(this.#in);
    const isNote = fixed.state === 'noted';
    const rare = fixed.rare === undefined ? undefined : (JSON.parse(fixed.rare) as RareFields);
    return {
      ref: found.ref,
      key,
      url: fixed.url ?? key,
      state: fixed.state === 'noted' ? 'skipped' : fixed.state,
      foundOn: this.#textOf(fixed.referrer),
      source: this.#sourceOf(fixed),
      depth: isNote ? undefined : (rare?.depth ?? fixed.depth),
      level: isNote ? undefined : fixed.level,
      leases: leases === 0 ? undefined : leases,
      fetches: fetches.length === 0 ? undefined : fetches,
      ...history,
    };
  }

  /** Adds what a lease that is over has brought; `at` is when it began. */
  ended(ref: UrlRef, state: State, patch: RecordPatch, at: number, nextDueAt: number | undefined): void {
    this.#update(ref, state, (history) => afterLease(history, patch, at, nextDueAt));
  }

  /** A lease was taken back. */
  takenBack(ref: UrlRef): void {
    this.#update(ref, 'queued', ({ leases, fetches, duplicateOf, redirectedTo }) => ({
      leases: leases + 1,
      fetches,
      duplicateOf,
      redirectedTo,
    }));
  }

  /** Notes why a URL was refused, unless it is seen. @returns whether anything was written. */
  note(key: string, note: RecordPatch & { readonly url: string; readonly foundOn?: string | undefined }): boolean {
    const split = splitKey(key, MAX_NAME_LENGTH);
    const site = this.#names.id(split.site);
    const referrer = note.foundOn === undefined ? undefined : this.#referrer(note.foundOn);
    const found = this.#find(key)!;
    const { record, ref } = found;
    if (record !== undefined && stateOf(record) !== 'noted') return false;
    const fixed: Fixed = {
      ...split,
      state: 'noted',
      level: LEVELS.usual,
      depth: 0,
      isSitemap: false,
      url: note.url === key ? undefined : note.url,
      referrer,
    };
    writeFixed(this.#out.start(), fixed, site);
    writeHistory(this.#out, { ...NO_HISTORY, reason: note.reason });
    if (record?.equals(this.#out.view())) return false;
    this.#records.put(this.#at(ref.site, ref.slot), this.#out.view());
    return true;
  }

  /** Forgets what is in memory. */
  clear(): void {
    this.#lastReferrer = undefined;
  }

  #insert(
    request: CrawlRequest,
    split: SplitKey,
    referrer: string | UrlRef | undefined,
    site: number,
    slot: number,
  ): boolean {
    const record = this.#written(request, split, referrer, site);
    return this.#records.add(this.#at(site, slot), record);
  }

  #written(request: CrawlRequest, split: SplitKey, referrer: string | UrlRef | undefined, site: number): Buffer {
    writeFixed(this.#out.start(), this.#fixed(request, split, referrer), site);
    return this.#out.view();
  }

  #fixed(request: CrawlRequest, split: SplitKey, referrer: string | UrlRef | undefined): Fixed {
    const { url, key, source, depth, level, kind } = request;
    return {
      scheme: split.scheme,
      rest: split.rest,
      state: 'queued',
      level: toLevel(level),
      depth: isPlainDepth(depth) ? depth : 0,
      isSitemap: kind === 'sitemap',
      url: url === key ? undefined : url,
      rare: rareFields(request),
      source: source === undefined ? undefined : this.#state.sourceId(source) || source,
      referrer,
    };
  }

  #update(ref: UrlRef, state: State, change: (history: History) => History): void {
    const record = this.#records.get(this.#at(ref.site, ref.slot));
    if (record === undefined) return;
    setState(record, state);
    skipFixed(this.#in.over(record));
    const { at } = this.#in;
    const history = change(readHistory(this.#in));
    this.#out.start().raw(record.subarray(0, at));
    writeHistory(this.#out, history);
    this.#records.put(this.#at(ref.site, ref.slot), this.#out.view());
  }

  /** The record of a key, or the slot where it would be; `undefined` where its site was never met. */
  #find(key: string): Found | undefined {
    const split = splitKey(key, MAX_NAME_LENGTH);
    const site = this.#names.find(split.site);
    if (site === undefined) return undefined;
    for (let slot = slotOf(key); ; slot = (slot + 1) % SLOTS) {
      const record = this.#records.peek(this.#at(site, slot));
      if (record === undefined || isOf(this.#in.over(record), split)) return { split, ref: { site, slot }, record };
    }
  }

  /** The page that links were found on: where its record lies, or its text where it has none. */
  #referrer(text: string): string | UrlRef {
    if (this.#lastReferrer?.text === text) return this.#lastReferrer.known;
    const found = this.#find(text);
    const record = found?.record;
    const isUrl = record !== undefined && readFixed(this.#in.over(record), 0).url === undefined;
    const known = isUrl ? found!.ref : text;
    this.#lastReferrer = { text, known };
    return known;
  }

  #textOf(referrer: string | UrlRef | undefined): string | undefined {
    if (typeof referrer !== 'object') return referrer;
    const record = this.#records.get(this.#at(referrer.site, referrer.slot));
    if (record === undefined) return undefined;
    const { scheme, rest } = readFixed(new ByteReader().over(record), referrer.site);
    return joinKey(scheme, this.#names.text(referrer.site), rest);
  }

  #sourceOf({ source }: Fixed): string | undefined {
    return typeof source === 'number' ? this.#state.source(source) : source;
  }

  #at(site: number, slot: number): Buffer {
    this.#key.writeUInt32BE(site, 0);
    this.#key.writeUIntBE(slot, 4, 6);
    return this.#key;
  }
}

function slotOf(key: string): number {
  return hash('sha256', key, 'buffer').readUIntBE(0, 6);
}
