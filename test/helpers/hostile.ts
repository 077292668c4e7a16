import PQueue from 'p-queue';
import { type CrawlerOptions, isCrawlError } from '../../src/index.ts';
import { type FaultPlace, HOSTILE_FAULTS, type HostileFault } from '../../src/testing/index.ts';
import { listeningCrawler } from './crawl.ts';
import { Ledger } from './ledger.mjs';

/** Patience of who meets a hostile server. */
export const TIMEOUTS = { connect: 1500, headers: 1500, page: 2000 } as const;
/** For a machine that is busy with other things. */
export const GRACE_MS = 2500;
const AT_ONCE = 12;

/** Misbehaviours of some places. */
export function faultsAt(...places: readonly FaultPlace[]): readonly HostileFault[] {
  return HOSTILE_FAULTS.filter(({ place }) => places.includes(place));
}

/** Does something for each, a few at once, and keeps what it gave by its name. */
export async function forEachFault<F extends { readonly name: string }, T>(
  faults: readonly F[],
  work: (fault: F) => Promise<T>,
  atOnce: number = AT_ONCE,
): Promise<Map<string, T>> {
  const queue = new PQueue({ concurrency: atOnce });
  const results = new Map<string, T>();
  await queue.addAll(faults.map((fault) => async () => void results.set(fault.name, await work(fault))));
  return results;
}

/** Patience with what does not end by time. */
export const LONG = { connect: 10_000, headers: 10_000, page: 10_000 } as const;
/** And with the one phase that does. */
export const SHORT_MS = 700;
/** Of floods, which are made in this process. */
const FLOODS_AT_ONCE = 3;

type Phase = keyof typeof LONG;

/** The phase whose time is over where a fetch ends with one of these codes; `undefined` where it ends otherwise. */
export function phaseOf(codes: readonly string[]): Phase | undefined {
  return (Object.keys(LONG) as Phase[]).find((phase) => codes.includes(`CRAWL_${phase.toUpperCase()}_TIMEOUT`));
}

/** {@link forEachFault}: those that wait for a time to be over many at once and for a short time, all others otherwise. */
export async function forEachInTime<F extends { readonly name: string }, T>(
  faults: readonly F[],
  phase: (fault: F) => Phase | undefined,
  work: (fault: F, timeouts: Readonly<Record<Phase, number>>) => Promise<T>,
): Promise<Map<string, T>> {
  const waiting = faults.filter((fault) => phase(fault) !== undefined);
  const others = faults.filter((fault) => phase(fault) === undefined);
  const timeouts = (fault: F) => ({ ...LONG, [phase(fault) as Phase]: SHORT_MS });
  return new Map([
    ...(await forEachFault(waiting, (fault) => work(fault, timeouts(fault)))),
    ...(await forEachFault(others, (fault) => work(fault, LONG), FLOODS_AT_ONCE)),
  ]);
}

/** How a fetch ended: the code of its error, or `answer`. */
export async function endOf(fetching: Promise<unknown>): Promise<{ readonly code: string; readonly ms: number }> {
  const startedAt = performance.now();
  const code = await fetching.then(
    () => 'answer',
    (error) => (isCrawlError(error) ? error.code : String(error)),
  );
  return { code, ms: performance.now() - startedAt };
}

/** The codes under which a name stands; `answer` for one that stands under none. */
export function endsOf(table: Readonly<Record<string, readonly string[]>>, name: string): readonly string[] {
  const codes = Object.keys(table).filter((code) => table[code]?.includes(name));
  return codes.length === 0 ? ['answer'] : codes;
}

/** How a crawl ended. */
export interface CrawlEnd {
  /** URLs that were asked for, and those of which nobody heard what became of them. */
  readonly urls: number;
  readonly unsettled: readonly string[];
  readonly codes: readonly string[];
  /** Requests that are queued or in flight. */
  readonly left: number;
  readonly ms: number;
}

/** Crawls in haste and without retries, and at most for 20 s. */
export async function endOfCrawl(
  seeds: string | readonly string[],
  options: Partial<CrawlerOptions>,
): Promise<CrawlEnd> {
  const { crawler, heard } = listeningCrawler({ retries: 0, maxDurationMs: 20_000, ...options });
  const ledger = new Ledger(crawler);
  const startedAt = performance.now();
  const { queued, inFlight } = await crawler.run(seeds);
  return {
    urls: ledger.accounts.size,
    unsettled: ledger.unsettled,
    codes: heard.errors.map(({ error }) => error.code),
    left: queued + inFlight,
    ms: performance.now() - startedAt,
  };
}
