import { toLevel } from '../../request.ts';
import type { CrawlRequest } from '../../types.ts';
import type { Host } from './host.ts';
import type { HostTable } from './host-table.ts';
import type { Lent } from './leases.ts';
import type { Queues } from './queues.ts';
import type { Schedule } from './schedule.ts';
import type { StoreState } from './state.ts';
import type { UrlRef } from './url-record.ts';
import type { UrlTable } from './url-table.ts';

/** What came of an offer: how many were new or are to be visited again, and which were neither. */
export interface Offered {
  readonly fresh: number;
  readonly known: readonly number[];
}

export interface WaitingParts {
  readonly hosts: HostTable;
  readonly urls: UrlTable;
  readonly queues: Queues;
  readonly schedule: Schedule;
  readonly state: StoreState;
}

/** How requests come to wait: as new ones, as ones to be visited once more, and as ones given back. */
export class Waiting {
  readonly #hosts: HostTable;
  readonly #urls: UrlTable;
  readonly #queues: Queues;
  readonly #schedule: Schedule;
  readonly #state: StoreState;
  /** URLs and hosts touched since the last commit. */
  changes = 0;

  constructor({ hosts, urls, queues, schedule, state }: WaitingParts) {
    this.#hosts = hosts;
    this.#urls = urls;
    this.#queues = queues;
    this.#schedule = schedule;
    this.#state = state;
  }

  offer(batch: readonly CrawlRequest[], now: number): Offered {
    const known: number[] = [];
    let fresh = 0;
    let again = 0;
    const queues = new Map<Host, Map<number, UrlRef[]>>();
    for (let i = 0; i < batch.length; i++) {
      const request = batch[i]!;
      if (!counts(request)) {
        this.putBack(request, undefined, ++this.#state.all.sequence, 0, now);
        continue;
      }
      const ref = this.#urls.add(request);
      if (ref === undefined) {
        if (request.revisit === true && this.#revisit(request, now)) again++;
        else known.push(i);
        continue;
      }
      fresh++;
      push(queues, this.#hosts.get(request.host), toLevel(request.level), ref);
    }
    for (const [host, levels] of queues) this.#enqueue(host, levels, now);
    this.#state.all.seen += fresh;
    this.#state.all.queued += fresh;
    this.changes += fresh;
    return { fresh: fresh + again, known };
  }

  /** Queues a request in front; `ref` is that of its record, which robots files have none of. */
  putBack(request: CrawlRequest, ref: UrlRef | undefined, place: number, dueAt: number, now: number): void {
    const host = this.#hosts.get(request.host);
    const level = ref === undefined ? undefined : toLevel(request.level);
    this.#queues.putBack(host, { ref, json: JSON.stringify(request), level, place }, dueAt);
    this.#woken(host, now);
  }

  /** Queues the request of a lease again, as it is. */
  giveBack({ host, ref, json, level, place }: Lent, dueAt: number, now: number): void {
    this.#queues.putBack(host, { ref, json, level, place }, dueAt);
    this.#woken(host, now);
  }

  /** A host has changed: it is written with the next commit, and may be due at another time. */
  touch(host: Host): void {
    this.#hosts.changed(host);
    this.#schedule.place(host);
    this.changes++;
  }

  #enqueue(host: Host, levels: Map<number, UrlRef[]>, now: number): void {
    const wasIdle = host.waiting === 0;
    const wasAsleep = host.dueAt > 0;
    for (const [level, refs] of levels) this.#queues.append(host, level, refs);
    if (wasIdle) host.since = Math.max(host.since, now);
    this.#hosts.changed(host);
    if (wasAsleep) this.#schedule.place(host);
  }

  /** Queues a URL that has come to its end once more. */
  #revisit(request: CrawlRequest, now: number): boolean {
    const ref = this.#urls.revisit(request.key);
    if (ref === undefined) return false;
    this.putBack(request, ref, ++this.#state.all.sequence, 0, now);
    return true;
  }

  #woken(host: Host, now: number): void {
    this.#state.all.queued++;
    if (host.waiting === 1) host.since = Math.max(host.since, now);
    this.touch(host);
  }
}

/** Whether a request is a URL of the crawl: robots files are queued and leased, but neither seen nor counted. */
function counts(request: CrawlRequest): boolean {
  return request.kind === 'page' || request.kind === 'sitemap';
}

function push(queues: Map<Host, Map<number, UrlRef[]>>, host: Host, level: number, ref: UrlRef): void {
  let levels = queues.get(host);
  if (levels === undefined) {
    levels = new Map();
    queues.set(host, levels);
  }
  const refs = levels.get(level);
  if (refs === undefined) levels.set(level, [ref]);
  else refs.push(ref);
}
