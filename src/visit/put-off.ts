import type { Lease } from '../ports.ts';
import type { VisitContext } from './context.ts';
import { deferred, type Ending } from './ending.ts';

/** Puts a URL back, and with it all of its host, for something that the host can't be asked without. */
export async function putOff({ clock, frontier }: VisitContext, lease: Lease, ms: number): Promise<Ending> {
  const nextAt = Math.max(lease.host.nextAt, clock.now() + ms);
  await frontier.setHost(lease.request.host, { nextAt });
  return deferred();
}
