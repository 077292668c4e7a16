import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Crawler, Frontier, isCrawlError, MemoryStore, RobotsCache } from '../src/index.ts';
import { SteadyClock, steady } from '../src/steady-clock.ts';
import { HASTE, hear, linkPage, USER_AGENT } from './helpers/crawl.ts';
import { rejection } from './helpers/fetcher.ts';
import { startSite } from './helpers/site.ts';

/** A clock that gives these readings, the last one for ever; a function is called. */
function reading(...values: unknown[]): { now: () => number } {
  return {
    now: () => {
      const value = values.length > 1 ? values.shift() : values[0];
      return (typeof value === 'function' ? value() : value) as number;
    },
  };
}

const BROKEN: readonly (readonly [name: string, value: unknown])[] = [
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['a time before 1970', -1],
  ['a time that no Date can tell', 1e300],
  ['undefined', undefined],
  ['null', null],
  ['a text', '1000'],
  ['a BigInt', 1n],
  ['a Date', new Date(0)],
  ['a promise', Promise.resolve(0)],
  [
    'an object that throws when it is looked at',
    {
      valueOf: () => {
        throw new Error('no');
      },
    },
  ],
  [
    'a throw',
    () => {
      throw new Error('the clock fell down');
    },
  ],
];

describe('SteadyClock', () => {
  test('gives what the clock beneath gives, while that goes on', () => {
    const clock = steady(reading(5, 7, 7, 1000.5));
    expect([clock.now(), clock.now(), clock.now(), clock.now()]).toEqual([5, 7, 7, 1000.5]);
    expect(clock.fault).toBeUndefined();
    expect(steady(clock)).toBe(clock);
  });

  test('stands still when the clock is set back, and goes on from there at its pace', () => {
    const clock = steady(reading(1000, 400, 410, 100, 150, 2000));
    expect(Array.from({ length: 6 }, () => clock.now())).toEqual([1000, 1000, 1010, 1010, 1060, 2910]);
    expect(clock.fault).toBeUndefined();
  });

  test.each(BROKEN)('takes %s for no time, says so, and goes on', async (_, value) => {
    const clock = steady(reading(1000, value));
    expect(clock.now()).toBe(1000);
    const first = clock.now();
    expect(first).toBeGreaterThanOrEqual(1000);
    await expect.poll(() => clock.now()).toBeGreaterThan(first + 5);
    expect(clock.now()).toBeLessThan(60_000);
    expect(clock.fault).toMatchObject({ code: 'CRAWL_HOOK_FAILED', message: expect.stringContaining('"clock"') });
  });

  test('takes a promise for no time, and its rejection harms nobody', async () => {
    const clock = new SteadyClock({ now: (() => Promise.reject(new Error('no time'))) as unknown as () => number });
    expect(clock.now()).toBeGreaterThan(0);
    expect(clock.fault?.message).toContain('tells no time');
    // A rejection that nobody handles is told of between two turns, and fails the test.
    await new Promise((resolve) => setImmediate(resolve));
  });

  test('begins with the time of the machine where there never was one', () => {
    const before = Date.now();
    const clock = new SteadyClock(reading(Number.NaN));
    expect(clock.now()).toBeGreaterThanOrEqual(before);
    expect(clock.now()).toBeLessThanOrEqual(Date.now() + 1000);
  });

  test('never goes back and always gives a time, whatever is beneath', () => {
    const value = fc.oneof(
      fc.double(),
      fc.integer({ min: 0, max: 1e9 }),
      fc.constantFrom(...BROKEN.map(([, bad]) => bad)),
    );
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 30 }), (values) => {
        const clock = steady(reading(...values));
        let last = 0;
        for (let n = 0; n < values.length; n++) {
          const now = clock.now();
          expect(Number.isFinite(now)).toBe(true);
          expect(now).toBeGreaterThanOrEqual(last);
          last = now;
        }
      }),
    );
  });
});

describe('a crawl by a clock of the user’s', () => {
  test.each(BROKEN)('ends with a typed error where it gives %s from the start', async (_, value) => {
    await using site = await startSite((_request, response) => response.end('x'));
    const crawler = new Crawler({ userAgent: USER_AGENT, ...HASTE, network: 'any', clock: reading(value) });
    hear(crawler);
    expect(await rejection(crawler.run(site.url('/')))).toMatchObject({ code: 'CRAWL_HOOK_FAILED' });
    expect(site.log).toHaveLength(0);
    expect(() => crawler.stats()).not.toThrow();
  });

  test.each(BROKEN)('ends with a typed error where it gives %s later, and loses nothing', async (_, value) => {
    await using site = await startSite((request, response) => {
      if (request.url === '/robots.txt') response.writeHead(404).end();
      else response.setHeader('content-type', 'text/html').end(linkPage([1, 2, 3].map((n) => `${request.url}${n}`)));
    });
    const store = await MemoryStore.open();
    let isBroken = false;
    const clock = { now: () => (isBroken ? (typeof value === 'function' ? value() : value) : Date.now()) as number };
    const options = { userAgent: USER_AGENT, ...HASTE, network: 'any', store, maxDepth: 3, concurrency: 2 } as const;
    const crawler = new Crawler({ ...options, clock });
    const first = hear(crawler);
    crawler.on('page', () => {
      isBroken = first.pages.length === 5;
    });
    const error = await rejection(crawler.run(site.url('/')));
    expect(isCrawlError(error, 'CRAWL_HOOK_FAILED')).toBe(true);
    const again = new Crawler(options);
    const second = hear(again);
    await again.run();
    const urls = [...first.urls, ...second.urls];
    expect(new Set(urls).size).toBe(40);
    expect(urls).toHaveLength(40);
  });

  test.each([0, 3_600_000])(
    'keeps its gaps and comes to its end where it is set back, %i ms at a time',
    async (back) => {
      await using site = await startSite((request, response) => {
        if (request.url === '/robots.txt') response.writeHead(404).end();
        else response.setHeader('content-type', 'text/html').end(linkPage(['/1', '/2', '/3', '/4', '/5', '/6']));
      });
      let readings = 0;
      let behind = 0;
      const clock = {
        now: () => {
          if (++readings % 7 === 0) behind += back;
          return Date.now() - behind;
        },
      };
      const crawler = new Crawler({
        userAgent: USER_AGENT,
        ...HASTE,
        minDelayMs: 60,
        network: 'any',
        clock,
      });
      const heard = hear(crawler);
      await crawler.run(site.url('/'));
      expect(heard.errors).toEqual([]);
      expect(heard.pages).toHaveLength(7);
      for (const [index, { at }] of site.log.entries()) {
        const before = site.log[index - 1];
        if (before !== undefined) expect(at - (before.endedAt ?? 0)).toBeGreaterThanOrEqual(58);
      }
      if (back > 0) expect(behind).toBeGreaterThan(back);
    },
  );

  test('is refused where it is none', () => {
    for (const clock of [{}, null, 5, { now: 5 }, Date]) {
      const make = () => new Crawler({ userAgent: USER_AGENT, clock: clock as never });
      if (clock === Date) expect(make).not.toThrow();
      else expect(make).toThrow(expect.objectContaining({ code: 'CRAWL_OPTION_INVALID' }));
    }
  });
});

describe('rooms used alone, by a broken clock', () => {
  test('a frontier leases nothing and says why, and brings to an end what is out', async () => {
    let time: unknown = 1000;
    const frontier = await Frontier.open({ store: await MemoryStore.open(), clock: { now: () => time as number } });
    await frontier.offer(['http://a.example.test/1', 'http://b.example.test/1']);
    const [lease] = await frontier.lease(1);
    time = Number.NaN;
    expect(await rejection(frontier.lease(1))).toMatchObject({ code: 'CRAWL_HOOK_FAILED' });
    expect(await rejection(frontier.nextDueAt())).toMatchObject({ code: 'CRAWL_HOOK_FAILED' });
    const { accepted } = await frontier.settle(lease!, {
      outcome: 'done',
      observation: { endedAt: 1500, status: 200 },
    });
    expect(accepted).toBe(true);
    await frontier.close();
  });

  test('a RobotsCache does not reject', async () => {
    const robots = new RobotsCache({
      source: { getOnce: async (url) => ({ status: 404, headers: {}, body: new Uint8Array(), url }) },
      clock: reading(() => {
        throw new Error('no time');
      }),
    });
    expect(await robots.check('http://a.example.test/', 'testbot')).toMatchObject({ allowed: true });
  });
});
