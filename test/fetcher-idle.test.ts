import http from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { IdleSockets, keepWith } from '../src/fetcher/agents.ts';
import { fetcherOver, rejection, TRANSPORTS, USER_AGENT } from './helpers/fetcher.ts';
import { startRawSite, startSite } from './helpers/site.ts';

describe.each(TRANSPORTS)('over %s', (transport) => {
  const newFetcher = fetcherOver(transport);

  const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

  /** Answers each connection's first request, and resets the connection when it reads a second one. */
  async function startForgetful() {
    let requests = 0;
    const site = await startRawSite((socket) => {
      let first = true;
      socket.on('data', () => {
        requests++;
        if (first) socket.write(OK);
        else socket.resetAndDestroy();
        first = false;
      });
    });
    return Object.assign(site, { requests: () => requests });
  }

  describe('a request lost with a kept-alive connection', () => {
    const lost = { code: 'CRAWL_CONNECTION_LOST', retryable: true };

    test.each([
      ['redirects are followed', {}, true],
      ['redirects are handed back', { redirect: 'manual' }, false],
      ['it says so', { redirect: 'manual', resend: true }, true],
      ['it says not so', { resend: false }, false],
    ] as const)('where %s (%o), is sent again: %s', async (_, more, again) => {
      await using site = await startForgetful();
      await using fetcher = newFetcher();
      const request = { url: site.url('/'), ...more };
      await fetcher.fetch(request);
      await new Promise(setImmediate);
      if (again) expect((await fetcher.fetch(request)).body.toString()).toBe('ok');
      else expect(await rejection(fetcher.fetch(request))).toMatchObject(lost);
      expect(site.requests()).toBe(again ? 3 : 2);
    });

    test('is not sent again by getOnce', async () => {
      await using site = await startForgetful();
      await using fetcher = newFetcher();
      const ask = () => fetcher.getOnce(site.url('/robots.txt'), { maxBytes: 10, userAgent: USER_AGENT });
      await ask();
      await new Promise(setImmediate);
      expect(await rejection(ask())).toMatchObject(lost);
      expect(site.requests()).toBe(2);
    });

    test('to bytes left over from the answer before may be tried again, since they are not its own', async () => {
      await using site = await startRawSite((socket) => {
        let answers = 0;
        socket.on('data', () => socket.write(answers++ === 0 ? OK : 'left over\r\n\r\n'));
      });
      await using fetcher = newFetcher();
      await fetcher.fetch({ url: site.url('/') });
      await new Promise(setImmediate);
      expect(await rejection(fetcher.fetch({ url: site.url('/'), resend: false }))).toMatchObject({
        ...lost,
        url: site.url('/'),
      });
    });
  });

  describe('a connection', () => {
    test('that the server closes behind its answer is not used again', async () => {
      await using site = await startRawSite((socket) => void socket.once('data', () => socket.end(OK)));
      await using fetcher = newFetcher();
      for (let n = 0; n < 5; n++) {
        expect((await fetcher.fetch({ url: site.url('/'), redirect: 'manual' })).status).toBe(200);
        await expect.poll(() => site.openSockets).toBe(0);
      }
      expect(site.connections).toBe(5);
    });

    test.each([
      ['timeout=1', 3],
      ['timeout=0', 3],
      ['max=5, Timeout = 1', 3],
      ['timeout=2', 1],
      ['timeout=60, max=100', 1],
      ['timeout=x', 1],
      ['', 1],
    ])('on which the server says "Keep-Alive: %s" is one of %i for three requests', async (hint, connections) => {
      await using site = await startRawSite((socket) => {
        socket.on('data', () =>
          socket.write(`HTTP/1.1 200 OK\r\nKeep-Alive: ${hint}\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n`),
        );
      });
      await using fetcher = newFetcher();
      for (let n = 0; n < 3; n++) {
        await fetcher.fetch({ url: site.url('/') });
        await new Promise(setImmediate);
      }
      expect(site.connections).toBe(connections);
    });
  });

  describe('an unused connection', () => {
    let agent: http.Agent;
    let idle: IdleSockets;

    beforeEach(() => {
      idle = new IdleSockets();
      agent = keepWith(new http.Agent({ keepAlive: true, scheduling: 'lifo' }), idle);
    });

    afterEach(() => {
      vi.restoreAllMocks();
      agent.destroy();
      idle.clear();
    });

    /** Sends a request, and gives its socket once it is put aside. */
    async function use(port: number): Promise<Socket> {
      const socket = await new Promise<Socket>((resolve, reject) => {
        http
          .get({ agent, host: '127.0.0.1', port }, (response) => {
            const { socket } = response;
            response.resume().on('close', () => resolve(socket));
          })
          .on('error', reject);
      });
      await new Promise(setImmediate);
      return socket;
    }

    test('is used again within half a minute, and not after it', async () => {
      await using site = await startSite((_, response) => {
        response.sendDate = false;
        response.removeHeader('keep-alive');
        response.end('x');
      });
      const first = await use(site.port);
      const now = vi.spyOn(performance, 'now');
      const start = performance.now();
      now.mockReturnValue(start + 28_000);
      expect(await use(site.port)).toBe(first);
      now.mockReturnValue(start + 58_000);
      expect(await use(site.port)).not.toBe(first);
      expect(first.destroyed).toBe(true);
      expect(site.log).toHaveLength(3);
    });

    test('is closed without being asked for again, and none is left', async () => {
      await using site = await startSite((_, response) => response.end('x'));
      const first = await use(site.port);
      vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 31_000);
      await expect.poll(() => first.destroyed, { timeout: 5_000 }).toBe(true);
      expect(idle.size).toBe(0);
      await expect.poll(() => site.openSockets).toBe(0);
    });

    test('that gets bytes nobody asked for is not used again', async () => {
      const servers: Socket[] = [];
      await using site = await startRawSite((socket) => {
        servers.push(socket);
        socket.on('data', () => socket.write(OK));
      });
      const first = await use(site.port);
      expect(idle.isFit(first)).toBe(true);
      servers[0]!.write('more');
      await expect.poll(() => idle.isFit(first)).toBe(false);
      expect(await use(site.port)).not.toBe(first);
    });
  });
});
