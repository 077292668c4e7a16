// Failures that other crawlers had with bodies and connections: a page must come whole and readable, or not at all.
import type { ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { crawl, linkPage, pathOf } from './helpers/crawl.ts';
import { type Answer, NAMES, serve } from './helpers/pages.ts';
import { startRawSite } from './helpers/site.ts';

const sends = (body: string | Buffer, headers: Readonly<Record<string, string>>): Answer => {
  return (response) => void response.writeHead(200, headers).end(body);
};
const utf8Bom = Buffer.from([0xef, 0xbb, 0xbf]);
/** 中文 */
const gbk = Buffer.from([0xd6, 0xd0, 0xce, 0xc4]);

describe('KF-11: which declaration of the encoding wins', () => {
  const page = (title: string, head = ''): string =>
    `<!doctype html><head>${head}<title>${title}</title></head><a href="/é">x</a>`;
  const gbkPage = Buffer.concat([
    Buffer.from('<head><meta content="text/html; charset=gbk" http-equiv="Content-Type"><title>'),
    gbk,
    Buffer.from('</title><a href="/'),
    gbk,
    Buffer.from('">x</a>'),
  ]);
  const meta = '<meta charset="windows-1251">';

  test.each([
    [
      'a byte order mark beats the header',
      Buffer.concat([utf8Bom, Buffer.from(page('Привет'))]),
      'text/html; charset=windows-1251',
      'Привет',
      '/%C3%A9',
      'utf-8',
    ],
    ['a meta element with its attributes swapped', gbkPage, 'text/html', '中文', '/%E4%B8%AD%E6%96%87', 'gbk'],
    ['nothing declared, valid UTF-8', Buffer.from(page('déjà vu')), 'text/html', 'déjà vu', '/%C3%A9', 'utf-8'],
    [
      'nothing declared, no UTF-8',
      Buffer.from(page('déjà vu'), 'latin1'),
      'text/html',
      'déjà vu',
      '/%C3%A9',
      'windows-1252',
    ],
    [
      'the header beats the meta element',
      Buffer.from(page('déjà vu', meta)),
      'text/html; charset=utf-8',
      'déjà vu',
      '/%C3%A9',
      'utf-8',
    ],
    [
      'a label in quotes',
      Buffer.from(page('déjà vu', meta)),
      'text/html; charset="utf-8"',
      'déjà vu',
      '/%C3%A9',
      'utf-8',
    ],
    [
      'a label without hyphen, a semicolon behind it',
      Buffer.from(page('déjà vu', meta)),
      'text/html; charset=utf8;',
      'déjà vu',
      '/%C3%A9',
      'utf-8',
    ],
  ])('%s', async (_name, body, contentType, title, link, encoding) => {
    await using site = await serve({ '/': sends(body, { 'content-type': contentType }) });
    const heard = await crawl(site.url('/'));
    expect(heard.pages[0]).toMatchObject({ title, encoding });
    expect(heard.pages[0]?.text).toContain(title);
    expect(site.paths).toEqual(['/', link]);
  });
});

describe('KF-12: an encoding that nobody knows loses no page', () => {
  test.each([
    ['in the header', 'text/html; charset=ISO-88509-1', ''],
    ['in the meta element', 'text/html', '<meta charset="x-nope">'],
  ])('%s', async (_name, contentType, head) => {
    const body = `<!doctype html>${head}<title>café</title><a href="/next">x</a>`;
    await using site = await serve({ '/': sends(body, { 'content-type': contentType }), '/next': 'next' });
    const heard = await crawl(site.url('/'));
    expect(site.paths).toEqual(['/', '/next']);
    expect(heard.pages[0]?.title).toBe('café');
    expect(heard.errors).toEqual([]);
    expect(heard.retries).toEqual([]);
  });
});

describe('KF-13: “gzip” that is not gzip', () => {
  const text = linkPage(['/next'], 'whole');
  const gzip = gzipSync(text);
  const badChecksum = Buffer.from(gzip);
  badChecksum.writeUInt32LE((badChecksum.readUInt32LE(gzip.length - 8) ^ 0xff) >>> 0, gzip.length - 8);
  const headers = { 'content-type': 'text/html', 'content-encoding': 'gzip' };

  test.each([
    ['a plain body is used as it is', Buffer.from(text), 'whole', ['/', '/next']],
    ['an empty body is an empty page', Buffer.alloc(0), undefined, ['/']],
    ['junk behind the end is left out', Buffer.concat([gzip, Buffer.from('junk!')]), 'whole', ['/', '/next']],
  ])('%s', async (_name, body, title, asked) => {
    await using site = await serve({ '/': sends(body, headers), '/next': 'next' });
    const heard = await crawl(site.url('/'));
    expect(heard.pages[0]).toMatchObject({ status: 200, title });
    expect(site.paths).toEqual(asked);
    expect(heard.errors).toEqual([]);
  });

  test('a wrong checksum is an error of this URL alone', async () => {
    await using site = await serve({
      '/': linkPage(['/bad', '/good']),
      '/bad': sends(badChecksum, headers),
      '/good': 'good',
      '/next': 'never',
    });
    const heard = await crawl(site.url('/'), { retries: 0 });
    expect(heard.urls.map(pathOf)).toEqual(['/', '/good']);
    expect(heard.errors.map(({ error, url }) => [error.code, url])).toEqual([
      ['CRAWL_BODY_UNDECODABLE', site.url('/bad')],
    ]);
  });
});

describe('KF-14: a compressed body cut in the middle is no page', () => {
  const links = Array.from({ length: 700 }, (_, i) => `/link-${(i * 7919) % 1009}`);
  const text = linkPage(links);
  const packed = { gzip: gzipSync(text), br: brotliCompressSync(text), deflate: deflateSync(text) };
  const half = (body: Buffer): Buffer => body.subarray(0, body.length >> 1);
  const closed = (coding: keyof typeof packed): Answer => {
    const body = packed[coding];
    return (response) => {
      const head = { 'content-type': 'text/html', 'content-encoding': coding, 'content-length': String(body.length) };
      response.writeHead(200, head).write(half(body), () => response.destroy());
    };
  };
  const cut = (coding: keyof typeof packed): Answer => {
    return sends(half(packed[coding]), { 'content-type': 'text/html', 'content-encoding': coding });
  };

  test.each(
    (['gzip', 'br', 'deflate'] as const).flatMap((coding) => [
      [`${coding}, complete by its Content-Length`, cut(coding)] as const,
      [`${coding}, the connection closed early`, closed(coding)] as const,
    ]),
  )('%s: one typed error per attempt, and nothing is taken from it', async (_name, answer) => {
    await using site = await serve({ '/': answer });
    const heard = await crawl(site.url('/'), { retries: 1 });
    expect(site.paths).toEqual(['/', '/']);
    expect(heard.pages).toEqual([]);
    expect(heard.retries.map(({ error }) => error.retryable)).toEqual([true]);
    expect(heard.errors).toHaveLength(1);
    expect(['CRAWL_BODY_TRUNCATED', 'CRAWL_CONNECTION_LOST']).toContain(heard.errors[0]?.error.code);
    expect(heard.stats).toMatchObject({ pages: 0, offered: 1, errors: 1 });
  });
});

describe('KF-15: fewer bytes than promised', () => {
  const raw = (answer: string) =>
    startRawSite((socket) => {
      socket.once('data', (data) => {
        const isRobots = data.toString().startsWith('GET /robots.txt');
        socket.end(isRobots ? 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' : answer);
      });
    });
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n';

  test.each([
    ['of a Content-Length', `${head}Content-Length: 100\r\n\r\nhello`],
    ['of a chunked body', `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`],
  ])('%s: an error that may be made good, and no page', async (_name, answer) => {
    await using site = await raw(answer);
    const heard = await crawl(site.url('/'), { retries: 1 });
    expect(heard.pages).toEqual([]);
    expect(heard.retries).toHaveLength(1);
    expect(heard.errors.map(({ error }) => [error.code, error.retryable])).toEqual([['CRAWL_BODY_TRUNCATED', true]]);
  });

  test('no length at all: the end of the connection is the end of the page', async () => {
    await using site = await raw(`${head}\r\nhello`);
    const heard = await crawl(site.url('/'));
    expect(heard.pages.map((page) => page.text)).toEqual(['hello']);
    expect(heard.errors).toEqual([]);
  });
});

describe('KF-16: a stream that never ends holds no slot for ever', () => {
  const endless = (contentType: string) => {
    const state = { open: 0, chunks: 0 };
    const answer: Answer = (response: ServerResponse) => {
      state.open++;
      response.writeHead(200, { 'content-type': contentType });
      const timer = setInterval(() => {
        state.chunks++;
        response.write(Buffer.alloc(1024));
      }, 10);
      response.on('close', () => {
        clearInterval(timer);
        state.open--;
      });
    };
    return { answer, state };
  };
  const siblings = { '/1': '1', '/2': '2', '/3': '3', '/4': '4', '/5': '5' };
  const links = ['/live', ...Object.keys(siblings)];

  test('its type is not wanted: the body is not read', async () => {
    const live = endless('audio/mpeg');
    await using site = await serve({ '/': linkPage(links), '/live': live.answer, ...siblings });
    const heard = await crawl(site.url('/'), { concurrency: 1 });
    expect(heard.urls.map(pathOf)).toEqual(['/', ...Object.keys(siblings)]);
    expect(heard.skips).toEqual([{ url: site.url('/live'), reason: 'not-accepted', from: site.url('/') }]);
    await expect.poll(() => live.state.open).toBe(0);
  });

  test('its type is wanted: the limit of bytes ends it, and what came is marked as cut', async () => {
    const live = endless('text/html');
    await using site = await serve({ '/': linkPage(links), '/live': live.answer, ...siblings });
    const heard = await crawl(site.url('/'), { concurrency: 1, maxBodyBytes: 4096 });
    const page = heard.pages.find(({ url }) => pathOf(url) === '/live');
    expect(page).toMatchObject({ truncated: true, bytes: 4096 });
    expect(heard.urls.map(pathOf).sort()).toEqual(['/', ...Object.keys(siblings), '/live']);
    await expect.poll(() => live.state.open).toBe(0);
  });

  test('its type is wanted and it drips: the limit of time ends it', async () => {
    const live = endless('text/html');
    await using site = await serve({ '/': linkPage(links), '/live': live.answer, ...siblings });
    const heard = await crawl(site.url('/'), { concurrency: 1, timeouts: { page: 200 }, retries: 0 });
    expect(heard.errors.map(({ error, url }) => [error.code, url])).toEqual([
      ['CRAWL_PAGE_TIMEOUT', site.url('/live')],
    ]);
    expect(heard.urls.map(pathOf)).toEqual(['/', ...Object.keys(siblings)]);
    await expect.poll(() => live.state.open).toBe(0);
  });
});

describe('KF-17: an odd Set-Cookie costs nothing but itself', () => {
  const odd = ['a=b; Domain=other.example.test', '=x', '', ';;;', 'a=b; Domain=127.0.0.1', 'ok=1; Path=/'];

  test.each([
    ['at an address', '127.0.0.1'],
    ['at a name', 'a.example.test'],
  ])('%s', async (_name, host) => {
    const pages = Object.fromEntries(
      odd.map((cookie, i): [string, Answer] => [
        `/${i}`,
        (response) => {
          response.setHeader('set-cookie', cookie);
          response.setHeader('content-type', 'text/html');
          response.end(linkPage([`/${i + 1}`]));
        },
      ]),
    );
    await using site = await serve({ ...pages, [`/${odd.length}`]: 'the end' });
    const heard = await crawl(site.url('/0', host), { ...NAMES, cookies: true });
    expect(heard.urls.map(pathOf)).toEqual([...odd.keys(), odd.length].map((i) => `/${i}`));
    expect(heard.errors).toEqual([]);
    const last = site.log.at(-1);
    expect(last?.headers.cookie?.split('; ')).toContain('ok=1');
    expect(last?.headers.cookie).not.toContain('=x');
  });
});
