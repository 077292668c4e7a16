// What a parser reads for as long as it is sent, and what says nothing, ends long before its time.
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { fetcherOver, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { startRawSite } from './helpers/site.ts';

/** A site that begins as told, goes on with the same for ever, and counts what it could send. */
async function flood(start: string, piece: string) {
  const bytes = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
  const sent = { bytes: 0 };
  const site = await startRawSite((socket: Socket) => {
    const more = () => {
      while (!socket.destroyed) {
        sent.bytes += bytes.length;
        if (!socket.write(bytes)) return;
      }
    };
    socket.once('data', () => {
      socket.write(start);
      socket.on('drain', more);
      more();
    });
  });
  return Object.assign(site, { sent });
}

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

describe.each(TRANSPORTS)('over %s', (transport) => {
  const newFetcher = fetcherOver(transport);

  test.each([
    ['empty lines before the answer', '', '\r\n', 'CRAWL_HEADERS_TOO_LARGE'],
    ['100 Continue', '', 'HTTP/1.1 100 Continue\r\n\r\n', 'CRAWL_HEADERS_TOO_LARGE'],
    ['103 Early Hints', '', `HTTP/1.1 103 Hints\r\nLink: <${'x'.repeat(9000)}>\r\n\r\n`, 'CRAWL_HEADERS_TOO_LARGE'],
    ['a status line', 'HTTP/1.1 200 ', 'OK', 'CRAWL_HEADERS_TOO_LARGE'],
    ['a field', 'HTTP/1.1 200 OK\r\nX: ', 'x', 'CRAWL_HEADERS_TOO_LARGE'],
    ['fields', 'HTTP/1.1 200 OK\r\n', 'X: y\r\n', 'CRAWL_HEADERS_TOO_LARGE'],
    ['a size of a chunk', CHUNKED, '0', 'CRAWL_PROTOCOL_INVALID'],
    ['extensions of a chunk', `${CHUNKED}5`, ';a=b', 'CRAWL_PROTOCOL_INVALID'],
    ['extensions of chunks of one byte', CHUNKED, `1;${'a=b;'.repeat(100)}\r\nx\r\n`, 'CRAWL_PROTOCOL_INVALID'],
    ['trailers', `${CHUNKED}0\r\n`, 'X: y\r\n', 'CRAWL_HEADERS_TOO_LARGE'],
  ])('%s without end are too much', async (_, start, piece, code) => {
    await using site = await flood(start, piece);
    await using fetcher = newFetcher({ maxBodyBytes: 100_000 });
    expect(await rejection(fetcher.fetch({ url: site.url('/') }))).toMatchObject({ code, retryable: false });
    // What the system holds for both ends of the connection is sent whether it is read or not.
    expect(site.sent.bytes).toBeLessThan(32_000_000);
    await expect.poll(() => site.openSockets).toBe(0);
  });

  test('what comes before an answer is no part of it', async () => {
    const hints = `HTTP/1.1 103 Early Hints\r\nLink: <${'x'.repeat(4000)}>\r\n\r\n`.repeat(10);
    const body = 'x'.repeat(300_000);
    await using site = await startRawSite((socket: Socket) => {
      // On one connection several times, so that what was counted for one answer would tell against the next.
      socket.on('data', () =>
        socket.write(`\r\n\r\n${hints}HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
      );
    });
    await using fetcher = newFetcher();
    for (let n = 0; n < 5; n++) expect((await fetcher.fetch({ url: site.url('/') })).body.length).toBe(body.length);
    expect(site.connections).toBe(1);
  });

  test('a connection is not watched for longer than an answer takes', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on('warning', onWarning);
    await using site = await startRawSite((socket: Socket) => {
      socket.on('data', () => socket.write(`${CHUNKED}5\r\nhello\r\n0\r\n\r\n`));
    });
    await using fetcher = newFetcher();
    // Node warns of the eleventh listener.
    for (let n = 0; n < 20; n++) expect((await fetcher.fetch({ url: site.url('/') })).body.toString()).toBe('hello');
    expect(site.connections).toBe(1);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  test('a body in chunks of one byte is a body', async () => {
    await using site = await startRawSite((socket: Socket) => {
      socket.once('data', () => socket.write(`${CHUNKED}${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`));
    });
    await using fetcher = newFetcher({ maxBodyBytes: 100_000 });
    const { body, truncated } = await fetcher.fetch({ url: site.url('/') });
    expect(body.toString()).toBe('x'.repeat(100_000));
    expect(truncated).toBe(false);
  });
});
