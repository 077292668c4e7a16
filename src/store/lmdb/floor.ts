import type { Host } from './host.ts';
import type { HostTable } from './host-table.ts';
import type { Schedule } from './schedule.ts';
import type { StoreState } from './state.ts';

/** Hosts moved in one question for the next due time. */
const PATIENCE = 256;

/**
 * Keeps hosts' clocks honest over a crash. A process that died may have asked any host after its last commit, also one
 * that was new to it. So whatever is not leased since counts as asked until the moment at which the store was opened
 * again: the first lease of each host comes its gap after that moment, at the earliest. A request that was sent before
 * the crash had ended by then, for its process had.
 */
export class CrashFloor {
  readonly #state: StoreState;
  readonly #hosts: HostTable;
  readonly #schedule: Schedule;

  constructor(state: StoreState, hosts: HostTable, schedule: Schedule) {
    this.#state = state;
    this.#hosts = hosts;
    this.#schedule = schedule;
  }

  /** Takes note of the time, which the store is told by its caller. @returns whether that was news. */
  begin(now: number): boolean {
    const { all } = this.#state;
    if (all.floor === undefined || all.floor.at !== null) return false;
    all.floor = { ...all.floor, at: now };
    return true;
  }

  /** The host that is due for longest, and may be asked. */
  next(now: number): Host | undefined {
    for (;;) {
      const host = this.#schedule.next(now);
      if (host === undefined) return undefined;
      const until = this.#until(host);
      if (until <= now) return host;
      if (this.#least() > now) return undefined;
      this.#move(host, until);
    }
  }

  /** When `next` will give something. Within the first gap after a crash it may be too early, never too late. */
  nextAt(): number | undefined {
    for (let moved = 0; ; moved++) {
      const time = this.#schedule.nextAt();
      const host = this.#schedule.first();
      if (time === undefined || host === undefined) return undefined;
      const until = this.#until(host);
      const least = this.#least();
      if (until <= time) return time;
      if (until === least || (moved >= PATIENCE && least > time)) return Math.max(time, least);
      this.#move(host, until);
    }
  }

  /** The host is leased: from here on its own clock tells all. */
  leased(host: Host): void {
    const { all } = this.#state;
    host.session = all.session;
    if (all.floor?.untouched === true) all.floor = { ...all.floor, untouched: false };
  }

  #until(host: Host): number {
    const { floor } = this.#state.all;
    if (floor === undefined || floor.at === null || host.session >= floor.session) return Number.NEGATIVE_INFINITY;
    return floor.at + host.gap(this.#schedule.rules);
  }

  /** As long as nothing was leased since the crash, no host at all may be asked before this moment. */
  #least(): number {
    const { floor } = this.#state.all;
    if (floor === undefined || floor.at === null || !floor.untouched) return Number.NEGATIVE_INFINITY;
    return floor.at + this.#schedule.rules.startGapMs;
  }

  #move(host: Host, until: number): void {
    host.nextAt = Math.max(host.nextAt, until);
    host.session = this.#state.all.session;
    this.#hosts.changed(host);
    this.#schedule.place(host);
  }
}
