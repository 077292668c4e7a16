import { isIP, type LookupFunction } from 'node:net';
import { askLookup, type DnsLookup, failed, type ResolvedAddress } from './dns/ask-lookup.ts';
import { CrawlError, describeThrown, isCrawlError } from './errors.ts';
import { integer, LONGEST_TIMER_MS, onlyKnown, show } from './options.ts';
import { type Clock, systemClock } from './ports.ts';
import { promised } from './promises.ts';
import { steady } from './steady-clock.ts';
import { systemLookup } from './system-lookup.ts';

export type { DnsLookup, LookupAnswer, LookupCallback, ResolvedAddress } from './dns/ask-lookup.ts';

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
  /**
   * How long it is remembered that a name does not exist, in milliseconds; any other failure may pass at any moment and
   * serves for half a second. @defaultValue 30 000
   */
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
/** Shorter than any back-off, and long enough for all who ask at one moment. */
const TEMPORARY_TTL_MS = 500;
/** Questions that are open ahead of time. */
const MOST_PREFETCHES = 64;

/** Codes of `getaddrinfo` and of c-ares for: there is no such name, or it has no address. */
const NO_SUCH_NAME: ReadonlySet<string> = new Set([
  'ENOTFOUND',
  'ENODATA',
  'ENONAME',
  'EBADNAME',
  'EAI_NONAME',
  'EAI_NODATA',
]);

interface Entry {
  readonly answer: Promise<readonly ResolvedAddress[]>;
  /** `Infinity` while the question is open. */
  expiresAt: number;
  /** Once they are known. */
  addresses: readonly ResolvedAddress[] | undefined;
  hasFailed: boolean;
  readonly askedAt: number;
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
  /** What ends the questions that are open. */
  readonly #open = new Set<(reason: CrawlError) => void>();
  #prefetching = 0;

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
    this.#clock = steady(options.clock ?? DNS_DEFAULTS.clock);
  }

  /** Hosts remembered, open questions included. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * The addresses of a host, at least one, in the resolver's order. An IP address is its own answer.
   * @throws {@link CrawlError} `CRAWL_DNS_FAILED`, retryable, with the resolver's error as its cause; `CRAWL_CLOSED` after
   * {@link DnsCache.close}.
   */
  resolve(hostname: string): Promise<readonly ResolvedAddress[]> {
    if (typeof hostname !== 'string') {
      const message = `DnsCache.resolve takes the name of a host, not ${show(hostname)}.`;
      return Promise.reject(new CrawlError('CRAWL_OPTION_INVALID', message));
    }
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
    const entry: Entry = {
      answer: this.#ask(host),
      expiresAt: Number.POSITIVE_INFINITY,
      addresses: undefined,
      hasFailed: false,
      askedAt: performance.now(),
    };
    entry.answer.then(
      (addresses) => {
        entry.addresses = addresses;
        this.#keep(entry, this.#ttlMs);
      },
      (error) => {
        entry.hasFailed = true;
        this.#keep(entry, isLasting(error) ? this.#negativeTtlMs : Math.min(TEMPORARY_TTL_MS, this.#negativeTtlMs));
      },
    );
    this.#entries.set(key, entry);
    this.#evict();
    return entry.answer;
  }

  /**
   * The addresses of a host where they are in the cache, without asking anybody. Never throws.
   * @param host - In lower case, without a dot at its end.
   */
  known(host: string): readonly ResolvedAddress[] | undefined {
    const entry = this.#entries.get(host);
    if (entry?.addresses === undefined || !(entry.expiresAt > this.#clock.now())) return undefined;
    // Each page asks; while there is room for as many again, the order of use is no matter.
    if (this.#entries.size * 2 > this.#maxHosts) {
      this.#entries.delete(host);
      this.#entries.set(host, entry);
    }
    return entry.addresses;
  }

  /** For how long the question for a host has been open, in milliseconds; 0 where none is. Never throws. */
  waitedMs(host: string): number {
    const entry = this.#entries.get(host);
    return entry?.expiresAt === Number.POSITIVE_INFINITY ? performance.now() - entry.askedAt : 0;
  }

  /** Lets a host be asked for again that was not found. Never throws. */
  forgetFailure(host: string): void {
    if (this.#entries.get(host)?.hasFailed === true) this.#entries.delete(host);
  }

  /**
   * Starts a look-up so that its answer is there when it is needed, if not too many are under way. Never throws; a failure
   * shows where it is used.
   */
  prefetch(hostname: string): void {
    if (this.#prefetching >= MOST_PREFETCHES || this.known(hostname) !== undefined) return;
    this.#prefetching++;
    const done = (): void => void this.#prefetching--;
    this.resolve(hostname).then(done, done);
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

  /** Ends the questions that are open, with `CRAWL_CLOSED` for who waits for one, so that no timer of theirs is left. */
  close(): void {
    for (const end of this.#open) end(new CrawlError('CRAWL_CLOSED', 'The DnsCache was closed before an answer came.'));
  }

  async #ask(host: string): Promise<readonly ResolvedAddress[]> {
    const late = promised<never>();
    const timer = setTimeout(
      () => late.reject(failed(host, `no answer within ${this.#timeoutMs} ms`)),
      this.#timeoutMs,
    );
    this.#open.add(late.reject);
    try {
      return await Promise.race([this.#find(host), late.promise]);
    } catch (error) {
      throw isCrawlError(error) ? error : failed(host, describeThrown(error), error);
    } finally {
      clearTimeout(timer);
      this.#open.delete(late.reject);
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

/** Whether a failure says that the name does not exist, and not that nobody could tell. */
function isLasting(error: unknown): boolean {
  try {
    const { cause } = error as { readonly cause?: { readonly code?: unknown } | undefined };
    return NO_SUCH_NAME.has(String(cause?.code));
  } catch {
    // What a resolver of the user's throws may throw when it is looked at.
    return false;
  }
}

const EVERYTHING: AddressJudge = { check: () => {} };

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

/** Lower case, an IPv6 address without its brackets. */
function bareName(hostname: string): string {
  const host = hostname.toLowerCase();
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
