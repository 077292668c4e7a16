// Failures that other crawlers had with robots.txt, seen from the wire.
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { Crawler, isCrawlError, MemoryStore } from '../src/index.ts';
import { crawl, linkPage, pathOf } from './helpers/crawl.ts';
import {
  type Answer,
  html,
  moved,
  NAMES,
  rules,
  serve,
  serveHosts,
  smallestGap,
  TOLERANCE_MS,
} from './helpers/pages.ts';
import { startSite } from './helpers/site.ts';

const robotsRequests = (log: readonly { path: string }[]): number =>
  log.filter(({ path }) => path.startsWith('/robots.txt')).length;

describe('KF-04: robots.txt that redirects', () => {
  const endless = () =>
    startSite((request, response) => {
      const [path = '', query = 'x=0'] = (request.url ?? '').split('?');
      if (path !== '/robots.txt') return html(response, 'page');
      response.writeHead(302, { location: `/robots.txt?x=${Number(query.slice(2)) + 1}` }).end();
    });

  test('for ever is given up after five hops, and the crawl goes on', async () => {
    await using site = await endless();
    const heard = await crawl(site.url('/'));
    expect(robotsRequests(site.log)).toBe(6);
    expect(heard.urls.map(pathOf)).toEqual(['/']);
    expect(heard.ends).toHaveLength(1);
  });

  test('for ever forbids the site, where the crawl was told to take it so', async () => {
    await using site = await endless();
    const heard = await crawl(site.url('/'), { robots: { tooManyRedirects: 'disallow' } });
    expect(robotsRequests(site.log)).toBe(6);
    expect(site.log).toHaveLength(6);
    expect(heard.skips).toEqual([{ url: site.url('/'), reason: 'robots-unreachable', from: undefined }]);
  });

  test('five times is followed, and the rules found there are obeyed for the site that was asked first', async () => {
    const hops = Object.fromEntries(Array.from({ length: 4 }, (_, i) => [`/r${i + 1}`, moved(`/r${i + 2}`, 301)]));
    await using site = await serve({
      '/': linkPage(['/p', '/q']),
      '/p': 'p',
      '/q': 'q',
      '/robots.txt': moved('/r1'),
      ...hops,
      '/r5': rules('User-agent: *', 'Disallow: /p'),
    });
    const heard = await crawl(site.url('/'));
    expect(site.log.map(({ path }) => path)).toEqual(['/robots.txt', '/r1', '/r2', '/r3', '/r4', '/r5', '/', '/q']);
    expect(heard.skips).toEqual([{ url: site.url('/p'), reason: 'robots', from: site.url('/') }]);
  });

  test('to a host that is not found, or drops connections, is told as the error that it is', async () => {
    await using lost = await startSite((request) => void request.socket.destroy());
    for (const [host, code] of [
      ['nowhere.example.test', 'CRAWL_DNS_FAILED'],
      ['lost.example.test', 'CRAWL_CONNECTION_LOST'],
    ] as const) {
      const target = lost.url('/robots.txt', host);
      await using site = await serve({ '/robots.txt': moved(target) });
      const heard = await crawl(site.url('/', 'here.example.test'), {
        dnsLookup: async (name) => {
          if (name === 'nowhere.example.test') throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
          return '127.0.0.1';
        },
      });
      expect(heard.errors.map(({ error, url }) => [error.code, url])).toEqual([[code, target]]);
      expect(heard.retries).toEqual([]);
      expect(heard.stats).toMatchObject({ pages: 0, retries: 0, errors: 1, skips: { 'robots-unreachable': 1 } });
    }
  });
});

describe('KF-05: what the status of robots.txt permits', () => {
  const real = 'User-agent: *\nDisallow: /private\n';
  const contrary = 'User-agent: *\nAllow: /\n';
  const hangs: Answer = () => {};
  const answers = (status: number, body: string): Answer => {
    return (response) => void response.writeHead(status, { 'content-type': 'text/html' }).end(body);
  };
  const site = (robots: Answer) =>
    serve({ '/': linkPage(['/private', '/public']), '/private': 'p', '/public': 'q', '/robots.txt': robots });

  test.each([
    ['200 with rules: they are obeyed', answers(200, real), ['/', '/public']],
    ['200 without a word: there are no rules', answers(200, ''), ['/', '/private', '/public']],
    ['404: there are no rules, whatever its body says', answers(404, real), ['/', '/private', '/public']],
    ['410: there are no rules', answers(410, real), ['/', '/private', '/public']],
    ['401: there are no rules', answers(401, real), ['/', '/private', '/public']],
    ['403: there are no rules', answers(403, real), ['/', '/private', '/public']],
  ])('%s', async (_name, robots, asked) => {
    await using server = await site(robots);
    await crawl(server.url('/'));
    expect([...server.paths].sort()).toEqual(asked);
    expect(robotsRequests(server.log)).toBe(1);
  });

  test.each([401, 403])('%i forbids everything where the crawl was told so', async (status) => {
    await using server = await site(answers(status, contrary));
    const heard = await crawl(server.url('/'), { robots: { robots401403: 'disallow' } });
    expect(server.paths).toEqual([]);
    expect(heard.skips).toEqual([{ url: server.url('/'), reason: 'robots', from: undefined }]);
  });

  test.each([
    ['429', answers(429, contrary)],
    ['500', answers(500, contrary)],
    ['503 with a body that looks like rules', answers(503, contrary)],
    ['a connection that is reset', (response: ServerResponse) => void response.socket?.resetAndDestroy()],
    ['no answer', hangs],
  ])('nothing is fetched for now, and it is said why: %s', async (_name, robots) => {
    await using server = await site(robots);
    const heard = await crawl(server.url('/'), { retries: 0, timeouts: { headers: 200 } });
    expect(server.paths).toEqual([]);
    expect(robotsRequests(server.log)).toBe(1);
    expect(heard.skips).toEqual([{ url: server.url('/'), reason: 'robots-unreachable', from: undefined }]);
    expect(heard.stats).toMatchObject({ pages: 0, queued: 0, skips: { 'robots-unreachable': 1 } });
    expect(heard.ends).toHaveLength(1);
  });

  test('a file that fails once is asked for again soon, and obeyed then', async () => {
    let asked = 0;
    await using server = await site((response) => {
      if (++asked > 1) return void response.end(real);
      response.writeHead(503, { 'retry-after': '1' }).end(contrary);
    });
    await crawl(server.url('/'));
    expect(server.log.map(({ path }) => path)).toEqual(['/robots.txt', '/robots.txt', '/', '/public']);
    expect(server.log[1]!.at - server.log[0]!.endedAt!).toBeGreaterThanOrEqual(1000 - TOLERANCE_MS);
  });

  test('a connection that fails once is tried again within seconds, and the site is crawled', async () => {
    let asked = 0;
    await using server = await site((response) => {
      if (++asked > 1) return void response.end(real);
      response.socket?.resetAndDestroy();
    });
    const heard = await crawl(server.url('/'));
    expect(server.log.map(({ path }) => path)).toEqual(['/robots.txt', '/robots.txt', '/', '/public']);
    expect(heard.errors).toEqual([]);
  });

  test('while one site’s file can’t be had, other sites are crawled', async () => {
    await using server = await serveHosts({
      'down.example.test': { '/': 'down', '/robots.txt': answers(500, contrary) },
      'up.example.test': { '/': linkPage(['/1', '/2']), '/1': '1', '/2': '2' },
    });
    const heard = await crawl([server.at('down.example.test'), server.at('up.example.test')], {
      ...NAMES,
      network: 'any',
    });
    expect(server.asked('down.example.test')).toEqual(['/robots.txt']);
    expect(server.asked('up.example.test')).toEqual(['/robots.txt', '/', '/1', '/2']);
    expect(heard.stats.skips).toEqual({ 'robots-unreachable': 1 });
  });
});

describe('KF-06: a byte order mark before the first line', () => {
  const text = 'User-agent: *\nDisallow: /';
  const utf8 = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)]);
  const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);

  test.each([
    ['UTF-8', utf8, 'text/plain; charset=utf-8'],
    ['UTF-8 that the header calls Latin-1', utf8, 'text/plain; charset=iso-8859-1'],
    ['UTF-8 without a content type', utf8, undefined],
    ['UTF-16', utf16, 'text/plain'],
  ])('hides nothing: %s', async (_name, body, contentType) => {
    await using site = await serve({
      '/': 'page',
      '/robots.txt': (response) => {
        response.writeHead(200, contentType === undefined ? {} : { 'content-type': contentType }).end(body);
      },
    });
    const heard = await crawl(site.url('/'));
    expect(site.paths).toEqual([]);
    expect(heard.skips.map(({ reason }) => reason)).toEqual(['robots']);
  });
});

describe('KF-07: rules hold for their own origin, however it is written', () => {
  test('the file of one host says nothing about its neighbours, and speaks for every spelling of its own', async () => {
    const pages = { '/x': 'x', '/robots.txt': rules('User-agent: *', 'Disallow: /x') };
    await using web = await serveHosts({ 'a.example.test': pages, 'www.a.example.test': { '/x': 'www' } });
    await using other = await serveHosts({ 'a.example.test': { '/x': 'other port' } });
    const seeds = [
      web.at('a.example.test', '/x?1'),
      web.at('www.a.example.test', '/x'),
      other.at('a.example.test', '/x'),
      web.at('a.example.test.', '/x?2'),
      web.at('A.example.test', '/x?3'),
    ];
    const heard = await crawl(seeds, { ...NAMES, network: 'any' });
    expect(web.asked('a.example.test')).toEqual(['/robots.txt']);
    expect(web.asked('www.a.example.test')).toEqual(['/robots.txt', '/x']);
    expect(other.asked('a.example.test')).toEqual(['/robots.txt', '/x']);
    expect(heard.stats.skips).toEqual({ robots: 3 });
    expect(heard.errors).toEqual([]);
  });

  test('https is an origin of its own: what http permits says nothing about it', async () => {
    await using web = await serveHosts({
      'a.example.test': { '/': 'x', '/robots.txt': rules('User-agent: *', 'Allow: /') },
    });
    const secure = web.at('a.example.test').replace('http:', 'https:');
    const heard = await crawl([web.at('a.example.test'), secure], { ...NAMES, network: 'any', retries: 0 });
    expect(web.asked('a.example.test')).toEqual(['/robots.txt', '/']);
    expect(heard.skips).toEqual([{ url: secure, reason: 'robots-unreachable', from: undefined }]);
  });
});

describe('KF-08: the group is chosen by the product token', () => {
  const file = rules(
    ...['User-agent: bot', 'Disallow: /b', '', 'User-agent: ourbot', 'Disallow: /m', ''],
    ...['User-agent: *', 'Disallow: /s'],
  );

  test.each([
    'Mozilla/5.0 (compatible; OurBot/1.2; +http://info.example.test/)',
    'OurBot/1.2 (+http://info.example.test/)',
    'ourbot (+mailto:owner@example.test)',
  ])('%s', async (userAgent) => {
    await using site = await serve({
      '/': linkPage(['/m', '/b', '/s']),
      '/m': 'm',
      '/b': 'b',
      '/s': 's',
      '/robots.txt': file,
    });
    const heard = await crawl(site.url('/'), { userAgent });
    expect(site.paths).toEqual(['/', '/b', '/s']);
    expect(heard.skips.map(({ url }) => pathOf(url))).toEqual(['/m']);
    expect(new Set(site.log.map(({ headers }) => headers['user-agent']))).toEqual(new Set([userAgent]));
  });

  test('a header without a token that could be matched is refused at the start', () => {
    for (const userAgent of ['(+mailto:owner@example.test)', 'Mozilla/5.0 (+http://info.example.test/)']) {
      expect(() => new Crawler({ userAgent })).toThrowError(
        expect.toSatisfy((error) => isCrawlError(error, 'CRAWL_CONTACT_MISSING')),
      );
    }
  });
});

describe('KF-09: the longest rule wins, in whatever order', () => {
  const lines = [
    ...['Disallow: /en/', 'Allow: /en/geo/', 'Allow: /en/$', 'Disallow: /*.pdf$'],
    ...['Allow: /t', 'Disallow: /t', 'Disallow: fish'],
  ];
  const links = ['/en/', '/en/x', '/en/geo/1', '/a.pdf', '/a.pdf?x', '/t', '/fish'];

  test.each([
    ['as written', lines],
    ['turned round', lines.toReversed()],
  ])('%s', async (_name, order) => {
    await using site = await serve({ '/': linkPage(links), '/robots.txt': rules('User-agent: *', ...order) });
    const heard = await crawl(site.url('/'));
    expect(site.paths).toEqual(['/', '/en/', '/en/geo/1', '/a.pdf?x', '/t', '/fish']);
    expect(heard.skips.map(({ url }) => pathOf(url))).toEqual(['/en/x', '/a.pdf']);
  });

  test('robots.txt itself may be fetched where nothing may', async () => {
    await using site = await serve({ '/robots.txt': rules('User-agent: *', 'Disallow: /') });
    const heard = await crawl([site.url('/robots.txt'), site.url('/')], { accept: () => 'buffer' });
    expect(site.log.map(({ path }) => path)).toEqual(['/robots.txt', '/robots.txt']);
    expect(heard.urls.map(pathOf)).toEqual(['/robots.txt']);
  });
});

describe('KF-10: Crawl-delay never makes the crawl faster, nor breaks its arithmetic', () => {
  test.each([
    ['0.02', 20],
    ['0', 0],
    ['-3', 0],
    ['', 0],
    ['abc', 0],
    ['1,5', 0],
    ['Infinity', 0],
    ['NaN', 0],
    ['1e9', 300],
    ['301', 300],
    ['0.2', 200],
  ])('"%s" counts as %i ms', async (value, counted) => {
    const store = await MemoryStore.open();
    await using site = await serve({
      '/': linkPage(['/1', '/2']),
      '/1': '1',
      '/2': '2',
      '/robots.txt': rules('User-agent: *', `Crawl-delay: ${value}`),
    });
    await crawl(site.url('/'), { store, minDelayMs: 60, maxCrawlDelayMs: 300 });
    expect(site.paths).toEqual(['/', '/1', '/2']);
    expect(smallestGap(site.log)).toBeGreaterThanOrEqual(Math.max(60, counted) - TOLERANCE_MS);
    expect(await store.getHost('127.0.0.1')).toMatchObject({ crawlDelayMs: counted });
  });
});
