import { createHash } from 'node:crypto';
import http from 'node:http';
import { gunzipSync, inflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DemoWeb, startDemoWeb } from '../src/cli/demo-web/index.ts';

let web: DemoWeb;
beforeAll(async () => {
  web = await startDemoWeb();
});
afterAll(() => web.close());

interface Got {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** One request on a connection of its own, nothing followed and nothing decoded. */
function get(url: string, method = 'GET'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, agent: false, headers: { 'user-agent': 'test/1.0' } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end();
  });
}
const at = (path: string, host = 0) => new URL(path, web.urls[host]).href;
const GALLERY = 1;
const SERVICES = 2;
const CALENDAR = 3;

describe('the demo web', () => {
  test('has several hosts on one port of the loopback network', async () => {
    const hosts = web.urls.map((url) => new URL(url));
    expect(web.url).toBe(web.urls[0]);
    expect(new Set(hosts.map((host) => host.host)).size).toBe(4);
    for (const host of hosts) expect(host.hostname).toMatch(/^127\.0\.0\.[1-4]$/);
    for (const url of web.urls) expect((await get(url)).status).toBe(200);
  });

  test('has robots rules: a folder, a delay, nothing forbidden, no file', async () => {
    expect(String((await get(at('/robots.txt'))).body)).toContain('Disallow: /private/');
    expect(String((await get(at('/robots.txt', GALLERY))).body)).toMatch(/^Disallow:$/m);
    expect((await get(at('/robots.txt', SERVICES))).status).toBe(404);
    expect(String((await get(at('/robots.txt', CALENDAR))).body)).toContain('Crawl-delay: 0.2');
  });

  test.each([
    ['/old', 301, '/articles/1'],
    ['/for-now', 302, '/articles/2'],
    ['/chain/1', 301, '/chain/2'],
    ['/chain/2', 307, '/chain/3'],
    ['/chain/3', 308, '/chain/end'],
    ['/loop/1', 302, '/loop/2'],
    ['/loop/2', 302, '/loop/1'],
  ])('%s redirects with %i to %s', async (path, status, target) => {
    const { headers, ...got } = await get(at(path));
    expect(got.status).toBe(status);
    expect(new URL(headers.location!, at(path)).pathname).toBe(target);
  });

  test('has a redirect to another host', async () => {
    expect((await get(at('/to-the-gallery'))).headers.location).toBe(at('/albums/1', GALLERY));
  });

  test('has a page that is missing, one that recovers, and one that is busy for a second', async () => {
    expect((await get(at('/missing'))).status).toBe(404);
    expect((await get(at('/shaky'))).status).toBe(500);
    expect((await get(at('/shaky'))).status).toBe(200);
    const busy = await get(at('/busy'));
    expect(busy.status).toBe(429);
    expect(busy.headers['retry-after']).toBe('1');
    expect((await get(at('/busy'))).status).toBe(200);
  });

  test('has a calendar without end', async () => {
    let path = '/2026/1';
    for (let month = 0; month < 30; month++) {
      const { status, body } = await get(at(path, CALENDAR));
      expect(status).toBe(200);
      path = /href="(\/\d+\/\d+)"/.exec(String(body))![1]!;
    }
    expect(path).toBe('/2028/7');
    for (const none of ['/2026/0', '/2026/13', '/2026', '/x/1'])
      expect((await get(at(none, CALENDAR))).status).toBe(404);
  });

  test('has pictures that are what they say', async () => {
    const png = await get(at('/pictures/1.png', GALLERY));
    expect(png.headers['content-type']).toBe('image/png');
    expect(png.body.subarray(0, 8).toString('latin1')).toBe('\u0089PNG\r\n\u001a\n');
    expect([png.body.readUInt32BE(16), png.body.readUInt32BE(20)]).toEqual([16, 16]);
    const length = png.body.readUInt32BE(33);
    expect(inflateSync(png.body.subarray(41, 41 + length))).toHaveLength(16 * (1 + 3 * 16));
    const jpeg = await get(at('/pictures/1.jpg', GALLERY));
    expect(jpeg.headers['content-type']).toBe('image/jpeg');
    expect(jpeg.body.subarray(0, 2).toString('hex')).toBe('ffd8');
    expect(jpeg.body.subarray(-2).toString('hex')).toBe('ffd9');
    expect(String((await get(at('/logo.svg', GALLERY))).body)).toContain('<svg');
    const digests = await Promise.all(
      [1, 2, 3, 4, 5].flatMap((n) =>
        ['png', 'jpg'].map(async (end) => {
          const { body } = await get(at(`/pictures/${n}.${end}`, GALLERY));
          return createHash('sha256').update(body).digest('hex');
        }),
      ),
    );
    expect(new Set(digests).size, 'no two are alike').toBe(10);
  });

  test('has a film', async () => {
    const film = await get(at('/film.mp4', GALLERY));
    expect(film.headers['content-type']).toBe('video/mp4');
    expect(film.body.subarray(4, 8).toString()).toBe('ftyp');
    let boxes = 0;
    for (let start = 0; start < film.body.length; boxes++) start += film.body.readUInt32BE(start);
    expect(boxes).toBe(2);
    expect(film.body.length).toBeGreaterThan(65_536);
  });

  test('has two service descriptions, and a page and a file that are none', async () => {
    const root = (body: Buffer) => /<([\w:]+)[ >]/.exec(String(body).replace(/<\?.*?\?>|<!.*?>/g, ''))?.[1];
    const weather = await get(at('/weather.wsdl', SERVICES));
    const stocks = await get(at('/services/stocks', SERVICES));
    expect(stocks.headers['content-type']).toBe('text/xml');
    for (const { body } of [weather, stocks]) expect(root(body)).toBe('wsdl:definitions');
    const decoy = await get(at('/decoy.wsdl', SERVICES));
    expect(decoy.headers['content-type']).toContain('text/html');
    expect(root(decoy.body)).toBe('html');
    expect(root((await get(at('/news.xml', SERVICES))).body)).toBe('news');
  });

  test('has a sitemap index, one part of it zipped, with pages that nothing else links to', async () => {
    expect(String((await get(at('/robots.txt'))).body)).toContain(`Sitemap: ${at('/sitemap.xml')}`);
    const locations = (text: string) => [...text.matchAll(/<loc>(.*?)<\/loc>/g)].map((match) => match[1]!);
    const parts = locations(String((await get(at('/sitemap.xml'))).body));
    expect(parts).toEqual([at('/sitemap-articles.xml'), at('/sitemap-unlinked.xml.gz')]);
    expect(locations(String((await get(parts[0]!)).body))).toHaveLength(20);
    const zipped = await get(parts[1]!);
    expect(zipped.headers['content-encoding'], 'the file is gzip, not its transfer').toBeUndefined();
    const unlinked = locations(String(gunzipSync(zipped.body)));
    expect(unlinked).toHaveLength(3);
    for (const url of unlinked) expect((await get(url)).status).toBe(200);
  });

  test('has a zipped page, a Latin-1 page and one text under two URLs', async () => {
    const zipped = await get(at('/zipped'));
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(String(gunzipSync(zipped.body))).toContain('<title>Zipped</title>');
    const latin = await get(at('/latin-1'));
    expect(latin.headers['content-type']).toBe('text/html; charset=iso-8859-1');
    expect(new TextDecoder('latin1').decode(latin.body)).toContain('Crème brûlée');
    expect(latin.body.includes(Buffer.from('Crème', 'latin1'))).toBe(true);
    const [one, two] = await Promise.all([get(at('/copy/one')), get(at('/copy/two'))]);
    expect(one.body.equals(two.body)).toBe(true);
  });

  test('has rules for robots in a link, in pages and in a header', async () => {
    expect(String((await get(at('/rules'))).body)).toContain('<a href="/untrusted" rel="nofollow">');
    expect(String((await get(at('/noindex'))).body)).toContain('<meta name="robots" content="noindex">');
    expect(String((await get(at('/nofollow'))).body)).toContain('<meta name="robots" content="nofollow">');
    expect((await get(at('/header-rules'))).headers['x-robots-tag']).toBe('noindex, nofollow');
  });

  test('answers HEAD without a body and other methods not at all', async () => {
    const head = await get(at('/articles/1'), 'HEAD');
    expect(head.status).toBe(200);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(0);
    expect(head.body).toHaveLength(0);
    expect((await get(at('/'), 'POST')).status).toBe(405);
    expect((await get(at('/nothing?x=1'))).status).toBe(404);
  });

  test('has about sixty pages besides its calendar, and no link that leads nowhere but one', async () => {
    const seen = new Map<string, Got>();
    const queue = [web.url];
    for (let url = queue.shift(); url !== undefined; url = queue.shift()) {
      if (seen.has(url) || new URL(url).pathname.startsWith('/2026/')) continue;
      const got = await get(url);
      seen.set(url, got);
      const links =
        got.headers['content-encoding'] === undefined ? String(got.body).matchAll(/(?:href|src)="(.*?)"/g) : [];
      for (const [, href = ''] of links) queue.push(new URL(href, url).href);
      if (got.headers.location !== undefined) queue.push(new URL(got.headers.location, url).href);
    }
    const of = (type: string) =>
      [...seen].filter(([, got]) => got.status === 200 && got.headers['content-type']?.startsWith(type));
    expect(of('text/html').length).toBeGreaterThan(45);
    expect(of('text/html').length).toBeLessThan(70);
    expect(of('image/')).toHaveLength(11);
    expect([...seen].filter(([, got]) => got.status === 404).map(([url]) => new URL(url).pathname)).toEqual([
      '/missing',
    ]);
  });
});

describe('the log of the demo web', () => {
  test('has each request with its time, and shows the smallest gap of a host', async () => {
    await using other = await startDemoWeb();
    const [first, second] = other.urls.map((url) => new URL(url).origin) as [string, string];
    expect(other.smallestGapMs(first)).toBeUndefined();
    await get(`${first}/articles/1?x=1`);
    await get(`${second}/`);
    await get(`${first}/missing`);
    expect(other.log).toMatchObject([
      { origin: first, method: 'GET', path: '/articles/1?x=1', status: 200, userAgent: 'test/1.0' },
      { origin: second, method: 'GET', path: '/', status: 200 },
      { origin: first, method: 'GET', path: '/missing', status: 404 },
    ]);
    const [one, two, three] = other.log as [DemoWeb['log'][0], DemoWeb['log'][0], DemoWeb['log'][0]];
    expect(one.endedAt).toBeGreaterThanOrEqual(one.at);
    expect(two.at).toBeGreaterThanOrEqual(one.at);
    expect(other.smallestGapMs(first)).toBe(Math.max(0, three.at - one.endedAt!));
    expect(other.smallestGapMs(second)).toBeUndefined();
  });

  test('two webs at once are two, and answer alike', async () => {
    await using one = await startDemoWeb();
    await using two = await startDemoWeb();
    expect(new Set([...one.urls, ...two.urls]).size).toBe(8);
    const neutral = async (web: DemoWeb, path: string) =>
      String((await get(new URL(path, web.url).href)).body).replaceAll(new URL(web.url).port, 'PORT');
    for (const path of ['/', '/articles/', '/articles/7', '/sitemap.xml', '/robots.txt', '/shaky']) {
      expect(await neutral(one, path)).toBe(await neutral(two, path));
    }
  });
});

test('close() leaves no handle behind, open connections included', async () => {
  const handles = (type: string) => process.getActiveResourcesInfo().filter((name) => name === type).length;
  // Those of the web of all other tests.
  await expect.poll(() => handles('TCPServerWrap')).toBe(4);
  const other = await startDemoWeb();
  const agent = new http.Agent({ keepAlive: true });
  await new Promise((resolve, reject) => {
    http.get(other.url, { agent }, (response) => response.resume().on('end', resolve)).on('error', reject);
  });
  expect(handles('TCPServerWrap')).toBe(8);
  await other.close();
  await other.close();
  agent.destroy();
  await expect.poll(() => handles('TCPServerWrap')).toBe(4);
  await expect.poll(() => handles('TCPSocketWrap')).toBe(0);
  await expect(get(other.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
