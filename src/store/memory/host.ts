import type { HostPatch, HostState } from '../../ports.ts';
import { LEVELS, toLevel } from '../../request.ts';
import type { CrawlRequest } from '../../types.ts';
import { chooseLevel } from '../levels.ts';
import { Heap, type HeapNode } from './heap.ts';
import { type QueueMemory, UrlQueue } from './url-queue.ts';

/** A request taken from a host, and its place among those of its level: the fence of its first lease. */
export interface Taken {
  readonly request: CrawlRequest;
  readonly place: number;
}

/** A request that was leased before, or is no page, and waits in its host's front. */
interface Returned extends HeapNode, Taken {}

/** Front of a host: what came back, and robots files. `later` is ordered by due time, `due` by place. */
interface Front {
  readonly later: Heap<Returned>;
  readonly robots: Heap<Returned>;
  readonly due: Map<number, Heap<Returned>>;
}

/** One host: its clock, its counts, its queues. Ranked in the schedule by the moment since which it is due. */
export class Host implements HeapNode {
  key = 0;
  order = 0;
  slot = -1;
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
  address: AddressGroup | undefined = undefined;
  /** When it was last leased, or got its first URL: of hosts that are due, the one that waits longest is first. */
  since = 0;
  /** Requests waiting. */
  waiting = 0;
  #turn = 0;
  readonly #queues: UrlQueue[] = [];
  #front: Front | undefined = undefined;

  constructor(name: string) {
    this.name = name;
  }

  state(): HostState {
    const { name, nextAt, blockedUntil, delayMs, crawlDelayMs, backoff, successes, failures, refusals, pages } = this;
    return {
      host: name,
      nextAt,
      blockedUntil,
      delayMs,
      crawlDelayMs,
      backoff,
      successes,
      failures,
      refusals,
      pages,
      inFlight: this.inFlight,
      ...(this.address === undefined ? undefined : { address: this.address.name }),
    };
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

  /** Behind all of its level. */
  push(memory: QueueMemory, request: CrawlRequest): void {
    const level = toLevel(request.level);
    let queue = this.#queues.find((one) => one.level === level);
    if (queue === undefined) {
      queue = new UrlQueue(this.name, level);
      this.#queues.push(queue);
    }
    queue.push(memory, request);
    this.waiting++;
  }

  /** Before all of its level that were never leased, once `dueAt` has come. */
  putBack(request: CrawlRequest, place: number, dueAt: number): void {
    this.#front ??= { later: new Heap(), robots: new Heap(), due: new Map() };
    this.#front.later.place({ request, place, key: dueAt, order: place, slot: -1 });
    this.waiting++;
  }

  /** When the first of its requests is due; 0 for at once. */
  get dueAt(): number {
    if (this.#queues.length > 0) return 0;
    const front = this.#front;
    if (front === undefined) return Number.POSITIVE_INFINITY;
    return front.robots.size > 0 || front.due.size > 0 ? 0 : (front.later.peek()?.key ?? Number.POSITIVE_INFINITY);
  }

  /** The best request that is due. */
  take(memory: QueueMemory, now: number, place: number): Taken | undefined {
    const front = this.#front;
    if (front !== undefined) this.#ripen(front, now);
    const taken = front?.robots.pop() ?? this.#takeFromLevels(memory, front, place);
    if (taken === undefined) return undefined;
    this.waiting--;
    if (front !== undefined && front.later.size + front.robots.size + front.due.size === 0) this.#front = undefined;
    return taken;
  }

  #takeFromLevels(memory: QueueMemory, front: Front | undefined, place: number): Taken | undefined {
    let waiting = 0;
    for (const { level } of this.#queues) waiting |= 1 << (level - LEVELS.lowest);
    if (front !== undefined) for (const level of front.due.keys()) waiting |= 1 << (level - LEVELS.lowest);
    if (waiting === 0) return undefined;
    const level = chooseLevel(this.#turn++, waiting);
    const returned = front?.due.get(level);
    if (returned !== undefined) {
      const first = returned.pop()!;
      if (returned.size === 0) front?.due.delete(level);
      return first;
    }
    const index = this.#queues.findIndex((queue) => queue.level === level);
    const queue = this.#queues[index]!;
    const request = queue.shift(memory)!;
    if (queue.size === 0) this.#queues.splice(index, 1);
    return { request, place };
  }

  /** Moves what has come due to where it is ordered by place. */
  #ripen(front: Front, now: number): void {
    for (let next = front.later.peek(); next !== undefined && next.key <= now; next = front.later.peek()) {
      front.later.pop();
      next.key = next.place;
      this.#dueHeap(front, next.request).place(next);
    }
  }

  #dueHeap(front: Front, { kind, level }: CrawlRequest): Heap<Returned> {
    if (kind !== 'page' && kind !== 'sitemap') return front.robots;
    const found = front.due.get(toLevel(level)) ?? new Heap<Returned>();
    front.due.set(toLevel(level), found);
    return found;
  }
}

/** An IP address: the hosts found at it share a clock, and one of them at a time is asked. */
export class AddressGroup implements HeapNode {
  key = 0;
  order = 0;
  slot = -1;
  readonly name: string;
  nextAt = 0;
  /** Leases that hold the address, all of one host. */
  held = 0;
  holder: Host | undefined = undefined;
  /** Hosts found here last, waiting or not. */
  members = 0;
  readonly hosts: Heap<Host> = new Heap();

  constructor(name: string) {
    this.name = name;
  }
}
