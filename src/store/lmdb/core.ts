import type {
  HostPatch,
  HostState,
  Lease,
  LeaseRules,
  RecordPatch,
  Settlement,
  StoreStats,
  UrlRecord,
} from '../../ports.ts';
import { toLevel } from '../../request.ts';
import type { CrawlRequest } from '../../types.ts';
import type { Environment } from './environment.ts';
import { CrashFloor } from './floor.ts';
import type { Host } from './host.ts';
import { listHosts } from './host-listing.ts';
import { HostTable } from './host-table.ts';
import { Leases, type Lent } from './leases.ts';
import { Meta } from './meta.ts';
import { Names } from './names.ts';
import { Queues } from './queues.ts';
import { Schedule } from './schedule.ts';
import { Session } from './session.ts';
import { StoreState } from './state.ts';
import type { StoredHost } from './stored-host.ts';
import type { Table } from './table.ts';
import { parseRequest } from './url-record.ts';
import { UrlRecords } from './url-records.ts';
import { UrlTable } from './url-table.ts';
import { type Offered, Waiting } from './waiting.ts';

export interface Settled extends Offered {
  readonly accepted: boolean;
  /** Whether a page was delivered, or the host must be left alone for longer than before: worth a commit of its own. */
  readonly isUrgent: boolean;
}

const REFUSED: Settled = { accepted: false, isUrgent: false, fresh: 0, known: [] };
const TABLES = ['state', 'names', 'hosts', 'addresses', 'urls', 'queues', 'schedule', 'leases', 'meta'] as const;
/** The log of records, which stores of format 1 have not. */
const LOG = 'recent';
/** All tables, in the order in which they are made. */
export const TABLES_AS_MADE: readonly string[] = [...TABLES, LOG];

/**
 * The verbs of the store, each from its start to its end in one go. They read and write the open transaction; when
 * that is committed is not their concern.
 */
export class Core {
  readonly meta: Meta;
  readonly state: StoreState;
  readonly #names: Names;
  readonly #hosts: HostTable;
  readonly #records: UrlRecords;
  readonly #urls: UrlTable;
  readonly #queues: Queues;
  readonly #schedule: Schedule;
  readonly #waiting: Waiting;
  readonly #floor: CrashFloor;
  readonly #leases: Leases;
  readonly #session: Session;
  readonly #environment: Environment;

  constructor(environment: Environment) {
    const [state, names, hosts, addresses, urls, queues, schedule, leases, meta] = TABLES.map((name) =>
      mustExist(environment.table(name), name),
    ) as [Table, Table, Table, Table, Table, Table, Table, Table, Table];
    this.#environment = environment;
    this.state = new StoreState(state);
    this.#names = new Names(names, this.state);
    this.#hosts = new HostTable(hosts, addresses, this.#names, this.state);
    this.#records = new UrlRecords(urls, () => environment.table(LOG), this.state);
    this.#urls = new UrlTable(this.#records, this.#names, this.state);
    this.#queues = new Queues(queues);
    this.#schedule = new Schedule(schedule, this.#hosts, this.state);
    const parts = {
      hosts: this.#hosts,
      urls: this.#urls,
      queues: this.#queues,
      schedule: this.#schedule,
      state: this.state,
    };
    this.#waiting = new Waiting(parts);
    this.#floor = new CrashFloor(this.state, this.#hosts, this.#schedule);
    this.#leases = new Leases(leases);
    this.#session = new Session({ ...parts, waiting: this.#waiting, leases: this.#leases });
    this.meta = new Meta(meta);
  }

  /** URLs and hosts touched since the last commit. */
  get changes(): number {
    return this.#waiting.changes;
  }

  /**
   * Whether there is something to commit. Questions write too: they move hosts that must wait after a crash. A
   * transaction that were given up with such a move in it would leave the host in memory elsewhere than on disk.
   */
  get hasChanged(): boolean {
    return this.changes > 0 || this.#environment.hasWritten || this.#hosts.hasChanged;
  }

  /** Reads what is in memory only. */
  async load(): Promise<void> {
    this.state.load();
    await this.#records.load();
  }

  /** Reads anew what another process writes. */
  look(): void {
    this.#names.clear();
    this.#hosts.clear();
    this.#urls.clear();
    this.#schedule.clear();
    this.#leases.clear();
    this.state.load();
    this.#records.look();
    this.#leases.look();
  }

  /** Begins a session of writing: leases of the last one come back. */
  begin(): void {
    this.#session.begin();
  }

  /** Ends the session; leases that are out are given back. */
  end(): void {
    this.#session.end();
  }

  /** Writes what is in memory only. */
  save(): void {
    this.state.all.leased = this.#leases.size;
    this.#leases.save();
    this.#hosts.save();
    this.#records.save();
    this.state.save();
    this.#waiting.changes = 0;
  }

  offer(batch: readonly CrawlRequest[], now: number): Offered {
    return this.#waiting.offer(batch, now);
  }

  lease(now: number, limit: number, ttlMs: number, rules: LeaseRules): Lease[] {
    this.#begin(now, rules);
    const leases: Lease[] = [];
    while (leases.length < limit) {
      const host = this.#floor.next(now);
      if (host === undefined) break;
      leases.push(this.#handOut(host, now, ttlMs));
    }
    return leases;
  }

  settle(lease: Lease, settlement: Settlement, now: number): Settled {
    const lent = this.#leases.get(lease.fence);
    if (lent === undefined) return REFUSED;
    const { host, ref } = lent;
    const { outcome, requeue, record = {} } = settlement;
    const before = { gap: host.gap(this.#schedule.rules), blockedUntil: host.blockedUntil };
    this.#leases.end(lent);
    this.#patch(host, settlement.host ?? {}, Math.max);
    if (settlement.delivered === true) {
      host.pages++;
      this.state.all.pages++;
    }
    if (outcome === 'deferred' || outcome === 'retry') {
      const dueAt = requeue?.dueAt ?? now;
      if (requeue === undefined) this.#waiting.giveBack(lent, dueAt, now);
      else this.#waiting.putBack(requeue.request, ref, lent.place, dueAt, now);
      if (ref !== undefined) this.#urls.ended(ref, 'queued', record, lent.leasedAt, dueAt);
    } else if (ref !== undefined) {
      this.state.all[outcome]++;
      this.#urls.ended(ref, outcome, record, lent.leasedAt, undefined);
    }
    for (const [name, value] of settlement.meta ?? []) this.meta.set(name, value);
    this.#schedule.releaseOf(lent, settlement.addressNextAt ?? 0);
    this.#waiting.touch(host);
    const offered = this.#waiting.offer(settlement.outlinks ?? [], now);
    const isLonger = host.gap(this.#schedule.rules) > before.gap || host.blockedUntil > before.blockedUntil;
    // A page whose settlement were lost would be delivered again, though it was long out of flight.
    const isUrgent = isLonger || settlement.delivered === true;
    return { ...offered, accepted: true, isUrgent };
  }

  renew(lease: Lease, now: number, ttlMs: number): boolean {
    const lent = this.#leases.get(lease.fence);
    if (lent === undefined) return false;
    this.#leases.renew(lent, now + ttlMs);
    return true;
  }

  claimAddress(lease: Lease, name: string, now: number): number {
    const lent = this.#leases.get(lease.fence);
    if (lent === undefined) return now + 1;
    const { host } = lent;
    const address = this.#schedule.move(host, name);
    if (lent.address === address) return 0;
    this.#schedule.releaseOf(lent, 0);
    this.#waiting.changes++;
    if (address.holder !== undefined && address.holder !== host) return Math.max(address.nextAt, now + 1);
    if (address.nextAt > now) return address.nextAt;
    lent.address = address;
    this.#schedule.hold(address, host);
    return 0;
  }

  setHost(name: string, patch: HostPatch): void {
    const host = this.#hosts.get(name);
    this.#patch(host, patch, (_, given) => given);
    this.#waiting.touch(host);
  }

  getHost(name: string): HostState | undefined {
    return this.#hosts.find(name)?.state();
  }

  /** Those with most waiting first. */
  hosts(most: number): StoredHost[] {
    return listHosts(this.#hosts, most);
  }

  nextDueAt(now: number, rules: LeaseRules): number | undefined {
    this.#begin(now, rules);
    return this.#floor.nextAt();
  }

  upcoming(limit: number): string[] {
    return this.#schedule.upcoming(limit);
  }

  stats(): StoreStats {
    return this.state.stats(this.#leases.size);
  }

  has(key: string): boolean {
    return this.#urls.has(key);
  }

  record(key: string): UrlRecord | undefined {
    const found = this.#urls.record(key);
    if (found === undefined) return undefined;
    const { ref, ...record } = found;
    if (record.state !== 'queued' || !this.#leases.isOut(ref)) return record;
    return { ...record, state: 'leased', leases: (record.leases ?? 0) + 1, nextDueAt: undefined };
  }

  note(key: string, note: RecordPatch & { readonly url: string; readonly foundOn?: string | undefined }): void {
    if (this.#urls.note(key, note)) this.#waiting.changes++;
  }

  setMeta(name: string, value: Uint8Array | undefined): void {
    this.meta.set(name, value);
    this.#waiting.changes++;
  }

  #begin(now: number, rules: LeaseRules): void {
    if (this.#schedule.apply(rules)) this.#waiting.changes++;
    if (this.#floor.begin(now)) this.#waiting.changes++;
    this.#session.expire(now);
  }

  #handOut(host: Host, now: number, ttlMs: number): Lease {
    const fence = ++this.state.all.sequence;
    const { ref, json, place = fence } = this.#queues.take(host, now)!;
    const request = json === undefined ? this.#urls.request(ref!, host.name) : parseRequest(json);
    const { rules } = this.#schedule;
    const lent: Lent = {
      fence,
      host,
      ref,
      json,
      level: ref === undefined ? undefined : toLevel(request.level),
      place,
      leasedAt: now,
      address: rules.shareAddress ? host.address : undefined,
      key: now + ttlMs,
      order: fence,
      slot: -1,
    };
    this.state.all.queued--;
    this.#leases.add(lent);
    this.#floor.leased(host);
    host.since = now;
    if (rules.connectionsPerHost !== 1) host.nextAt = Math.max(host.nextAt, now + host.gap(rules));
    if (lent.address !== undefined) this.#schedule.hold(lent.address, host);
    this.#waiting.touch(host);
    return { fence, request, url: request.url, host: host.state(), leasedAt: now, expiresAt: lent.key };
  }

  #patch(host: Host, patch: HostPatch, time: (old: number, given: number) => number): void {
    if (patch.nextAt !== undefined) host.nextAt = time(host.nextAt, patch.nextAt);
    if (patch.blockedUntil !== undefined) host.blockedUntil = time(host.blockedUntil, patch.blockedUntil);
    host.setCounts(patch);
    if (patch.address !== undefined) this.#schedule.move(host, patch.address);
  }
}

function mustExist(table: Table | undefined, name: string): Table {
  if (table === undefined) throw new Error(`The table "${name}" is missing`);
  return table;
}
