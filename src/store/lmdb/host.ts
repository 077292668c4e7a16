import type { HostPatch, HostState, LeaseRules } from '../../ports.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import type { UrlRef } from './url-record.ts';

/** Where something stands in the schedule. */
export interface Placed {
  readonly id: number;
  /** Number of the address it stands under; 0 for the whole store's, −1 for nowhere. */
  scope: number;
  time: number;
  order: number;
}

/** The waiting requests of one level that were never leased: numbered chunks of slots, and behind them the last ones. */
export interface LevelQueue {
  readonly level: number;
  head: number;
  /** Slots of the head that are used up. */
  offset: number;
  tail: number;
  /** Slots in the tail; 0 where there are no chunks. */
  filled: number;
  /** Those that came last. They are in the host's record, which is written anyway. */
  recent: UrlRef[];
}

/** Requests of one level that were leased before and are due again. */
export interface DueCount {
  readonly level: number;
  count: number;
}

/** One host: its clock, its counts, and where its queues begin and end. */
export class Host implements Placed {
  readonly id: number;
  readonly name: string;
  nextAt = 0;
  blockedUntil = 0;
  delayMs = 0;
  crawlDelayMs = 0;
  backoff = 0;
  successes = 0;
  failures = 0;
  refusals = 0;
  pages = 0;
  inFlight = 0;
  address: Address | undefined = undefined;
  /** When it was last leased, or got its first URL. */
  since = 0;
  /** Requests waiting. */
  waiting = 0;
  turn = 0;
  /** The session in which it was last leased. */
  session = 0;
  scope = -1;
  time = 0;
  order = 0;
  levels: LevelQueue[] = [];
  /** Requests to be tried again later, and when the first of them is due. */
  later = 0;
  laterAt: number = Number.POSITIVE_INFINITY;
  robots = 0;
  due: DueCount[] = [];

  constructor(id: number, name: string) {
    this.id = id;
    this.name = name;
  }

  /** When the first of its requests is due; 0 for at once. */
  get dueAt(): number {
    return this.levels.length > 0 || this.robots > 0 || this.due.length > 0 ? 0 : this.laterAt;
  }

  gap({ startGapMs }: LeaseRules): number {
    return Math.max(startGapMs, this.delayMs, this.crawlDelayMs);
  }

  /** Sets what a patch gives, but for the times and the address. */
  setCounts(patch: HostPatch): void {
    this.delayMs = patch.delayMs ?? this.delayMs;
    this.crawlDelayMs = patch.crawlDelayMs ?? this.crawlDelayMs;
    this.backoff = patch.backoff ?? this.backoff;
    this.successes = patch.successes ?? this.successes;
    this.failures = patch.failures ?? this.failures;
    this.refusals = patch.refusals ?? this.refusals;
  }

  state(): HostState {
    return {
      host: this.name,
      nextAt: this.nextAt,
      blockedUntil: this.blockedUntil,
      delayMs: this.delayMs,
      crawlDelayMs: this.crawlDelayMs,
      backoff: this.backoff,
      successes: this.successes,
      failures: this.failures,
      refusals: this.refusals,
      pages: this.pages,
      inFlight: this.inFlight,
      ...(this.address === undefined ? undefined : { address: this.address.name }),
    };
  }

  write(out: ByteWriter): void {
    out.text(this.name).u32(this.address?.id ?? 0);
    out.number(this.nextAt).number(this.blockedUntil).number(this.delayMs).number(this.crawlDelayMs);
    out.number(this.backoff).number(this.successes).number(this.failures).number(this.refusals);
    out.varint(this.pages).number(this.since).varint(this.waiting).varint(this.turn).varint(this.session);
    writePlace(out, this);
    out.u8(this.levels.length);
    for (const { level, head, offset, tail, filled } of this.levels) {
      out
        .u8(level + 128)
        .varint(head)
        .varint(offset)
        .varint(tail)
        .varint(filled);
    }
    out.varint(this.later).number(this.laterAt).varint(this.robots).u8(this.due.length);
    for (const { level, count } of this.due) out.u8(level + 128).varint(count);
    for (const { recent } of this.levels) {
      out.u8(recent.length);
      for (const { site, slot } of recent) out.u32(site).u48(slot);
    }
  }

  /** The host in a record, and the number of its address, 0 for none. */
  static read(source: ByteReader, id: number): { host: Host; address: number } {
    const host = new Host(id, source.text());
    const address = source.u32();
    host.nextAt = source.number();
    host.blockedUntil = source.number();
    host.delayMs = source.number();
    host.crawlDelayMs = source.number();
    host.backoff = source.number();
    host.successes = source.number();
    host.failures = source.number();
    host.refusals = source.number();
    host.pages = source.varint();
    host.since = source.number();
    host.waiting = source.varint();
    host.turn = source.varint();
    host.session = source.varint();
    readPlace(source, host);
    host.levels = Array.from({ length: source.u8() }, () => ({
      level: source.u8() - 128,
      head: source.varint(),
      offset: source.varint(),
      tail: source.varint(),
      filled: source.varint(),
      recent: [],
    }));
    host.later = source.varint();
    host.laterAt = source.number();
    host.robots = source.varint();
    host.due = Array.from({ length: source.u8() }, () => ({ level: source.u8() - 128, count: source.varint() }));
    // In a record of format 1 nothing follows.
    for (const queue of source.left === 0 ? [] : host.levels) {
      queue.recent = Array.from({ length: source.u8() }, () => ({ site: source.u32(), slot: source.u48() }));
    }
    return { host, address };
  }
}

/** An IP address: the hosts found at it share a clock, and one of them at a time is asked. */
export class Address implements Placed {
  readonly id: number;
  readonly name: string;
  nextAt = 0;
  scope = -1;
  time = 0;
  order = 0;
  /** Leases that hold the address, all of one host. */
  held = 0;
  holder: Host | undefined = undefined;

  constructor(id: number, name: string) {
    this.id = id;
    this.name = name;
  }

  write(out: ByteWriter): void {
    out.text(this.name).number(this.nextAt);
    writePlace(out, this);
  }

  static read(source: ByteReader, id: number): Address {
    const address = new Address(id, source.text());
    address.nextAt = source.number();
    readPlace(source, address);
    return address;
  }
}

function writePlace(out: ByteWriter, { scope, time, order }: Placed): void {
  out.varint(scope + 1);
  if (scope >= 0) out.f64(time).varint(order);
}

function readPlace(source: ByteReader, placed: Placed): void {
  placed.scope = source.varint() - 1;
  if (placed.scope < 0) return;
  placed.time = source.f64();
  placed.order = source.varint();
}
