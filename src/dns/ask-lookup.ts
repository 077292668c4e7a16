import { isIP } from 'node:net';
import { CrawlError } from '../errors.ts';
import { isThenable } from '../promises.ts';

/** One address of a host. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** What a lookup may answer with, by promise or callback. */
export type LookupAnswer = string | readonly (string | { readonly address: string; readonly family?: number })[];

/** As `dns.lookup` calls back. */
export type LookupCallback = (error: Error | null, address?: LookupAnswer, family?: number) => void;

/**
 * Finds the addresses of a host: a function with the signature of Node's `dns.lookup`, or one that returns a promise of
 * an address, of several, or of `{ address, family }` objects.
 */
export type DnsLookup = (
  hostname: string,
  options: { readonly all: true; readonly family: 0 },
  callback: LookupCallback,
  // biome-ignore lint/suspicious/noConfusingVoidType: what a function that calls back returns
) => Promise<LookupAnswer> | void;

/** Asks a function of the user's, whichever of the two forms it has. */
export function askLookup(lookup: DnsLookup, hostname: string): Promise<readonly ResolvedAddress[]> {
  return new Promise((resolve, reject) => {
    const answered = (answer: LookupAnswer | undefined) => {
      try {
        resolve(toAddresses(hostname, answer));
      } catch (error) {
        reject(error);
      }
    };
    const called: unknown = lookup(hostname, { all: true, family: 0 }, (error, answer) =>
      error ? reject(error) : answered(answer),
    );
    if (isThenable(called)) {
      (called as PromiseLike<LookupAnswer | undefined>).then((answer) => {
        // An async function written for the callback has nothing to say when it returns.
        if (answer !== undefined || lookup.length < 3) answered(answer);
      }, reject);
    } else if (typeof called === 'string' || Array.isArray(called)) answered(called);
  });
}

function toAddresses(hostname: string, answer: LookupAnswer | undefined): readonly ResolvedAddress[] {
  const list = typeof answer === 'string' ? [answer] : Array.isArray(answer) ? answer : [];
  const addresses = list.map((found: string | { readonly address: string }) => {
    const address = typeof found === 'string' ? found : found?.address;
    const family = isIP(String(address));
    if (family === 0) throw failed(hostname, `the lookup answered ${JSON.stringify(address)}, which is no IP address`);
    return { address: address as string, family: family === 4 ? (4 as const) : (6 as const) };
  });
  if (addresses.length === 0) throw failed(hostname, 'it has no address');
  return addresses;
}

/** `CRAWL_DNS_FAILED`, retryable. */
export function failed(hostname: string, why: string, cause?: unknown): CrawlError {
  return new CrawlError('CRAWL_DNS_FAILED', `The host ${hostname} can't be found: ${why}`, {
    retryable: true,
    ...(cause === undefined ? {} : { cause }),
  });
}
