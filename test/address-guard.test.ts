import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { AddressGuard, addressRange, BAD_PORTS, checkUrl } from '../src/address-guard.ts';
import { isCrawlError } from '../src/errors.ts';

function codeOf(action: () => void): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return isCrawlError(error) ? error.code : 'not a CrawlError';
  }
}

const SPECIAL: readonly (readonly [address: string, range: string])[] = [
  ['0.0.0.0', 'this-network'],
  ['0.255.255.255', 'this-network'],
  ['10.0.0.1', 'private'],
  ['10.255.255.255', 'private'],
  ['172.16.0.0', 'private'],
  ['172.31.255.255', 'private'],
  ['192.168.1.1', 'private'],
  ['100.64.0.0', 'carrier-grade-nat'],
  ['100.100.100.200', 'carrier-grade-nat'],
  ['100.127.255.255', 'carrier-grade-nat'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.255', 'loopback'],
  ['168.63.129.16', 'cloud-host-agent'],
  ['169.254.169.254', 'link-local'],
  ['192.0.0.192', 'protocol-assignments'],
  ['192.0.2.1', 'documentation'],
  ['198.51.100.7', 'documentation'],
  ['203.0.113.255', 'documentation'],
  ['192.31.196.1', 'as112'],
  ['192.52.193.1', 'amt'],
  ['192.88.99.1', '6to4-relay'],
  ['192.175.48.1', 'as112'],
  ['198.18.0.0', 'benchmarking'],
  ['198.19.255.255', 'benchmarking'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['0:0:0:0:0:0:0:1', 'loopback'],
  ['::127.0.0.1', 'ipv4-compatible'],
  ['::8.8.8.8', 'ipv4-compatible'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:7f00:1', 'loopback'],
  ['::FFFF:169.254.169.254', 'link-local'],
  ['64:ff9b::7f00:1', 'nat64'],
  ['64:ff9b::8.8.8.8', 'nat64'],
  ['64:ff9b:1::1', 'nat64-local'],
  ['100::1', 'discard'],
  ['100:0:0:1::1', 'dummy'],
  ['2001::1', 'teredo'],
  ['2001:2::1', 'benchmarking'],
  ['2001:10::1', 'orchid'],
  ['2001:2f:ffff::1', 'orchid'],
  ['2001:1ff:ffff::1', 'protocol-assignments'],
  ['2001:db8::1', 'documentation'],
  ['3fff:fff::1', 'documentation'],
  ['2002:7f00:1::', '6to4'],
  ['2002:808:808::1', '6to4'],
  ['2620:4f:8000::1', 'as112'],
  ['2606:4700::5efe:7f00:1', 'isatap'],
  ['2606:4700::200:5efe:10.0.0.1', 'isatap'],
  ['fe80::5efe:7f00:1', 'link-local'],
  ['::ffff:0:127.0.0.1', 'reserved'],
  ['5f00::1', 'segment-routing'],
  ['fc00::1', 'unique-local'],
  ['fd00:ec2::254', 'unique-local'],
  ['fd20:ce::254', 'unique-local'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local'],
  ['febf::1', 'link-local'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
  ['4000::1', 'reserved'],
  ['1fff::1', 'reserved'],
  ['127.1', 'not-an-address'],
  ['0x7f.0.0.1', 'not-an-address'],
  ['example.com', 'not-an-address'],
  ['', 'not-an-address'],
];

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '168.63.129.15',
  '168.63.129.17',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2606:4700:4700::1111',
  '2003::1',
  '2620:4f:8001::1',
  '3ffe::1',
  '3fff:1000::1',
];

describe('addressRange()', () => {
  test.each(SPECIAL)('%s is special: %s', (address, range) => expect(addressRange(address)).toBe(range));
  test.each(PUBLIC)('%s is public', (address) => expect(addressRange(address)).toBeUndefined());

  test('reads an IPv4 address the same when it comes mapped into IPv6', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(addressRange(`::ffff:${address}`)).toBe(addressRange(address));
      }),
    );
  });

  test('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV6(), fc.ipV4Extended()), (address) => {
        const range = addressRange(address);
        expect(range === undefined || range.length > 0).toBe(true);
      }),
    );
  });

  test('calls no IPv6 address public that is outside 2000::/3 and not mapped', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        if (addressRange(address) !== undefined) return;
        const host = new URL(`http://[${address}]/`).hostname;
        expect(host).toMatch(/^\[(?:[23][0-9a-f]{3}:|::ffff:)/);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('AddressGuard', () => {
  test("'public' refuses special addresses by the name of their range, and lets public ones pass", () => {
    const guard = new AddressGuard('public');
    guard.allowHost('intern.example.test');
    expect(() => guard.check('10.1.2.3', 'intern.example.test')).toThrow(/private/);
    expect(codeOf(() => guard.check('::ffff:127.0.0.1', 'a.example.test'))).toBe('CRAWL_ADDRESS_REFUSED');
    expect(codeOf(() => guard.check('8.8.8.8', 'a.example.test'))).toBeUndefined();
  });

  test("'seeds' lets a named host lead anywhere, and no other", () => {
    const guard = new AddressGuard('seeds');
    guard.allowHost('Intern.Example.test.');
    expect(codeOf(() => guard.check('10.1.2.3', 'intern.example.test'))).toBeUndefined();
    expect(codeOf(() => guard.check('10.1.2.3', 'other.example.test'))).toBe('CRAWL_ADDRESS_REFUSED');
    expect(codeOf(() => guard.check('10.1.2.3', 'sub.intern.example.test'))).toBe('CRAWL_ADDRESS_REFUSED');
  });

  test('an address of this machine is refused in whatever spelling, though it may be a public one', () => {
    const own = vi.spyOn(os, 'networkInterfaces').mockReturnValue({
      eth0: [
        { address: '9.8.7.6', family: 'IPv4', netmask: '', mac: '', internal: false, cidr: null },
        { address: '2606:4700::abcd', family: 'IPv6', netmask: '', mac: '', internal: false, cidr: null, scopeid: 0 },
      ],
    });
    syncBuiltinESMExports();
    const later = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 61_000);
    try {
      const guard = new AddressGuard('public');
      for (const spelling of [
        '9.8.7.6',
        '::ffff:9.8.7.6',
        '::FFFF:0908:0706',
        '2606:4700::abcd',
        '2606:4700:0:0::ABCD',
      ]) {
        expect(() => guard.check(spelling, 'a.example.test'), spelling).toThrow(/own-address/);
      }
      expect(codeOf(() => guard.check('9.8.7.5', 'a.example.test'))).toBeUndefined();
    } finally {
      own.mockRestore();
      syncBuiltinESMExports();
      later.mockRestore();
    }
  });

  test("'any' lets everything pass", () => {
    const guard = new AddressGuard('any');
    expect(codeOf(() => guard.check('169.254.169.254', 'metadata'))).toBeUndefined();
    expect(codeOf(() => guard.checkHostname('localhost'))).toBeUndefined();
    expect(codeOf(() => guard.checkHostname('[::1]'))).toBeUndefined();
  });

  test('a function decides alone; false, a truthy non-boolean and a throw deny', () => {
    const asked: string[] = [];
    const guard = new AddressGuard((address, host) => {
      asked.push(`${address} ${host}`);
      return address.startsWith('127.');
    });
    expect(codeOf(() => guard.check('127.0.0.9', 'a.example.test'))).toBeUndefined();
    expect(codeOf(() => guard.check('8.8.8.8', 'b.example.test'))).toBe('CRAWL_ADDRESS_REFUSED');
    expect(codeOf(() => guard.checkHostname('[::1]'))).toBe('CRAWL_ADDRESS_REFUSED');
    expect(asked).toEqual(['127.0.0.9 a.example.test', '8.8.8.8 b.example.test', '::1 ::1']);
    const fault = new Error('table not loaded');
    const throwing = new AddressGuard(() => {
      throw fault;
    });
    expect(() => throwing.check('8.8.8.8', 'a.example.test')).toThrow(
      expect.objectContaining({ code: 'CRAWL_ADDRESS_REFUSED', cause: fault }),
    );
    const truthy = new AddressGuard((() => 'yes') as unknown as () => boolean);
    expect(codeOf(() => truthy.check('8.8.8.8', 'a.example.test'))).toBe('CRAWL_ADDRESS_REFUSED');
  });

  test('a promise denies and is told so, and its rejection harms nobody', async () => {
    const promising = new AddressGuard((() => Promise.reject(new Error('no table'))) as unknown as () => boolean);
    expect(() => promising.check('8.8.8.8', 'a.example.test')).toThrow(
      expect.objectContaining({ code: 'CRAWL_ADDRESS_REFUSED', cause: expect.any(TypeError) }),
    );
    // A rejection that nobody handles is told of between two turns, and fails the test.
    await new Promise((resolve) => setImmediate(resolve));
  });

  test.each([
    'localhost',
    'LOCALHOST.',
    'localhost..',
    'a.localhost',
    'metadata.google.internal..',
    '.',
    'printer.local',
    'db.internal',
    'metadata.google.internal',
    'metadata.google.internal.',
    'router.home.arpa',
    'intranet',
    'metadata',
    '127.0.0.1',
    '[::1]',
    '[::ffff:7f00:1]',
    '169.254.169.254',
    '192.168.0.1',
  ])('checkHostname() refuses %s unless it was named', (hostname) => {
    const guard = new AddressGuard('seeds');
    expect(codeOf(() => guard.checkHostname(hostname))).toBe('CRAWL_ADDRESS_REFUSED');
    guard.allowHost(hostname);
    expect(codeOf(() => guard.checkHostname(hostname))).toBeUndefined();
  });

  test.each(['example.com', 'localhost.example.com', 'mylocal', '8.8.8.8', '[2606:4700:4700::1111]'])(
    'checkHostname() judges %s by what it is',
    (hostname) => {
      const expected = hostname === 'mylocal' ? 'CRAWL_ADDRESS_REFUSED' : undefined;
      expect(codeOf(() => new AddressGuard('public').checkHostname(hostname))).toBe(expected);
    },
  );

  test('every spelling of a loopback address is refused once WHATWG has parsed it', () => {
    const guard = new AddressGuard('public');
    for (const spelling of ['2130706433', '0x7f.1', '0177.0.0.1', '127.1', '①②⑦.0.0.1', '0', '[::ffff:127.0.0.1]']) {
      expect(
        codeOf(() => guard.checkHostname(new URL(`http://${spelling}/`).hostname)),
        spelling,
      ).toBe('CRAWL_ADDRESS_REFUSED');
    }
  });

  test('a policy that is none is refused when the guard is made', () => {
    expect(codeOf(() => new AddressGuard('private' as 'public'))).toBe('CRAWL_OPTION_INVALID');
  });
});

describe('checkUrl()', () => {
  test.each(['ftp://example.com/', 'javascript:alert(1)', 'file:///etc/passwd', 'data:,x', 'ws://example.com/'])(
    '%s is refused for its scheme',
    (url) => expect(codeOf(() => checkUrl(new URL(url)))).toBe('CRAWL_SCHEME_REFUSED'),
  );

  test('refuses the ports of other protocols and no others', () => {
    for (let port = 0; port <= 65_535; port += port < 11_000 ? 1 : 977) {
      const expected = BAD_PORTS.has(port) ? 'CRAWL_PORT_REFUSED' : undefined;
      expect(codeOf(() => checkUrl(new URL(`http://example.com:${port}/`)))).toBe(expected);
    }
    expect(BAD_PORTS.has(80) || BAD_PORTS.has(443) || BAD_PORTS.has(8080)).toBe(false);
    expect(BAD_PORTS.size).toBe(83);
  });
});
