// Failures that other crawlers had with links and with telling URLs apart; what counts is what reaches the wire.
import { describe, expect, test } from 'vitest';
import { canonicalizeUrl } from '../src/index.ts';
import { crawl, linkPage, pathOf } from './helpers/crawl.ts';
import { html, moved, NAMES, rules, serve, serveHosts, smallestGap, TOLERANCE_MS, urlset } from './helpers/pages.ts';
import { startSite } from './helpers/site.ts';

const sorted = (paths: readonly string[]): string[] => [...paths].sort();

describe('KF-18: white space inside href', () => {
  test('is stripped as browsers do, so that the crawl ends', async () => {
    await using site = await startSite((request, response) => {
      if (request.url === '/robots.txt') return void response.writeHead(404).end();
      const more = request.url === '/p?id=1' ? '<a href="\u00a0/u">u</a>' : '';
      const other = `http://127.0.0.1:${site.port}/q`;
      html(response, `<a href=" ${other}">q</a><a href="\n\t/r\n">r</a><a href="/s\n/t">t</a>${more}`);
    });
    await crawl(site.url('/p?id=1'));
    expect(sorted(site.paths)).toEqual(['/%C2%A0/u', '/p?id=1', '/q', '/r', '/s/t']);
  });
});

describe('KF-19: <base> in all its forms', () => {
  const link = '<a href="k.html">k</a>';
  const cases: [name: string, page: string, asked: string][] = [
    ['absolute path', `<base href="/pages/">${link}`, '/pages/k.html'],
    ['relative', `<base href="sub/">${link}`, '/img/sub/k.html'],
    ['a query alone', `<base href="?">${link}`, '/img/k.html'],
    ['two: the first counts', `<base href="/one/"><base href="/two/">${link}`, '/one/k.html'],
    ['one without href comes first', `<base target=_blank><base href="/three/">${link}`, '/three/k.html'],
    ['of a scheme that is none for links', `<base href="javascript:1">${link}`, '/img/k.html'],
    ['after the first link', `${link}<base href="/late/">`, '/late/k.html'],
    ['inside the body', `<body><p>text</p><base href="/inside/">${link}</body>`, '/inside/k.html'],
  ];

  test.each(cases)('%s', async (_name, page, asked) => {
    await using site = await serve({ '/img/x.html': page, [asked]: 'k' });
    const heard = await crawl(site.url('/img/x.html'));
    expect(site.paths).toEqual(['/img/x.html', asked]);
    expect(heard.pages[1]?.status).toBe(200);
  });

  test.each(cases)('%s, on a page that was redirected to', async (_name, page, asked) => {
    await using site = await serve({ '/old/x.html': moved('/img/x.html'), '/img/x.html': page, [asked]: 'k' });
    await crawl(site.url('/old/x.html'));
    expect(site.paths).toEqual(['/old/x.html', '/img/x.html', asked]);
  });

  test('the scope is decided on the link it makes, not on the base', async () => {
    await using web = await serveHosts({
      'a.example.test': {
        '/': (response) =>
          html(
            response,
            `<base href="${web.at('b.example.test')}"><a href="k">k</a><a href="${web.at('a.example.test', '/home')}">h</a>`,
          ),
        '/home': 'home',
      },
    });
    const heard = await crawl(web.at('a.example.test'), { ...NAMES, network: 'any' });
    expect(web.asked('a.example.test')).toEqual(['/robots.txt', '/', '/home']);
    expect(web.asked('b.example.test')).toEqual([]);
    expect(heard.skips.map(({ url, reason }) => [url, reason])).toEqual([[web.at('b.example.test', '/k'), 'off-host']]);
  });
});

describe('KF-21: meta refresh in all its spellings', () => {
  test.each([
    ['<meta http-equiv="refresh" content="0; URL=\n/a">', '/a'],
    [`<meta http-equiv="refresh" content="0;url='/b'">`, '/b'],
    [`<meta http-equiv="refresh" content='5,url="/c" rest'>`, '/c'],
    ['<meta http-equiv="refresh" content="0; /d">', '/d'],
    ['<meta http-equiv="refresh" content="0 url=/e">', '/e'],
    ['<meta http-equiv="refresh" content="3">', undefined],
    ['<meta http-equiv="refresh" content="; url=/f">', undefined],
    ['<meta http-equiv="refresh" content=".5; url=/g">', '/g'],
    ['<meta content="0; url=/h" http-equiv="refresh">', '/h'],
    ['<META HTTP-EQUIV=REFRESH CONTENT="0; URL=/i">', '/i'],
    ['<meta http-equiv="refresh" content="0; url=javascript:alert(1)">', undefined],
  ])('%s', async (page, target) => {
    await using site = await serve({ '/': `<!doctype html>${page}` });
    const heard = await crawl(site.url('/'));
    expect(site.paths).toEqual(target === undefined ? ['/'] : ['/', target]);
    expect(heard.errors).toEqual([]);
  });

  test('a ring of pages that refresh each other is a ring of pages, not a loop', async () => {
    const refresh = (to: string) => `<!doctype html><meta http-equiv="refresh" content="0; url=${to}">`;
    await using site = await serve({ '/': refresh('/x'), '/x': refresh('/y'), '/y': refresh('/') });
    const heard = await crawl(site.url('/'));
    expect(site.paths).toEqual(['/', '/x', '/y']);
    expect(heard.redirects).toEqual([]);
  });
});

describe('KF-23: &amp; in href', () => {
  test('is decoded once, and the crawl ends after five pages', async () => {
    const page = ['/l?t=1&amp;p=2', '/l?a=1&copy=2', '/l?x=1&#38;y=2', '/l?b=1&amp;copy=3'];
    await using site = await startSite((request, response) => {
      if (request.url === '/robots.txt') return void response.writeHead(404).end();
      html(response, linkPage(page));
    });
    const heard = await crawl(site.url('/l'));
    expect(site.paths).toEqual(['/l', '/l?t=1&p=2', '/l?a=1&copy=2', '/l?x=1&y=2', '/l?b=1&copy=3']);
    expect(heard.pages).toHaveLength(5);
  });
});

describe('KF-25: normalising never changes what is asked for', () => {
  const linked = [
    ...['/a%23b', '/a%25b', '/a%2Fb', '/a%3Fb', '/a%2fb', '/s?q=1%2B2+3', '/s?q=a%26b=c'],
    ...['/%7Eu', '/%zz', '/x?', '/x', '/c%c3%a9', '/d?b=2&a=1', "/e'(1)!*"],
  ];

  test('each URL reaches the wire as it was linked', async () => {
    await using site = await serve({ '/': linkPage(linked) });
    const heard = await crawl(site.url('/'));
    // One key: hex digits in either case name the same.
    const asked = linked.filter((path) => path !== '/a%2fb');
    expect(site.paths).toEqual(['/', ...asked]);
    expect(heard.skips.map(({ url, reason }) => [url, reason])).toEqual([[site.url('/a%2fb'), 'seen']]);
  });

  test.each([
    [['/%7Eu', '/~u'], '/%7Eu'],
    [['/~u', '/%7Eu'], '/~u'],
    [['/%41', '/A'], '/%41'],
  ])('%j are one page, asked for by the name found first', async (links, asked) => {
    await using site = await serve({ '/': linkPage(links) });
    await crawl(site.url('/'));
    expect(site.paths).toEqual(['/', asked]);
  });
});

describe('KF-26: fragments', () => {
  test('neither make a page two nor hide one, on links, seeds, redirects and in sitemaps', async () => {
    await using site = await serve({
      '/p': linkPage(['#x', '/p#a', '/p#b', '/p?page=2#top', '/r']),
      '/p?page=2': 'two',
      '/r': moved('/p#c'),
      '/robots.txt': (response, request) =>
        rules('User-agent: *', `Sitemap: ${site.url('/sitemap.xml')}`)(response, request),
      '/sitemap.xml': (response, request) => urlset([site.url('/p#d')])(response, request),
    });
    const heard = await crawl([site.url('/p#seed'), site.url('/p#again')], { sitemaps: 'robots' });
    expect(sorted(site.paths)).toEqual(['/p', '/p?page=2', '/r', '/sitemap.xml']);
    expect(heard.urls.every((url) => !url.includes('#'))).toBe(true);
    expect(heard.pages.map((page) => page.finalUrl).every((url) => !url.includes('#'))).toBe(true);
  });
});

describe('KF-27: one server under many spellings', () => {
  test('has one robots.txt, one clock and one page each', async () => {
    await using web = await serveHosts({
      'a.example.test': {
        '/': (response) => {
          const { port } = web;
          const links = [
            `http://a.example.test:${port}/1`,
            `http://A.EXAMPLE.test:${port}/2`,
            `http://a.exampl%65.test:${port}/3`,
            `//a.example.test:${port}/4`,
            `http://a.example.test.:${port}/5`,
            `http://b\u00fccher.example.test:${port}/6`,
            `http://xn--bcher-kva.example.test:${port}/6`,
          ];
          html(response, linkPage(links));
        },
      },
    });
    const heard = await crawl(web.at('a.example.test'), {
      ...NAMES,
      network: 'any',
      scope: 'any',
      minDelayMs: 100,
      concurrency: 8,
      ipDelayMs: 0,
    });
    expect(sorted(web.asked('a.example.test'))).toEqual(['/', '/1', '/2', '/3', '/4', '/5', '/robots.txt']);
    expect(web.asked('xn--bcher-kva.example.test')).toEqual(['/robots.txt', '/6']);
    expect(smallestGap(web.requests('a.example.test'))).toBeGreaterThanOrEqual(100 - TOLERANCE_MS);
    expect(Object.keys(heard.stats.perHost).sort()).toEqual(['a.example.test', 'xn--bcher-kva.example.test']);
    expect(heard.urls.map(pathOf)).toHaveLength(7);
    expect(heard.errors).toEqual([]);
  });

  test('the default port, written or not, is the same', () => {
    expect(canonicalizeUrl('http://a.example.test:80/4')).toBe(canonicalizeUrl('http://a.example.test/4'));
    expect(canonicalizeUrl('https://a.example.test:443/4')).toBe(canonicalizeUrl('https://a.example.test/4'));
    expect(canonicalizeUrl('http://a.example.test:443/4')).not.toBe(canonicalizeUrl('http://a.example.test/4'));
  });
});
