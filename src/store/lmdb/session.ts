import type { HostTable } from './host-table.ts';
import type { Leases, Lent } from './leases.ts';
import type { Queues } from './queues.ts';
import type { Schedule } from './schedule.ts';
import type { StoreState } from './state.ts';
import type { UrlTable } from './url-table.ts';
import type { Waiting } from './waiting.ts';

interface SessionParts {
  readonly hosts: HostTable;
  readonly urls: UrlTable;
  readonly queues: Queues;
  readonly schedule: Schedule;
  readonly waiting: Waiting;
  readonly leases: Leases;
  readonly state: StoreState;
}

/** How leases that were never settled come back: those of a dead process, those that run out, and those out at the end. */
export class Session {
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** Begins a session of writing: leases of the last one come back. */
  begin(): void {
    const { hosts, urls, queues, waiting, leases, state } = this.#parts;
    state.begin();
    for (const { host: id, ref, json, level, place } of leases.takeSaved()) {
      const host = hosts.byId(id);
      queues.putBack(host, { ref, json, level, place }, 0);
      if (ref !== undefined) urls.takenBack(ref);
      state.all.queued++;
      waiting.touch(host);
    }
    waiting.changes++;
  }

  /** Takes back leases that have run out. */
  expire(now: number): void {
    const { schedule, waiting, leases } = this.#parts;
    const { rules } = schedule;
    for (let lent = leases.expired(now); lent !== undefined; lent = leases.expired(now)) {
      const { host, key: expiresAt } = lent;
      host.nextAt = Math.max(host.nextAt, expiresAt + host.gap(rules));
      this.#takeBack(lent, now);
      schedule.releaseOf(lent, expiresAt + rules.startGapMs);
      waiting.touch(host);
    }
  }

  /** Ends the session; leases that are out are given back. */
  end(): void {
    const { schedule, waiting, leases, state } = this.#parts;
    const out = leases.all();
    for (const lent of out) {
      this.#takeBack(lent, 0);
      schedule.releaseOf(lent, 0);
      schedule.place(lent.host);
    }
    // Their hosts were asked until now, and what now is only the next caller will tell.
    state.all.clean = out.length === 0;
    waiting.changes++;
  }

  #takeBack(lent: Lent, now: number): void {
    const { urls, waiting, leases } = this.#parts;
    leases.end(lent);
    waiting.giveBack(lent, 0, now);
    if (lent.ref !== undefined) urls.takenBack(lent.ref);
  }
}
