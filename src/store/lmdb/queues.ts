import { LEVELS } from '../../request.ts';
import { chooseLevel } from '../levels.ts';
import { ByteReader, ByteWriter, readOrdered, writeOrdered } from './bytes.ts';
import type { Host, LevelQueue } from './host.ts';
import type { Table } from './table.ts';
import type { UrlRef } from './url-record.ts';

/** Kinds of keys behind a host's number. */
const LATER = 0;
const ROBOTS = 1;
const DUE = 2;
const CHUNK = 3;
/** Slots of a chunk: few enough to be rewritten with each append, and many enough to cost little by the URL. */
const CHUNK_SLOTS = 64;
const SLOT_BYTES = 6;
const SITE_BYTES = 4;
/**
 * Requests of a level that are kept in the record of their host before they go into a chunk together. The record is
 * written anyway, and each host's chunks lie on pages of their own: one URL in them costs a page and those above it.
 */
const MOST_RECENT = 16;
/** The class of what is no page: robots files. */
const ROBOTS_CLASS = 255;

/** A request taken from its host's queues. */
export interface Taken {
  /** Its record; `undefined` for a robots file. */
  readonly ref: UrlRef | undefined;
  /** The request as JSON, where it was queued again or is a robots file. */
  readonly json: string | undefined;
  /** Its place among those of its level: the fence of its first lease; `undefined` at the first. */
  readonly place: number | undefined;
}

/** A request that goes to the front of its host. */
export interface Returned extends Taken {
  readonly place: number;
  /** `undefined` for a robots file. */
  readonly level: number | undefined;
}

/**
 * The waiting requests of all hosts, each host's beside each other. Never leased: chunks of slots for each level, first
 * in, first out, and in the host's record those that came last. Leased before, and robots files: one entry each, by due
 * time until that has come, then by place.
 */
export class Queues {
  readonly #table: Table;
  readonly #out: ByteWriter = new ByteWriter();
  readonly #in: ByteReader = new ByteReader();

  constructor(table: Table) {
    this.#table = table;
  }

  /** Puts requests of one level behind all of it, in order. */
  append(host: Host, level: number, refs: readonly UrlRef[]): void {
    let queue = host.levels.find((one) => one.level === level);
    if (queue === undefined) {
      queue = { level, head: 0, offset: 0, tail: 0, filled: 0, recent: [] };
      host.levels.push(queue);
    }
    // One by one: as many arguments as an offer may have URLs would be too many.
    for (const ref of refs) queue.recent.push(ref);
    if (queue.recent.length > MOST_RECENT) {
      const all = queue.recent.splice(0);
      for (let i = 0; i < all.length; ) i = this.#fill(host, queue, all, i);
    }
    host.waiting += refs.length;
  }

  /** Puts a request before all of its level that were never leased, once `dueAt` has come. */
  putBack(host: Host, request: Returned, dueAt: number): void {
    const kind = request.level === undefined ? ROBOTS_CLASS : request.level - LEVELS.lowest;
    this.#out.start().u8(kind);
    if (request.ref === undefined) this.#out.u32(0).u48(0);
    else this.#out.u32(request.ref.site).u48(request.ref.slot);
    if (request.json !== undefined) this.#out.raw(Buffer.from(request.json));
    this.#table.put(laterKey(host.id, dueAt, request.place), this.#out.view());
    host.later++;
    host.laterAt = Math.min(host.laterAt, dueAt);
    host.waiting++;
  }

  /** The best request that is due. */
  take(host: Host, now: number): Taken | undefined {
    while (host.laterAt <= now) this.#ripen(host);
    const taken = host.robots > 0 ? this.#takeRobots(host) : this.#takeFromLevels(host);
    if (taken !== undefined) host.waiting--;
    return taken;
  }

  #takeRobots(host: Host): Taken {
    host.robots--;
    return this.#takeFirst(prefix(host.id, ROBOTS), prefix(host.id, ROBOTS + 1));
  }

  #takeFromLevels(host: Host): Taken | undefined {
    let waiting = 0;
    for (const { level } of host.levels) waiting |= 1 << (level - LEVELS.lowest);
    for (const { level } of host.due) waiting |= 1 << (level - LEVELS.lowest);
    if (waiting === 0) return undefined;
    const level = chooseLevel(host.turn++, waiting);
    const due = host.due.find((one) => one.level === level);
    if (due === undefined) return this.#shift(host, host.levels.find((one) => one.level === level)!);
    if (--due.count === 0) host.due.splice(host.due.indexOf(due), 1);
    const step = level - LEVELS.lowest;
    return this.#takeFirst(prefix(host.id, DUE, step), prefix(host.id, DUE, step + 1));
  }

  /** Moves the first of those that are to be tried again to where it is ordered by place. */
  #ripen(host: Host): void {
    const start = prefix(host.id, LATER);
    const end = prefix(host.id, LATER + 1);
    const [key, next] = this.#table.keys(start, end, 2);
    const entry = this.#table.get(key!)!;
    this.#table.remove(key!);
    host.later--;
    host.laterAt = next === undefined ? Number.POSITIVE_INFINITY : readOrdered(next, 5);
    const kind = entry[0]!;
    const place = key!.subarray(13);
    if (kind === ROBOTS_CLASS) {
      host.robots++;
      this.#table.put(Buffer.concat([prefix(host.id, ROBOTS), place]), entry);
      return;
    }
    const level = kind + LEVELS.lowest;
    const due = host.due.find((one) => one.level === level);
    if (due === undefined) host.due.push({ level, count: 1 });
    else due.count++;
    this.#table.put(Buffer.concat([prefix(host.id, DUE, kind), place]), entry);
  }

  #takeFirst(start: Buffer, end: Buffer): Taken {
    const key = this.#table.first(start, end)!;
    const entry = this.#table.get(key)!;
    this.#table.remove(key);
    this.#in.over(entry, 1);
    const site = this.#in.u32();
    const slot = this.#in.u48();
    return {
      ref: site === 0 ? undefined : { site, slot },
      json: this.#in.left === 0 ? undefined : this.#in.text(this.#in.left),
      place: key.readUIntBE(key.length - 6, 6),
    };
  }

  /** The request of a level that has waited longest. */
  #shift(host: Host, queue: LevelQueue): Taken {
    const ref = queue.filled > 0 ? this.#shiftChunk(host, queue) : queue.recent.shift()!;
    if (queue.filled === 0 && queue.recent.length === 0) host.levels.splice(host.levels.indexOf(queue), 1);
    return { ref, json: undefined, place: undefined };
  }

  #shiftChunk(host: Host, queue: LevelQueue): UrlRef {
    const key = chunkKey(host.id, queue.level, queue.head);
    const chunk = this.#table.peek(key)!;
    const site = chunk.readUInt32BE(0);
    const slot = chunk.readUIntBE(SITE_BYTES + queue.offset * SLOT_BYTES, SLOT_BYTES);
    const slots = (chunk.length - SITE_BYTES) / SLOT_BYTES;
    if (++queue.offset === slots) {
      this.#table.remove(key);
      if (queue.head < queue.tail) queue.head++;
      else queue.head = queue.tail = queue.filled = 0;
      queue.offset = 0;
    }
    return { site, slot };
  }

  /** Appends as many as go into the last chunk, or a new one. @returns the index of the next. */
  #fill(host: Host, queue: LevelQueue, refs: readonly UrlRef[], from: number): number {
    const { site } = refs[from]!;
    this.#out.start();
    const last = queue.filled > 0 ? this.#table.peek(chunkKey(host.id, queue.level, queue.tail)) : undefined;
    if (last !== undefined && queue.filled < CHUNK_SLOTS && last.readUInt32BE(0) === site) {
      this.#out.raw(last.subarray(0, last.length));
    } else {
      if (queue.filled > 0) queue.tail++;
      queue.filled = 0;
      this.#out.u32(site);
    }
    let i = from;
    for (; i < refs.length && refs[i]!.site === site && queue.filled < CHUNK_SLOTS; i++, queue.filled++) {
      this.#out.u48(refs[i]!.slot);
    }
    this.#table.put(chunkKey(host.id, queue.level, queue.tail), this.#out.view());
    return i;
  }
}

function prefix(host: number, kind: number, step?: number): Buffer {
  const key = Buffer.allocUnsafe(step === undefined ? 5 : 6);
  key.writeUInt32BE(host, 0);
  key[4] = kind;
  if (step !== undefined) key[5] = step;
  return key;
}

function laterKey(host: number, dueAt: number, place: number): Buffer {
  const key = Buffer.allocUnsafe(19);
  key.writeUInt32BE(host, 0);
  key[4] = LATER;
  key.writeUIntBE(place, writeOrdered(key, 5, dueAt), 6);
  return key;
}

function chunkKey(host: number, level: number, chunk: number): Buffer {
  const key = Buffer.allocUnsafe(10);
  key.writeUInt32BE(host, 0);
  key[4] = CHUNK;
  key[5] = level - LEVELS.lowest;
  key.writeUInt32BE(chunk, 6);
  return key;
}
