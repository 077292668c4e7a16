import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  CrawlError,
  Crawler,
  type CrawlerOptions,
  type CrawlRequest,
  type CrawlStats,
  type CrawlStore,
  type Link,
  LinkExtractor,
  MemoryStore,
  type Page,
  UrlFilter,
} from '../src/index.ts';
import { compile } from './helpers/compiled.ts';
import { HASTE, hear, linkPage, pathOf, USER_AGENT } from './helpers/crawl.ts';
import { html, serve } from './helpers/pages.ts';
import { loopbackLookup, type Site } from './helpers/site.ts';
import { CERTIFICATE } from './helpers/tls.ts';

/** Code of the user's, whatever it is called as. */
type Fault = (...args: unknown[]) => unknown;

const angry = new Proxy(
  {},
  {
    get: () => {
      throw new Error('a trap');
    },
    getPrototypeOf: () => {
      throw new Error('a trap');
    },
    has: () => {
      throw new Error('a trap');
    },
  },
);
const unprintable = Object.defineProperty(new Error('x'), 'message', {
  get: () => {
    throw new Error('no message');
  },
});

const THROWN: readonly (readonly [string, unknown])[] = [
  ['an Error', new Error('as they come')],
  ['a CrawlError', new CrawlError('CRAWL_INTERNAL', 'of its own')],
  ['undefined', undefined],
  ['null', null],
  ['a string', 'text'],
  ['a symbol', Symbol('s')],
  ['a frozen object', Object.freeze({ message: 1 })],
  ['an Error that has no message to give', unprintable],
  ['an object that throws when it is looked at', angry],
  ['an Error whose message is no text', Object.assign(new Error('x'), { message: { toString: () => 5 as never } })],
];

const throwing = ([what, value]: (typeof THROWN)[number]): readonly [string, Fault] => [
  `throws ${what}`,
  () => {
    throw value;
  },
];
const rejecting = ([what, value]: (typeof THROWN)[number]): readonly [string, Fault] => [
  `rejects with ${what}`,
  () => Promise.reject(value),
];
const FAULTS = [...THROWN.map(throwing), ...THROWN.map(rejecting)];
const THROWS = THROWN.map(throwing);

/** How a fault gets into a crawl, and as what it comes out. */
interface Place {
  readonly code: string;
  readonly options?: (fault: Fault) => Partial<CrawlerOptions>;
  readonly prepare?: (crawler: Crawler, fault: Fault) => void;
  /** Pages that are still delivered: the seed with two links has three. */
  readonly pages: number;
  readonly isAsync: boolean;
}

class Hooked extends Crawler {
  readonly #name: 'visit' | 'expand' | 'shouldVisit' | 'prioritize';
  readonly #fault: Fault;

  constructor(options: CrawlerOptions, name: Hooked['name'], fault: Fault) {
    super(options);
    this.#name = name;
    this.#fault = fault;
  }

  get name(): 'visit' | 'expand' | 'shouldVisit' | 'prioritize' {
    return this.#name;
  }

  override visit(page: Page): void | Promise<void> {
    return this.#name === 'visit' ? (this.#fault(page) as undefined) : super.visit(page);
  }
  override expand(page: Page): Iterable<Link> | Promise<Iterable<Link>> {
    return this.#name === 'expand' ? (this.#fault(page) as Link[]) : super.expand(page);
  }
  override shouldVisit(link: Link, from: Page): boolean | Promise<boolean> {
    return this.#name === 'shouldVisit' ? (this.#fault(link) as boolean) : super.shouldVisit(link, from);
  }
  override prioritize(request: CrawlRequest): number | Promise<number> {
    return this.#name === 'prioritize' ? (this.#fault(request) as number) : super.prioritize(request);
  }
}

const PLACES: Readonly<Record<string, Place>> = {
  'a listener of page': {
    code: 'CRAWL_LISTENER_FAILED',
    prepare: (crawler, fault) => crawler.on('page', fault as never),
    pages: 3,
    isAsync: true,
  },
  'a listener of skip': {
    code: 'CRAWL_LISTENER_FAILED',
    prepare: (crawler, fault) => crawler.on('skip', fault as never),
    pages: 3,
    isAsync: true,
  },
  'a listener of stats': {
    code: 'CRAWL_LISTENER_FAILED',
    options: () => ({ statsEveryPages: 1 }),
    prepare: (crawler, fault) => crawler.on('stats', fault as never),
    pages: 3,
    isAsync: true,
  },
  'the hook visit': { code: 'CRAWL_HOOK_FAILED', pages: 3, isAsync: true },
  'the hook expand': { code: 'CRAWL_HOOK_FAILED', pages: 1, isAsync: true },
  'the hook shouldVisit': { code: 'CRAWL_HOOK_FAILED', pages: 1, isAsync: true },
  'the hook prioritize': { code: 'CRAWL_HOOK_FAILED', pages: 3, isAsync: true },
  'a sink': {
    code: 'CRAWL_SINK_FAILED',
    options: (fault) => ({ sinks: [{ write: fault as never, close: async () => {} }] }),
    pages: 3,
    isAsync: true,
  },
  accept: { code: 'CRAWL_HOOK_FAILED', options: (fault) => ({ accept: fault as never }), pages: 0, isAsync: false },
  'a filter': {
    code: 'CRAWL_FILTER_FAILED',
    options: (fault) => ({
      filter: UrlFilter.from((url, context) => (context.source === 'seed' ? undefined : (fault(url) as string))),
    }),
    pages: 1,
    isAsync: false,
  },
  'a scope': {
    code: 'CRAWL_FILTER_FAILED',
    options: (fault) => ({
      scope: UrlFilter.from((url, context) => (context.source === 'seed' ? undefined : (fault(url) as string))),
    }),
    pages: 1,
    isAsync: false,
  },
  'an extractor': {
    code: 'CRAWL_HOOK_FAILED',
    options: (fault) => ({ extract: Object.assign(new LinkExtractor(), { extract: fault }) as never }),
    pages: 1,
    isAsync: false,
  },
  'the scan of an extractor': {
    code: 'CRAWL_HOOK_FAILED',
    options: (fault) => ({ extract: Object.assign(new LinkExtractor(), { scan: fault }) as never }),
    pages: 1,
    isAsync: false,
  },
  'a headers function': {
    code: 'CRAWL_HOOK_FAILED',
    options: (fault) => ({ headers: fault as never, respectRobots: false }),
    pages: 0,
    isAsync: false,
  },
  'a proxy function': {
    code: 'CRAWL_HOOK_FAILED',
    options: (fault) => ({ proxy: fault as never, respectRobots: false }),
    pages: 0,
    isAsync: false,
  },
  'a network function': {
    code: 'CRAWL_ADDRESS_REFUSED',
    options: (fault) => ({ network: fault as never, respectRobots: false }),
    pages: 0,
    isAsync: false,
  },
  'a cookie store': {
    code: 'CRAWL_HOOK_FAILED',
    options: (fault) => ({ cookies: { getCookieString: fault, setCookie: fault } as never, respectRobots: false }),
    pages: 0,
    isAsync: true,
  },
  dnsLookup: {
    code: 'CRAWL_DNS_FAILED',
    options: (fault) => ({ dnsLookup: fault as never, respectRobots: false, retries: 0 }),
    pages: 0,
    isAsync: true,
  },
};

interface Result {
  readonly codes: readonly string[];
  readonly pages: readonly string[];
  readonly stats: CrawlStats;
}

async function crawlWith(site: Site, name: string, fault: Fault, more: Partial<CrawlerOptions> = {}): Promise<Result> {
  const place = PLACES[name] as Place;
  const options = { userAgent: USER_AGENT, ...HASTE, network: 'any' as const, ...place.options?.(fault), ...more };
  const hook = /^the hook (\w+)$/.exec(name)?.[1];
  const crawler = hook === undefined ? new Crawler(options) : new Hooked(options, hook as Hooked['name'], fault);
  const heard = hear(crawler);
  place.prepare?.(crawler, fault);
  const host = name === 'dnsLookup' ? 'a.example.test' : undefined;
  const stats = await crawler.run(site.url('/', host));
  return { codes: heard.errors.map(({ error }) => error.code), pages: heard.urls.map(pathOf), stats };
}

const PAGES = { '/': linkPage(['/1', '/2', 'http://elsewhere.test/']), '/1': '1', '/2': '2' };

describe.each(Object.entries(PLACES))('%s', (name, place) => {
  test.each(place.isAsync ? FAULTS : THROWS)(
    'that %s costs what it is asked for, and not the crawl',
    async (_, fault) => {
      await using site = await serve(PAGES);
      const { codes, pages, stats } = await crawlWith(site, name, fault);
      // Functions that work for the fetcher may throw errors of the library, which keep their code.
      expect(codes.map((code) => (code === 'CRAWL_INTERNAL' ? place.code : code))).toContain(place.code);
      expect(pages).toHaveLength(place.pages);
      expect(stats).toMatchObject({ queued: 0, inFlight: 0 });
    },
  );
});

function* endless(): Generator<string> {
  for (;;) yield '/1';
}

/** Stands for a promise, made when it is asked for. */
const LATE = Symbol('late');

/** What a place must not answer with, and the pages that are still delivered. */
const GARBAGE: readonly (readonly [place: string, what: string, value: unknown, pages: number])[] = [
  ...[Number.NaN, 'high', undefined, null, {}, Number.POSITIVE_INFINITY, 5n].map(
    (value) => ['the hook prioritize', String(value), value, 3] as const,
  ),
  ...[undefined, null, 5, 'text', {}, true].map((value) => ['the hook expand', String(value), value, 1] as const),
  ...[undefined, null, 0, 1, '', 'no', 'yes', {}].flatMap((value) => [
    ['the hook shouldVisit', JSON.stringify(value) ?? 'undefined', value, 1] as const,
  ]),
  ['the hook expand', 'links without end', endless(), 1],
  ['the hook expand', 'values that are none', [undefined, null, 5, {}, { url: 5 }, [], 'mailto:x@y', '/1'], 2],
  [
    'the hook expand',
    'a list that fails',
    {
      *[Symbol.iterator]() {
        yield '/1';
        throw new Error('half way');
      },
    },
    1,
  ],
  ['an extractor', 'undefined', undefined, 1],
  ['an extractor', 'links without end', endless(), 1],
  ['accept', 'a promise', LATE, 0],
  ['accept', 'another word', 'maybe', 0],
  ['a filter', 'true', true, 1],
  ['a filter', 'a promise', LATE, 1],
  ['a headers function', 'a promise', LATE, 0],
  ['a headers function', 'a number', 5, 0],
  ['a headers function', 'lines with a break', { x: 'a\r\nb' }, 0],
  ['a proxy function', 'a promise', LATE, 0],
  ['a proxy function', 'no URL', 'nowhere', 0],
  ['a network function', 'undefined', undefined, 0],
  ['dnsLookup', 'no addresses', [], 0],
  ['dnsLookup', 'what is no address', ['999.1.1.1'], 0],
  ['dnsLookup', 'a number', 5, 0],
  ['a cookie store', 'a number', 5, 3],
];

describe('a place that answers what it must not', () => {
  test.each(GARBAGE)('%s: %s', async (name, _, value, pages) => {
    await using site = await serve(PAGES);
    // It answers by a promise, or by calling back.
    const isLookup = name === 'dnsLookup';
    const answer = isLookup
      ? async () => value
      : value === LATE
        ? () => Promise.reject(new Error('too late'))
        : () => value;
    const result = await crawlWith(site, name, answer, isLookup ? { retries: 0 } : {});
    expect(result.pages).toHaveLength(pages);
    expect(result.stats).toMatchObject({ queued: 0, inFlight: 0 });
  });
});

describe('a verdict of shouldVisit that is no boolean', () => {
  test.each([undefined, null, 0, 1, '', 'no'])('%j refuses as a fault does, given at once or later', async (value) => {
    await using site = await serve({ '/': linkPage(['/1']), '/1': '1' });
    for (const fault of [() => value, async () => value]) {
      const crawler = new Hooked({ userAgent: USER_AGENT, ...HASTE, network: 'any' }, 'shouldVisit', fault);
      const { errors, skips } = hear(crawler);
      await crawler.run(site.url('/'));
      expect(errors).toMatchObject([{ error: { code: 'CRAWL_HOOK_FAILED', url: site.url('/1') } }]);
      expect(errors[0]?.error.message).toContain('true or false');
      expect(skips).toEqual([{ url: site.url('/1'), reason: 'should-visit', from: site.url('/') }]);
    }
  });
});

describe('items of expand that are no links', () => {
  const expanded = async (items: unknown): Promise<ReturnType<typeof hear> & { readonly root: string }> => {
    await using site = await serve({ '/': 'x', '/1': '1' });
    const crawler = new Hooked({ userAgent: USER_AGENT, ...HASTE, network: 'any' }, 'expand', (page) =>
      (page as Page).depth === 0 ? items : [],
    );
    const heard = hear(crawler);
    await crawler.run(site.url('/'));
    return Object.assign(heard, { root: site.url('/') });
  };

  test.each([null, 5, [{ href: 'x' }], { href: 'x' }, { url: 5 }, ['p/1']].map((item) => [JSON.stringify(item), item]))(
    '%s is told, and the links beside it are followed',
    async (_, item) => {
      const { errors, skips, urls, root } = await expanded([item, '/1', item]);
      expect(errors).toMatchObject([{ error: { code: 'CRAWL_HOOK_FAILED', url: root }, url: root }]);
      expect(errors[0]?.error.message).toMatch(/^The hook expand gave 2 items that are no links, the first of them /);
      expect(skips).toEqual([]);
      expect(urls.map(pathOf)).toEqual(['/', '/1']);
    },
  );

  test('texts that are no URLs are skipped by name', async () => {
    const { errors, skips, urls, root } = await expanded(['http://[', { url: 'mailto:x@y' }, '/1']);
    expect(errors).toEqual([]);
    expect(skips).toEqual([
      { url: 'http://[', reason: 'url-invalid', from: root },
      { url: 'mailto:x@y', reason: 'url-invalid', from: root },
    ]);
    expect(urls.map(pathOf)).toEqual(['/', '/1']);
  });
});

const never: Fault = () => new Promise(() => {});
const AWAITED = [
  'a listener of page',
  'the hook visit',
  'the hook expand',
  'the hook shouldVisit',
  'the hook prioritize',
  'a sink',
];

describe('code that never comes to its end', () => {
  test.each(AWAITED)('%s is waited for so long, and the crawl goes on', async (name) => {
    await using site = await serve(PAGES);
    const { codes, pages, stats } = await crawlWith(site, name, never, { handlerTimeoutMs: 30 });
    expect(new Set(codes)).toEqual(new Set(['CRAWL_HANDLER_TIMEOUT']));
    expect(pages).toHaveLength(PLACES[name]?.pages ?? -1);
    expect(stats).toMatchObject({ queued: 0, inFlight: 0 });
  });

  test('costs a page the rest of its hook, not a wait for each of its links', async () => {
    const paths = Array.from({ length: 300 }, (_, i) => `/${i}`);
    await using site = await serve({ '/': linkPage(paths) });
    let asked = 0;
    const hang: Fault = () => {
      asked++;
      return new Promise(() => {});
    };
    for (const [hook, pages] of [
      ['shouldVisit', 1],
      ['prioritize', 301],
    ] as const) {
      asked = 0;
      const result = await crawlWith(site, `the hook ${hook}`, hang, { handlerTimeoutMs: 20 });
      expect(result.pages).toHaveLength(pages);
      expect(result.codes).toHaveLength(asked);
      // The seed asks, too, and then the page.
      expect(asked).toBe(hook === 'shouldVisit' ? 1 : 2);
    }
  });

  test.each(AWAITED)('%s does not keep stop({ now: true }) waiting', async (name) => {
    await using site = await serve(PAGES);
    const place = PLACES[name] as Place;
    const hook = /^the hook (\w+)$/.exec(name)?.[1] as Hooked['name'] | undefined;
    let reached!: () => void;
    const reaching = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const fault: Fault = (what) => {
      // A seed's level is asked for before anything is in flight.
      if (hook === 'prioritize' && (what as CrawlRequest).source === 'seed') return 0;
      reached();
      return new Promise(() => {});
    };
    const options = { userAgent: USER_AGENT, ...HASTE, network: 'any' as const, ...place.options?.(fault) };
    const crawler = hook === undefined ? new Crawler(options) : new Hooked(options, hook, fault);
    const heard = hear(crawler);
    place.prepare?.(crawler, fault);
    const running = crawler.run(site.url('/'));
    await reaching;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const stopping = crawler.stop({ now: true });
      await vi.advanceTimersByTimeAsync(200);
      await stopping;
      await vi.advanceTimersByTimeAsync(10_000);
      await running;
    } finally {
      vi.useRealTimers();
    }
    expect(heard.errors.map(({ error }) => error.code)).toEqual(['CRAWL_HANDLER_TIMEOUT']);
    expect(crawler.running).toBe(false);
  });

  test('may itself wait for the crawl to stop, in every hook', async () => {
    await using site = await serve(PAGES);
    for (const name of AWAITED) {
      let crawler: Crawler | undefined;
      const place = PLACES[name] as Place;
      const hook = /^the hook (\w+)$/.exec(name)?.[1] as Hooked['name'] | undefined;
      const fault: Fault = async (what) => {
        if ((what as CrawlRequest | undefined)?.source !== 'seed') await crawler?.stop();
        if (hook === 'shouldVisit') return true;
        return hook === 'prioritize' ? 0 : [];
      };
      const options = { userAgent: USER_AGENT, ...HASTE, network: 'any' as const, ...place.options?.(fault) };
      crawler = hook === undefined ? new Crawler(options) : new Hooked(options, hook, fault);
      place.prepare?.(crawler, fault);
      const { pages } = await crawler.run(site.url('/'));
      expect(pages).toBe(1);
    }
  });

  test('may itself wait for the crawl to stop or to pause, where it ranks seeds and URLs that are added', async () => {
    await using site = await serve(PAGES);
    for (const verb of ['stop', 'pause'] as const) {
      for (const source of ['seed', 'added']) {
        const rank = async (request: unknown): Promise<number> => {
          if ((request as CrawlRequest).source !== source) return 0;
          await crawler[verb]();
          crawler.resume();
          return 0;
        };
        const crawler = new Hooked({ userAgent: USER_AGENT, ...HASTE, network: 'any' }, 'prioritize', rank);
        const heard = hear(crawler);
        crawler.once('start', () => void crawler.add(site.url('/2')).catch(() => {}));
        const { pages } = await crawler.run(site.url('/'));
        expect(heard.errors).toEqual([]);
        if (verb === 'stop' && source === 'seed') expect(pages).toBe(0);
        if (verb === 'pause') expect(heard.urls.map(pathOf).sort()).toEqual(['/', '/1', '/2']);
      }
    }
  });

  test('sets no timer where code answers at once', async () => {
    await using site = await serve(PAGES);
    const timers = vi.spyOn(globalThis, 'setTimeout');
    try {
      await crawlWith(site, 'the hook visit', () => {}, { handlerTimeoutMs: 123_456 });
      expect(timers.mock.calls.filter(([, ms]) => ms !== undefined && ms > 100_000 && ms < 125_000)).toEqual([]);
      await crawlWith(site, 'the hook visit', async () => {}, { handlerTimeoutMs: 123_456 });
      expect(timers.mock.calls.filter(([, ms]) => ms !== undefined && ms > 120_001 && ms < 125_000)).toHaveLength(1);
    } finally {
      timers.mockRestore();
    }
  });

  test('is not the reader of pages(), who may take all the time he wants', async () => {
    await using site = await serve(PAGES);
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', handlerTimeoutMs: 1 });
    const heard = hear(crawler);
    const read: string[] = [];
    for await (const page of crawler.pages(site.url('/'))) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      read.push(pathOf(page.url));
    }
    expect(read.sort()).toEqual(['/', '/1', '/2']);
    expect(heard.errors).toEqual([]);
  });

  test('a process that has stopped its crawl ends, whatever is still open', async () => {
    const { dist, remove } = compile('user-faults');
    await using site = await serve(PAGES);
    try {
      const script = `
        import { Crawler } from ${JSON.stringify(`${dist}/index.js`)};
        const crawler = new Crawler({ userAgent: ${JSON.stringify(USER_AGENT)}, network: 'any', minDelayMs: 0, handlerTimeoutMs: 200 });
        crawler.on('error', () => {});
        crawler.on('page', () => { void crawler.stop({ now: true }); return new Promise(() => {}); });
        await crawler.run(${JSON.stringify(site.url('/'))});
        console.log('ended');`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let out = '';
      child.stdout.on('data', (chunk) => {
        out += chunk;
      });
      const [code] = await once(child, 'close');
      expect([code, out]).toEqual([0, 'ended\n']);
    } finally {
      remove();
    }
  });
});

describe('a store', () => {
  const VERBS = ['offer', 'lease', 'settle', 'stats', 'getMeta', 'setMeta', 'nextDueAt', 'flush'] as const;

  function spoilt(verb: (typeof VERBS)[number], fault: Fault): CrawlStore {
    const store = new MemoryStore();
    return Object.defineProperty(store, verb, { value: fault });
  }

  test.each(VERBS.flatMap((verb) => FAULTS.map(([what, fault]) => [verb, what, fault] as const)))(
    'whose %s %s ends the run with an error of the library',
    async (verb, _, fault) => {
      await using site = await serve(PAGES);
      const options = { userAgent: USER_AGENT, ...HASTE, network: 'any' as const };
      const crawler = new Crawler({ ...options, store: spoilt(verb, fault) });
      hear(crawler);
      await expect(crawler.run(site.url('/'))).rejects.toBeInstanceOf(CrawlError);
      expect(crawler.running).toBe(false);
    },
  );

  test.each(VERBS)('whose %s never answers is left a minute after stop({ now: true })', async (verb) => {
    await using site = await serve(PAGES);
    let reached!: () => void;
    const reaching = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const hang: Fault = () => {
      reached();
      return new Promise(() => {});
    };
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', store: spoilt(verb, hang) });
    hear(crawler);
    const running = crawler.run(site.url('/'));
    const failing = expect(running).rejects.toMatchObject({ code: 'CRAWL_STORE_FAILED' });
    await reaching;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const stopping = crawler.stop({ now: true });
      await vi.advanceTimersByTimeAsync(60_000);
      await failing;
      await stopping;
    } finally {
      vi.useRealTimers();
    }
    expect(crawler.running).toBe(false);
  });
});

describe('options that are changed after the crawler was made', () => {
  test('are the crawler’s no more, however deep', async () => {
    await using site = await serve({ ...PAGES, '/a.zip': 'zip' });
    const headers: Record<string, string> = { 'x-mine': 'first' };
    const written: string[] = [];
    const sinks = [{ write: async (page: Page) => void written.push(pathOf(page.url)), close: async () => {} }];
    const allow = [/\/(1|2)?$/];
    const ca = [CERTIFICATE];
    const seeds = [new URL(site.url('/'))];
    const options = {
      userAgent: USER_AGENT,
      ...HASTE,
      network: 'any' as CrawlerOptions['network'],
      headers,
      sinks,
      timeouts: { page: 5_000 },
      maxBodyBytes: { html: 10_000, other: 10_000 },
      robots: { robots401403: 'allow' as const },
      canonical: { stripTracking: true },
      tls: { ca },
      filter: UrlFilter.matching({ allow }),
      maxDepth: 5,
    };
    const crawler = new Crawler(options);
    headers['x-mine'] = 'second';
    headers['content-length'] = '5';
    sinks.length = 0;
    allow.length = 0;
    ca.push('x');
    options.maxDepth = 0;
    options.timeouts.page = 1;
    options.maxBodyBytes.html = 1;
    options.canonical.stripTracking = false;
    options.network = () => false;
    const heard = hear(crawler);
    const running = crawler.run(seeds);
    seeds[0]!.pathname = '/nowhere';
    seeds.length = 0;
    const stats = await running;
    expect(heard.errors).toEqual([]);
    expect(heard.urls.map(pathOf)).toEqual(['/', '/1', '/2']);
    expect(heard.pages.every((page) => !page.truncated)).toBe(true);
    expect(written).toEqual(['/', '/1', '/2']);
    expect(site.log.every((entry) => entry.headers['x-mine'] === 'first')).toBe(true);
    expect(stats.pages).toBe(3);
  });
});

describe('values at the edge', () => {
  afterEach(() => vi.restoreAllMocks());
  const LARGE = [
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32,
    2 ** 40,
    Number.MAX_SAFE_INTEGER,
    Number.MAX_VALUE,
    Number.POSITIVE_INFINITY,
  ];
  const TIMES = [
    'minDelayMs',
    'maxDelayMs',
    'ipDelayMs',
    'backoffMs',
    'maxCrawlDelayMs',
    'maxDurationMs',
    'statsEveryMs',
    'handlerTimeoutMs',
    'delayFactor',
    'maxDepth',
    'maxPages',
    'maxPagesPerHost',
    'connectionsPerHost',
    'maxRedirects',
    'retries',
    'statsEveryPages',
    'maxUrlLength',
    'maxBodyBytes',
    'concurrency',
    'timeouts.connect',
    'timeouts.headers',
    'timeouts.page',
  ];

  test.each(TIMES)('%s is taken up to infinity, or refused by name, and never overflows a timer', async (name) => {
    await using site = await serve({ '/': 'one page' });
    const warnings: string[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning.name);
    process.on('warning', onWarning);
    try {
      for (const value of LARGE) {
        const [option, part] = name.split('.');
        const given = part === undefined ? { [option as string]: value } : { [option as string]: { [part]: value } };
        const options = {
          userAgent: USER_AGENT,
          ...HASTE,
          network: 'any',
          respectRobots: false,
          ...given,
        } as CrawlerOptions;
        let crawler: Crawler;
        try {
          crawler = new Crawler(options);
        } catch (thrown) {
          expect(thrown).toMatchObject({
            code: 'CRAWL_OPTION_INVALID',
            message: expect.stringContaining(part ?? name),
          });
          continue;
        }
        crawler.on('page', async () => {});
        const stats = await crawler.run(site.url('/'));
        expect([value, stats.pages]).toEqual([value, 1]);
      }
      await new Promise((resolve) => setImmediate(resolve));
      expect(warnings).toEqual([]);
    } finally {
      process.off('warning', onWarning);
    }
  });

  test('a URL of 100 KB is refused by name, as a seed, a link, an added URL and the target of a redirect', async () => {
    const long = `/${'x'.repeat(100_000)}`;
    await using site = await serve({
      // The extractor leaves out what is longer than this.
      '/': linkPage([`/${'z'.repeat(60_000)}`, '/moved']),
      '/moved': (response) => void response.writeHead(302, { location: `/${'y'.repeat(10_000)}` }).end(),
    });
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any' });
    const heard = hear(crawler);
    crawler.once('page', () => void crawler.add(site.url(`${long}added`)));
    await crawler.run([site.url('/'), site.url(`${long}seed`)]);
    expect(heard.urls.map(pathOf)).toEqual(['/']);
    expect(heard.skips.map(({ reason }) => reason)).toEqual(Array(4).fill('url-too-long'));
    expect(heard.errors).toEqual([]);
  });

  test('a URL of 100 KB can be asked for where `maxUrlLength` allows it', async () => {
    const long = `/${'x'.repeat(12_000)}`;
    await using site = await serve({ '/': linkPage([long]), [long]: (response) => html(response, 'far') });
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', maxUrlLength: 200_000 });
    const heard = hear(crawler);
    await crawler.run(site.url('/'));
    expect(heard.urls.map(pathOf)).toEqual(['/', long]);
    expect(await crawler.explain(site.url(long))).toMatchObject({ state: 'done' });
  });

  test('100,000 seeds may be given at once', async () => {
    const seeds = Array.from({ length: 100_000 }, (_, i) => `http://h${i % 1000}.example.test/${i}`);
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, dnsLookup: loopbackLookup() });
    crawler.on('request', () => void crawler.stop({ now: true }));
    const { offered } = await crawler.run(seeds);
    expect(offered).toBe(100_000);
  });
});
