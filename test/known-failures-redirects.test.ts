// Failures that other crawlers had with redirects.
import { describe, expect, test } from 'vitest';
import { Crawler } from '../src/index.ts';
import { crawl, HASTE, hear, linkPage, pathOf, USER_AGENT } from './helpers/crawl.ts';
import { type Answer, gate, html, moved, NAMES, serve, serveHosts } from './helpers/pages.ts';

const hosts = { ...NAMES, network: 'any' } as const;

describe('KF-01: the scope holds where a redirect lands', () => {
  test('a host out of scope gets no request, not even for robots.txt, when a link in scope redirects to it', async () => {
    await using web = await serveHosts({
      'a.example.test': {
        '/': linkPage(['/out?n=1']),
        '/out?n=1': moved(() => web.at('b.example.test')),
      },
      'b.example.test': { '/': linkPage(['/b2', 'http://c.example.test/']), '/b2': 'b2' },
    });
    const heard = await crawl(web.at('a.example.test'), hosts);
    expect(web.asked('a.example.test')).toEqual(['/robots.txt', '/', '/out?n=1']);
    expect(web.asked('b.example.test')).toEqual([]);
    expect(web.log).toHaveLength(3);
    expect(heard.urls.map(pathOf)).toEqual(['/']);
    expect(heard.redirects).toEqual([
      { from: web.at('a.example.test', '/out?n=1'), to: web.at('b.example.test'), status: 302 },
    ]);
    expect(heard.skips).toContainEqual({
      url: web.at('b.example.test'),
      reason: 'off-host',
      from: web.at('a.example.test', '/out?n=1'),
    });
    expect(heard.stats).toMatchObject({ redirects: 1, errors: 0, skips: { 'off-host': 1 } });
  });

  test('a chain is left at the hop that leads out, though it would come back in', async () => {
    await using web = await serveHosts({
      'a.example.test': {
        '/': moved(() => web.at('b.example.test', '/back')),
        '/home': 'home',
      },
      'b.example.test': { '/back': moved(() => web.at('a.example.test', '/home')) },
    });
    const heard = await crawl(web.at('a.example.test'), hosts);
    expect(web.asked('b.example.test')).toEqual([]);
    expect(heard.pages).toEqual([]);
  });
});

describe('KF-02: a redirect’s target is fetched once, by whatever name it is reached', () => {
  test.each([
    ['the old name is linked first', ['/old', '/new']],
    ['the new name is linked first', ['/new', '/old']],
  ])('%s', async (_order, links) => {
    await using site = await serve({ '/': linkPage(links), '/old': moved('/new', 301), '/new': 'new' });
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any' });
    const heard = hear(crawler);
    await crawler.run(site.url('/'));
    expect([...site.paths].sort()).toEqual(['/', '/new', '/old']);
    expect(heard.pages).toHaveLength(2);
    expect(heard.redirects).toEqual([{ from: site.url('/old'), to: site.url('/new'), status: 301 }]);
    expect(await crawler.explain(site.url('/old'))).toMatchObject({
      state: 'redirected',
      redirectedTo: site.url('/new'),
    });
    expect(await crawler.explain(site.url('/new'))).toMatchObject({ state: 'done' });
  });

  test('both are in flight together', async () => {
    const redirected = gate();
    const slow: Answer = (response) => void redirected.opened.then(() => html(response, 'new'));
    await using site = await serve({ '/': linkPage(['/new', '/old']), '/old': moved('/new', 301), '/new': slow });
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', connectionsPerHost: 4 });
    const heard = hear(crawler);
    crawler.on('redirect', () => redirected.open());
    await crawler.run(site.url('/'));
    expect([...site.paths].sort()).toEqual(['/', '/new', '/old']);
    expect(heard.pages).toHaveLength(2);
  });
});

describe('KF-03: a page that redirects to itself', () => {
  const once: Answer = (response, request) => {
    if (request.headers.cookie?.includes('s=1')) return html(response, linkPage(['/next']));
    return moved('/', 302, { 'set-cookie': 's=1; Path=/' })(response, request);
  };

  test('is delivered once the cookie it sets is kept', async () => {
    await using site = await serve({ '/': once, '/next': 'next' });
    const heard = await crawl(site.url('/'), { cookies: true });
    expect(site.paths).toEqual(['/', '/', '/next']);
    expect(heard.urls.map(pathOf)).toEqual(['/', '/next']);
    expect(heard.pages[0]?.redirects).toEqual([{ url: site.url('/'), status: 302 }]);
    expect(heard.errors).toEqual([]);
  });

  test.each([
    ['with cookies', { cookies: true }, 11],
    ['without, as soon as nothing has changed', {}, 2],
    ['with a limit of its own', { cookies: true, maxRedirects: 3 }, 4],
  ])('for ever ends at the redirect limit, and no retry multiplies it: %s', async (_name, options, requests) => {
    await using site = await serve({ '/': moved('/', 302, { 'set-cookie': 's=1; Path=/' }) });
    const heard = await crawl(site.url('/'), { ...options, retries: 2 });
    expect(site.paths.length).toBeLessThanOrEqual(requests);
    expect(heard.pages).toEqual([]);
    expect(heard.retries).toEqual([]);
    expect(heard.errors.map(({ error }) => [error.code, error.retryable])).toEqual([
      ['CRAWL_TOO_MANY_REDIRECTS', false],
    ]);
    expect(heard.ends).toHaveLength(1);
  });

  test('two pages that redirect to each other end with one typed error', async () => {
    await using site = await serve({ '/': linkPage(['/x']), '/x': moved('/y'), '/y': moved('/x') });
    const heard = await crawl(site.url('/'));
    expect(site.paths).toEqual(['/', '/x', '/y']);
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_TOO_MANY_REDIRECTS']);
  });

  test('a chain of ten hops is followed, one of eleven is not', async () => {
    const chain = (length: number): Record<string, Answer> =>
      Object.fromEntries(
        Array.from({ length: length + 1 }, (_, i) => [`/${i}`, i < length ? moved(`/${i + 1}`) : 'the end']),
      );
    await using ten = await serve(chain(10));
    const arrived = await crawl(ten.url('/0'));
    expect(arrived.pages[0]).toMatchObject({ url: ten.url('/0'), finalUrl: ten.url('/10') });
    expect(arrived.pages[0]?.redirects).toHaveLength(10);
    await using eleven = await serve(chain(11));
    const lost = await crawl(eleven.url('/0'));
    expect(eleven.paths).toHaveLength(11);
    expect(lost.errors.map(({ error }) => [error.code, error.url])).toEqual([
      ['CRAWL_TOO_MANY_REDIRECTS', eleven.url('/0')],
    ]);
  });
});
