import { isIPv4, isIPv6 } from 'node:net';

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
/** The upper half of an interface identifier that carries an IPv4 address (RFC 5214, 6.1), with either value of its `u` bit. */
const ISATAP = [0x0000_5efe, 0x0200_5efe];
const GLOBAL_UNICAST = range6('2000::/3', 'global');

/**
 * The special range an IP address falls in, such as `loopback`, `private` or `nat64`; `undefined` for a public address.
 *
 * IPv4-mapped addresses are read as the IPv4 address inside them. Other forms that carry an IPv4 address (NAT64, 6to4,
 * Teredo, ISATAP, IPv4-compatible) are special as a whole, since where they lead is decided elsewhere. A zone (`%eth0`)
 * is left out of account. What is no IP address is `not-an-address`. Never throws.
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry
 */
export function addressRange(address: string): string | undefined {
  if (typeof address !== 'string') return 'not-an-address';
  const bare = withoutZone(address);
  if (isIPv4(bare)) return named4(toInteger(bare));
  if (!isIPv6(bare)) return 'not-an-address';
  const groups = toGroups(bare);
  if (within6(groups, MAPPED_IPV4)) return named4(pair(groups, 6));
  for (const range of IPV6_RANGES) if (within6(groups, range)) return range.name;
  if (!within6(groups, GLOBAL_UNICAST)) return 'reserved';
  return ISATAP.includes(pair(groups, 4)) ? 'isatap' : undefined;
}

/** The same text for every spelling of an address, and for an IPv4 address mapped into IPv6. */
export function oneSpelling(address: string): string {
  const bare = withoutZone(address);
  if (!isIPv6(bare)) return bare;
  const groups = toGroups(bare);
  if (!within6(groups, MAPPED_IPV4)) return groups.join(':');
  return [6, 7].flatMap((index) => [(groups[index] ?? 0) >> 8, (groups[index] ?? 0) & 0xff]).join('.');
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

/** Two groups as an unsigned integer. */
function pair(groups: readonly number[], index: number): number {
  return ((groups[index] ?? 0) * 0x10000 + (groups[index + 1] ?? 0)) >>> 0;
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
