// Every misbehaviour of a proxy: each ends with a typed error, leaves nothing, and never leads straight to the site.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { HOSTILE_AUTHORITY, HostileServer } from '../src/testing/index.ts';
import { crawl } from './helpers/crawl.ts';
import { newFetcher, TRANSPORTS } from './helpers/fetcher.ts';
import { endOf, faultsAt, forEachInTime, GRACE_MS, LONG, phaseOf, SHORT_MS } from './helpers/hostile.ts';
import { startRawSite } from './helpers/site.ts';

const PROXIES = { proxy: ['http', 'https'], socks: ['socks5', 'socks5h', 'socks4', 'socks4a'] } as const;

/** Each misbehaviour by each kind of proxy, for plain sites and secure ones. */
const CASES = faultsAt('proxy', 'socks').flatMap(({ name: fault, place }) =>
  PROXIES[place as 'proxy'].flatMap((kind) =>
    (['http', 'https'] as const).map((scheme) => ({ name: `${fault} by ${kind} for ${scheme}`, fault, kind, scheme })),
  ),
);

/** How a fetch ends, without `CRAWL_`: the same way everywhere, or for plain sites and for secure ones; `|` is "or". */
type Ends = string | readonly [plain: string, secure: string];

/**
 * By misbehaviour, or by that and the kind of proxy. A proxy of HTTP is what answers for plain sites, and what it says is
 * taken for an answer of theirs; a tunnel that stands is the site, as far as anybody can tell.
 */
const ENDS: Readonly<Record<string, Ends>> = {
  'proxy-silence': ['HEADERS_TIMEOUT', 'CONNECT_TIMEOUT'],
  'proxy-close': ['CONNECTION_LOST', 'PROXY_FAILED'],
  'proxy-close-on-connect by http': ['CONNECTION_LOST', 'PROXY_FAILED'],
  'proxy-close-on-connect by https': 'PROXY_FAILED',
  'proxy-reset': 'PROXY_FAILED',
  'proxy-unauthorized': 'PROXY_FAILED',
  'proxy-forbidden': ['answer', 'PROXY_FAILED'],
  'proxy-bad-gateway': ['answer', 'PROXY_FAILED'],
  'proxy-bad-gateway-page': ['answer', 'PROXY_FAILED'],
  'proxy-redirect': ['PORT_REFUSED', 'PROXY_FAILED'],
  'proxy-garbage': ['PROTOCOL_INVALID', 'PROXY_FAILED'],
  'proxy-flood': ['PROTOCOL_INVALID', 'PROXY_FAILED'],
  'proxy-drip': ['HEADERS_TIMEOUT', 'CONNECT_TIMEOUT'],
  'proxy-head-endless': ['HEADERS_TOO_LARGE', 'PROXY_FAILED'],
  'proxy-informational-endless': ['HEADERS_TOO_LARGE', 'PROXY_FAILED'],
  'proxy-blank-lines': ['HEADERS_TOO_LARGE', 'PROXY_FAILED'],
  'proxy-upgrade': ['PROTOCOL_INVALID', 'PROXY_FAILED'],
  'proxy-chunks-endless': ['answer', 'TLS_FAILED'],
  'proxy-tunnel-closed': ['answer', 'TLS_FAILED'],
  // A reset with bytes before it that were not read yet looks like an end to some systems.
  'proxy-tunnel-reset': ['answer|BODY_TRUNCATED', 'TLS_FAILED'],
  'proxy-tunnel-silence': ['PAGE_TIMEOUT', 'CONNECT_TIMEOUT'],
  'proxy-tunnel-noise': ['answer', 'TLS_FAILED'],
  'proxy-tunnel-plain': ['PAGE_TIMEOUT', 'TLS_FAILED'],
  'proxy-renegotiation-endless by http': ['HEADERS_TIMEOUT', 'CONNECT_TIMEOUT'],
  'proxy-renegotiation-endless by https': ['TLS_FAILED', 'PROXY_FAILED'],
  'socks-silence': 'CONNECT_TIMEOUT',
  'socks-close-on-connect': 'PROXY_FAILED',
  'socks-close-at-hello': 'PROXY_FAILED',
  'socks-reset': 'PROXY_FAILED',
  'socks-version': 'PROXY_FAILED',
  'socks-no-method by 5': 'PROXY_FAILED',
  'socks-no-method by 4': 'CONNECT_TIMEOUT',
  'socks-method-unasked by 5': 'PROXY_FAILED',
  'socks-method-unasked by 4': 'CONNECT_TIMEOUT',
  'socks-short': 'CONNECT_TIMEOUT',
  'socks-short-close': 'PROXY_FAILED',
  'socks-silence-after-hello': 'CONNECT_TIMEOUT',
  'socks-close-after-hello': 'PROXY_FAILED',
  'socks-refused': 'PROXY_FAILED',
  // What is left of the answer is taken for the site's.
  'socks-address-unknown by 5': ['PROTOCOL_INVALID', 'CONNECT_TIMEOUT'],
  'socks-address-unknown by 4': 'PROXY_FAILED',
  'socks-drip by 5': 'CONNECT_TIMEOUT',
  'socks-drip by 4': 'PROXY_FAILED',
  'socks-noise': 'PROXY_FAILED',
  'socks-zeros': 'PROXY_FAILED',
  'socks-http': 'PROXY_FAILED',
  'socks-tunnel-closed': ['CONNECTION_LOST', 'TLS_FAILED'],
  'socks-tunnel-silence': ['HEADERS_TIMEOUT', 'CONNECT_TIMEOUT'],
  'socks-tunnel-noise': ['PROTOCOL_INVALID', 'TLS_FAILED'],
};

type Case = (typeof CASES)[number];

function endsOfCase({ fault, kind, scheme }: Case): string[] {
  const version = /^socks([45])/.exec(kind)?.[1] ?? kind;
  const ends = ENDS[`${fault} by ${version}`] ?? ENDS[fault]!;
  const end = typeof ends === 'string' ? ends : ends[scheme === 'http' ? 0 : 1];
  return end.split('|').map((code) => (code === 'answer' ? code : `CRAWL_${code}`));
}

const phase = (one: Case) => phaseOf(endsOfCase(one));

let server: HostileServer;
/** What would be asked without a proxy. */
let site: Awaited<ReturnType<typeof startRawSite>>;
const before = process.getActiveResourcesInfo().sort();

beforeAll(async () => {
  server = await HostileServer.start({ dripMs: 20 });
  site = await startRawSite((socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret'));
});

afterAll(() => Promise.all([server.close(), site.close()]));

test('the table has each misbehaviour', () => {
  const told = new Set(Object.keys(ENDS).map((name) => name.split(' ', 1)[0]));
  expect(told).toEqual(new Set(CASES.map(({ fault }) => fault)));
});

const proxyUrl = (fault: string, kind: string): string => server.url(fault).replace(/^\w+:/, `${kind}:`);

describe.each(TRANSPORTS)('over %s', (transport) => {
  let ends: Map<string, { readonly code: string; readonly ms: number }>;

  beforeAll(async () => {
    const options = { transport, maxBodyBytes: 100_000, tls: { ca: HOSTILE_AUTHORITY } };
    const warm = newFetcher({ ...options, proxy: server.url('socks-reset') });
    await endOf(warm.fetch({ url: site.url('/') }));
    await warm.close();
    ends = await forEachInTime(CASES, phase, async ({ fault, kind, scheme }, timeouts) => {
      await using fetcher = newFetcher({ ...options, timeouts, proxy: proxyUrl(fault, kind) });
      return await endOf(fetcher.fetch({ url: site.url('/').replace('http:', `${scheme}:`) }));
    });
    await vi.waitFor(() => expect(server.openConnections).toBe(0));
  }, 90_000);

  test.each(CASES)('ends: $name', (one) => {
    const { code, ms } = ends.get(one.name)!;
    expect(endsOfCase(one)).toContain(code);
    if (phase(one) !== undefined) expect(ms).toBeLessThan(SHORT_MS + GRACE_MS);
  });

  test('nobody asked the site', () => {
    expect(site.connections).toBe(0);
  });

  test.each([
    ['proxy-close', 'CRAWL_CONNECTION_LOST'],
    ['proxy-bad-gateway', 'CRAWL_HTTP_STATUS'],
    ['proxy-reset', 'CRAWL_PROXY_FAILED'],
    ['socks-refused', 'CRAWL_PROXY_FAILED'],
    ['socks-no-method', 'CRAWL_PROXY_FAILED'],
  ])('nor does a crawl by %s, which ends without a page', async (fault, plainCode) => {
    const plain = site.url('/');
    const secure = plain.replace('http:', 'https:');
    const { pages, errors, stats } = await crawl([plain, secure], {
      transport,
      proxy: server.url(fault),
      timeouts: LONG,
      retries: 1,
      respectRobots: false,
    });
    expect(pages).toEqual([]);
    const codes = Object.fromEntries(errors.map(({ error, url }) => [url, error.code]));
    expect(codes).toEqual({ [plain]: plainCode, [secure]: 'CRAWL_PROXY_FAILED' });
    expect(errors).toHaveLength(2);
    expect(stats).toMatchObject({ queued: 0, inFlight: 0 });
    expect(site.connections).toBe(0);
    await vi.waitFor(() => expect(server.openConnections).toBe(0));
  });
});

test('all of this leaves no socket and no timer', async () => {
  await Promise.all([server.close(), site.close()]);
  await expect.poll(() => process.getActiveResourcesInfo().sort()).toEqual(before);
});
