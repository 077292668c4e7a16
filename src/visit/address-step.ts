import { isIP } from 'node:net';
import { toCrawlError } from '../errors.ts';
import type { Lease } from '../ports.ts';
import type { VisitContext } from './context.ts';
import { deferred, type Ending } from './ending.ts';
import { failed } from './failure.ts';
import { putOff } from './put-off.ts';

/** How soon a host is looked at again whose address is still being looked for. */
const PENDING_POLL_MS = 500;

/**
 * Before a host is asked its address must be known: a name that is slow to be found waits in the frontier. Hosts that share
 * an address share its clock: takes the address for this lease, or puts the URL back until it is free. The first address
 * a name resolves to stands for the host.
 */
export async function addressGate(context: VisitContext, lease: Lease): Promise<Ending | undefined> {
  const { finder } = context;
  const { attempts, host, url } = lease.request;
  const bare = host.startsWith('[') ? host.slice(1, -1) : host;
  let found = finder.known(host);
  if (found === undefined) {
    const who = finder.whoFinds(host);
    if (who === 'proxy') return undefined;
    if (isIP(bare) === 0) {
      try {
        // What failed before is asked anew: a retry that got the same remembered failure would be none.
        found = await finder.find(host, attempts > 0, context.signal);
        if (found === undefined) return putOff(context, PENDING_POLL_MS);
      } catch (thrown) {
        // The proxy may know the name; if it is none of its concern, the request will say so.
        if (who === 'unsure') return undefined;
        const error = toCrawlError(thrown, 'CRAWL_DNS_FAILED', `${host} has no address`, { url, retryable: true });
        return failed(context, lease, error, { endedAt: context.clock.now() });
      }
    }
  }
  if (!context.sharesAddresses) return undefined;
  const same = found?.some((entry) => entry.address === lease.host.address) ?? false;
  const address = (same ? lease.host.address : found?.[0]?.address) ?? bare;
  const retryAt = await context.frontier.claimAddress(lease, address);
  // The store knows the address now, so the host isn't leased again before it is free.
  return retryAt === 0 ? undefined : deferred();
}
