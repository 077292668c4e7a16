import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { DNS_DEFAULTS, type DnsLookup } from '../src/dns.ts';
import { Crawler, MemoryStore } from '../src/index.ts';
import { crawl, HASTE, hear, linkPage, listeningCrawler, USER_AGENT } from './helpers/crawl.ts';
import { TRANSPORTS } from './helpers/fetcher.ts';
import { startHttpProxy } from './helpers/servers.ts';
import { startSite } from './helpers/site.ts';

const pages = () =>
  startSite((request, response) => {
    if (request.url === '/robots.txt') response.writeHead(404).end();
    else response.setHeader('content-type', 'text/html').end(`page ${request.headers.host} ${request.url}`);
  });

/** An error as resolvers give it. */
const dnsError = (code: string) => Object.assign(new Error(`getaddrinfo ${code}`), { code });

describe.each([0, 5])('with an ipDelayMs of %i', (ipDelayMs) => {
  test('names whose servers are slow keep no other host waiting, however many they are', async () => {
    await using site = await pages();
    const answers: (() => void)[] = [];
    const dnsLookup: DnsLookup = (hostname) =>
      hostname.startsWith('slow')
        ? new Promise((resolve) => answers.push(() => resolve('127.0.0.1')))
        : Promise.resolve('127.0.0.2');
    const slow = Array.from({ length: 60 }, (_, n) => site.url('/', `slow${n}.example.test`));
    await using fast = await startSite((request, response) => {
      if (request.url === '/robots.txt') response.writeHead(404).end();
      else {
        const next = Number(/\d+/.exec(request.url ?? '')?.[0] ?? 0) + 1;
        response.setHeader('content-type', 'text/html').end(linkPage(next <= 20 ? [`/${next}`] : [], `${next}`));
      }
    }, '127.0.0.2');
    const { crawler, heard } = listeningCrawler({
      dnsLookup,
      concurrency: 4,
      ipDelayMs,
      minDelayMs: ipDelayMs,
      scope: 'host',
    });
    let openWhenFastWasDone = 0;
    let later: NodeJS.Timeout | undefined;
    const tell = () => {
      for (const answer of answers.splice(0)) answer();
    };
    crawler.on('page', (page) => {
      if (!page.url.endsWith('/20')) return;
      openWhenFastWasDone = answers.length;
      tell();
      later = setInterval(tell, 20);
    });
    await crawler.run([...slow, fast.url('/', 'fast.example.test')]);
    clearInterval(later);
    expect(heard.errors).toEqual([]);
    const urls = heard.pages.map(({ url }) => url);
    expect(urls.slice(0, 21).every((url) => url.includes('fast.'))).toBe(true);
    expect(new Set(urls).size).toBe(81);
    expect(openWhenFastWasDone).toBeGreaterThan(4);
  });

  test.each(['ENOTFOUND', 'EAI_AGAIN', 'ESERVFAIL'])('a retry after %s asks again, and not the cache', async (code) => {
    await using site = await pages();
    let asked = 0;
    const { errors, retries, urls } = await crawl(site.url('/', 'back.example.test'), {
      ipDelayMs,
      minDelayMs: ipDelayMs,
      dnsLookup: async () => {
        if (asked++ === 0) throw dnsError(code);
        return '127.0.0.1';
      },
    });
    expect(errors).toEqual([]);
    expect(retries).toEqual([
      expect.objectContaining({ error: expect.objectContaining({ code: 'CRAWL_DNS_FAILED' }) }),
    ]);
    expect(urls).toEqual([site.url('/', 'back.example.test')]);
    expect(asked).toBe(2);
  });

  test('a name that does not exist is asked for once per try, and not for each URL', async () => {
    let asked = 0;
    const { errors, retries } = await crawl(
      Array.from({ length: 4 }, (_, n) => `http://gone.example.test/${n}`),
      {
        ipDelayMs,
        minDelayMs: ipDelayMs,
        retries: 0,
        dnsLookup: async () => {
          asked++;
          throw dnsError('ENOTFOUND');
        },
      },
    );
    expect(errors.map(({ error }) => error.code)).toEqual(Array(4).fill('CRAWL_DNS_FAILED'));
    expect(retries).toEqual([]);
    expect(asked).toBe(1);
  });

  test('a failure that comes late is told, and tried again', async () => {
    const failures: (() => void)[] = [];
    const { crawler, heard } = listeningCrawler({
      ipDelayMs,
      minDelayMs: ipDelayMs,
      retries: 1,
      dnsLookup: () => new Promise((_, reject) => failures.push(() => reject(dnsError('EAI_AGAIN')))),
    });
    const timer = setInterval(() => {
      for (const fail of failures.splice(0)) fail();
    }, 700);
    try {
      await crawler.run('http://late.example.test/');
    } finally {
      clearInterval(timer);
    }
    expect(heard.retries).toHaveLength(1);
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_DNS_FAILED']);
  });
});

test.each([1, 2])(
  'a dead host is left alone for a day, then asked again, be its name slow: %i at a time',
  async (most) => {
    await using site = await pages();
    const urls = [site.url('/1', 'dead.example.test'), site.url('/2', 'dead.example.test')];
    for (const [hours, count] of [
      [23, 0],
      [25, 2],
    ] as const) {
      const store = await MemoryStore.open();
      const blockedUntil = Date.now() - hours * 3_600_000;
      await store.setHost('dead.example.test', { failures: 7, nextAt: blockedUntil - 3_600_000, blockedUntil });
      const dnsLookup: DnsLookup = () => new Promise((resolve) => setTimeout(resolve, 700, '127.0.0.1'));
      const heard = await crawl(urls, { store, dnsLookup, connectionsPerHost: most });
      expect(heard.urls).toHaveLength(count);
      expect(heard.skips.map(({ reason }) => reason)).toEqual(new Array(2 - count).fill('host-unreachable'));
    }
  },
);

test('hosts that come next are looked up while others are still being asked', async () => {
  const asked: string[] = [];
  await using site = await startSite((request, response) => {
    if (request.url === '/robots.txt') response.writeHead(404).end();
    else setTimeout(() => response.end(`${request.headers.host}`), 30);
  });
  const seeds = Array.from({ length: 20 }, (_, n) => site.url('/', `h${n}.example.test`));
  const crawler = new Crawler({
    userAgent: USER_AGENT,
    ...HASTE,
    network: 'any',
    concurrency: 1,
    dnsLookup: async (hostname) => {
      asked.push(hostname);
      return '127.0.0.1';
    },
  });
  const heard = hear(crawler);
  let early = 0;
  crawler.once('page', () => {
    early = asked.length;
  });
  await crawler.run(seeds);
  expect(heard.pages).toHaveLength(20);
  expect(early).toBe(20);
  expect(asked).toHaveLength(20);
});

test('what was looked up early and is not needed any more keeps no process alive', async () => {
  await using site = await pages();
  const set = vi.spyOn(globalThis, 'setTimeout');
  const cleared = vi.spyOn(globalThis, 'clearTimeout');
  try {
    const asked = new Set<string>();
    const { urls } = await crawl(
      ['here', 'slow', 'slower'].map((name) => site.url('/', `${name}.example.test`)),
      {
        maxPages: 1,
        timeouts: { connect: 5000 },
        concurrency: 1,
        respectRobots: false,
        dnsLookup: (name) => {
          asked.add(name);
          return name.startsWith('slow') ? new Promise(() => {}) : Promise.resolve('127.0.0.1');
        },
      },
    );
    expect(urls).toEqual([site.url('/', 'here.example.test')]);
    expect(asked.size).toBe(3);
    const timers = set.mock.results.filter((_, index) => set.mock.calls[index]?.[1] === DNS_DEFAULTS.timeoutMs);
    expect(timers).toHaveLength(3);
    for (const { value } of timers) expect(cleared).toHaveBeenCalledWith(value);
  } finally {
    vi.restoreAllMocks();
  }
});

test.each(TRANSPORTS)('a look-up that never settles holds up no end: over %s', async (transport) => {
  // Nobody's patience comes to its end.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  for (const answer of [new Promise<string>(() => {}), undefined]) {
    let asked = 0;
    const dnsLookup = (() => {
      asked++;
      return answer;
    }) as DnsLookup;
    const { crawler, heard } = listeningCrawler({ transport, dnsLookup });
    const running = crawler.run(['http://one.example.test/', 'http://two.example.test/']);
    while (asked < 2) await new Promise(setImmediate);
    await crawler.stop({ now: true });
    const { queued, inFlight } = await running;
    expect({ queued, inFlight }).toEqual({ queued: 2, inFlight: 0 });
    expect(heard.errors).toEqual([]);
  }
});

describe('over a proxy', () => {
  test.each(['http', 'a function'])('that takes names, none has to be found here: %s', async (kind) => {
    await using site = await pages();
    await using proxy = await startHttpProxy();
    const route = `http://127.0.0.1:${proxy.port}`;
    const asked: string[] = [];
    const { errors, urls } = await crawl(site.url('/', 'inside.example.test'), {
      minDelayMs: 5,
      ipDelayMs: 5,
      proxy: kind === 'http' ? route : () => route,
      dnsLookup: async (hostname) => {
        asked.push(hostname);
        throw dnsError('ENOTFOUND');
      },
    });
    expect(errors).toEqual([]);
    expect(urls).toEqual([site.url('/', 'inside.example.test')]);
    if (kind === 'http') expect(asked).toEqual([]);
  });
});
