// However a host misbehaves, it sees no more requests and connections at once than it may.
import type { IncomingMessage, ServerResponse } from 'node:http';
import http from 'node:http';
import { describe, expect, test } from 'vitest';
import { crawl, linkPage } from './helpers/crawl.ts';
import { TRANSPORTS } from './helpers/fetcher.ts';
import { run } from './helpers/servers.ts';

const PAGES = 120;

type Fault = (response: ServerResponse, request: IncomingMessage) => void;

/** What a page with an even number does; those between are sound, so that the host is not given up. */
const FAULTS: readonly Fault[] = [
  (response) => response.socket?.resetAndDestroy(),
  (response) => response.writeHead(200, { 'content-length': '99' }).write('half', () => response.destroy()),
  () => {},
  (response, { url }) => response.writeHead(302, { location: `${url}/moved` }).end(),
  (response, { url }) => response.writeHead(307, { location: `${url}` }).end(),
  (response) => response.writeHead(200, { 'content-type': 'text/html' }).write('never all of it'),
  (response) => response.writeHead(500).end('no'),
  (response) => response.socket?.end('nonsense\r\n\r\n'),
  (response) => response.writeHead(200, { connection: 'close', 'content-type': 'text/html' }).end('last'),
];

/** A host of many pages that counts who is there. */
async function startFaulty() {
  const seen = { requests: 0, most: 0, mostConnections: 0, moved: 0 };
  let open = 0;
  let connections = 0;
  const server = http.createServer((request, response) => {
    seen.requests++;
    open++;
    response.on('close', () => open--);
    // Who left a moment ago may be told of after who came.
    setImmediate(() => setImmediate(() => (seen.most = Math.max(seen.most, open))));
    const { url = '' } = request;
    const fault = /^\/p\/(\d+)$/.exec(url)?.[1];
    if (url === '/robots.txt') response.end('User-agent: *\nAllow: /');
    else if (url === '/') {
      const links = Array.from({ length: PAGES }, (_, n) => `/p/${n}`);
      response.setHeader('content-type', 'text/html').end(linkPage(links));
    } else if (fault === undefined || Number(fault) % 2 === 1) {
      if (fault === undefined) seen.moved++;
      setTimeout(() => response.setHeader('content-type', 'text/html').end(url), 5);
    } else FAULTS[(Number(fault) / 2) % FAULTS.length]?.(response, request);
  });
  server.on('connection', (socket) => {
    connections++;
    socket.on('close', () => connections--);
    setImmediate(() => setImmediate(() => (seen.mostConnections = Math.max(seen.mostConnections, connections))));
  });
  const running = await run(server);
  return Object.assign(Object.create(running) as typeof running, { seen, url: `http://127.0.0.1:${running.port}/` });
}

describe.each(TRANSPORTS)('over %s', (transport) => {
  test.each([2])('with connectionsPerHost: %i', async (connectionsPerHost) => {
    await using site = await startFaulty();
    const { stats, errors, pages } = await crawl(site.url, {
      transport,
      connectionsPerHost,
      concurrency: 16,
      retries: 1,
      backoffMs: 5,
      timeouts: { connect: 1000, headers: 80, page: 150 },
    });
    expect(stats).toMatchObject({ queued: 0, inFlight: 0 });
    expect(site.seen.requests).toBeGreaterThan(PAGES);
    expect(site.seen.moved).toBeGreaterThan(5);
    // What is left when the sound pages are done may fail in a row, and then the host is given up with the rest.
    expect(pages.length + errors.length + stats.skipped).toBe(PAGES + 1);
    expect(errors.length).toBeGreaterThan(10);
    expect(pages.length).toBeGreaterThan(PAGES / 2);
    expect(site.seen.most).toBe(connectionsPerHost);
    expect(site.seen.mostConnections).toBeLessThanOrEqual(connectionsPerHost);
  });
});
