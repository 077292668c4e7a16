// Every misbehaviour of a proxy: each ends with a typed error, leaves nothing, and never leads straight to the site.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { HOSTILE_AUTHORITY, HostileServer } from '../src/testing/index.ts';
import { crawl } from './helpers/crawl.ts';
import { newFetcher, TRANSPORTS } from './helpers/fetcher.ts';
import { endOf, faultsAt, forEachFault, GRACE_MS } from './helpers/hostile.ts';
import { startRawSite } from './helpers/site.ts';

const TIMEOUTS = { connect: 800, headers: 800, page: 1500 } as const;
const PROXIES = { proxy: ['http', 'https'], socks: ['socks5', 'socks5h', 'socks4', 'socks4a'] } as const;

/** Each misbehaviour by each kind of proxy, for plain sites and secure ones. */
const CASES = faultsAt('proxy', 'socks').flatMap(({ name: fault, place }) =>
  PROXIES[place as 'proxy'].flatMap((kind) =>
    (['http', 'https'] as const).map((scheme) => ({ name: `${fault} by ${kind} for ${scheme}`, fault, kind, scheme })),
  ),
);
const names = CASES.map(({ name }) => name);

/** A proxy of HTTP is what answers for plain sites: what it says is taken for an answer of theirs. */
const ANSWERS = new Set([
  ...['proxy-forbidden', 'proxy-bad-gateway', 'proxy-bad-gateway-page', 'proxy-chunks-endless', 'proxy-tunnel-closed'],
  ...['proxy-tunnel-noise'],
]);

/** Codes of what is no proxy's failure in so many words: the site's side of a connection that the proxy made. */
const BEHIND =
  /^CRAWL_(?:TLS_FAILED|CONNECTION_LOST|HEADERS_TIMEOUT|PROTOCOL_INVALID|PAGE_TIMEOUT|BODY_TRUNCATED|PORT_REFUSED|HEADERS_TOO_LARGE)$/;
const PROXY = /^CRAWL_(?:PROXY_FAILED|CONNECT_TIMEOUT)$/;

let server: HostileServer;
/** What would be asked without a proxy. */
let site: Awaited<ReturnType<typeof startRawSite>>;
const before = process.getActiveResourcesInfo().sort();

beforeAll(async () => {
  server = await HostileServer.start({ dripMs: 20 });
  site = await startRawSite((socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret'));
});

afterAll(() => Promise.all([server.close(), site.close()]));

const proxyUrl = (fault: string, kind: string): string => server.url(fault).replace(/^\w+:/, `${kind}:`);

describe.each(TRANSPORTS)('over %s', (transport) => {
  let ends: Map<string, { readonly code: string; readonly ms: number }>;

  beforeAll(async () => {
    const options = { transport, timeouts: TIMEOUTS, maxBodyBytes: 100_000, tls: { ca: HOSTILE_AUTHORITY } };
    const warm = newFetcher({ ...options, proxy: server.url('socks-reset') });
    await endOf(warm.fetch({ url: site.url('/') }));
    await warm.close();
    ends = await forEachFault(CASES, async ({ fault, kind, scheme }) => {
      await using fetcher = newFetcher({ ...options, proxy: proxyUrl(fault, kind) });
      return await endOf(fetcher.fetch({ url: site.url('/').replace('http:', `${scheme}:`) }));
    });
    await vi.waitFor(() => expect(server.openConnections).toBe(0));
  }, 90_000);

  test.each(names)('ends: %s', (name) => {
    const { code, ms } = ends.get(name)!;
    const { fault, kind, scheme } = CASES.find((one) => one.name === name)!;
    const isSocks = kind.startsWith('socks');
    expect(ms).toBeLessThan(TIMEOUTS.page + GRACE_MS);
    if (scheme === 'http' && !isSocks && ANSWERS.has(fault)) expect(code).toBe('answer');
    // A tunnel that stands is the site, as far as anybody can tell.
    else if (fault.includes('-tunnel-') || (scheme === 'http' && !isSocks)) {
      // A reset with bytes before it that were not read yet looks like an end to some systems.
      if (code === 'answer') expect(fault).toBe('proxy-tunnel-reset');
      else expect(PROXY.test(code) || BEHIND.test(code), code).toBe(true);
    } else if (fault === 'socks-address-unknown' || fault === 'proxy-chunks-endless') expect(code).toMatch(/^CRAWL_/);
    else expect(code).toMatch(PROXY);
  });

  test('nobody asked the site', () => {
    expect(site.connections).toBe(0);
  });

  test.each(['proxy-close', 'proxy-bad-gateway', 'proxy-reset', 'socks-refused', 'socks-no-method'])(
    'nor does a crawl by %s, which ends',
    async (fault) => {
      const seeds = [site.url('/'), site.url('/').replace('http:', 'https:')];
      const { pages, errors, stats } = await crawl(seeds, {
        transport,
        proxy: server.url(fault),
        timeouts: TIMEOUTS,
        retries: 1,
        respectRobots: false,
      });
      expect(pages.every(({ status }) => status === 502)).toBe(true);
      expect(errors.length).toBeGreaterThan(0);
      expect(stats).toMatchObject({ queued: 0, inFlight: 0 });
      expect(site.connections).toBe(0);
      await vi.waitFor(() => expect(server.openConnections).toBe(0));
    },
  );
});

test('all of this leaves no socket and no timer', async () => {
  await Promise.all([server.close(), site.close()]);
  await expect.poll(() => process.getActiveResourcesInfo().sort()).toEqual(before);
});
