import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { addressRange, oneSpelling } from './address-guard/ranges.ts';
import { CrawlError } from './errors.ts';
import { mustTake } from './options.ts';
import { ignore, isThenable } from './promises.ts';

export { addressRange } from './address-guard/ranges.ts';

/**
 * What may be connected to. `'public'`: addresses of the open internet. `'seeds'`: those, and whatever the hosts named
 * as seeds resolve to. `'any'`: everything. A function answers for each address; one that throws denies.
 */
export type NetworkPolicy = 'public' | 'seeds' | 'any' | ((address: string, host: string) => boolean);

/** Ports a browser refuses because other protocols live there. @see https://fetch.spec.whatwg.org/#port-blocking */
export const BAD_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** Names that resolve inside a network by their suffix, whatever the addresses say. */
const LOCAL_SUFFIXES = ['localhost', 'local', 'internal', 'home.arpa'];

/**
 * Whether a URL may be asked for at all, wherever its host is.
 * @throws {@link CrawlError} `CRAWL_SCHEME_REFUSED` for anything but http and https, `CRAWL_PORT_REFUSED` for
 * {@link BAD_PORTS}.
 */
export function checkUrl(url: URL): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new CrawlError('CRAWL_SCHEME_REFUSED', `Only http and https are asked for, not ${url.protocol} ${url.href}`, {
      url: url.href,
    });
  }
  if (url.port !== '' && BAD_PORTS.has(Number(url.port))) {
    throw new CrawlError(
      'CRAWL_PORT_REFUSED',
      `Port ${url.port} belongs to another protocol and is never asked: ${url.href}`,
      {
        url: url.href,
      },
    );
  }
}

/**
 * Decides which addresses may be connected to. It resolves nothing and connects to nothing: whoever opens a socket asks
 * it about the very address the socket goes to.
 */
export class AddressGuard {
  readonly #network: NetworkPolicy;
  readonly #named = new Set<string>();

  constructor(network: NetworkPolicy = 'seeds') {
    if (typeof network !== 'function' && network !== 'public' && network !== 'seeds' && network !== 'any') {
      throw new CrawlError(
        'CRAWL_OPTION_INVALID',
        `Option "network" takes 'public', 'seeds', 'any' or a function (address, host) => boolean.`,
      );
    }
    this.#network = network;
  }

  /** Notes that the user named this host himself. With `'seeds'`, whatever it resolves to may be connected to. */
  allowHost(hostname: string): void {
    mustTake('AddressGuard.allowHost', 'the name of a host', typeof hostname === 'string', hostname);
    this.#named.add(bareHost(hostname));
  }

  /** Whether the host was named by {@link allowHost}. Never throws. */
  isNamed(hostname: string): boolean {
    return this.#named.has(bareHost(hostname));
  }

  /** Whether {@link check} may say no for some address of this host. Never throws. */
  dependsOnAddress(hostname: string): boolean {
    return this.#network !== 'any' && !(this.#network === 'seeds' && this.isNamed(hostname));
  }

  /**
   * @param address - IPv4 or IPv6, as a resolver or a socket gives it.
   * @param hostname - The host of the URL that leads there.
   * @throws {@link CrawlError} `CRAWL_ADDRESS_REFUSED`, with the name of the range in its message.
   */
  check(address: string, hostname: string): void {
    mustTake('AddressGuard.check', 'an IP address as a string', typeof address === 'string', address);
    const network = this.#network;
    if (network === 'any') return;
    if (typeof network === 'function') {
      this.#ask(network, address, hostname);
      return;
    }
    if (network === 'seeds' && this.isNamed(hostname)) return;
    const range = specialRange(address);
    if (range !== undefined) throw refused(hostname, address, range);
  }

  /**
   * Refuses hosts whose name alone says that they are not on the open internet: addresses in special ranges,
   * `localhost`, `*.local`, `*.internal`, `*.home.arpa`, names without a dot. To be asked before a name is resolved,
   * and for IP addresses in a URL, which no resolver ever sees.
   * @param hostname - As in `URL.hostname`, IPv6 in brackets.
   * @throws {@link CrawlError} `CRAWL_ADDRESS_REFUSED`
   */
  checkHostname(hostname: string): void {
    if (this.#network === 'any') return;
    const host = bareHost(hostname);
    if (isIP(host) !== 0) {
      this.check(host, hostname);
      return;
    }
    if (typeof this.#network === 'function' || (this.#network === 'seeds' && this.isNamed(host))) return;
    const why = localName(host);
    if (why !== undefined) throw refused(hostname, hostname, why);
  }

  #ask(policy: (address: string, host: string) => boolean, address: string, hostname: string): void {
    let allowed = false;
    let cause: unknown;
    try {
      const given: unknown = policy(address, bareHost(hostname));
      allowed = given === true;
      if (isThenable(given)) {
        ignore(given);
        throw new TypeError('it must answer at once, not with a promise');
      }
    } catch (error) {
      cause = error;
    }
    if (!allowed) throw refused(hostname, address, addressRange(address) ?? 'public', cause);
  }
}

const OWN_ADDRESSES_TTL_MS = 60_000;
const MOST_RANGES = 10_000;
let ownAddresses: ReadonlySet<string> = new Set();
let ownAddressesReadAt = Number.NEGATIVE_INFINITY;
/** By address as it was given: kept-alive connections ask with every request. */
const ranges = new Map<string, string | undefined>();

/** {@link addressRange}, or `own-address` for one of this machine: services that trust their own machine listen there. */
function specialRange(address: string): string | undefined {
  const now = performance.now();
  if (now - ownAddressesReadAt > OWN_ADDRESSES_TTL_MS) {
    ownAddressesReadAt = now;
    const entries = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    ownAddresses = new Set(entries.map((entry) => oneSpelling(entry.address)));
    ranges.clear();
  }
  const known = ranges.get(address);
  if (known !== undefined || ranges.has(address)) return known;
  const range = addressRange(address) ?? (ownAddresses.has(oneSpelling(address)) ? 'own-address' : undefined);
  if (ranges.size >= MOST_RANGES) ranges.clear();
  ranges.set(address, range);
  return range;
}

function refused(hostname: string, address: string, range: string, cause?: unknown): CrawlError {
  const at = address === hostname ? hostname : `${hostname} (${address})`;
  return new CrawlError(
    'CRAWL_ADDRESS_REFUSED',
    `Not connected to ${at}: ${range}. The option "network" says what may be connected to.`,
    cause === undefined ? {} : { cause },
  );
}

/** Why a name can't be one of the open internet; `undefined` where it can. */
function localName(host: string): string | undefined {
  if (host === '') return 'empty-name';
  for (const suffix of LOCAL_SUFFIXES) if (host === suffix || host.endsWith(`.${suffix}`)) return 'local-name';
  return host.includes('.') ? undefined : 'single-label-name';
}

/**
 * Lower case, without brackets and without the dot that ends a fully qualified name; nor more of them, which a resolver may
 * take for one.
 */
function bareHost(hostname: string): string {
  let host = hostname.toLowerCase();
  if (host.startsWith('[') && host.endsWith(']')) return host.slice(1, -1);
  while (host.endsWith('.')) host = host.slice(0, -1);
  return host;
}
