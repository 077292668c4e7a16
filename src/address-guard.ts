import { isIP, isIPv4, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { CrawlError } from './errors.ts';

/**
 * What may be connected to. `'public'`: addresses of the open internet. `'seeds'`: those, and whatever the hosts named
 * as seeds resolve to. `'any'`: everything. A function answers for each address; one that throws denies.
 */
export type NetworkPolicy = 'public' | 'seeds' | 'any' | ((address: string, host: string) => boolean);

/** IPv4 ranges that are no part of the open internet (IANA special-purpose registry, and one host agent). */
const IPV4_RANGES = ranges4([
  ['0.0.0.0/8', 'this-network'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'carrier-grade-nat'],
  ['127.0.0.0/8', 'loopback'],
  ['168.63.129.16/32', 'cloud-host-agent'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'protocol-assignments'],
  ['192.0.2.0/24', 'documentation'],
  ['192.31.196.0/24', 'as112'],
  ['192.52.193.0/24', 'amt'],
  ['192.88.99.0/24', '6to4-relay'],
  ['192.168.0.0/16', 'private'],
  ['192.175.48.0/24', 'as112'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['255.255.255.255/32', 'broadcast'],
  ['240.0.0.0/4', 'reserved'],
]);

/** IPv6 ranges, the narrower before the wider; what none of them names is public only within 2000::/3. */
const IPV6_RANGES = ranges6([
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['::/96', 'ipv4-compatible'],
  ['64:ff9b::/96', 'nat64'],
  ['64:ff9b:1::/48', 'nat64-local'],
  ['100::/64', 'discard'],
  ['100:0:0:1::/64', 'dummy'],
  ['2001::/32', 'teredo'],
  ['2001:2::/48', 'benchmarking'],
  ['2001:10::/28', 'orchid'],
  ['2001:20::/28', 'orchid'],
  ['2001::/23', 'protocol-assignments'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4'],
  ['2620:4f:8000::/48', 'as112'],
  ['3fff::/20', 'documentation'],
  ['5f00::/16', 'segment-routing'],
  ['fc00::/7', 'unique-local'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'site-local'],
  ['ff00::/8', 'multicast'],
]);

const MAPPED_IPV4 = range6('::ffff:0:0/96', 'ipv4-mapped');
const GLOBAL_UNICAST = range6('2000::/3', 'global');

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
 * The special range an IP address falls in, such as `loopback`, `private` or `nat64`; `undefined` for a public address.
 *
 * IPv4-mapped addresses are read as the IPv4 address inside them. Other forms that carry an IPv4 address (NAT64, 6to4,
 * IPv4-compatible) are special as a whole, since where they lead is decided elsewhere. A zone (`%eth0`) is left out of
 * account. What is no IP address is `not-an-address`. Never throws.
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry
 */
export function addressRange(address: string): string | undefined {
  const bare = withoutZone(address);
  if (isIPv4(bare)) return named4(toInteger(bare));
  if (!isIPv6(bare)) return 'not-an-address';
  const groups = toGroups(bare);
  if (within6(groups, MAPPED_IPV4)) return named4(((groups[6] ?? 0) * 0x10000 + (groups[7] ?? 0)) >>> 0);
  for (const range of IPV6_RANGES) if (within6(groups, range)) return range.name;
  return within6(groups, GLOBAL_UNICAST) ? undefined : 'reserved';
}

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
    const network = this.#network;
    if (network === 'any') return;
    if (typeof network === 'function') {
      this.#ask(network, address, hostname);
      return;
    }
    if (network === 'seeds' && this.isNamed(hostname)) return;
    const range = addressRange(address) ?? (isOwn(address) ? 'own-address' : undefined);
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
      allowed = policy(address, bareHost(hostname)) === true;
    } catch (error) {
      cause = error;
    }
    if (!allowed) throw refused(hostname, address, addressRange(address) ?? 'public', cause);
  }
}

const OWN_ADDRESSES_TTL_MS = 60_000;
let ownAddresses: ReadonlySet<string> = new Set();
let ownAddressesReadAt = Number.NEGATIVE_INFINITY;

/** Whether an interface of this machine has the address: services that trust their own machine listen there. */
function isOwn(address: string): boolean {
  const now = performance.now();
  if (now - ownAddressesReadAt > OWN_ADDRESSES_TTL_MS) {
    ownAddressesReadAt = now;
    const entries = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    ownAddresses = new Set(entries.map((entry) => withoutZone(entry.address)));
  }
  return ownAddresses.has(withoutZone(address));
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

/** Lower case, without brackets, zone and the dot that ends a fully qualified name. */
function bareHost(hostname: string): string {
  let host = hostname.toLowerCase();
  if (host.startsWith('[') && host.endsWith(']')) return host.slice(1, -1);
  if (host.endsWith('.')) host = host.slice(0, -1);
  return host;
}

function withoutZone(address: string): string {
  const zone = address.indexOf('%');
  return zone === -1 ? address : address.slice(0, zone);
}

interface Range4 {
  readonly base: number;
  readonly size: number;
  readonly name: string;
}

interface Range6 {
  readonly base: readonly number[];
  readonly bits: number;
  readonly name: string;
}

function ranges4(rows: readonly (readonly [cidr: string, name: string])[]): readonly Range4[] {
  return rows.map(([cidr, name]) => {
    const [base = '', bits = ''] = cidr.split('/');
    return { base: toInteger(base), size: 2 ** (32 - Number(bits)), name };
  });
}

function ranges6(rows: readonly (readonly [cidr: string, name: string])[]): readonly Range6[] {
  return rows.map(([cidr, name]) => range6(cidr, name));
}

function range6(cidr: string, name: string): Range6 {
  const [base = '', bits = ''] = cidr.split('/');
  return { base: toGroups(base), bits: Number(bits), name };
}

function named4(address: number): string | undefined {
  return IPV4_RANGES.find((range) => address >= range.base && address < range.base + range.size)?.name;
}

function within6(groups: readonly number[], range: Range6): boolean {
  for (let index = 0, bits = range.bits; bits > 0; index++, bits -= 16) {
    const shift = Math.max(0, 16 - bits);
    if ((groups[index] ?? 0) >> shift !== (range.base[index] ?? 0) >> shift) return false;
  }
  return true;
}

/** A dotted quad as an unsigned integer. */
function toInteger(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** The eight groups of an IPv6 address that is known to be one. */
function toGroups(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const before = groupsOf(head);
  if (tail === undefined) return before;
  const after = groupsOf(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function groupsOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const inner = toInteger(group);
    return [Math.floor(inner / 0x10000), inner % 0x10000];
  });
}
