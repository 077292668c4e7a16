import { isIP, type LookupFunction } from 'node:net';
import { CrawlError, describeThrown, isCrawlError } from './errors.ts';
import { integer, onlyKnown } from './options.ts';
import { type Clock, systemClock } from './ports.ts';
import { systemLookup } from './system-lookup.ts';

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

/** Decides about an address; throws to refuse. `AddressGuard` is one. */
export interface AddressJudge {
  check(address: string, hostname: string): void;
}

/** Options of {@link DnsCache}. */
export interface DnsCacheOptions {
  /** Finds addresses. @defaultValue the system's resolver, hosts file included */
  readonly lookup?: DnsLookup | undefined;
  /** How long an answer serves, in milliseconds; kept within a minute and an hour. @defaultValue 300 000 */
  readonly ttlMs?: number | undefined;
  /** How long a failure serves, in milliseconds. @defaultValue 30 000 */
  readonly negativeTtlMs?: number | undefined;
  /** Longest wait for one answer, in milliseconds. @defaultValue 10 000 */
  readonly timeoutMs?: number | undefined;
  /** Hosts remembered; the one that was not asked for longest goes first. @defaultValue 10 000 */
  readonly maxHosts?: number | undefined;
  /** @defaultValue the machine's clock */
  readonly clock?: Clock | undefined;
}

/** Every default of {@link DnsCacheOptions}, written once. */
export const DNS_DEFAULTS: Readonly<{
  lookup: undefined;
  ttlMs: number;
  negativeTtlMs: number;
  timeoutMs: number;
  maxHosts: number;
  clock: Clock;
}> = {
  lookup: undefined,
  ttlMs: 300_000,
  negativeTtlMs: 30_000,
  timeoutMs: 10_000,
  maxHosts: 10_000,
  clock: systemClock,
};

const SHORTEST_TTL_MS = 60_000;
const LONGEST_TTL_MS = 3_600_000;

interface Entry {
  readonly answer: Promise<readonly ResolvedAddress[]>;
  /** `Infinity` while the question is open. */
  expiresAt: number;
}

/**
 * Remembers where hosts are. One question per host is open at a time, failures are remembered too, and a resolver that
 * does not answer holds up nobody but those who ask for that host.
 *
 * The system's resolver tells no time to live, so that of an answer is set by `ttlMs`.
 */
export class DnsCache {
  readonly #find: (hostname: string) => Promise<readonly ResolvedAddress[]>;
  readonly #ttlMs: number;
  readonly #negativeTtlMs: number;
  readonly #timeoutMs: number;
  readonly #maxHosts: number;
  readonly #clock: Clock;
  /** In order of last use. */
  readonly #entries = new Map<string, Entry>();

  constructor(options: DnsCacheOptions = {}) {
    onlyKnown('DnsCache', options, Object.keys(DNS_DEFAULTS));
    const lookup = options.lookup;
    if (lookup !== undefined && typeof lookup !== 'function') {
      throw new CrawlError(
        'CRAWL_OPTION_INVALID',
        'Option "lookup" takes a function: (hostname) => Promise of addresses, or one like dns.lookup.',
      );
    }
    this.#find = lookup === undefined ? systemLookup : (hostname) => askLookup(lookup, hostname);
    const ttlMs = integer('ttlMs', options.ttlMs, DNS_DEFAULTS.ttlMs);
    this.#ttlMs = Math.min(LONGEST_TTL_MS, Math.max(SHORTEST_TTL_MS, ttlMs));
    this.#negativeTtlMs = integer('negativeTtlMs', options.negativeTtlMs, DNS_DEFAULTS.negativeTtlMs);
    this.#timeoutMs = integer('timeoutMs', options.timeoutMs, DNS_DEFAULTS.timeoutMs, 1, LONGEST_TIMER_MS);
    this.#maxHosts = integer('maxHosts', options.maxHosts, DNS_DEFAULTS.maxHosts, 1);
    this.#clock = options.clock ?? DNS_DEFAULTS.clock;
  }

  /** Hosts remembered, open questions included. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * The addresses of a host, at least one, in the resolver's order. An IP address is its own answer.
   * @throws {@link CrawlError} `CRAWL_DNS_FAILED`, retryable, with the resolver's error as its cause.
   */
  resolve(hostname: string): Promise<readonly ResolvedAddress[]> {
    const host = bareName(hostname);
    const family = isIP(host);
    if (family !== 0) return Promise.resolve([{ address: host, family: family === 4 ? 4 : 6 }]);
    const key = host.endsWith('.') ? host.slice(0, -1) : host;
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#entries.delete(key);
      if (known.expiresAt > this.#clock.now()) {
        this.#entries.set(key, known);
        return known.answer;
      }
    }
    const entry: Entry = { answer: this.#ask(host), expiresAt: Number.POSITIVE_INFINITY };
    entry.answer.then(
      () => this.#keep(entry, this.#ttlMs),
      () => this.#keep(entry, this.#negativeTtlMs),
    );
    this.#entries.set(key, entry);
    this.#evict();
    return entry.answer;
  }

  /** Starts a look-up so that its answer is there when it is needed. Never throws; a failure shows where it is used. */
  prefetch(hostname: string): void {
    this.resolve(hostname).catch(() => {});
  }

  /**
   * A `lookup` for sockets that answers from this cache and hands out only addresses the judge lets pass, so that what
   * was checked is what is dialled. Where none passes, the judge's refusal is the error.
   */
  lookupFor(judge: AddressJudge): LookupFunction {
    return (hostname, options, callback) => {
      this.resolve(hostname)
        .then((addresses) => admit(addresses, hostname, wantedFamily(options.family), judge))
        .then(
          (admitted) => {
            const first = admitted[0] as ResolvedAddress;
            // Out of the promise, so that what the caller throws is not taken for a failed look-up.
            if (options.all === true) process.nextTick(callback, null, admitted);
            else process.nextTick(callback, null, first.address, first.family);
          },
          (error: NodeJS.ErrnoException) => process.nextTick(callback, error, []),
        );
    };
  }

  /** {@link lookupFor} with a judge that lets everything pass: for those who check addresses elsewhere. */
  get lookup(): LookupFunction {
    return this.lookupFor(EVERYTHING);
  }

  async #ask(host: string): Promise<readonly ResolvedAddress[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(failed(host, `no answer within ${this.#timeoutMs} ms`)), this.#timeoutMs);
    });
    try {
      return await Promise.race([this.#find(host), late]);
    } catch (error) {
      throw isCrawlError(error) ? error : failed(host, describeThrown(error), error);
    } finally {
      clearTimeout(timer);
    }
  }

  #keep(entry: Entry, ttlMs: number): void {
    entry.expiresAt = this.#clock.now() + ttlMs;
  }

  #evict(): void {
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxHosts) return;
      this.#entries.delete(key);
    }
  }
}

const EVERYTHING: AddressJudge = { check: () => {} };
const LONGEST_TIMER_MS = 2_147_483_647;

/** Those of the addresses that pass, and have the family asked for. */
function admit(
  addresses: readonly ResolvedAddress[],
  hostname: string,
  family: number,
  judge: AddressJudge,
): ResolvedAddress[] {
  let refusal: unknown;
  const admitted: ResolvedAddress[] = [];
  for (const found of addresses) {
    if (family !== 0 && found.family !== family) continue;
    try {
      judge.check(found.address, hostname);
      admitted.push(found);
    } catch (error) {
      refusal ??= error;
    }
  }
  if (admitted.length > 0) return admitted;
  throw refusal ?? failed(hostname, `no IPv${family} address`);
}

function wantedFamily(family: number | string | undefined): number {
  return family === 4 || family === 'IPv4' ? 4 : family === 6 || family === 'IPv6' ? 6 : 0;
}

/** Asks a function of the user's, whichever of the two forms it has. */
function askLookup(lookup: DnsLookup, hostname: string): Promise<readonly ResolvedAddress[]> {
  return new Promise((resolve, reject) => {
    const answered = (answer: LookupAnswer | undefined) => {
      try {
        resolve(toAddresses(hostname, answer));
      } catch (error) {
        reject(error);
      }
    };
    const called = lookup(hostname, { all: true, family: 0 }, (error, answer) =>
      error ? reject(error) : answered(answer),
    );
    if (!isThenable(called)) return;
    called.then((answer) => {
      // An async function written for the callback has nothing to say when it returns.
      if (answer !== undefined || lookup.length < 3) answered(answer);
    }, reject);
  });
}

function isThenable<T>(value: T): value is T & PromiseLike<LookupAnswer | undefined> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
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

/** Lower case, an IPv6 address without its brackets. */
function bareName(hostname: string): string {
  const host = hostname.toLowerCase();
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

function failed(hostname: string, why: string, cause?: unknown): CrawlError {
  return new CrawlError('CRAWL_DNS_FAILED', `The host ${hostname} can't be found: ${why}`, {
    retryable: true,
    ...(cause === undefined ? {} : { cause }),
  });
}
