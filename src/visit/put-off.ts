import type { VisitContext } from './context.ts';
import { deferred, type Ending } from './ending.ts';

/** Puts a URL back, and with it all of its host, for something that the host can't be asked without. */
export function putOff({ clock }: Pick<VisitContext, 'clock'>, ms: number): Ending {
  return { outcome: { ...deferred().outcome, hostNextAt: clock.now() + ms } };
}
