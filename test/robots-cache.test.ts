import { readFileSync } from 'node:fs';
import type http from 'node:http';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isCrawlError } from '../src/errors.ts';
import type { Clock, MetaStorage, RobotsSource } from '../src/ports.ts';
import { ROBOTS_CACHE_DEFAULTS, RobotsCache, type RobotsCacheOptions, type RobotsStep } from '../src/robots-cache.ts';
import { httpRobotsSource } from './helpers/robots-source.ts';
import { type Site, startRawSite, startSite } from './helpers/site.ts';

const AGENT = 'FooBot/1.0 (+mailto:robots@example.test)';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 0, 1);

class TestClock implements Clock {
  time = START;
  now(): number {
    return this.time;
  }
  pass(ms: number): void {
    this.time += ms;
  }
}

class TestStorage implements MetaStorage {
  readonly map = new Map<string, Uint8Array>();
  async getMeta(name: string): Promise<Uint8Array | undefined> {
    return this.map.get(name);
  }
  async setMeta(name: string, value: Uint8Array | undefined): Promise<void> {
    if (value === undefined) this.map.delete(name);
    else this.map.set(name, value);
  }
}

const noSource: RobotsSource = { getOnce: () => Promise.reject(new Error('No request was expected')) };

function stepwise(options: Partial<RobotsCacheOptions> = {}): { cache: RobotsCache; clock: TestClock } {
  const clock = new TestClock();
  return { cache: new RobotsCache({ source: noSource, clock, ...options }), clock };
}

function standalone(options: Partial<RobotsCacheOptions> = {}): RobotsCache {
  return new RobotsCache({ source: httpRobotsSource(), ...options });
}

function answer(
  url: string,
  status: number,
  { body = '', ...headers }: Record<string, string> = {},
): { url: string; status: number; headers: Record<string, string>; body: Uint8Array } {
  return { url, status, headers, body: Buffer.from(body) };
}

const ORIGIN = 'http://a.example.test';
const FILE = `${ORIGIN}/robots.txt`;
const REFUSING = 'User-agent: *\nDisallow: /private\nCrawl-delay: 3\nSitemap: /s.xml';

/** Sends the request that is due for ORIGIN and answers it. */
function fetched(cache: RobotsCache, status: number, headers: Record<string, string> = {}): RobotsStep {
  expect(cache.nextFetch(ORIGIN)?.url).toBe(FILE);
  return cache.accept(ORIGIN, answer(FILE, status, headers));
}

function robotsRequests(site: Site): number {
  return site.log.filter(({ path }) => path.startsWith('/robots.txt')).length;
}

type Handler = (response: http.ServerResponse, request: http.IncomingMessage) => void;
const status =
  (code: number, headers: http.OutgoingHttpHeaders = {}, body = ''): Handler =>
  (response) =>
    response.writeHead(code, headers).end(body);

describe('check(): the table of outcomes, with real servers', () => {
  const page = 'User-agent: *\nDisallow: /private';

  test.each<[string, Handler, boolean, string | undefined, Partial<RobotsCacheOptions>?]>([
    ['200 with rules', status(200, {}, page), false, 'robots'],
    ['200 without rules', status(200, {}, ''), true, undefined],
    ['200 with HTML', status(200, { 'content-type': 'text/html' }, '<html><p>Disallow: /</p></html>'), true, undefined],
    ['204', status(204), true, undefined],
    ['404', status(404, {}, page), true, undefined],
    ['410', status(410), true, undefined],
    ['401', status(401), true, undefined],
    ['403', status(403), true, undefined],
    ['401 if so wished', status(401), false, 'robots', { robots401403: 'disallow' }],
    ['403 if so wished', status(403), false, 'robots', { robots401403: 'disallow' }],
    ['404 whatever is wished of 403', status(404), true, undefined, { robots401403: 'disallow' }],
    ['451', status(451), true, undefined],
    ['429', status(429), false, 'robots-unreachable'],
    ['500', status(500), false, 'robots-unreachable'],
    ['503 with an HTML body', status(503, {}, 'User-agent: *\nAllow: /'), false, 'robots-unreachable'],
    ['599', status(599), false, 'robots-unreachable'],
    ['a reset', (response) => response.socket?.destroy(), false, 'robots-unreachable'],
    ['no answer', () => {}, false, 'robots-unreachable', { timeoutMs: 50 }],
    [
      'an answer that never ends',
      (response) => response.writeHead(200, { 'content-length': 100 }).write(page),
      false,
      'robots-unreachable',
      { timeoutMs: 50 },
    ],
    [
      'half a body',
      (r) => r.writeHead(200, { 'content-length': 99 }).end(page, () => r.socket?.destroy()),
      false,
      'robots-unreachable',
    ],
    ['302 without Location', status(302), false, 'robots-unreachable'],
    ['302 to nowhere', status(302, { location: 'http://' }), false, 'robots-unreachable'],
    ['302 to another scheme', status(302, { location: 'ftp://127.0.0.1/robots.txt' }), false, 'robots-unreachable'],
    ['305', status(305, { location: '/r' }), false, 'robots-unreachable'],
    ['304 that nobody asked for', status(304), false, 'robots-unreachable'],
    ['HTML that redirects', status(200, {}, '<meta http-equiv="refresh" content="0; url=/other">'), true, undefined],
  ])('%s: allowed is %s', async (_, handler, allowed, reason, options) => {
    await using site = await startSite((request, response) => handler(response, request));
    const verdict = await standalone(options).check(site.url('/private/x'), AGENT);
    expect([verdict.allowed, verdict.reason]).toEqual([allowed, reason]);
    expect(verdict.retryAt === undefined).toBe(reason !== 'robots-unreachable');
  });

  test('a port that nobody listens at is unreachable, and the reason is said', async () => {
    const site = await startSite(() => {});
    await site.close();
    const verdict = await standalone().check(site.url('/'), AGENT);
    expect(verdict).toMatchObject({ allowed: false, reason: 'robots-unreachable', sitemaps: [] });
    expect(verdict.detail).toContain('ECONNREFUSED');
  });

  test('bytes that are no HTTP are unreachable', async () => {
    await using site = await startRawSite((socket) => socket.end('220 mail.example.test ready\r\n'));
    expect(await standalone().check(site.url('/'), AGENT)).toMatchObject({ reason: 'robots-unreachable' });
  });

  test.each([408, 425])('%i is asked again twice, then unreachable', async (code) => {
    await using site = await startSite((_, response) => response.writeHead(code).end());
    expect(await standalone().check(site.url('/'), AGENT)).toMatchObject({
      allowed: false,
      reason: 'robots-unreachable',
    });
    expect(robotsRequests(site)).toBe(3);
  });

  test('408 once is no harm', async () => {
    await using site = await startSite((_, response) => response.writeHead(site.log.length === 1 ? 408 : 404).end());
    expect((await standalone().check(site.url('/'), AGENT)).allowed).toBe(true);
  });

  test('tells delay, sitemaps, rule and line', async () => {
    await using site = await startSite((_, response) => response.end(REFUSING));
    expect(await standalone().check(site.url('/private/x'), AGENT)).toEqual({
      allowed: false,
      reason: 'robots',
      rule: 'Disallow: /private',
      line: 2,
      crawlDelay: 3,
      sitemaps: [site.url('/s.xml')],
    });
    expect(site.log[0]?.headers['user-agent']).toBe(AGENT);
  });

  test('whole headers and tokens select the same group', async () => {
    const body = 'User-agent: ourbot\nDisallow: /m\n\nUser-agent: bot\nDisallow: /b\n\nUser-agent: *\nDisallow: /s';
    await using site = await startSite((_, response) => response.end(body));
    const cache = standalone();
    for (const agent of ['OurBot', 'OurBot/1.2', 'Mozilla/5.0 (compatible; OurBot/1.2; +http://info.example.test/)']) {
      const all = await Promise.all(['/m', '/b', '/s'].map((path) => cache.check(site.url(path), agent)));
      expect(all.map(({ allowed }) => allowed)).toEqual([false, true, true]);
    }
    expect(robotsRequests(site)).toBe(1);
  });

  test.each(['charset=iso-8859-1', ''])(
    'a byte order mark hides nothing, whatever the header says (%j)',
    async (charset) => {
      await using site = await startSite((_, response) => {
        if (charset !== '') response.setHeader('content-type', `text/plain; ${charset}`);
        response.end('\ufeffUser-agent: *\nDisallow: /');
      });
      expect((await standalone().check(site.url('/'), AGENT)).allowed).toBe(false);
    },
  );

  test('512 000 bytes are read, counted after decoding', async () => {
    const fill = (size: number) => `User-agent: *\n${`#${'-'.repeat(98)}\n`.repeat(size / 100)}Disallow: /late`;
    for (const [size, allowed] of [
      [500_000, false],
      [600_000, true],
    ] as const) {
      await using site = await startSite((_, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(fill(size))),
      );
      expect((await standalone().check(site.url('/late'), AGENT)).allowed).toBe(allowed);
    }
  });

  test.each(['', 'no URL', 'ftp://127.0.0.1/', 'mailto:a@b.example'])('%j is denied without a request', async (url) =>
    expect(await standalone({ source: noSource }).check(url, AGENT)).toMatchObject({
      allowed: false,
      reason: 'url-invalid',
    }),
  );

  test('a source that throws at once is no reason to reject', async () => {
    const source: RobotsSource = {
      getOnce: () => {
        throw 'thrown';
      },
    };
    expect(await standalone({ source }).check(`${ORIGIN}/`, AGENT)).toMatchObject({ allowed: false, detail: 'thrown' });
  });
});

describe('check(): the shared cases', () => {
  interface FetchCase {
    readonly id: string;
    readonly why: string;
    readonly group: string;
    readonly robotsStatus: number | string;
    readonly redirects?: number;
    readonly robots?: string;
    readonly agent: string;
    readonly url: string;
    readonly allowed: boolean;
  }
  const all: FetchCase[] = JSON.parse(readFileSync(new URL('corpus/robots.json', import.meta.url), 'utf8'));
  const cases = all.filter(({ group }) => group === 'fetch-status');

  test('are all there', () => expect(cases.length).toBe(6));

  test.each(cases)('$id: $why', async ({ robotsStatus, redirects = 0, robots, agent, url, allowed }) => {
    await using target = await startSite((_, response) => response.end(robots));
    await using site = await startSite(({ url: path = '' }, response) => {
      const hop = Number(new URL(path, 'http://x').searchParams.get('hop') ?? 0) + 1;
      if (hop < redirects) response.writeHead(302, { location: `/robots.txt?hop=${hop}` }).end();
      else if (redirects > 0) response.writeHead(301, { location: target.url('/robots.txt', 'www.example.org') }).end();
      else if (typeof robotsStatus === 'number') response.writeHead(robotsStatus).end();
      else response.socket?.destroy();
    });
    const verdict = await standalone().check(site.url(new URL(url).pathname), agent);
    expect(verdict.allowed).toBe(allowed);
    expect(robotsRequests(site) + robotsRequests(target)).toBe(redirects + 1);
  });
});

describe('redirects', () => {
  const chain = (hops: number, body: string) =>
    startSite(({ url = '' }, response) => {
      const hop = Number(url.split('x=')[1] ?? 0);
      if (hop < hops) response.writeHead(302, { location: `/robots.txt?x=${hop + 1}` }).end();
      else response.end(body);
    });

  test('five are followed', async () => {
    await using site = await chain(5, 'User-agent: *\nDisallow: /p');
    const cache = standalone();
    expect(await cache.check(site.url('/p'), AGENT)).toMatchObject({ allowed: false, reason: 'robots' });
    expect(await cache.check(site.url('/q'), AGENT)).toMatchObject({ allowed: true });
    expect(robotsRequests(site)).toBe(6);
  });

  test.each([
    [undefined, { allowed: false, reason: 'robots-unreachable', detail: 'More than 5 redirects', sitemaps: [] }],
    ['allow' as const, { allowed: true, detail: 'More than 5 redirects', sitemaps: [] }],
  ])('an endless chain ends after five (%s), for a day', async (tooManyRedirects, expected) => {
    await using site = await chain(Number.POSITIVE_INFINITY, '');
    const clock = new TestClock();
    const cache = standalone({ clock, tooManyRedirects });
    expect(await cache.check(site.url('/p'), AGENT)).toEqual(expected);
    clock.pass(DAY - 1);
    expect(await cache.check(site.url('/p'), AGENT)).toEqual(expected);
    expect(robotsRequests(site)).toBe(6);
  });

  test('a redirect to itself is not followed for ever', async () => {
    await using site = await startSite((_, response) => response.writeHead(302, { location: '/robots.txt' }).end());
    expect((await standalone().check(site.url('/'), AGENT)).allowed).toBe(false);
    expect(robotsRequests(site)).toBe(6);
  });

  test('what is found elsewhere holds for the origin that was asked, and for no other', async () => {
    await using other = await startSite(({ url }, response) =>
      response.end(url === '/r' ? 'User-agent: *\nDisallow: /' : ''),
    );
    await using site = await startSite((_, response) => response.writeHead(308, { location: other.url('/r#x') }).end());
    const cache = standalone();
    expect((await cache.check(site.url('/x'), AGENT)).allowed).toBe(false);
    expect((await cache.check(other.url('/x'), AGENT)).allowed).toBe(true);
    expect(other.log.map(({ path }) => path)).toEqual(['/r', '/robots.txt']);
  });
});

describe('one file an origin', () => {
  test('a hundred questions at once make one request', async () => {
    await using site = await startSite((_, response) => setImmediate(() => response.end(REFUSING)));
    const cache = standalone();
    const paths = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? '/private' : '/'));
    const verdicts = await Promise.all(paths.map((path) => cache.check(site.url(path), AGENT)));
    expect(verdicts.map(({ allowed }) => allowed)).toEqual(paths.map((path) => path === '/'));
    expect(robotsRequests(site)).toBe(1);
  });

  test('spellings of a host share it, other ports and hosts have their own', async () => {
    await using site = await startSite((_, response) => response.end());
    await using second = await startSite((_, response) => response.end());
    const cache = standalone();
    for (const host of [
      'a.example.test',
      'A.EXAMPLE.test',
      'a.exampl%65.test',
      'a.example.test.',
      'user@a.example.test',
    ]) {
      expect((await cache.check(site.url('/', host), AGENT)).allowed).toBe(true);
    }
    expect(site.log.map(({ host }) => host)).toEqual([`a.example.test:${site.port}`]);
    await cache.check(site.url('/', 'www.a.example.test'), AGENT);
    await cache.check(second.url('/', 'a.example.test'), AGENT);
    expect([robotsRequests(site), robotsRequests(second), cache.size]).toEqual([2, 1, 3]);
  });

  test('memory is bounded in origins, also while all are being asked', async () => {
    await using site = await startSite((_, response) => response.end(REFUSING));
    const cache = standalone({ maxOrigins: 5 });
    const hosts = Array.from({ length: 40 }, (_, i) => `h${i}.example.test`);
    const verdicts = await Promise.all(hosts.map((host) => cache.check(site.url('/private', host), AGENT)));
    expect(verdicts.every(({ allowed }) => !allowed)).toBe(true);
    expect(cache.size).toBe(5);
    expect(robotsRequests(site)).toBe(40);
  });

  test('and in bytes; what was used longest ago goes first', () => {
    const { cache } = stepwise({ maxMemoryBytes: 90_000 });
    const know = (host: string, size: number) => {
      const url = `http://${host}/robots.txt`;
      cache.nextFetch(url);
      cache.accept(url, answer(url, 200, { body: '#'.repeat(size) }));
    };
    know('a', 2000);
    know('b', 2000);
    cache.verdict('http://a/', AGENT);
    know('c', 2000);
    expect(['a', 'b', 'c'].map((host) => cache.verdict(`http://${host}/`, AGENT) !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
    know('d', 100_000);
    expect(cache.size).toBe(1);
    expect(cache.verdict('http://d/', AGENT)?.allowed).toBe(true);
  });
});

describe('expiry', () => {
  const at = (offset: number) => new Date(START + offset).toUTCString();

  test.each<[Record<string, string>, number]>([
    [{}, DAY],
    [{ 'cache-control': 'max-age=7200' }, 2 * HOUR],
    [{ 'cache-control': 'public, MAX-AGE="7200"', expires: at(HOUR) }, 2 * HOUR],
    [{ 'cache-control': 'max-age=60' }, 10 * MINUTE],
    [{ 'cache-control': 'no-store' }, 10 * MINUTE],
    [{ 'cache-control': 'max-age=0' }, 10 * MINUTE],
    [{ 'cache-control': 'max-age=9999999' }, DAY],
    [{ 'cache-control': 'public' }, DAY],
    [{ expires: at(3 * HOUR) }, 3 * HOUR],
    [{ expires: at(3 * HOUR), date: at(2 * HOUR) }, HOUR],
    [{ expires: '0' }, 10 * MINUTE],
  ])('%j is used for %i ms', (headers, lifetime) => {
    for (const code of [200, 404]) {
      const { cache, clock } = stepwise();
      fetched(cache, code, headers);
      clock.pass(lifetime - 1);
      expect(cache.verdict(`${ORIGIN}/`, AGENT)?.allowed).toBe(true);
      expect(cache.nextFetch(ORIGIN)).toBeUndefined();
      clock.pass(1);
      expect(cache.verdict(`${ORIGIN}/`, AGENT)).toBeUndefined();
      expect(cache.nextFetch(ORIGIN)?.url).toBe(FILE);
    }
  });

  test('a 304 renews what is known', async () => {
    await using site = await startSite(({ headers }, response) => {
      if (headers['if-none-match'] === '"v1"') response.writeHead(304, { 'cache-control': 'max-age=1800' }).end();
      else response.writeHead(200, { etag: '"v1"', 'last-modified': at(-DAY) }).end(REFUSING);
    });
    const clock = new TestClock();
    const cache = standalone({ clock });
    await cache.check(site.url('/'), AGENT);
    clock.pass(DAY);
    expect(await cache.check(site.url('/private'), AGENT)).toMatchObject({
      allowed: false,
      reason: 'robots',
      crawlDelay: 3,
    });
    expect(site.log[1]?.headers['if-modified-since']).toBe(at(-DAY));
    clock.pass(1_799_999);
    await cache.check(site.url('/'), AGENT);
    expect(robotsRequests(site)).toBe(2);
    clock.pass(1);
    await cache.check(site.url('/'), AGENT);
    expect(robotsRequests(site)).toBe(3);
  });

  test('a 304 that says nothing about time keeps the time that was said before', () => {
    const { cache, clock } = stepwise();
    fetched(cache, 200, { body: REFUSING, etag: '"1"', 'cache-control': 'max-age=3600' });
    clock.pass(HOUR);
    expect(fetched(cache, 304)).toEqual({
      done: true,
      outcome: 'rules',
      detail: 'HTTP 304',
      sitemaps: [`${ORIGIN}/s.xml`],
    });
    clock.pass(HOUR - 1);
    expect(cache.verdict(`${ORIGIN}/private`, AGENT)?.reason).toBe('robots');
    clock.pass(1);
    expect(cache.verdict(`${ORIGIN}/private`, AGENT)).toBeUndefined();
  });

  test('validators go where they came from', () => {
    const { cache, clock } = stepwise();
    fetched(cache, 302, { location: 'https://cdn.example.test/r' });
    cache.accept(ORIGIN, answer('https://cdn.example.test/r', 200, { body: REFUSING, etag: 'W/"7"' }));
    clock.pass(DAY);
    expect(cache.nextFetch(ORIGIN)?.headers).toEqual({});
    expect(cache.conditions(ORIGIN, 'https://cdn.example.test/r')).toEqual({ 'if-none-match': 'W/"7"' });
  });

  test('a 304 to no question is asked once more without conditions', () => {
    const { cache } = stepwise();
    expect(fetched(cache, 304)).toEqual({ next: FILE, redirects: 0 });
    expect(cache.accept(ORIGIN, answer(FILE, 304))).toMatchObject({ done: true, outcome: 'unreachable' });
  });

  test('a file that is gone takes its rules along', () => {
    const { cache, clock } = stepwise();
    fetched(cache, 200, { body: REFUSING, etag: '"1"' });
    clock.pass(DAY);
    fetched(cache, 404);
    expect(cache.verdict(`${ORIGIN}/private`, AGENT)).toEqual({ allowed: true, detail: 'HTTP 404', sitemaps: [] });
    clock.pass(DAY);
    expect(cache.nextFetch(ORIGIN)?.headers).toEqual({});
  });
});

describe('the ladder of the unreachable', () => {
  const private_ = `${ORIGIN}/private`;

  test('asks again after 5, 10, 20, 40, 60, 60 minutes and forbids everything meanwhile', () => {
    const { cache, clock } = stepwise();
    for (const minutes of [5, 10, 20, 40, 60, 60]) {
      const retryAt = clock.time + minutes * MINUTE;
      expect(fetched(cache, 503)).toEqual({
        done: true,
        outcome: 'unreachable',
        detail: 'HTTP 503',
        sitemaps: [],
        retryAt,
      });
      clock.pass(minutes * MINUTE - 1);
      const expected = { allowed: false, reason: 'robots-unreachable', detail: 'HTTP 503', sitemaps: [], retryAt };
      expect(cache.verdict(`${ORIGIN}/`, AGENT)).toEqual(expected);
      expect(cache.verdict(FILE, AGENT)?.allowed).toBe(true);
      expect(cache.nextFetch(ORIGIN)).toBeUndefined();
      clock.pass(1);
      expect(cache.verdict(`${ORIGIN}/`, AGENT)).toBeUndefined();
    }
    expect(fetched(cache, 200)).toMatchObject({ outcome: 'rules' });
    clock.pass(DAY);
    expect(fetched(cache, 503)).toMatchObject({ retryAt: clock.time + 5 * MINUTE });
  });

  const failUntil = (cache: RobotsCache, clock: TestClock, end: number) => {
    while (clock.time < end) {
      fetched(cache, 500);
      clock.pass(HOUR);
    }
    fetched(cache, 500);
  };

  test('uses the last good copy after 12 hours, and no longer than 30 days', () => {
    for (const after30Days of ['disallow', 'allow'] as const) {
      const { cache, clock } = stepwise({ after30Days });
      fetched(cache, 200, { body: REFUSING });
      clock.pass(DAY);
      const since = clock.time;
      failUntil(cache, clock, since + 11 * HOUR);
      clock.time = since + 12 * HOUR - 1;
      expect(cache.verdict(`${ORIGIN}/`, AGENT)?.reason).toBe('robots-unreachable');
      clock.pass(1);
      fetched(cache, 500);
      expect(cache.verdict(`${ORIGIN}/`, AGENT)).toMatchObject({ allowed: true, crawlDelay: 3 });
      expect(cache.verdict(private_, AGENT)).toMatchObject({ allowed: false, reason: 'robots' });
      clock.time = since + 30 * DAY;
      fetched(cache, 500);
      expect(cache.verdict(`${ORIGIN}/`, AGENT)).toMatchObject({ allowed: true, crawlDelay: 3 });
      clock.pass(1);
      expect(cache.verdict(private_, AGENT)?.reason).toBe(after30Days === 'allow' ? undefined : 'robots-unreachable');
    }
  });

  test('without a copy it stays at no', () => {
    const { cache, clock } = stepwise();
    failUntil(cache, clock, START + 29 * DAY);
    expect(cache.verdict(`${ORIGIN}/`, AGENT)).toMatchObject({ allowed: false, retryAt: clock.time + HOUR });
  });

  test.each<[Record<string, string>, number]>([
    [{ 'retry-after': '7200' }, 2 * HOUR],
    [{ 'retry-after': '30' }, 30_000],
    [{ 'retry-after': new Date(START + HOUR).toUTCString() }, HOUR],
    [{ 'retry-after': '99999999' }, DAY],
    [{ 'retry-after': '0' }, 5 * MINUTE],
    [{ 'retry-after': '-5' }, 5 * MINUTE],
    [{ 'retry-after': 'soon' }, 5 * MINUTE],
    [{ 'retry-after': new Date(START - HOUR).toUTCString() }, 5 * MINUTE],
  ])('%j makes it %i ms', (headers, wait) => {
    for (const code of [429, 503]) {
      expect(fetched(stepwise().cache, code, headers)).toMatchObject({ outcome: 'unreachable', retryAt: START + wait });
    }
  });

  test('a server that always says "soon" is believed three times', () => {
    const { cache, clock } = stepwise();
    const waits = Array.from({ length: 5 }, () => {
      const step = fetched(cache, 429, { 'retry-after': '1' });
      const wait = 'done' in step ? (step.retryAt ?? 0) - clock.time : 0;
      clock.pass(wait);
      return wait;
    });
    expect(waits).toEqual([1000, 1000, 1000, 40 * MINUTE, HOUR]);
  });

  test('retrySoon() lets a broken connection be tried again before the ladder begins', () => {
    const { cache, clock } = stepwise();
    cache.nextFetch(ORIGIN);
    cache.accept(ORIGIN, { error: new Error('reset') });
    cache.retrySoon(ORIGIN);
    expect(cache.verdict(`${ORIGIN}/`, AGENT)).toBeUndefined();
    cache.nextFetch(ORIGIN);
    const step = cache.accept(ORIGIN, { error: new Error('reset again') });
    expect(step).toMatchObject({ outcome: 'unreachable', detail: 'reset again', retryAt: clock.time + 5 * MINUTE });
    cache.retrySoon('http://unknown.example.test');
    expect(cache.size).toBe(1);
  });
});

describe('step by step', () => {
  test('one request an origin, several origins at once', () => {
    const { cache } = stepwise();
    expect(cache.nextFetch(`${ORIGIN}/any/page`)).toEqual({ url: FILE, headers: {}, maxBytes: 512_000 });
    expect([cache.nextFetch(ORIGIN), cache.pending(`${ORIGIN}.`), cache.verdict(`${ORIGIN}/`, AGENT)]).toEqual([
      undefined,
      true,
      undefined,
    ]);
    const other = 'https://b.example.test';
    expect(cache.nextFetch(other)?.url).toBe(`${other}/robots.txt`);
    expect(cache.accept(ORIGIN, answer(FILE, 200, { body: REFUSING }))).toEqual({
      done: true,
      outcome: 'rules',
      detail: 'HTTP 200',
      sitemaps: [`${ORIGIN}/s.xml`],
    });
    expect([cache.pending(ORIGIN), cache.pending(other)]).toEqual([false, true]);
    expect(cache.verdict(`${ORIGIN}/private`, AGENT)).toMatchObject({ allowed: false, reason: 'robots', line: 2 });
  });

  test('a redirect is a step of its own, also to another host', () => {
    const { cache } = stepwise();
    expect(fetched(cache, 301, { location: '//b.example.test/r#top' })).toEqual({
      next: 'http://b.example.test/r',
      redirects: 1,
    });
    expect([cache.pending(ORIGIN), cache.nextFetch(ORIGIN), cache.pending('http://b.example.test')]).toEqual([
      true,
      undefined,
      false,
    ]);
    expect(cache.accept(ORIGIN, answer('http://b.example.test/r#top', 200, { body: REFUSING }))).toMatchObject({
      done: true,
    });
    expect(cache.verdict(`${ORIGIN}/private`, AGENT)?.allowed).toBe(false);
    expect(cache.verdict('http://b.example.test/private', AGENT)).toBeUndefined();
  });

  test('an answer that is not awaited changes nothing', () => {
    const { cache } = stepwise();
    fetched(cache, 302, { location: '/elsewhere' });
    expect(cache.accept(ORIGIN, answer(`${ORIGIN}/old`, 404))).toMatchObject({ done: true, outcome: 'ignored' });
    expect(cache.pending(ORIGIN)).toBe(true);
    expect(cache.accept(ORIGIN, answer(`${ORIGIN}/elsewhere`, 404))).toMatchObject({ outcome: 'open' });
  });

  test('a redirect that another process began is taken up, but not without end', () => {
    const { cache } = stepwise();
    let url = `${ORIGIN}/hop`;
    let hops = 0;
    for (;;) {
      const step = cache.accept(ORIGIN, answer(url, 302, { location: `${url}p` }));
      if ('done' in step) break;
      url = step.next;
      hops++;
    }
    expect(hops).toBe(4);
    expect(cache.verdict(`${ORIGIN}/`, AGENT)).toMatchObject({ allowed: false, detail: 'More than 5 redirects' });
  });

  test('a request that was abandoned or lost is due again', () => {
    const { cache, clock } = stepwise();
    cache.nextFetch(ORIGIN);
    cache.abandon(ORIGIN);
    expect(cache.pending(ORIGIN)).toBe(false);
    expect(cache.nextFetch(ORIGIN)?.url).toBe(FILE);
    clock.pass(30 * MINUTE - 1);
    expect(cache.nextFetch(ORIGIN)).toBeUndefined();
    clock.pass(1);
    expect(cache.nextFetch(ORIGIN)?.url).toBe(FILE);
  });

  test('requests that never come back take no memory without end', () => {
    const { cache } = stepwise({ maxOrigins: 3 });
    const origins = Array.from({ length: 10 }, (_, i) => `http://h${i}.example.test`);
    for (const origin of origins) cache.nextFetch(origin);
    expect(origins.filter((origin) => cache.pending(origin)).length).toBe(3);
  });

  test('check() does not wait for steps that somebody else takes', async () => {
    const { cache } = stepwise();
    cache.nextFetch(ORIGIN);
    expect(await cache.check(`${ORIGIN}/`, AGENT)).toMatchObject({ allowed: false, reason: 'robots-unreachable' });
  });

  test.each(['verdict', 'nextFetch', 'pending', 'accept', 'abandon', 'retrySoon'] as const)(
    '%s() refuses what is no URL',
    (name) => {
      const { cache } = stepwise();
      const call = cache[name] as (origin: string, rest: unknown) => unknown;
      let thrown: unknown;
      try {
        call.call(cache, 'nowhere', { error: 1 });
      } catch (error) {
        thrown = error;
      }
      expect(isCrawlError(thrown, 'CRAWL_URL_INVALID')).toBe(true);
    },
  );

  test('no order of answers throws, or lets two requests of an origin out', () => {
    const headers = fc.constantFrom<Record<string, string>>(
      {},
      { location: '/next' },
      { location: 'http://b/' },
      { location: '::' },
      { etag: '"1"', body: REFUSING },
      { 'retry-after': '60' },
      { 'cache-control': 'max-age=0' },
    );
    const code = fc.constantFrom(200, 204, 301, 304, 307, 403, 404, 408, 425, 429, 500, 503, 0, 999);
    const step = fc.record({ code, headers, wait: fc.constantFrom(0, MINUTE, HOUR, DAY), fails: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { cache, clock } = stepwise();
        let next: string | undefined;
        for (const { code, headers, wait, fails } of steps) {
          next ??= cache.nextFetch(ORIGIN)?.url;
          if (next !== undefined) {
            expect(cache.pending(ORIGIN)).toBe(true);
            expect(cache.nextFetch(ORIGIN)).toBeUndefined();
            const result = cache.accept(ORIGIN, fails ? { error: code } : answer(next, code, headers));
            next = 'done' in result ? undefined : result.next;
          }
          if (next === undefined) {
            const verdict = cache.verdict(`${ORIGIN}/private`, AGENT);
            expect(verdict).toBeDefined();
            clock.pass(wait);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('the storage', () => {
  test('keeps rules, validators and times over a restart', async () => {
    const storage = new TestStorage();
    const body = Buffer.concat([Buffer.from('\ufeffUser-agent: *\nDisallow: /caf'), Buffer.from([0xe9])]);
    const first = stepwise({ storage });
    first.cache.nextFetch(ORIGIN);
    first.cache.accept(ORIGIN, { ...answer(FILE, 200, { etag: '"1"' }), body });
    await first.cache.flush();
    expect([...storage.map.keys()]).toEqual([`robots:${ORIGIN}`]);

    const { cache, clock } = stepwise({ storage });
    clock.pass(DAY - 1);
    expect(cache.verdict(`${ORIGIN}/caf%e9`, AGENT)).toBeUndefined();
    expect(await cache.load(`${ORIGIN}/`)).toBe(true);
    expect(cache.verdict(`${ORIGIN}/caf%e9`, AGENT)).toMatchObject({ allowed: false, reason: 'robots' });
    clock.pass(1);
    expect(await cache.load(ORIGIN)).toBe(false);
    expect(cache.nextFetch(ORIGIN)?.headers).toEqual({ 'if-none-match': '"1"' });
    cache.accept(ORIGIN, answer(FILE, 304));
    await cache.flush();
    const third = stepwise({ storage });
    third.clock.pass(DAY + HOUR);
    expect(await third.cache.load(ORIGIN)).toBe(true);
  });

  test('keeps the ladder over a restart, and the copy from better days', async () => {
    const storage = new TestStorage();
    const first = stepwise({ storage });
    fetched(first.cache, 200, { body: REFUSING });
    first.clock.pass(DAY);
    fetched(first.cache, 503);
    first.clock.pass(5 * MINUTE);
    fetched(first.cache, 503);
    await first.cache.flush();

    const { cache, clock } = stepwise({ storage });
    clock.pass(DAY + 6 * MINUTE);
    expect(await cache.load(ORIGIN)).toBe(true);
    expect(cache.verdict(`${ORIGIN}/`, AGENT)).toMatchObject({
      retryAt: START + DAY + 15 * MINUTE,
      detail: 'HTTP 503',
    });
    clock.pass(12 * HOUR);
    expect(fetched(cache, 503)).toMatchObject({ retryAt: clock.time + 20 * MINUTE });
    expect(cache.verdict(`${ORIGIN}/private`, AGENT)?.reason).toBe('robots');
  });

  test('serves check() without a request', async () => {
    const storage = new TestStorage();
    await using site = await startSite((_, response) => response.end(REFUSING));
    const first = standalone({ storage });
    await first.check(site.url('/'), AGENT);
    await first.flush();
    const verdict = await standalone({ storage, source: noSource }).check(site.url('/private'), AGENT);
    expect(verdict).toMatchObject({ allowed: false, reason: 'robots' });
    expect(robotsRequests(site)).toBe(1);
  });

  test('what another process learnt counts, and frees a request that is lost', async () => {
    const storage = new TestStorage();
    const mine = stepwise({ storage });
    const theirs = stepwise({ storage });
    mine.cache.nextFetch(ORIGIN);
    theirs.clock.pass(MINUTE);
    fetched(theirs.cache, 404);
    await theirs.cache.flush();
    mine.clock.pass(2 * MINUTE);
    expect(await mine.cache.load(ORIGIN)).toBe(true);
    expect([mine.cache.pending(ORIGIN), mine.cache.verdict(`${ORIGIN}/`, AGENT)?.allowed]).toEqual([false, true]);
  });

  test('what is older than the memory does not count', async () => {
    const storage = new TestStorage();
    const { cache, clock } = stepwise({ storage });
    fetched(cache, 200, { body: REFUSING });
    await cache.flush();
    const old = storage.map.get(`robots:${ORIGIN}`) as Uint8Array;
    clock.pass(DAY);
    fetched(cache, 404, { 'cache-control': 'max-age=0' });
    await cache.flush();
    storage.map.set(`robots:${ORIGIN}`, old);
    clock.pass(HOUR);
    expect(await cache.load(ORIGIN)).toBe(false);
    expect(cache.nextFetch(ORIGIN)?.headers).toEqual({});
  });

  test('a record that is damaged in any way is left out or means the same', async () => {
    const storage = new TestStorage();
    const { cache } = stepwise({ storage });
    fetched(cache, 200, { body: REFUSING, etag: '"1"' });
    await cache.flush();
    const record = storage.map.get(`robots:${ORIGIN}`) as Uint8Array;
    const read = async (value: Uint8Array, origin = ORIGIN) => {
      const again = stepwise({ storage });
      storage.map.set(`robots:${origin}`, value);
      await again.cache.load(origin);
      return again.cache.verdict(`${origin}/private`, AGENT);
    };
    expect((await read(record))?.allowed).toBe(false);
    for (let length = 0; length < record.length; length++)
      expect(await read(record.subarray(0, length))).toBeUndefined();
    expect(await read(Buffer.concat([record, Buffer.from('x')]))).toBeUndefined();
    expect(await read(record, 'http://other.example.test')).toBeUndefined();
    const damage = async (at: number, byte: number) => {
      const damaged = Uint8Array.from(record);
      damaged[at % damaged.length] = byte;
      await read(damaged);
    };
    await fc.assert(fc.asyncProperty(fc.nat(), fc.integer({ min: 0, max: 255 }), damage), { numRuns: 300 });
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        expect(await read(Buffer.from(`${JSON.stringify(value)}\nUser-agent: *`))).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });

  test('a clock that was set back keeps nothing alive for more than a day', async () => {
    const storage = new TestStorage();
    const future = stepwise({ storage });
    future.clock.pass(400 * DAY);
    fetched(future.cache, 200, { body: REFUSING });
    await future.cache.flush();
    const { cache, clock } = stepwise({ storage });
    expect(await cache.load(ORIGIN)).toBe(true);
    clock.pass(DAY);
    expect(cache.verdict(`${ORIGIN}/`, AGENT)).toBeUndefined();
  });

  test('one that fails is told of, and the cache goes on', async () => {
    const told: string[] = [];
    const storage: MetaStorage = {
      getMeta: () => Promise.reject(new Error('disk is gone')),
      setMeta: () => {
        throw new Error('disk is full');
      },
    };
    const onStorageError = (error: Error) => {
      told.push(error.message);
      throw error;
    };
    await using site = await startSite((_, response) => response.end(REFUSING));
    const cache = standalone({ storage, onStorageError });
    expect(await cache.check(site.url('/private'), AGENT)).toMatchObject({ allowed: false, reason: 'robots' });
    await cache.flush();
    expect(told).toEqual([
      `The robots.txt of ${site.origin} could not be read: disk is gone`,
      `The robots.txt of ${site.origin} could not be written: disk is full`,
    ]);
    expect(await standalone({ storage }).load(site.origin)).toBe(false);
  });

  test('writes of one origin keep their order', async () => {
    const storage = new TestStorage();
    const releases: (() => void)[] = [];
    const slow: MetaStorage = {
      getMeta: (name) => storage.getMeta(name),
      setMeta: async (name, value) => {
        await new Promise<void>((resolve) => releases.push(resolve));
        await storage.setMeta(name, value);
      },
    };
    const { cache, clock } = stepwise({ storage: slow });
    fetched(cache, 503);
    clock.pass(HOUR);
    fetched(cache, 404);
    const flushed = cache.flush();
    await Promise.resolve();
    expect(releases.length).toBe(1);
    releases[0]?.();
    await cache.load('http://other.example.test');
    while (releases.length < 2) await new Promise(setImmediate);
    releases[1]?.();
    await flushed;
    const again = stepwise({ storage });
    again.clock.pass(HOUR);
    await again.cache.load(ORIGIN);
    expect(again.cache.verdict(`${ORIGIN}/`, AGENT)?.allowed).toBe(true);
  });
});

describe('options', () => {
  test.each<[object, string]>([
    [{ maxOrigin: 1 }, 'CRAWL_OPTION_UNKNOWN'],
    [{ maxOrigins: 0 }, 'CRAWL_OPTION_INVALID'],
    [{ timeoutMs: 0 }, 'CRAWL_OPTION_INVALID'],
    [{ timeoutMs: 1.5 }, 'CRAWL_OPTION_INVALID'],
    [{ tooManyRedirects: 'deny' }, 'CRAWL_OPTION_INVALID'],
    [{ robots401403: true }, 'CRAWL_OPTION_INVALID'],
    [{ after30Days: null }, 'CRAWL_OPTION_INVALID'],
    [{ source: {} }, 'CRAWL_OPTION_INVALID'],
  ])('%j is refused with %s', (options, code) => {
    let thrown: unknown;
    try {
      new RobotsCache({ source: noSource, ...options } as RobotsCacheOptions);
    } catch (error) {
      thrown = error;
    }
    expect(isCrawlError(thrown) && thrown.code).toBe(code);
  });

  test('undefined means the default, which is exported', () => {
    const given = Object.fromEntries(Object.keys(ROBOTS_CACHE_DEFAULTS).map((name) => [name, undefined]));
    expect(new RobotsCache({ source: noSource, ...given }).size).toBe(0);
  });
});

test('without a source it fetches by itself, and a source alone will do in place of options', async () => {
  const userAgent = 'moss/1.0 (+mailto:owner@example.test)';
  await using site = await startSite((_request, response) =>
    response.end('User-agent: *\nDisallow: /x\nCrawl-delay: 2'),
  );
  for (const cache of [new RobotsCache(), new RobotsCache(httpRobotsSource())]) {
    expect(await cache.check(site.url('/x/y'), userAgent)).toMatchObject({ allowed: false, reason: 'robots' });
    expect(await cache.check(site.url('/z'), userAgent)).toMatchObject({ allowed: true, crawlDelay: 2 });
  }
  expect(site.log).toHaveLength(2);
  const nameless = await new RobotsCache().check(site.url('/z'), 'moss');
  expect(nameless).toMatchObject({ allowed: false, reason: 'robots-unreachable' });
  expect(site.log).toHaveLength(2);
});
