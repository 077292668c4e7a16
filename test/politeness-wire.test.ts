// How hosts are asked, as they saw it themselves: throttling, shared addresses, crawl delays, and all that is not a page.
import { describe, expect, test } from 'vitest';
import { crawl, linkPage, listeningCrawler, pathOf } from './helpers/crawl.ts';
import {
  type Answer,
  gaps,
  html,
  moved,
  rules,
  serve,
  serveHosts,
  sitemapIndex,
  smallestGap,
  TOLERANCE_MS,
  urlset,
} from './helpers/pages.ts';
import { loopbackLookup, type Seen } from './helpers/site.ts';

const PACE = {
  minDelayMs: 60,
  delayFactor: 0,
  maxDelayMs: 60_000,
  ipDelayMs: 0,
  backoffMs: 200,
  concurrency: 8,
} as const;

/** Asked `times` times, it refuses with these headers; then it answers. */
function refusing(
  status: number,
  times: number,
  headers: () => Readonly<Record<string, string>>,
  text = 'at last',
): Answer {
  let asked = 0;
  return (response) => (++asked > times ? html(response, text) : response.writeHead(status, headers()).end());
}

/** The time a host was left alone after an answer. */
const pauseAfter = (log: readonly Seen[], path: string): number =>
  gaps(log)[log.findIndex((seen) => seen.path === path)]!;

describe('A host that says “slow down”', () => {
  const six = ['/1', '/2', '/3', '/4', '/5', '/6'];
  const plain = Object.fromEntries(six.map((path) => [path, path]));

  test.each([
    ['429 with seconds', 429, () => ({ 'retry-after': '1' }), 1000],
    ['503 with seconds', 503, () => ({ 'retry-after': '1' }), 1000],
    ['429 with a date', 429, () => ({ 'retry-after': new Date(Date.now() + 2000).toUTCString() }), 2000],
    ['503 with a date', 503, () => ({ 'retry-after': new Date(Date.now() + 2000).toUTCString() }), 2000],
    ['429 without a word', 429, () => ({}), 200],
    ['503 without a word', 503, () => ({}), 200],
  ])('by %s is left alone as a whole, while other hosts are crawled', async (_name, status, headers, pauseMs) => {
    await using site = await serve({ '/': linkPage(six), ...plain, '/2': refusing(status, 1, headers) }, '127.0.0.1');
    await using other = await serve({ '/': linkPage(six), ...plain }, '127.0.0.2');
    const heard = await crawl([site.url('/'), other.url('/')], PACE);
    expect(heard.errors).toEqual([]);
    expect(heard.pages).toHaveLength(14);
    expect(heard.retries.map(({ url, error }) => [url, error.status, error.retryable])).toEqual([
      [site.url('/2'), status, true],
    ]);
    expect(pauseAfter(site.log, '/2')).toBeGreaterThanOrEqual(pauseMs - TOLERANCE_MS);
    expect(smallestGap(site.log)).toBeGreaterThanOrEqual(60 - TOLERANCE_MS);
    const refusedAt = site.log.find(({ path }) => path === '/2')!.at;
    const meanwhile = other.log.filter(({ at }) => at > refusedAt && at < refusedAt + pauseMs);
    expect(meanwhile.length).toBeGreaterThanOrEqual(2);
    expect(smallestGap(other.log)).toBeGreaterThanOrEqual(60 - TOLERANCE_MS);
  });

  test('each time again is left alone for longer', async () => {
    await using site = await serve({ '/': refusing(503, 3, () => ({})) });
    const heard = await crawl(site.url('/'), PACE);
    expect(heard.pages).toHaveLength(1);
    const [, first, second, third] = gaps(site.log);
    expect(first).toBeGreaterThanOrEqual(200 - TOLERANCE_MS);
    expect(second).toBeGreaterThanOrEqual(400 - TOLERANCE_MS);
    expect(third).toBeGreaterThanOrEqual(800 - TOLERANCE_MS);
  });

  test('on a redirect with Retry-After is believed, too', async () => {
    await using site = await serve({ '/': moved('/new', 302, { 'retry-after': '1' }), '/new': 'new' });
    await crawl(site.url('/'), PACE);
    expect(site.paths).toEqual(['/', '/new']);
    expect(pauseAfter(site.log, '/')).toBeGreaterThanOrEqual(1000 - TOLERANCE_MS);
  });

  test('no URL of it is lost however often it says so', async () => {
    await using site = await serve({ '/': linkPage(['/1', '/2']), '/1': refusing(503, 3, () => ({})), '/2': '2' });
    const heard = await crawl(site.url('/'), { ...PACE, backoffMs: 20, retries: 1 });
    expect(heard.urls.map(pathOf).sort()).toEqual(['/', '/1', '/2']);
    expect(heard.errors).toEqual([]);
  });

  test('for ever is given up with a typed error that carries the status', async () => {
    await using site = await serve({ '/': (response) => void response.writeHead(503).end() });
    const heard = await crawl(site.url('/'), { ...PACE, retries: 0 });
    expect(heard.errors.map(({ error, url }) => [error.code, error.status, url])).toEqual([
      ['CRAWL_HTTP_STATUS', 503, site.url('/')],
    ]);
  });
});

describe('Errors never shorten a delay', () => {
  test('whatever a page answers or breaks, the next request waits its turn', async () => {
    const statuses = [204, 301, 304, 400, 401, 403, 404, 408, 410, 421, 425, 451, 500, 502, 504, 522];
    const odd: Record<string, Answer> = {
      ...Object.fromEntries(
        statuses.map((status): [string, Answer] => [`/${status}`, (response) => void response.writeHead(status).end()]),
      ),
      '/reset': (response) => void response.socket?.resetAndDestroy(),
      '/close': (response) => void response.destroy(),
      '/half': (response) =>
        void response.writeHead(200, { 'content-length': '99' }).write('half', () => response.destroy()),
      '/skip': (response) => void response.writeHead(200, { 'content-type': 'image/png' }).end('png'),
      '/raw': (response) => void response.socket?.end('nonsense\r\n\r\n'),
    };
    await using site = await serve({ '/': linkPage(Object.keys(odd)), ...odd });
    const heard = await crawl(site.url('/'), { ...PACE, maxDelayMs: 60, retries: 0 });
    expect(site.paths).toHaveLength(1 + Object.keys(odd).length);
    expect(site.maxInFlight).toBe(1);
    expect(smallestGap(site.log)).toBeGreaterThanOrEqual(60 - TOLERANCE_MS);
    expect(heard.errors.length).toBeGreaterThanOrEqual(10);
    expect(heard.stats).toMatchObject({ queued: 0, inFlight: 0 });
  });

  test('a slow host is asked less often: the delay is a multiple of its response time', async () => {
    let pending = 0;
    const slow: Answer = (response) => {
      pending++;
      setTimeout(() => html(response, pending === 1 ? linkPage(['/1']) : 'x'), 100);
    };
    await using site = await serve({ '/': slow, '/1': slow });
    await crawl(site.url('/'), { ...PACE, delayFactor: 4, maxDelayMs: 5000 });
    expect(pauseAfter(site.log, '/')).toBeGreaterThanOrEqual(400 - 4 * TOLERANCE_MS);
  });
});

describe('Two names of one address', () => {
  const pages = { '/': linkPage(['/1', '/2', '/3', '/4']), '/1': '1', '/2': '2', '/3': '3', '/4': '4' };

  test('are never asked at once, and no sooner after each other than ipDelayMs', async () => {
    await using web = await serveHosts({ 'a.example.test': pages, 'b.example.test': pages });
    const heard = await crawl([web.at('a.example.test'), web.at('b.example.test')], {
      ...PACE,
      minDelayMs: 120,
      ipDelayMs: 50,
      network: 'any',
      dnsLookup: loopbackLookup(),
    });
    expect(heard.pages).toHaveLength(10);
    expect(web.maxInFlight).toBe(1);
    expect(smallestGap(web.log)).toBeGreaterThanOrEqual(50 - TOLERANCE_MS);
    for (const host of ['a.example.test', 'b.example.test']) {
      expect(smallestGap(web.requests(host))).toBeGreaterThanOrEqual(120 - TOLERANCE_MS);
    }
    // They take turns, so that the address is asked more often than either host alone might be.
    const changes = web.log.slice(1).filter((seen, i) => seen.host !== web.log[i]!.host).length;
    expect(changes).toBeGreaterThanOrEqual(6);
  });

  test('share one clock with the address itself written as a host', async () => {
    await using web = await serveHosts({ 'a.example.test': pages, '127.0.0.1': pages });
    await crawl([web.at('a.example.test'), web.url('/')], {
      ...PACE,
      ipDelayMs: 50,
      network: 'any',
      dnsLookup: loopbackLookup(),
    });
    expect(web.log).toHaveLength(12);
    expect(web.maxInFlight).toBe(1);
    expect(smallestGap(web.log)).toBeGreaterThanOrEqual(50 - TOLERANCE_MS);
  });

  test('at two addresses are asked side by side', async () => {
    let open = 0;
    let most = 0;
    const slow: Answer = (response) => {
      most = Math.max(most, ++open);
      setTimeout(() => {
        open--;
        html(response, 'slow');
      }, 150);
    };
    await using one = await serve({ '/': slow }, '127.0.0.1');
    await using two = await serve({ '/': slow }, '127.0.0.2');
    const seeds = [one.url('/', 'a.example.test'), two.url('/', 'b.example.test')];
    const dnsLookup = loopbackLookup({ 'a.example.test': '127.0.0.1', 'b.example.test': '127.0.0.2' });
    await crawl(seeds, { ...PACE, ipDelayMs: 60, network: 'any', dnsLookup });
    expect(most).toBe(2);
  });
});

describe('What is no page passes the clock of the host that it is asked of', () => {
  test('the delay that robots.txt asks for holds from the first page on', async () => {
    await using site = await serve({
      '/': linkPage(['/1', '/2']),
      '/1': '1',
      '/2': '2',
      '/robots.txt': rules('User-agent: *', 'Crawl-delay: 0.3'),
    });
    await crawl(site.url('/'), PACE);
    expect(site.log.map(({ path }) => path)).toEqual(['/robots.txt', '/', '/1', '/2']);
    for (const gap of gaps(site.log)) expect(gap).toBeGreaterThanOrEqual(300 - TOLERANCE_MS);
  });

  test('a redirect of robots.txt to another host waits for that host', async () => {
    await using web = await serveHosts({
      'a.example.test': {
        '/': 'a',
        '/robots.txt': moved(() => web.at('b.example.test', '/shared-robots.txt')),
      },
      'b.example.test': {
        '/': linkPage(['/1', '/2', '/3']),
        '/1': '1',
        '/2': '2',
        '/3': '3',
        '/shared-robots.txt': rules('User-agent: *', 'Disallow: /private'),
      },
    });
    await crawl([web.at('b.example.test'), web.at('a.example.test'), web.at('a.example.test', '/private')], {
      ...PACE,
      minDelayMs: 150,
      network: 'any',
      dnsLookup: loopbackLookup(),
    });
    expect(web.asked('b.example.test').sort()).toEqual(['/', '/1', '/2', '/3', '/robots.txt', '/shared-robots.txt']);
    // The rules found there hold for the host that was asked first.
    expect(web.asked('a.example.test')).toEqual(['/robots.txt', '/']);
    expect(smallestGap(web.requests('b.example.test'))).toBeGreaterThanOrEqual(150 - TOLERANCE_MS);
    expect(smallestGap(web.requests('a.example.test'))).toBeGreaterThanOrEqual(150 - TOLERANCE_MS);
  });

  test('redirects between hosts, retries and sitemaps wait for the host they go to', async () => {
    await using web = await serveHosts({
      'a.example.test': {
        '/': linkPage(['/out1', '/out2', '/out3', '/shaky']),
        '/out1': moved(() => web.at('b.example.test', '/in1')),
        '/out2': moved(() => web.at('b.example.test', '/in2')),
        '/out3': moved(() => web.at('b.example.test', '/in3')),
        '/shaky': refusing(500, 2, () => ({})),
        '/robots.txt': (response, request) =>
          rules('User-agent: *', `Sitemap: ${web.at('a.example.test', '/index.xml')}`)(response, request),
        '/index.xml': (response, request) =>
          sitemapIndex([web.at('a.example.test', '/s1.xml'), web.at('a.example.test', '/s2.xml')])(response, request),
        '/s1.xml': (response, request) => urlset([web.at('a.example.test', '/listed')])(response, request),
        '/s2.xml': (response, request) => urlset([web.at('a.example.test', '/listed')])(response, request),
        '/listed': 'listed',
      },
      'b.example.test': { '/': linkPage(['/1', '/2']), '/1': '1', '/2': '2', '/in1': 'i1', '/in2': 'i2', '/in3': 'i3' },
    });
    const heard = await crawl([web.at('a.example.test'), web.at('b.example.test')], {
      ...PACE,
      network: 'any',
      dnsLookup: loopbackLookup(),
      sitemaps: 'robots',
    });
    expect(heard.errors).toEqual([]);
    expect(heard.pages).toHaveLength(9);
    expect(web.asked('b.example.test')).toHaveLength(7);
    expect(web.asked('a.example.test')).toHaveLength(12);
    for (const host of ['a.example.test', 'b.example.test']) {
      expect(smallestGap(web.requests(host))).toBeGreaterThanOrEqual(60 - TOLERANCE_MS);
    }
  });

  test('no pause, stop and second run lets a host be asked too soon', async () => {
    await using site = await serve({ '/': linkPage(['/1', '/2', '/3']), '/1': '1', '/2': '2', '/3': '3' });
    const { crawler, heard } = listeningCrawler({ ...PACE, minDelayMs: 150 });
    crawler.on('page', () => {
      if (heard.pages.length === 1) void crawler.pause().then(() => crawler.resume());
      if (heard.pages.length === 2) void crawler.stop();
    });
    await crawler.run(site.url('/'));
    expect(heard.pages).toHaveLength(2);
    await crawler.run();
    expect(heard.pages).toHaveLength(4);
    expect(smallestGap(site.log)).toBeGreaterThanOrEqual(150 - TOLERANCE_MS);
  });
});
