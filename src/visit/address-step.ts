import { isIP } from 'node:net';
import { toCrawlError } from '../errors.ts';
import type { Lease } from '../ports.ts';
import type { VisitContext } from './context.ts';
import { deferred, type Ending } from './ending.ts';
import { failed } from './failure.ts';

/**
 * Hosts that share an address share its clock: takes the address for this lease, or puts the URL back until it is free.
 * The first address a name resolves to stands for the host.
 */
export async function addressGate(context: VisitContext, lease: Lease): Promise<Ending | undefined> {
  if (context.resolve === undefined) return undefined;
  const { host, url } = lease.request;
  const bare = host.startsWith('[') ? host.slice(1, -1) : host;
  let address = bare;
  if (isIP(bare) === 0) {
    try {
      const found = await context.resolve(host);
      const same = found.some((entry) => entry.address === lease.host.address);
      address = (same ? lease.host.address : found[0]?.address) ?? bare;
    } catch (thrown) {
      const error = toCrawlError(thrown, 'CRAWL_DNS_FAILED', `${host} has no address`, { url, retryable: true });
      return failed(context, lease, error, { endedAt: context.clock.now() });
    }
  }
  const retryAt = await context.frontier.claimAddress(lease, address);
  // The store knows the address now, so the host isn't leased again before it is free.
  return retryAt === 0 ? undefined : deferred();
}
