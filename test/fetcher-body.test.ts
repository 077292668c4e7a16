import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import zlib, { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CrawlError } from '../src/errors.ts';
import type { FetchResult } from '../src/fetcher/index.ts';
import { fetcherOver, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { startRawSite, startSite } from './helpers/site.ts';

describe.each(TRANSPORTS)('over %s', (transport) => {
  const newFetcher = fetcherOver(transport);

  const HTML = `<!DOCTYPE html><title>é</title>${Array.from({ length: 800 }, (_, n) => `<p><a href="/${n * 7919}">${n}</a>`).join('\n')}`;
  const BYTES = Buffer.from(HTML);

  const CODED = {
    gzip: gzipSync(BYTES),
    'x-gzip': gzipSync(BYTES),
    deflate: deflateSync(BYTES),
    br: brotliCompressSync(BYTES),
    'deflate, gzip': gzipSync(deflateSync(BYTES)),
    'gzip, br': brotliCompressSync(gzipSync(BYTES)),
    ' GZip ': gzipSync(BYTES),
    'identity, gzip': gzipSync(BYTES),
    // From Node 22.15 on.
    ...('zstdCompressSync' in zlib ? { zstd: (zlib.zstdCompressSync as (body: Buffer) => Buffer)(BYTES) } : {}),
  };

  /** Serves one body, in pieces of `piece` bytes. */
  function serve(body: Buffer, headers: Record<string, string>, piece = Number.POSITIVE_INFINITY) {
    return startSite(async (_, response) => {
      response.writeHead(200, headers);
      for (let at = 0; at < body.length; at += piece) {
        response.write(body.subarray(at, Math.min(body.length, at + piece)));
        if (piece !== Number.POSITIVE_INFINITY) await delay(1);
      }
      response.end();
    });
  }

  async function readAll(result: FetchResult): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of result.stream!) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  }

  describe.each(['buffer', 'stream'] as const)('a body taken as %s', (acceptance) => {
    const accept = () => acceptance;
    const bodyOf = async (result: FetchResult) => (acceptance === 'buffer' ? result.body : readAll(result));

    /** Fetches and reads to the end, whichever way. */
    async function load(url: string, options: Parameters<typeof newFetcher>[0] = {}) {
      await using fetcher = newFetcher(options);
      const result = await fetcher.fetch({ url, accept });
      const body = await bodyOf(result);
      expect(result.acceptance).toBe(acceptance);
      expect(result.bytes).toBe(body.length);
      return { body, truncated: result.truncated, mislabelled: result.mislabelled };
    }

    test.each(Object.entries(CODED))('in coding "%s" comes out as it went in', async (coding, coded) => {
      await using site = await serve(coded, { 'content-encoding': coding });
      const { body, mislabelled } = await load(site.url('/'));
      expect(body.equals(BYTES)).toBe(true);
      expect(mislabelled).toBe(false);
    });

    test.each([
      ['raw deflate under the name of deflate', 'deflate', deflateRawSync(BYTES), false],
      ['gzip under the name of deflate', 'deflate', gzipSync(BYTES), false],
      ['zlib under the name of gzip', 'gzip', deflateSync(BYTES), false],
      ['plain text under the name of gzip', 'gzip', BYTES, true],
      ['plain text under the name of deflate', 'deflate', BYTES, true],
      ['plain text under the name of br', 'br', BYTES, true],
      ['plain text under the name of zstd', 'zstd', BYTES, true],
      ['plain text under two names', 'deflate, gzip', BYTES, true],
      ['plain text under a name nobody knows', 'utf-16', BYTES, true],
      ['binary under the name of deflate', 'deflate', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), true],
      ['text in UTF-8 under the name of none', 'none', BYTES, false],
    ])('%s is read as what it is', async (_, coding, sent, mislabelled) => {
      await using site = await serve(sent, { 'content-encoding': coding });
      const expected = sent === BYTES || mislabelled ? sent : BYTES;
      const loaded = await load(site.url('/'));
      expect(loaded.body.equals(expected)).toBe(true);
      expect(loaded.mislabelled).toBe(mislabelled);
    });

    test.each(['gzip', 'deflate', 'br', 'gzip, br'])('of no bytes in coding "%s" is empty', async (coding) => {
      await using site = await serve(Buffer.alloc(0), { 'content-encoding': coding });
      expect((await load(site.url('/'))).body).toHaveLength(0);
    });

    test.each([
      ['zeros and text', Buffer.from('\0\0junk')],
      ['text', Buffer.from('<!-- made by a proxy -->')],
      ['half of what a member begins with', Buffer.from([0x1f])],
      ['more than fits into a chunk', Buffer.alloc(300_000, 'junk')],
    ])('followed by junk behind its gzip (%s) is read without the junk', async (_, junk) => {
      const noise = Buffer.concat(Array.from({ length: 2000 }, (_, n) => createHash('sha512').update(`${n}`).digest()));
      for (const bytes of [BYTES, noise]) {
        await using site = await serve(Buffer.concat([gzipSync(bytes), junk]), { 'content-encoding': 'gzip' });
        expect((await load(site.url('/'))).body.equals(bytes)).toBe(true);
      }
    });

    test('of gzip members or deflate blocks without end that hold nothing ends long before its time', async () => {
      const nothing = {
        gzip: [Buffer.alloc(0), Buffer.concat(Array.from({ length: 500 }, () => gzipSync('')))],
        deflate: [Buffer.from([0x78, 0x9c]), Buffer.from('0000ffff'.padStart(10, '0').repeat(3000), 'hex')],
      } as const;
      for (const [coding, [start, piece]] of Object.entries(nothing)) {
        await using site = await startSite((_, response) => {
          response.writeHead(200, { 'content-encoding': coding }).write(start);
          const more = () => {
            while (!response.destroyed && response.write(piece));
          };
          response.on('drain', more);
          more();
        });
        const error = await rejection(load(site.url('/'), { maxBodyBytes: 100_000 }));
        expect(['CRAWL_BODY_BOMB', 'CRAWL_BODY_UNDECODABLE']).toContain((error as CrawlError).code);
      }
    });

    test.each([
      ['cut', gzipSync('two').subarray(0, -3)],
      ['broken', Buffer.concat([gzipSync('two').subarray(0, -8), Buffer.alloc(8, 1)])],
    ])('whose second gzip member is %s fails', async (_name, second) => {
      await using site = await serve(Buffer.concat([gzipSync('one '), second]), { 'content-encoding': 'gzip' });
      const error = await rejection(load(site.url('/')));
      expect(['CRAWL_BODY_TRUNCATED', 'CRAWL_BODY_UNDECODABLE']).toContain((error as { code?: string }).code);
    });

    test('of several gzip members is all of them', async () => {
      await using site = await serve(Buffer.concat([gzipSync('one '), gzipSync('two')]), {
        'content-encoding': 'gzip',
      });
      expect((await load(site.url('/'))).body.toString()).toBe('one two');
    });

    test('with a wrong checksum fails, not retryable', async () => {
      const broken = gzipSync(BYTES);
      broken.writeUInt32LE(0, broken.length - 8);
      await using site = await serve(broken, { 'content-encoding': 'gzip' });
      expect(await rejection(load(site.url('/')))).toMatchObject({ code: 'CRAWL_BODY_UNDECODABLE', retryable: false });
    });

    test('in a coding nobody knows fails', async () => {
      await using site = await serve(gzipSync(BYTES), { 'content-encoding': 'compress' });
      expect(await rejection(load(site.url('/')))).toMatchObject({ code: 'CRAWL_BODY_UNDECODABLE', retryable: false });
    });

    test('in three codings fails', async () => {
      await using site = await serve(gzipSync(gzipSync(gzipSync(BYTES))), { 'content-encoding': 'gzip, gzip, gzip' });
      expect(await rejection(load(site.url('/')))).toMatchObject({ code: 'CRAWL_BODY_UNDECODABLE' });
    });

    describe.each(['gzip', 'deflate', 'br'] as const)('cut in the middle of its %s', (coding) => {
      const half = CODED[coding].subarray(0, CODED[coding].length / 2);

      test('with a length that matches the half', async () => {
        await using site = await serve(half, { 'content-encoding': coding, 'content-length': String(half.length) });
        expect(await rejection(load(site.url('/')))).toMatchObject({ code: 'CRAWL_BODY_TRUNCATED', retryable: true });
      });

      test('by an early end of the connection', async () => {
        await using site = await startRawSite((socket) => {
          socket.once('data', () => {
            socket.write(
              `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${CODED[coding].length}\r\n\r\n`,
            );
            socket.end(half);
          });
        });
        expect(await rejection(load(site.url('/')))).toMatchObject({ code: 'CRAWL_BODY_TRUNCATED', retryable: true });
      });
    });

    const raw = (text: string) => startRawSite((socket: Socket) => void socket.once('data', () => socket.end(text)));

    test.each([
      ['fewer bytes than promised', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello'],
      ['chunks without the last one', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'],
      ['a chunk cut short', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhello'],
    ])('of %s is an error that may pass', async (_, text) => {
      await using site = await raw(text);
      expect(await rejection(load(site.url('/')))).toMatchObject({
        code: 'CRAWL_BODY_TRUNCATED',
        retryable: true,
        url: site.url('/'),
      });
    });

    test('without a length ends with its connection', async () => {
      await using site = await raw('HTTP/1.1 200 OK\r\n\r\nhello');
      expect((await load(site.url('/'))).body.toString()).toBe('hello');
    });

    test('that a chunk of no valid size interrupts is invalid', async () => {
      await using site = await raw('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n');
      expect(await rejection(load(site.url('/')))).toMatchObject({ code: 'CRAWL_PROTOCOL_INVALID', retryable: false });
    });

    test('longer than its length is read as far as its length', async () => {
      await using site = await raw('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more');
      expect((await load(site.url('/'))).body.toString()).toBe('hello');
    });

    test.each([
      [{}, 'text/html', 2_097_152],
      [{}, 'application/xhtml+xml; charset=utf-8', 2_097_152],
      [{ maxBodyBytes: 1000 }, 'text/html', 1000],
      [{ maxBodyBytes: 1000 }, 'application/pdf', 1000],
      [{ maxBodyBytes: { other: 70_000 } }, 'application/pdf', 70_000],
      [{ maxBodyBytes: { other: 70_000 } }, 'text/html', 2_097_152],
      [{ maxBodyBytes: 0 }, 'text/html', 0],
    ])('past the limit of %o is cut there and says so (%s)', async (options, type, limit) => {
      for (const [coding, encode] of [
        ['identity', (body: Buffer) => body],
        ['gzip', (body: Buffer) => gzipSync(body, { level: 0 })],
      ] as const) {
        for (const [size, truncated] of [
          [limit, false],
          [limit + 1, true],
        ] as const) {
          const sent = Buffer.alloc(size, 'abcdefghij');
          await using site = await serve(encode(sent), { 'content-type': type, 'content-encoding': coding });
          const loaded = await load(site.url('/'), options);
          expect(loaded.body.equals(sent.subarray(0, limit))).toBe(true);
          expect(loaded.truncated).toBe(truncated);
        }
      }
    });

    test('that never ends is cut at the limit, and its connection freed', async () => {
      await using site = await startSite((_, response) => {
        response.writeHead(200);
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(10_000)));
          response.once('drain', more);
        };
        more();
      });
      const loaded = await load(site.url('/'), { maxBodyBytes: 1_000_000 });
      expect(loaded).toMatchObject({ truncated: true });
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test.each(['gzip', 'br', 'deflate', 'br, gzip'])('that is a %s bomb is recognised by its ratio', async (coding) => {
      const zeros = Buffer.alloc(4_000_000);
      const bomb =
        coding === 'gzip'
          ? gzipSync(zeros)
          : coding === 'deflate'
            ? deflateSync(zeros)
            : coding === 'br'
              ? brotliCompressSync(zeros)
              : gzipSync(brotliCompressSync(zeros));
      await using site = await serve(bomb, { 'content-encoding': coding });
      expect(await rejection(load(site.url('/')))).toMatchObject({ code: 'CRAWL_BODY_BOMB', retryable: false });
    });

    test('of which a megabyte comes out of little is no bomb yet', async () => {
      const zeros = Buffer.alloc(1_048_576);
      await using site = await serve(gzipSync(zeros), { 'content-encoding': 'gzip' });
      expect((await load(site.url('/'))).body.equals(zeros)).toBe(true);
    });

    test.each([204, 205, 304])('is left out of a %i, whatever was sent', async (status) => {
      await using site = await raw(
        `HTTP/1.1 ${status} X\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\nhello`,
      );
      await using fetcher = newFetcher();
      const result = await fetcher.fetch({ url: site.url('/'), accept });
      expect(result.status).toBe(status);
      expect(await bodyOf(result)).toHaveLength(0);
    });

    test('leaves its connection usable for the next request', async () => {
      let connections = 0;
      await using site = await startSite((request, response) => {
        if (request.url === '/gzip') response.setHeader('content-encoding', 'gzip');
        response.end(request.url === '/gzip' ? CODED.gzip : 'plain');
      });
      await using fetcher = newFetcher();
      const server = site as unknown as { openSockets: number };
      for (const path of ['/gzip', '/plain', '/gzip']) {
        await bodyOf(await fetcher.fetch({ url: site.url(path), accept }));
        await new Promise(setImmediate);
        connections = Math.max(connections, server.openSockets);
      }
      expect(connections).toBe(1);
    });

    test('comes out whole however its pieces are cut', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...Object.entries(CODED), ['identity', BYTES] as [string, Buffer]),
          fc.integer({ min: 400, max: 3000 }),
          async ([coding, coded], piece) => {
            await using site = await serve(coded, { 'content-encoding': coding }, piece);
            expect((await load(site.url('/'))).body.equals(BYTES)).toBe(true);
          },
        ),
        { numRuns: 15 },
      );
    });

    test('made of any bytes under any name of a coding gives an answer or a named error', async () => {
      let sent = Buffer.alloc(0);
      let coding = '';
      await using site = await startSite((_, response) => {
        response.writeHead(200, { 'content-encoding': coding }).end(sent);
      });
      await using fetcher = newFetcher();
      const prefix = fc.constantFrom(gzipSync('x'), deflateSync('x'), Buffer.from([0x1f, 0x8b]), Buffer.alloc(0));
      await fc.assert(
        fc.asyncProperty(
          prefix,
          fc.uint8Array({ maxLength: 200 }),
          fc.constantFrom('gzip', 'deflate', 'br', 'gzip,br', 'x', ''),
          async (start, rest, name) => {
            sent = Buffer.concat([start, rest]);
            coding = name;
            try {
              await bodyOf(await fetcher.fetch({ url: site.url('/'), accept }));
            } catch (error) {
              expect((error as CrawlError).code).toMatch(/^CRAWL_BODY_(UNDECODABLE|TRUNCATED)$/);
            }
          },
        ),
        { numRuns: 300 },
      );
    });
  });

  describe("accept = 'skip'", () => {
    test('reads a small body, so that the connection is used again', async () => {
      await using site = await startSite((_, response) => response.end('small'));
      await using fetcher = newFetcher();
      for (let n = 0; n < 3; n++) {
        const result = await fetcher.fetch({ url: site.url('/'), accept: () => 'skip' });
        expect(result).toMatchObject({ acceptance: 'skip', bytes: 0, status: 200 });
        expect(result.body).toHaveLength(0);
        await new Promise(setImmediate);
      }
      expect(site.openSockets).toBe(1);
    });

    test.each([
      ['that is long by its length', { 'content-length': '10000000' }],
      ['that never ends', {}],
    ])('does not wait for a body %s', async (_, headers) => {
      await using site = await startSite((request, response) => {
        response.writeHead(200, { 'content-type': 'audio/mpeg', ...headers });
        const timer = setInterval(() => response.write(Buffer.alloc(1000)), 5);
        request.on('close', () => clearInterval(timer));
      });
      await using fetcher = newFetcher();
      const result = await fetcher.fetch({
        url: site.url('/live'),
        accept: ({ contentType }) => (contentType.startsWith('text/') ? 'buffer' : 'skip'),
      });
      expect(result.contentType).toBe('audio/mpeg');
      await expect.poll(() => site.openSockets).toBe(0);
    });
  });

  describe("accept = 'stream'", () => {
    test('hands the body on while it arrives', async () => {
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      await using site = await startSite(async (_, response) => {
        response.write('first');
        await released;
        response.end('last');
      });
      await using fetcher = newFetcher();
      const { stream } = await fetcher.fetch({ url: site.url('/'), accept: () => 'stream' });
      const [first] = (await once(stream!, 'data')) as [Buffer];
      expect(first.toString()).toBe('first');
      release();
      const [last] = (await once(stream!, 'data')) as [Buffer];
      expect(last.toString()).toBe('last');
    });

    test('frees the connection when the stream is destroyed', async () => {
      await using site = await startSite((_, response) => response.write('and then silence'));
      await using fetcher = newFetcher();
      const { stream } = await fetcher.fetch({ url: site.url('/'), accept: () => 'stream' });
      stream!.destroy();
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test.each([
      ['plain', 'identity'],
      ['gzip', 'gzip'],
    ])('ends a %s stream that nobody reads at the page wall, and no process with it', async (_, coding) => {
      await using site = await startSite((_request, response) => {
        response.writeHead(200, { 'content-encoding': coding });
        response.write(coding === 'gzip' ? gzipSync('x').subarray(0, 12) : 'some');
      });
      await using fetcher = newFetcher({ timeouts: { page: 150 } });
      const { stream } = await fetcher.fetch({ url: site.url('/'), accept: () => 'stream' });
      const [error] = await once(stream!, 'error');
      expect(error).toMatchObject({ code: 'CRAWL_PAGE_TIMEOUT', retryable: true });
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test('does not hold more than it must when its reader is slow', async () => {
      let written = 0;
      const server = createServer((_, response) => {
        const more = () => {
          while (written < 50_000_000) {
            written += 64_000;
            if (!response.write(Buffer.alloc(64_000))) break;
          }
          if (written < 50_000_000) response.once('drain', more);
        };
        more();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      await using fetcher = newFetcher({ maxBodyBytes: 100_000_000 });
      const { stream } = await fetcher.fetch({ url: `http://127.0.0.1:${port}/`, accept: () => 'stream' });
      await once(stream!, 'readable');
      await delay(200);
      const held = written;
      expect(held).toBeLessThan(20_000_000);
      stream!.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
  });

  test('what is not accepted by name is an error of the hook, and leaves no connection behind', async () => {
    await using site = await startSite((_, response) => response.write('x'));
    await using fetcher = newFetcher();
    const fault = new Error('own fault');
    const thrown = await rejection(
      fetcher.fetch({
        url: site.url('/'),
        accept: () => {
          throw fault;
        },
      }),
    );
    expect(thrown).toMatchObject({ code: 'CRAWL_HOOK_FAILED', cause: fault, url: site.url('/') });
    const wrong = await rejection(fetcher.fetch({ url: site.url('/'), accept: () => 'yes' as 'buffer' }));
    expect(wrong).toMatchObject({ code: 'CRAWL_HOOK_FAILED' });
    await expect.poll(() => site.openSockets).toBe(0);
  });

  test.each(['junk', '!', '\x1f', '\x1f\x8b\x07'])(
    'junk (%j) behind the last gzip member of a small body is ignored',
    async (junk) => {
      await using site = await startSite((_, response) => {
        response.setHeader('content-encoding', 'gzip');
        response.end(Buffer.concat([gzipSync('one '), gzipSync('two'), Buffer.from(junk, 'latin1')]));
      });
      await using fetcher = newFetcher();
      expect((await fetcher.fetch({ url: site.url('/') })).body.toString()).toBe('one two');
    },
  );
});
