import net, { type AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addressRange } from '../src/address-guard.ts';
import { DnsCache, type DnsLookup } from '../src/dns.ts';
import type { FetcherOptions } from '../src/fetcher/index.ts';
import { RobotsCache } from '../src/index.ts';
import type { Transport } from '../src/ports.ts';
import { crawl, linkPage } from './helpers/crawl.ts';
import { newFetcher, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { IPV4_HOSTS, IPV6_HOSTS, LOCAL_NAMES, RESOLVED_NAMES } from './helpers/hostile-addresses.ts';
import { startHttp2Site, startHttpProxy, startSocks } from './helpers/servers.ts';
import { startSite } from './helpers/site.ts';
import { CERTIFICATE } from './helpers/tls.ts';

/** Listens on every address of this machine, and tells of all who come. */
let trap: {
  readonly port: number;
  connections: number;
  readonly server: net.Server;
  readonly sockets: Set<net.Socket>;
};

beforeAll(async () => {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    trap.connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret');
  });
  await new Promise<void>((resolve) => server.listen(0, '::', resolve));
  trap = { port: (server.address() as AddressInfo).port, connections: 0, server, sockets };
});
beforeEach(() => {
  trap.connections = 0;
});
afterAll(async () => {
  const closed = new Promise((resolve) => trap.server.close(resolve));
  for (const socket of trap.sockets) socket.destroy();
  await closed;
});

/** One try: the URL, the range that the refusal names (`undefined` where there is no such URL). */
interface Case {
  readonly url: string;
  readonly range: string | undefined;
}

/** Each case with a path of its own, so that no two are one URL. */
function cases(scheme: 'http' | 'https'): Case[] {
  const hosts = [
    ...IPV4_HOSTS,
    ...IPV6_HOSTS,
    ...LOCAL_NAMES,
    ...RESOLVED_NAMES.map(([host, , range]) => [host, range]),
  ];
  return hosts.map(([host, range], index) => ({ url: `${scheme}://${host}:${trap.port}/${index}`, range }));
}

const answers = new Map(
  [...RESOLVED_NAMES, ...LOCAL_NAMES.map(([host]) => [host, ['127.0.0.1']] as const)].map(([host, found]) => [
    new URL(`http://${host}/`).hostname,
    found,
  ]),
);

/** Everything that is no name of the table is at `elsewhere`. */
function lookup(elsewhere: string): DnsLookup {
  return async (hostname) => answers.get(hostname) ?? answers.get(`${hostname}.`) ?? elsewhere;
}

/** Where the sites of these tests are that a crawl may ask; stands for a public address. */
const ALLOWED = '127.0.0.3';
const allowedOnly = (address: string): boolean => address === ALLOWED || addressRange(address) === undefined;

function hold(error: unknown, { range, url }: Case): void {
  if (range === undefined) {
    expect(error, url).toMatchObject({ code: 'CRAWL_URL_INVALID', retryable: false });
    return;
  }
  expect(error, url).toMatchObject({ code: 'CRAWL_ADDRESS_REFUSED', retryable: false });
  expect(String(error), url).toContain(`: ${range}.`);
}

test('there are enough of them, and what leads to this machine would be answered if it were allowed', async () => {
  expect(cases('http').length).toBeGreaterThanOrEqual(160);
  await using fetcher = newFetcher({ network: 'any', dnsLookup: lookup('127.0.0.1') });
  const reachable = cases('http').filter(({ range }) => range === 'loopback' || range === 'local-name');
  for (const { url } of reachable) {
    const { body } = await fetcher.fetch({ url });
    expect(body.toString(), url).toBe('secret');
  }
  expect(trap.connections).toBe(reachable.length);
});

describe.each(TRANSPORTS)('over %s', (transport) => {
  test.each<[string, Partial<FetcherOptions>]>([
    ['http', {}],
    ['https', {}],
    ['https', { http2: true }],
    ['http', { http2: true }],
  ])('a Fetcher asks none of them: %s, %o', async (scheme, options) => {
    await using fetcher = newFetcher({ transport, network: 'public', dnsLookup: lookup('127.0.0.1'), ...options });
    for (const one of cases(scheme as 'http')) hold(await rejection(fetcher.fetch({ url: one.url })), one);
    expect(trap.connections).toBe(0);
  });

  test('nor is it led there from a host that it may ask', async () => {
    const all = cases('http');
    await using site = await startSite((request, response) => {
      const hop = /^\/hop(\d)\/(\d+)/.exec(request.url ?? '');
      const location = hop?.[1] === '2' ? all[Number(hop[2])]?.url : `/hop${Number(hop?.[1]) + 1}/${hop?.[2]}`;
      response.writeHead(302, { location: Buffer.from(location ?? '/').toString('latin1') }).end();
    }, ALLOWED);
    await using seeds = newFetcher({ transport, dnsLookup: lookup(ALLOWED) });
    await using policy = newFetcher({ transport, network: allowedOnly, dnsLookup: lookup(ALLOWED) });
    for (const [index, { range, url }] of all.entries()) {
      for (const fetcher of [seeds, policy]) {
        const error = await rejection(fetcher.fetch({ url: site.url(`/hop0/${index}`, 'seed.example.test') }));
        const code = range === undefined ? 'CRAWL_REDIRECT_INVALID' : 'CRAWL_ADDRESS_REFUSED';
        expect(error, url).toMatchObject({ code, retryable: false });
      }
    }
    expect(trap.connections).toBe(0);
  });

  test('nor does it ask a proxy for them', async () => {
    await using http = await startHttpProxy();
    await using socks = await startSocks();
    const proxies = [
      `http://127.0.0.1:${http.port}`,
      `socks5://127.0.0.1:${socks.port}`,
      `socks5h://127.0.0.1:${socks.port}`,
      `socks4://127.0.0.1:${socks.port}`,
    ];
    for (const proxy of proxies) {
      await using fetcher = newFetcher({ transport, network: 'public', dnsLookup: lookup('127.0.0.1'), proxy });
      for (const scheme of ['http', 'https'] as const) {
        for (const one of cases(scheme)) hold(await rejection(fetcher.fetch({ url: one.url })), one);
      }
    }
    expect([http.connections, socks.connections, trap.connections]).toEqual([0, 0, 0]);
  });

  test.each(['public', 'seeds'] as const)("a crawl with network: '%s' follows no link to them", async (network) => {
    const all = cases('http');
    const known = all.filter(({ range }) => range !== undefined);
    await using site = await startSite((request, response) => {
      if (request.url === '/robots.txt') response.writeHead(404).end();
      else response.setHeader('content-type', 'text/html; charset=utf-8').end(linkPage(all.map(({ url }) => url)));
    }, ALLOWED);
    const seeds = network === 'seeds' ? [site.url('/', 'seed.example.test')] : known.map(({ url }) => url);
    const heard = await crawl(seeds, { network, scope: 'any', transport, dnsLookup: lookup(ALLOWED), maxDepth: 1 });
    const byPath = new Map(heard.errors.map(({ error, url }) => [new URL(url ?? '').pathname, error]));
    for (const one of known) hold(byPath.get(new URL(one.url).pathname), one);
    expect(heard.pages).toHaveLength(network === 'seeds' ? 1 : 0);
    expect(heard.retries).toEqual([]);
    expect(trap.connections).toBe(0);
  });

  test('nor redirects, robots files and sitemaps that lead to them', async () => {
    const all = cases('http').filter(({ range }, index) => range !== undefined && index % 2 === 0);
    const ascii = all.map(({ url }) => new URL(url).href);
    const one = (host: string | undefined): string => ascii[Number(/^h(\d+)\./.exec(host ?? '')?.[1])] ?? '/';
    await using site = await startSite((request, response) => {
      const host = request.headers.host;
      const where = Number(/^h(\d+)\./.exec(host ?? '')?.[1]) % 3;
      if (host?.startsWith('hub.') === true) {
        if (request.url === '/robots.txt') {
          response.end(ascii.map((url) => `Sitemap: ${url}/named.xml\n`).join(''));
          return;
        }
        if (request.url === '/sitemap.xml') response.writeHead(404).end();
        else response.setHeader('content-type', 'text/html').end(linkPage(hosts.map((name) => site.url('/', name))));
      } else if (request.url === '/robots.txt') {
        if (where === 0) response.writeHead(301, { location: one(host) }).end();
        else response.end(`Sitemap: ${site.url('/listed.xml', host?.split(':')[0])}`);
      } else if (request.url === '/listed.xml') {
        if (where === 1) response.writeHead(302, { location: one(host) }).end();
        else response.setHeader('content-type', 'application/xml').end(sitemap([`${one(host)}/listed`]));
      } else response.writeHead(307, { location: one(host) }).end();
    }, ALLOWED);
    const hosts = ascii.map((_, index) => `h${index}.example.test`);
    for (const network of ['seeds', allowedOnly] as const) {
      // With 'seeds' each of the hosts must be one to be let through at all.
      const seeds = ['hub.example.test', ...(network === 'seeds' ? hosts : [])].map((name) => site.url('/', name));
      const heard = await crawl(seeds, {
        network,
        scope: 'any',
        transport,
        dnsLookup: lookup(ALLOWED),
        sitemaps: 'auto',
      });
      const refused = heard.errors.filter(({ error }) => error.code === 'CRAWL_ADDRESS_REFUSED');
      expect(refused.length, String(network)).toBeGreaterThan(60);
      expect(heard.pages.map(({ url }) => url)).toEqual([site.url('/', 'hub.example.test')]);
      expect(trap.connections).toBe(0);
    }
  });

  test('nor chains of redirects of robots files and sitemaps, nor an index of sitemaps', async () => {
    const inside = (path: string) => `http://127.0.0.1:${trap.port}${path}`;
    await using site = await startSite((request, response) => {
      const name = request.headers.host?.split(':')[0] ?? '';
      const url = (path: string) => site.url(path, name);
      const [, , hop] = /^\/(\w+)\/hop(\d)/.exec(request.url ?? '') ?? [];
      const next = (kind: string, n: number) => (n === 3 ? inside(`/${kind}`) : url(`/${kind}/hop${n}`));
      if (hop !== undefined) response.writeHead(302, { location: next('chain', Number(hop) + 1) }).end();
      else if (request.url === '/robots.txt') {
        if (name.startsWith('robots')) response.writeHead(301, { location: url('/robots/hop0') }).end();
        else
          response.end(
            `Sitemap: ${url('/index.xml')}\nSitemap: ${url('/sitemap/hop0')}\nSitemap: ${inside('/named.xml')}`,
          );
      } else if (request.url === '/index.xml') {
        const listed = [url('/listed.xml'), inside('/listed.xml'), url('/index/hop0')].map(
          (loc) => `<sitemap><loc>${loc}</loc></sitemap>`,
        );
        response.setHeader('content-type', 'application/xml').end(`<sitemapindex>${listed.join('')}</sitemapindex>`);
      } else if (request.url === '/listed.xml') {
        response.setHeader('content-type', 'application/xml').end(sitemap([inside('/page'), url('/page/hop0')]));
      } else response.setHeader('content-type', 'text/html').end(name);
    }, ALLOWED);
    const seeds = ['robots.example.test', 'maps.example.test'].map((name) => site.url('/', name));
    for (const network of ['seeds', allowedOnly] as const) {
      site.log.length = 0;
      const heard = await crawl(seeds, {
        network,
        scope: 'any',
        transport,
        dnsLookup: lookup(ALLOWED),
        sitemaps: 'robots',
        retries: 0,
      });
      // Each chain was followed up to where it leads inside.
      for (const path of ['/robots/hop0', '/index.xml', '/listed.xml', '/sitemap/hop0', '/index/hop0', '/page/hop0']) {
        expect(site.paths, path).toContain(path);
      }
      expect(site.paths.filter((path) => path === '/chain/hop2').length).toBeGreaterThan(1);
      expect(heard.pages.map(({ url }) => url)).toEqual([site.url('/', 'maps.example.test')]);
      expect(heard.errors.filter(({ error }) => error.code === 'CRAWL_ADDRESS_REFUSED').length).toBeGreaterThan(2);
      expect(trap.connections).toBe(0);
    }
  });

  test('nor does a RobotsCache, with a fetcher or with what it makes itself, where a robots.txt leads to them', async () => {
    const all = cases('http').filter(({ range }) => range !== undefined);
    const seen: (string | undefined)[] = [];
    await using other = await startSite((request, response) => {
      seen.push(request.headers.authorization);
      response.end('User-agent: *\nDisallow: /no');
    }, ALLOWED);
    await using site = await startSite((request, response) => {
      seen.push(request.headers.authorization);
      const index = /^h(\d+)\./.exec(request.headers.host ?? '')?.[1];
      const location =
        index === undefined
          ? other.url('/robots.txt', 'other.example.test')
          : new URL(all[Number(index)]?.url ?? '').href;
      response.writeHead(301, { location }).end();
    }, ALLOWED);
    const authorization = 'Basic c2VjcmV0';
    await using fetcher = newFetcher({ transport, dnsLookup: lookup(ALLOWED), headers: { authorization } });
    const robots = new RobotsCache(fetcher);
    for (const index of all.keys()) {
      const verdict = await robots.check(site.url('/', `h${index}.example.test`), 'testbot/1.0 (+mailto:a@b.example)');
      expect(verdict, all[index]?.url).toMatchObject({ allowed: false, reason: 'robots-unreachable' });
    }
    expect(trap.connections).toBe(0);
    // Where it leads is no place that the user has named: it is asked only if it is public, and not told who asks.
    await using policy = newFetcher({
      transport,
      network: allowedOnly,
      dnsLookup: lookup(ALLOWED),
      headers: { authorization },
    });
    seen.length = 0;
    const { allowed } = await new RobotsCache(policy).check(
      site.url('/no', 'first.example.test'),
      'testbot/1.0 (+mailto:a@b.example)',
    );
    expect(allowed).toBe(false);
    expect(seen).toEqual([authorization, undefined]);
    const own = await startSite((_, response) =>
      response.writeHead(302, { location: `http://localhost:${trap.port}/` }).end(),
    );
    expect(await new RobotsCache().check(own.url('/'), 'testbot/1.0 (+mailto:a@b.example)')).toMatchObject({
      allowed: false,
    });
    expect(own.log).toHaveLength(1);
    expect(trap.connections).toBe(0);
    await own.close();
  });

  test('nor does a connection that is kept, of any kind, from when its host was named', async () => {
    const named = 'secure.example.test';
    await using secure = await startHttp2Site((_request, response) => response.end('secret'));
    const options = { transport, dnsLookup: lookup('127.0.0.1'), tls: { ca: CERTIFICATE } };
    for (const http2 of [true, false]) {
      await using fetcher = newFetcher({ ...options, http2 });
      await using outer = await startSite((_, response) =>
        response.writeHead(302, { location: secure.url('/', named) }).end(),
      );
      expect((await fetcher.fetch({ url: secure.url('/', named) })).status).toBe(200);
      await new Promise(setImmediate);
      const asked = secure.log.length;
      expect(secure.openSockets).toBeGreaterThan(0);
      const error = await rejection(fetcher.fetch({ url: outer.url('/', 'seed.example.test') }));
      expect(error).toMatchObject({ code: 'CRAWL_ADDRESS_REFUSED' });
      expect(secure.log).toHaveLength(asked);
    }
  });

  test('of several addresses of a name only those are dialled that may be', async () => {
    await using site = await startSite((_, response) => response.end('mine'), ALLOWED);
    const found = ['127.0.0.1', '::1', '::ffff:127.0.0.1', ALLOWED, '0.0.0.0', '10.0.0.1'];
    await using guarded = trapAt(site.port);
    await guarded.ready;
    for (let turn = 0; turn < found.length; turn++) {
      const turned = [...found.slice(turn), ...found.slice(0, turn)];
      const options = { transport, network: allowedOnly, dnsLookup: async () => turned };
      await using fetcher = newFetcher(options);
      const { remoteAddress } = await fetcher.fetch({ url: site.url('/', 'many.example.test') });
      expect(remoteAddress).toBe(ALLOWED);
      const { pages } = await crawl(site.url('/', 'many.example.test'), { ...options, respectRobots: false });
      expect(pages).toHaveLength(1);
    }
    expect(guarded.connections()).toBe(0);
  });

  test('a resolver that answers otherwise the second time leads nowhere else', async () => {
    await using site = await startSite((_, response) => response.end(linkPage(['/a', '/b'])), ALLOWED);
    await using guarded = trapAt(site.port);
    await guarded.ready;
    let asked = 0;
    const rebinding: DnsLookup = async () => (asked++ === 0 ? ALLOWED : '127.0.0.1');
    let time = Date.now();
    const clock = { now: () => time };
    await using fetcher = newFetcher({
      transport,
      network: allowedOnly,
      dnsLookup: new DnsCache({ lookup: rebinding, clock }),
    });
    const url = site.url('/', 'rebind.example.test');
    expect((await fetcher.fetch({ url })).remoteAddress).toBe(ALLOWED);
    time += 7_200_000;
    await new Promise(setImmediate);
    // The kept connection still leads where it was allowed to lead; a new one would not.
    const second = await fetcher.fetch({ url }).catch((error: unknown) => error);
    expect(second).toMatchObject({ remoteAddress: ALLOWED });
    site.dropSockets();
    await expect.poll(() => site.openSockets).toBe(0);
    expect(await rejection(fetcher.fetch({ url }))).toMatchObject({ code: 'CRAWL_ADDRESS_REFUSED' });
    expect(asked).toBe(2);
    expect(guarded.connections()).toBe(0);
  });

  test('nor does a crawl whose resolver gives another answer with each question', async () => {
    let time = Date.now();
    // Answers run out every few steps, also between the look-up for a host's address and the one for its socket.
    const clock = { now: () => (time += 10_000) };
    await using site = await startSite((request, response) => {
      response.writeHead(200, { connection: 'close', 'content-type': 'text/html' });
      response.end(linkPage([1, 2].map((n) => `${request.url?.replace(/\/$/, '')}/${n}`)));
    }, ALLOWED);
    await using guarded = trapAt(site.port);
    await guarded.ready;
    let asked = 0;
    const heard = await crawl(site.url('/', 'rebind.example.test'), {
      transport,
      network: allowedOnly,
      scope: 'any',
      respectRobots: false,
      maxDepth: 5,
      clock,
      dnsLookup: async () => (asked++ % 2 === 0 ? ALLOWED : ['127.0.0.1', '::1', '0.0.0.0']),
    });
    expect(heard.pages.length).toBeGreaterThan(3);
    expect(heard.errors.length).toBeGreaterThan(3);
    for (const { error } of heard.errors) expect(error.code).toBe('CRAWL_ADDRESS_REFUSED');
    expect(guarded.connections()).toBe(0);
  });

  test('ports of other protocols and other schemes are asked by nobody', async () => {
    await using site = await startSite((request, response) => {
      if (request.url === '/') response.setHeader('content-type', 'text/html').end(linkPage(links));
      else response.writeHead(302, { location: links[Number(request.url?.slice(1))] ?? '/' }).end();
    }, ALLOWED);
    const ports = [1, 7, 22, 25, 53, 110, 143, 389, 465, 587, 993, 2049, 5060, 6000, 6667, 10_080];
    const schemes = ['ftp://a/', 'file:///etc/passwd', 'gopher://a:70/1', 'javascript:alert(1)', 'data:,x', 'ws://a/'];
    const schemeLinks = [
      ...schemes,
      'dict://a:11111/',
      'ldap://a/',
      'jar:http://a!/',
      'blob:http://a/1',
      'view-source:http://a/',
    ];
    const links = [...ports.map((port) => `http://a.example.test:${port}/`), ...schemeLinks];
    await using fetcher = newFetcher({ transport, network: 'any', dnsLookup: lookup(ALLOWED) });
    for (const [index, link] of links.entries()) {
      const code = index < ports.length ? 'CRAWL_PORT_REFUSED' : 'CRAWL_SCHEME_REFUSED';
      expect(await rejection(fetcher.fetch({ url: link })), link).toMatchObject({ code, retryable: false });
      expect(await rejection(fetcher.fetch({ url: site.url(`/${index}`) })), link).toMatchObject({ code });
    }
    const options = { scope: 'any', transport, dnsLookup: lookup(ALLOWED) } as const;
    const seeds = [site.url('/'), ...links.map((_, index) => site.url(`/${index}`))];
    const { errors, pages, skips } = await crawl(seeds, options);
    const told = new Set([...errors.map(({ url }) => url), ...skips.map(({ url }) => url)]);
    for (const port of ports) expect(told).toContain(`http://a.example.test:${port}/`);
    for (const { error } of errors) expect(error.code).toMatch(/^CRAWL_(?:PORT_REFUSED|REDIRECT_\w+|SCHEME_REFUSED)$/);
    expect(pages.map(({ url }) => url)).toEqual([site.url('/')]);
  });
});

test('what a transport of the user’s brings from an address that is refused is not taken', async () => {
  const body = Readable.from(['secret']);
  const transport: Transport = {
    request: async () => ({ status: 200, headers: {}, body, timings: {}, remoteAddress: '::ffff:169.254.169.254' }),
    close: async () => {},
  };
  await using fetcher = newFetcher({ transport, network: 'public' });
  const error = await rejection(fetcher.fetch({ url: 'http://a.example.test/' }));
  expect(error).toMatchObject({ code: 'CRAWL_ADDRESS_REFUSED', url: 'http://a.example.test/' });
  expect(body.destroyed).toBe(true);
});

function sitemap(urls: readonly string[]): string {
  const entries = urls.map((url) => `<url><loc>${url.replaceAll('&', '&amp;')}</loc></url>`).join('');
  return `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries}</urlset>`;
}

/** Listens at the port of a site on the addresses of this machine that the site is not at. */
function trapAt(
  port: number,
): AsyncDisposable & { readonly ready: Promise<unknown>; readonly connections: () => number } {
  let connections = 0;
  const servers = ['127.0.0.1', '::1'].map((address) => {
    const server = net.createServer((socket) => {
      connections++;
      socket.destroy();
    });
    return { server, listening: new Promise<void>((resolve) => server.listen(port, address, resolve)) };
  });
  return {
    ready: Promise.all(servers.map(({ listening }) => listening)),
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(servers.map(({ server }) => new Promise((resolve) => server.close(resolve))));
    },
  };
}
