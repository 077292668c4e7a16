import { CrawlError, describeThrown } from './errors.ts';
import { show } from './options.ts';
import { type Clock, systemClock } from './ports.ts';
import { ignore } from './promises.ts';

/** The last moment that a `Date` can tell. */
const LAST_MOMENT = 8.64e15;

/**
 * A clock that all can rely on: it never throws, always gives a time, and never goes back. Where the clock beneath is set
 * back, as the machine's may be, time goes on from where it was, since a gap that began before would else never end, or
 * be cut short when the clock is set right. Where the clock beneath is broken, time goes on at the machine's pace, and
 * {@link fault} says what is wrong.
 */
export class SteadyClock implements Clock {
  readonly #source: Clock;
  #last: number | undefined;
  /** What was taken back, and is added ever since. */
  #offset = 0;
  #brokenSince: { readonly at: number; readonly time: number } | undefined;
  #fault: CrawlError | undefined;

  constructor(source: Clock) {
    this.#source = source;
  }

  /** `CRAWL_HOOK_FAILED`, once the clock beneath has given what is no time. */
  get fault(): CrawlError | undefined {
    return this.#fault;
  }

  now(): number {
    const last = this.#last;
    let time = this.#read();
    if (time === undefined) return this.#goOn(last);
    time += this.#offset;
    if (last !== undefined && time < last) {
      this.#offset += last - time;
      time = last;
    }
    this.#brokenSince = undefined;
    this.#last = time;
    return time;
  }

  #read(): number | undefined {
    try {
      const time: unknown = this.#source.now();
      if (typeof time === 'number' && time >= 0 && time <= LAST_MOMENT) return time;
      this.#fault ??= broken(`now() gave ${typeof time === 'number' ? String(time) : show(time)}`);
      ignore(time);
    } catch (thrown) {
      this.#fault ??= broken(`now() threw: ${describeThrown(thrown)}`, thrown);
    }
    return undefined;
  }

  /** The time of the last good reading, and what has gone by since. */
  #goOn(last: number | undefined): number {
    const at = performance.now();
    this.#brokenSince ??= { at, time: last ?? Date.now() };
    this.#last = this.#brokenSince.time + (at - this.#brokenSince.at);
    return this.#last;
  }
}

/** A clock of the user's, or the machine's, made steady; one that is steady already as it is. */
export function steady(clock: Clock = systemClock): SteadyClock {
  return clock instanceof SteadyClock ? clock : new SteadyClock(clock);
}

function broken(what: string, cause?: unknown): CrawlError {
  const message = `The option "clock" tells no time: ${what}; it must give milliseconds since the epoch.`;
  return new CrawlError('CRAWL_HOOK_FAILED', message, cause === undefined ? {} : { cause });
}
