import type { Outcome } from '../frontier.ts';
import type { Observation } from '../politeness.ts';
import type { Link } from '../types.ts';

/** How a visit ends: what the frontier is told, and what is said aloud once it has been told. */
export interface Ending {
  readonly outcome: Outcome;
  /** The links behind `outcome.outlinks`, index by index, for `offer` and `skip` events. */
  readonly links?: readonly Link[];
  /** Links that were seen before, besides those that the store will tell of. */
  readonly seen?: number | undefined;
  /** Runs after the commit: what has been announced must not be undone by a crash. */
  readonly announce?: () => void;
}

/** The URL keeps its place; `observation` tells what was asked of the host in its stead. */
export function deferred(observation?: Observation, dueAt?: number): Ending {
  return {
    outcome: {
      outcome: 'deferred',
      ...(observation === undefined ? {} : { observation }),
      ...(dueAt === undefined ? {} : { dueAt }),
    },
  };
}
