import { once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Http2Wire } from '../src/fetcher/http2-wire.ts';
import type { FetcherOptions } from '../src/fetcher/index.ts';
import { fetcherOver, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { run, startHttp2Site } from './helpers/servers.ts';
import { loopbackLookup } from './helpers/site.ts';
import { CERTIFICATE } from './helpers/tls.ts';

const HOST = 'secure.example.test';

/** RST_STREAM with CANCEL (RFC 9113, 6.4). */
const reset = (stream: number) => Buffer.from([0, 0, 4, 3, 0, 0, 0, 0, stream, 0, 0, 0, 8]);

test('remembers which streams the server reset until a request begins that is alone', async () => {
  await using server = await run(net.createServer((socket) => void socket.write(reset(1))));
  const socket = net.connect(server.port, '127.0.0.1');
  const wire = new Http2Wire(socket, 16_384);
  onTestFinished(() => void wire.destroy());
  wire.asked(true);
  wire.resume();
  await once(wire, 'data');
  expect([1, 3, undefined].map((stream) => wire.wasResetByServer(stream))).toEqual([true, false, false]);
  wire.asked(false);
  expect(wire.wasResetByServer(1)).toBe(true);
  wire.asked(true);
  expect(wire.wasResetByServer(1)).toBe(false);
});

describe.each(TRANSPORTS)('a connection over %s', (transport) => {
  const newFetcher = (options: Partial<FetcherOptions> = {}) =>
    fetcherOver(transport)({ http2: true, dnsLookup: loopbackLookup(), tls: { ca: CERTIFICATE }, ...options });

  test.each([2 ** 27, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])(
    'is made where heads may be of up to %d fields: the setting is the largest there is',
    async (maxHeaderFields) => {
      const told: unknown[] = [];
      await using site = await startHttp2Site((request, response) => {
        told.push(request.stream.session?.remoteSettings.maxHeaderListSize);
        response.end('page');
      });
      await using fetcher = newFetcher({ maxHeaderFields, maxHeaderBytes: 16_777_216 });
      expect((await fetcher.fetch({ url: site.url('/', HOST) })).body.toString()).toBe('page');
      expect(told).toEqual([2 ** 32 - 1]);
    },
  );

  test('lets a server send a mebibyte before it must wait, as each of its streams does', async () => {
    const told: unknown[] = [];
    await using site = await startHttp2Site((request, response) => {
      told.push(
        request.stream.session?.state.remoteWindowSize,
        request.stream.session?.remoteSettings.initialWindowSize,
      );
      response.end('page');
    });
    await using fetcher = newFetcher();
    await fetcher.fetch({ url: site.url('/', HOST) });
    expect(told).toEqual([1_048_576, 1_048_576]);
  });

  test('is closed where HTTP/2 can not be begun on it', async () => {
    await using site = await startHttp2Site((_, response) => void response.end('page'));
    await using fetcher = newFetcher();
    const connect = vi.spyOn(http2, 'connect').mockImplementation(() => {
      throw new Error('no');
    });
    onTestFinished(() => connect.mockRestore());
    const failing = fetcher.fetch({ url: site.url('/', HOST) });
    expect(await rejection(failing)).toMatchObject({ code: 'CRAWL_CONNECT_FAILED' });
    expect(site.connections).toBeGreaterThan(0);
    await expect.poll(() => site.openSockets).toBe(0);
  });
});
