import type { IncomingMessage, ServerResponse } from 'node:http';
import type net from 'node:net';
import type { Socket } from 'node:net';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Crawler, type Page, Politeness } from '../src/index.ts';
import type { HostState } from '../src/ports.ts';
import { HASTE, type Heard, hear, pathOf, USER_AGENT } from './helpers/crawl.ts';
import { type Site, startRawSite, startSite } from './helpers/site.ts';
import { CERTIFICATE, KEY } from './helpers/tls.ts';

/** What an answer leads to: a page, or an error after so many requests. `slower` doubles the gap, `blocked` backs off. */
interface Row {
  readonly status: number;
  readonly requests: number;
  readonly ends: 'page' | string;
  readonly host?: 'slower' | 'blocked';
  readonly headers?: Record<string, string>;
}

const page = (status: number, host?: Row['host']): Row => ({
  status,
  requests: 1,
  ends: 'page',
  ...(host && { host }),
});
const retried = (status: number, requests: number, host?: Row['host']): Row => ({
  status,
  requests,
  ends: 'CRAWL_HTTP_STATUS',
  ...(host && { host }),
});
const refused = (status: number): Row => ({ status, requests: 1, ends: 'CRAWL_HTTP_STATUS' });

/** With `retries: 1`. */
const STATUSES: readonly Row[] = [
  ...[200, 201, 202, 203, 204, 205, 226].map((status) => page(status)),
  refused(206),
  refused(300),
  ...[301, 302, 303, 307, 308].map((status): Row => ({ status, requests: 1, ends: 'CRAWL_REDIRECT_INVALID' })),
  retried(304, 2),
  refused(305),
  refused(306),
  ...[400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 414, 418, 422, 423, 431, 451].map((status) =>
    page(status),
  ),
  ...[408, 425].map((status) => retried(status, 2, 'slower')),
  retried(421, 2),
  retried(429, 4, 'blocked'),
  retried(503, 4, 'blocked'),
  ...[500, 502, 504, 520, 521, 522, 523, 524].map((status) => retried(status, 2, 'slower')),
  ...[501, 505, 506, 507, 508, 510, 511, 525, 526, 530, 599].map((status) => page(status, 'slower')),
  { ...refused(600), host: 'slower' },
  { ...refused(999), host: 'slower' },
];

const CALM: Omit<HostState, 'host' | 'delayMs'> = {
  nextAt: 0,
  blockedUntil: 0,
  crawlDelayMs: 0,
  backoff: 0,
  successes: 0,
  failures: 0,
  refusals: 0,
  pages: 0,
  inFlight: 0,
};

const hostName = (status: number): string => `s${status}.example.test`;

describe('each status of an answer', () => {
  let site: Site;
  let heard: Heard;
  const states = new Map<string, { readonly status: string; readonly delayMs: number }[]>();

  beforeAll(async () => {
    site = await startSite((request: IncomingMessage, response: ServerResponse) => {
      if (request.url === '/robots.txt') response.writeHead(404).end();
      else response.writeHead(Number(/\d+/.exec(request.headers.host ?? '')?.[0])).end();
    });
    const crawler = new Crawler({
      userAgent: USER_AGENT,
      ...HASTE,
      minDelayMs: 2,
      maxDelayMs: 1000,
      network: 'any',
      retries: 1,
      concurrency: 100,
      dnsLookup: async () => '127.0.0.1',
    });
    heard = hear(crawler);
    crawler.on('host', (host, state) => void states.set(host, [...(states.get(host) ?? []), state]));
    await crawler.run(STATUSES.map(({ status }) => site.url('/x', hostName(status))));
  });
  afterAll(() => site.close());

  test.each(STATUSES)('$status: $requests request(s), then $ends', async ({ status, requests, ends, host }) => {
    const url = site.url('/x', hostName(status));
    expect(site.log.filter((seen) => seen.host.startsWith(`${hostName(status)}:`) && seen.path === '/x')).toHaveLength(
      requests,
    );
    const pages = heard.pages.filter((one: Page) => one.url === url);
    const errors = heard.errors.filter((one) => one.url === url);
    const retries = heard.retries.filter((one) => one.url === url);
    expect(retries).toHaveLength(requests - 1);
    for (const { afterMs, error } of retries) {
      expect(error).toMatchObject({ code: 'CRAWL_HTTP_STATUS', status, retryable: true });
      expect(afterMs).toBeGreaterThanOrEqual(1000);
    }
    if (ends === 'page') {
      expect(pages.map((one) => one.status)).toEqual([status]);
      expect(errors).toEqual([]);
    } else {
      expect(pages).toEqual([]);
      expect(errors.map(({ error }) => error)).toEqual([expect.objectContaining({ code: ends, status })]);
    }
    const backedOff = (states.get(hostName(status)) ?? []).filter((state) => state.status === 'backing-off');
    expect(backedOff).toHaveLength(host === 'blocked' ? requests : 0);
  });

  test.each(STATUSES)(
    '$status: the gap of its host becomes longer only where the host is in trouble',
    ({ status, host }) => {
      const before: HostState = { ...CALM, host: hostName(status), delayMs: 1000 };
      const { blockedUntil, delayMs } = new Politeness().after(before, { endedAt: 1000, status }, 1000);
      expect(delayMs).toBe(host === undefined ? 1000 : 2000);
      expect(blockedUntil > 0).toBe(host === 'blocked');
    },
  );

  test('the waits of a URL double, and are never shorter than that', () => {
    const waits = heard.retries
      .filter(({ url }) => url === site.url('/x', hostName(503)))
      .map(({ afterMs }) => afterMs);
    expect(waits).toHaveLength(3);
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(1000 * 2 ** index);
      expect(wait).toBeLessThanOrEqual(1200 * 2 ** index);
    }
  });
});

/** What a server may do instead of answering, and what it is called; with `retries: 1`. */
const FAILURES: readonly (readonly [name: string, code: string, requests: number, act: (socket: Socket) => void])[] = [
  ['resets the connection', 'CRAWL_CONNECTION_LOST', 2, (socket) => socket.resetAndDestroy()],
  ['closes it without a word', 'CRAWL_CONNECTION_LOST', 2, (socket) => socket.end()],
  ['says nothing', 'CRAWL_HEADERS_TIMEOUT', 2, () => {}],
  ['says no HTTP', 'CRAWL_PROTOCOL_INVALID', 1, (socket) => socket.end('SSH-2.0-server\r\n')],
  ['says half of a body', 'CRAWL_BODY_TRUNCATED', 2, (socket) => socket.end(`${head('content-length: 9')}half`)],
  [
    'says half of a chunk',
    'CRAWL_BODY_TRUNCATED',
    2,
    (socket) => socket.end(`${head('transfer-encoding: chunked')}9\r\nhalf`),
  ],
  ['never ends its body', 'CRAWL_PAGE_TIMEOUT', 2, (socket) => socket.write(`${head('content-length: 9')}half`)],
  ['has a head without end', 'CRAWL_HEADERS_TOO_LARGE', 1, (socket) => socket.end(head(`a: ${'b'.repeat(20_000)}`))],
  [
    'sends no gzip as gzip',
    'CRAWL_BODY_UNDECODABLE',
    1,
    (socket) => socket.end(`${head('content-encoding: br')}\x00\x00\xff\xff`),
  ],
];

function head(field: string): string {
  return `HTTP/1.1 200 OK\r\nConnection: close\r\n${field}\r\n\r\n`;
}

describe('each way of giving no answer', () => {
  test.each(FAILURES)('a server that %s: %s after %i request(s)', async (_, code, requests, act) => {
    await using site = await startRawSite((socket) => {
      socket.once('data', () => act(socket));
    });
    const { heard } = await failing(site.url('/'), 'http');
    expect(heard.errors.map(({ error }) => error)).toEqual([
      expect.objectContaining({ code, retryable: requests > 1 }),
    ]);
    expect(site.connections).toBe(requests);
    expect(heard.retries).toHaveLength(requests - 1);
  });

  test('nobody listens: CRAWL_CONNECT_FAILED after 2 requests', async () => {
    const site = await startRawSite(() => {});
    await site.close();
    const { heard } = await failing(site.url('/'), 'http');
    expect(heard.errors).toEqual([
      { url: site.url('/'), error: expect.objectContaining({ code: 'CRAWL_CONNECT_FAILED' }) },
    ]);
    expect(heard.retries).toHaveLength(1);
  });

  test('TLS is cut off: CRAWL_TLS_FAILED after 2 requests', async () => {
    await using site = await startRawSite((socket) => void socket.once('data', () => socket.destroy()));
    const { heard } = await failing(site.url('/').replace('http:', 'https:'), 'https');
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_TLS_FAILED']);
    expect(site.connections).toBe(2);
  });

  test('the certificate is not valid: CRAWL_TLS_FAILED at once', async () => {
    let connections = 0;
    const server = tls.createServer({ cert: CERTIFICATE, key: KEY }, (socket) => socket.end());
    server.on('connection', () => connections++);
    server.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { heard } = await failing(`https://127.0.0.1:${(server.address() as net.AddressInfo).port}/`, 'https');
    expect(heard.errors.map(({ error }) => error)).toEqual([
      expect.objectContaining({ code: 'CRAWL_TLS_FAILED', retryable: false }),
    ]);
    expect(heard.retries).toEqual([]);
    expect(connections).toBe(1);
    await new Promise((resolve) => server.close(resolve));
  });

  /** One URL that is not answered. */
  async function failing(url: string, _scheme: 'http' | 'https'): Promise<{ heard: Heard }> {
    const crawler = new Crawler({
      userAgent: USER_AGENT,
      ...HASTE,
      network: 'any',
      retries: 1,
      respectRobots: false,
      timeouts: { connect: 2000, headers: 150, page: 400 },
    });
    const heard = hear(crawler);
    await crawler.run(url);
    expect(heard.pages).toEqual([]);
    return { heard };
  }
});

test('after a 421 the next try is on another connection', async () => {
  const ports: (number | undefined)[] = [];
  await using site = await startSite((request, response) => {
    ports.push(request.socket.remotePort);
    response.writeHead(ports.length === 1 ? 421 : 200, { 'keep-alive': 'timeout=60' }).end('answer');
  });
  const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', respectRobots: false });
  const heard = hear(crawler);
  await crawler.run(site.url('/'));
  expect(heard.pages.map(({ status }) => status)).toEqual([200]);
  expect(new Set(ports).size).toBe(2);
});

test('a host whose connections fail is parked, and comes back with all of its URLs', async () => {
  let failures = 0;
  await using site = await startSite((request, response) => {
    if (request.url !== '/robots.txt' && failures++ < 6) request.socket.resetAndDestroy();
    else response.end(`page ${request.url}`);
  });
  const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, backoffMs: 5, network: 'any', retries: 2 });
  const heard = hear(crawler);
  const states: string[] = [];
  crawler.on('host', (_, { status }) => void states.push(status));
  await crawler.run(Array.from({ length: 4 }, (_, n) => site.url(`/${n}`)));
  expect(heard.errors).toEqual([]);
  expect(heard.urls.map(pathOf).sort()).toEqual(['/0', '/1', '/2', '/3']);
  expect(states).toEqual(['parked', 'parked', 'recovered']);
});
