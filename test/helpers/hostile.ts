import PQueue from 'p-queue';
import { isCrawlError } from '../../src/index.ts';
import { type FaultPlace, HOSTILE_FAULTS, type HostileFault } from '../../src/testing/index.ts';

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
