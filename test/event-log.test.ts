import { EventEmitter } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CrawlError, isCrawlError } from '../src/errors.ts';
import { EVENT_LOG_DEFAULTS, EventLog, type EventLogOptions, type MonitoredCrawler } from '../src/event-log.ts';
import { StatsCollector } from '../src/stats.ts';
import type { CrawlerEvents, CrawlStats, Explanation, Page } from '../src/types.ts';

const AT = Date.UTC(2026, 2, 1, 9, 30);
const clock = { now: () => AT };

class FakeCrawler extends EventEmitter<CrawlerEvents> implements MonitoredCrawler {
  explain?(url: string): Promise<Explanation>;
}

const page = (url = 'http://a.example/', more: Partial<Page> = {}) =>
  ({
    url,
    finalUrl: url,
    status: 200,
    contentType: 'text/html',
    bytes: 12_345,
    truncated: false,
    timings: { total: 84.4 },
    depth: 2,
    referrer: 'http://a.example/from',
    ...more,
  }) as Page;

function stats(pages: number, more: Partial<CrawlStats> = {}): CrawlStats {
  return { ...new StatsCollector({ clock }).snapshot({ queued: 3, inFlight: 1 }), pages, ...more };
}

/** A stream that keeps what it gets. */
function memory() {
  let text = '';
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  return { stream, text: () => text, lines: () => text.split('\n').slice(0, -1) };
}

/** Every event once, in the order of a URL's life. */
function emitAll(crawler: FakeCrawler) {
  const error = new CrawlError('CRAWL_CONNECT_FAILED', 'Refused', {
    cause: new Error('ECONNREFUSED'),
    retryable: true,
  });
  crawler.emit('start');
  crawler.emit('offer', {
    url: 'http://a.example/l',
    source: 'a/href',
    rel: ['nofollow'],
    nofollow: true,
    text: 'a link',
  });
  crawler.emit('skip', 'http://b.example/', 'off-host', 'http://a.example/');
  crawler.emit('request', 'http://a.example/');
  crawler.emit('redirect', 'http://a.example/', 'http://a.example/x', 301);
  crawler.emit('retry', 'http://a.example/', error, 30_000);
  crawler.emit('page', page());
  crawler.emit('duplicate', page(), 'http://a.example/first');
  crawler.emit('unchanged', 'http://a.example/', { etag: '"1"', fetchedAt: new Date(Date.UTC(2026, 0, 1)) });
  crawler.emit('warning', { code: 'charset-unknown', message: 'No such name' }, 'http://a.example/');
  crawler.emit('error', error, 'http://a.example/');
  crawler.emit('host', 'a.example', { status: 'backing-off', nextAt: AT + 30_000, delayMs: 1000 });
  crawler.emit('stats', stats(1000));
  crawler.emit('checkpoint');
  crawler.emit('pause');
  crawler.emit('resume');
  crawler.emit('end', stats(1234));
}

let directory: string;
let warnings: Error[];
const onWarning = (warning: Error) => warnings.push(warning);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'event-log-'));
  warnings = [];
  process.on('warning', onWarning);
});
afterEach(() => {
  process.off('warning', onWarning);
  rmSync(directory, { recursive: true });
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('lines for people', () => {
  test('say time, event, subject and facts, one event a line', async () => {
    const out = memory();
    const crawler = new FakeCrawler();
    const log = new EventLog({ stream: out.stream, clock }).monitor(crawler);
    emitAll(crawler);
    await log.close();
    const time = out.lines()[0]!.slice(0, 29);
    expect(time).toMatch(/^2026-0[23]-\d\dT\d\d:\d\d:00\.000[+-]\d\d:\d\d$/);
    expect(Date.parse(time)).toBe(AT);
    expect(out.lines().map((line) => line.slice(31))).toEqual([
      'start',
      'offer       http://a.example/l  a/href  nofollow',
      'skip        http://b.example/  off-host  from http://a.example/',
      'request     http://a.example/',
      'redirect    http://a.example/  301  to http://a.example/x',
      'retry       http://a.example/  in 30.0 s  CRAWL_CONNECT_FAILED  Refused',
      'page        http://a.example/  200  text/html  12.3 kB  84 ms  depth 2',
      'duplicate   http://a.example/  same as http://a.example/first',
      'unchanged   http://a.example/  since 2026-01-01T00:00:00.000Z',
      'warning     http://a.example/  charset-unknown  No such name',
      'error       http://a.example/  CRAWL_CONNECT_FAILED  Refused',
      'host        a.example  backing-off  delay 1.0 s  next 2026-03-01T09:30:30.000Z',
      'stats       1000 pages  0 requests  3 queued  0 errors  0 skipped  0 B  0.0 pages/s  0 ms',
      'checkpoint',
      'pause',
      'resume',
      'end         1234 pages  0 requests  3 queued  0 errors  0 skipped  0 B  0.0 pages/s  0 ms',
    ]);
    expect(log.lost).toBe(0);
  });

  test.each([
    [999, '999 B'],
    [1000, '1.0 kB'],
    [15_728_640, '15.7 MB'],
    [2e18, '2000.0 PB'],
  ])('%i bytes read as %s', async (bytes, shown) => {
    const out = memory();
    const crawler = new FakeCrawler();
    new EventLog({ stream: out.stream }).monitor(crawler);
    crawler.emit('page', page('http://a.example/', { bytes, truncated: true }));
    expect(out.text()).toContain(`  ${shown} (cut)  `);
  });

  test('carry the name of the crawler where it has one', async () => {
    const out = memory();
    const [one, two] = [new FakeCrawler(), new FakeCrawler()];
    new EventLog({ stream: out.stream }).monitor(one, { name: 'one' }).monitor(two, { name: 'two\n' });
    one.emit('request', 'http://a.example/');
    two.emit('request', 'http://b.example/');
    expect(out.lines().map((line) => line.slice(31))).toEqual([
      'request     [one]  http://a.example/',
      'request     [two\\u000a]  http://b.example/',
    ]);
  });
});

describe('lines for programs', () => {
  test('are one object an event, with the fields the documentation lists', async () => {
    const out = memory();
    const crawler = new FakeCrawler();
    const log = new EventLog({ stream: out.stream, format: 'jsonl', clock }).monitor(crawler, { name: 'mine' });
    emitAll(crawler);
    await log.close();
    const objects = out.lines().map((line) => JSON.parse(line));
    expect(objects.map((object) => object.event)).toEqual(EVENT_LOG_DEFAULTS.events);
    for (const object of objects) expect(object).toMatchObject({ time: '2026-03-01T09:30:00.000Z', crawler: 'mine' });
    const of = (event: string) => {
      const { time: _, crawler: __, event: ___, ...fields } = objects.find((object) => object.event === event);
      return fields;
    };
    expect(of('offer')).toEqual({
      url: 'http://a.example/l',
      source: 'a/href',
      rel: ['nofollow'],
      nofollow: true,
      text: 'a link',
    });
    expect(of('skip')).toEqual({ url: 'http://b.example/', reason: 'off-host', from: 'http://a.example/' });
    expect(of('redirect')).toEqual({ url: 'http://a.example/', status: 301, to: 'http://a.example/x' });
    expect(of('retry')).toEqual({
      url: 'http://a.example/',
      code: 'CRAWL_CONNECT_FAILED',
      message: 'Refused',
      afterMs: 30_000,
    });
    expect(of('page')).toEqual({
      url: 'http://a.example/',
      status: 200,
      contentType: 'text/html',
      bytes: 12_345,
      ms: 84,
      depth: 2,
      referrer: 'http://a.example/from',
    });
    expect(of('duplicate')).toEqual({ url: 'http://a.example/', firstUrl: 'http://a.example/first' });
    expect(of('warning')).toEqual({ url: 'http://a.example/', code: 'charset-unknown', message: 'No such name' });
    expect(of('unchanged')).toEqual({ url: 'http://a.example/', etag: '"1"', fetchedAt: '2026-01-01T00:00:00.000Z' });
    expect(of('error')).toEqual({
      url: 'http://a.example/',
      code: 'CRAWL_CONNECT_FAILED',
      message: 'Refused',
      retryable: true,
      cause: 'ECONNREFUSED',
    });
    expect(of('host')).toEqual({
      host: 'a.example',
      state: 'backing-off',
      delayMs: 1000,
      nextAt: '2026-03-01T09:30:30.000Z',
    });
    expect(of('end')).toMatchObject({ pages: 1234, queued: 3, latencyMs: { p50: 0 }, statuses: {} });
    expect(of('end')).not.toHaveProperty('perHost');
    const documentation = readFileSync(new URL('../docs/event-log.md', import.meta.url), 'utf8');
    for (const object of objects) {
      for (const field of ['end', 'stats'].includes(object.event) ? ['pages'] : Object.keys(object)) {
        expect(documentation, `${object.event}: ${field}`).toContain(`\`${field}\``);
      }
    }
  });

  test('only the events asked for are written', () => {
    const out = memory();
    const crawler = new FakeCrawler();
    new EventLog({ stream: out.stream, format: 'jsonl', events: ['page', 'end', 'page'] }).monitor(crawler);
    emitAllWithErrorListener(crawler);
    expect(out.lines().map((line) => JSON.parse(line).event)).toEqual(['page', 'end']);
  });
});

function emitAllWithErrorListener(crawler: FakeCrawler) {
  crawler.on('error', () => {});
  emitAll(crawler);
}

describe('text from the network', () => {
  const nasty = 'http://a.example/\r\nFORGED\u001b[31m\u009b\u2028\u202e\ud800end';

  test.each(['text', 'jsonl'] as const)('cannot break a line or drive a terminal (%s)', (format) => {
    const out = memory();
    const crawler = new FakeCrawler();
    new EventLog({ stream: out.stream, format }).monitor(crawler);
    crawler.emit('skip', nasty, nasty, nasty);
    crawler.emit('error', new CrawlError('CRAWL_HTTP_STATUS', nasty), nasty);
    crawler.emit('page', page(nasty, { contentType: nasty }));
    expect(out.lines()).toHaveLength(3);
    expect(out.text()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/);
    expect(out.text()).not.toMatch(/\p{Surrogate}/u);
    expect(out.text()).toContain('\\u009b');
  });

  test('reads back from JSON as it was, and is one line whatever it is (property)', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (url) => {
        const jsonl = memory();
        const text = memory();
        const crawler = new FakeCrawler();
        new EventLog({ stream: jsonl.stream, format: 'jsonl' }).monitor(crawler);
        new EventLog({ stream: text.stream }).monitor(crawler);
        crawler.emit('request', url);
        expect(jsonl.lines()).toHaveLength(1);
        expect(JSON.parse(jsonl.text()).url).toBe(url);
        expect(text.lines()).toHaveLength(1);
      }),
    );
  });

  test.each(['text', 'jsonl'] as const)('is cut where it is endless (%s)', (format) => {
    const out = memory();
    const crawler = new FakeCrawler();
    new EventLog({ stream: out.stream, format }).monitor(crawler);
    crawler.emit('request', `http://a.example/${'x'.repeat(1_000_000)}`);
    expect(out.text().length).toBeLessThan(5000);
    expect(out.text()).toContain('xxx...');
  });
});

describe('a file', () => {
  test('is opened with the first line, its folders made, and added to', async () => {
    const path = join(directory, 'deep', 'er', 'crawl.log');
    for (const run of [1, 2]) {
      const crawler = new FakeCrawler();
      const log = new EventLog({ path, format: 'jsonl' });
      log.monitor(crawler);
      expect(existsSync(path)).toBe(run === 2);
      crawler.emit('request', `http://a.example/${run}`);
      await log.close();
    }
    const lines = readFileSync(path, 'utf8').split('\n');
    expect(lines.map((line) => line && JSON.parse(line).url)).toEqual(['http://a.example/1', 'http://a.example/2', '']);
  });

  test('whose last line a crash cut short is gone on with in a new line', async () => {
    const path = join(directory, 'crawl.jsonl');
    writeFileSync(path, '{"time":"2026');
    const crawler = new FakeCrawler();
    const log = new EventLog({ path, format: 'jsonl' }).monitor(crawler);
    crawler.emit('request', 'http://a.example/');
    await log.close();
    const [torn, whole] = readFileSync(path, 'utf8').split('\n');
    expect(torn).toBe('{"time":"2026');
    expect(JSON.parse(whole!).url).toBe('http://a.example/');
  });

  test('is not made where nothing is written', async () => {
    const path = join(directory, 'crawl.log');
    const log = new EventLog({ path }).monitor(new FakeCrawler());
    await log.close();
    expect(existsSync(path)).toBe(false);
  });

  test('has all lines when close() resolves, ten thousand of them', async () => {
    const path = join(directory, 'crawl.log');
    const crawler = new FakeCrawler();
    const log = new EventLog({ path }).monitor(crawler);
    for (let i = 0; i < 10_000; i++) crawler.emit('request', `http://a.example/${i}`);
    await log.close();
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(10_001);
    expect(log.lost).toBe(0);
  });
});

describe('what cannot be written', () => {
  test.runIf(existsSync('/dev/full'))(
    'to a full disk is counted and reported once, and the crawl goes on',
    async () => {
      const crawler = new FakeCrawler();
      const log = new EventLog({ path: '/dev/full' }).monitor(crawler);
      crawler.emit('request', 'http://a.example/1');
      crawler.emit('request', 'http://a.example/2');
      await log.close();
      await settled();
      expect(log.lost).toBe(2);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]?.message).toContain('/dev/full');
      expect(warnings[0]?.message).toContain('ENOSPC');
    },
  );

  test('to a path that is a folder is counted and reported once', async () => {
    const crawler = new FakeCrawler();
    const log = new EventLog({ path: directory }).monitor(crawler);
    crawler.emit('request', 'http://a.example/1');
    await log.close();
    await settled();
    expect(log.lost).toBe(1);
    expect(warnings.map((warning) => warning.message).join()).toContain('EISDIR');
  });

  test.each([
    ['that is closed already', (stream: Writable) => stream.destroy()],
    ['that was ended', (stream: Writable) => stream.end()],
    [
      'that throws',
      (stream: Writable) => {
        stream.write = () => {
          throw new Error('broken');
        };
      },
    ],
  ])('to a stream %s is counted, and nothing throws', async (_, break_) => {
    const { stream } = memory();
    break_(stream);
    const crawler = new FakeCrawler();
    const log = new EventLog({ stream }).monitor(crawler);
    for (let i = 0; i < 5; i++) crawler.emit('request', 'http://a.example/');
    await settled();
    crawler.emit('page', page());
    await log.close();
    await settled();
    expect(log.lost).toBe(6);
    expect(warnings).toHaveLength(1);
  });

  test('after a stream failed half-way, the page event is held no longer', async () => {
    const stream = new PassThrough({ highWaterMark: 1 });
    const crawler = new FakeCrawler();
    const log = new EventLog({ stream, maxBufferBytes: 10 }).monitor(crawler);
    const held = waitOf(crawler);
    expect(held).toBeInstanceOf(Promise);
    stream.destroy(new Error('cable cut'));
    await held;
    expect(waitOf(crawler)).toBeUndefined();
    expect(log.lost).toBeGreaterThan(0);
    await log.close();
  });

  test('because a page cannot be read is counted', () => {
    const out = memory();
    const crawler = new FakeCrawler();
    const log = new EventLog({ stream: out.stream }).monitor(crawler);
    crawler.emit('page', Object.create(null));
    crawler.emit('request', 'http://a.example/');
    expect(log.lost).toBe(1);
    expect(out.lines()).toHaveLength(1);
  });
});

/** What the page listener returns: a promise where the crawl is to wait. */
function waitOf(crawler: FakeCrawler): unknown {
  const [listener] = crawler.listeners('page') as ((page: Page) => unknown)[];
  return listener?.(page());
}

describe('back-pressure', () => {
  test('the page event is held while more than maxBufferBytes wait, and let go when the stream has caught up', async () => {
    const pending: (() => void)[] = [];
    const stream = new Writable({ write: (_chunk, _encoding, done) => void pending.push(done) });
    const crawler = new FakeCrawler();
    new EventLog({ stream, maxBufferBytes: 500 }).monitor(crawler);
    let lines = 0;
    let wait: unknown;
    do {
      wait = waitOf(crawler);
      lines++;
    } while (wait === undefined);
    expect(lines).toBeGreaterThan(2);
    let released = false;
    const after = (wait as Promise<void>).then(() => {
      released = true;
    });
    await settled();
    expect(released).toBe(false);
    while (pending.length > 0) {
      pending.shift()?.();
      await settled();
    }
    await after;
    expect(waitOf(crawler)).toBeUndefined();
  });

  test('what comes beside pages is kept up to a bound, and lost beyond', async () => {
    const stream = new Writable({ write: () => {} });
    const crawler = new FakeCrawler();
    const log = new EventLog({ stream, maxBufferBytes: 1000 }).monitor(crawler);
    for (let i = 0; i < 1000; i++) crawler.emit('request', `http://a.example/${i}`);
    expect(log.lost).toBeGreaterThan(500);
    expect(stream.writableLength).toBeLessThan(20_000);
  });
});

describe('monitor() and close()', () => {
  test('a crawler is followed once, and let go on close', async () => {
    const out = memory();
    const crawler = new FakeCrawler();
    const log = new EventLog({ stream: out.stream, statsDirectory: directory });
    expect(log.monitor(crawler).monitor(crawler)).toBe(log);
    crawler.emit('request', 'http://a.example/');
    expect(out.lines()).toHaveLength(1);
    await log.close();
    await log.close();
    for (const event of EVENT_LOG_DEFAULTS.events) expect(crawler.listenerCount(event)).toBe(0);
    expect(out.stream.writableEnded, 'a stream passed in is not closed').toBe(false);
    expect(out.stream.listenerCount('error')).toBe(0);
    expect(() => log.monitor(crawler)).toThrow(expect.objectContaining({ code: 'CRAWL_CLOSED' }));
  });

  test('writes to standard output where nothing else is said', async () => {
    const written: string[] = [];
    const write = process.stdout.write;
    process.stdout.write = ((chunk: string, done: () => void) => {
      written.push(chunk);
      done();
      return true;
    }) as typeof write;
    try {
      const crawler = new FakeCrawler();
      const log = new EventLog().monitor(crawler);
      crawler.emit('request', 'http://a.example/');
      await log.close();
    } finally {
      process.stdout.write = write;
    }
    expect(written.join('')).toContain('http://a.example/');
  });

  test('can be left to await using', async () => {
    const path = join(directory, 'crawl.log');
    const crawler = new FakeCrawler();
    {
      await using log = new EventLog({ path });
      log.monitor(crawler);
      crawler.emit('request', 'http://a.example/');
    }
    expect(readFileSync(path, 'utf8')).toContain('http://a.example/');
  });
});

describe('explain()', () => {
  const answer = (state: Explanation['state'], reason?: string): Explanation => ({
    url: 'http://a.example/',
    canonical: 'http://a.example/',
    host: 'a.example',
    state,
    fetches: [],
    reason,
  });
  const knowing = (explanation: Explanation) => Object.assign(new FakeCrawler(), { explain: async () => explanation });

  test('asks the crawlers in turn until one knows the URL', async () => {
    const log = new EventLog({ stream: memory().stream })
      .monitor(new FakeCrawler())
      .monitor(knowing(answer('unknown')))
      .monitor(knowing(answer('skipped', 'robots')));
    expect(await log.explain('http://a.example/')).toEqual(answer('skipped', 'robots'));
  });

  test('says unknown where none knows it', async () => {
    const log = new EventLog({ stream: memory().stream }).monitor(knowing(answer('unknown', 'off-host')));
    expect(await log.explain('http://a.example/')).toEqual(answer('unknown', 'off-host'));
  });

  test('rejects where nobody can be asked, and says what to do', async () => {
    const log = new EventLog({ stream: memory().stream }).monitor(new FakeCrawler());
    await expect(log.explain('http://a.example/')).rejects.toMatchObject({
      message: expect.stringContaining('monitor('),
    });
  });
});

describe('statistics files', () => {
  const files = () => readdirSync(directory).sort();
  const read = (name: string) => readFileSync(join(directory, name), 'utf8');
  const pagesIn = (name: string) => [...read(name).matchAll(/^pages: (\d+)$/gm)].map((match) => Number(match[1]));

  async function run(pages: readonly number[], end: number, options: EventLogOptions = {}, name?: string) {
    const crawler = new FakeCrawler();
    const log = new EventLog({ stream: memory().stream, statsDirectory: directory, ...options });
    log.monitor(crawler, name === undefined ? {} : { name });
    for (const count of pages) crawler.emit('stats', stats(count));
    crawler.emit('end', stats(end));
    await log.close();
    return log;
  }

  test('get a record whenever a thousand pages more were crawled, and at the end', async () => {
    await run([0, 10, 999, 1000, 1001, 1999, 2500, 2700, 5100], 5200);
    expect(files()).toEqual(['stats-0001.txt']);
    expect(pagesIn('stats-0001.txt')).toEqual([1000, 2500, 5100, 5200]);
  });

  test('hold ten records each', async () => {
    await run(
      Array.from({ length: 24 }, (_, i) => (i + 1) * 1000),
      24_000,
    );
    expect(files()).toEqual(['stats-0001.txt', 'stats-0002.txt', 'stats-0003.txt']);
    expect(files().map((name) => pagesIn(name).length)).toEqual([10, 10, 5]);
    expect(pagesIn('stats-0002.txt')[0]).toBe(11_000);
  });

  test('are gone on with after a restart, behind the last record', async () => {
    await run([1000, 2000], 2400);
    await run([2500, 2900, 3000], 3100);
    expect(pagesIn('stats-0001.txt')).toEqual([1000, 2000, 2400, 3000, 3100]);
    await run(
      Array.from({ length: 6 }, (_, i) => (i + 4) * 1000),
      9000,
    );
    expect(files().map((name) => pagesIn(name).length)).toEqual([10, 2]);
  });

  test('begin anew for another crawl in the same folder', async () => {
    await run([1000, 2000], 2400);
    await run([1000], 1100);
    expect(pagesIn('stats-0001.txt')).toEqual([1000, 2000, 2400, 1000, 1100]);
  });

  test('count the pages of each crawler apart', async () => {
    const crawlers = { one: new FakeCrawler(), two: new FakeCrawler() };
    const log = new EventLog({ stream: memory().stream, statsDirectory: directory, statsEveryPages: 10 });
    log.monitor(crawlers.one, { name: 'one' }).monitor(crawlers.two, { name: 'two' });
    crawlers.one.emit('stats', stats(10));
    crawlers.two.emit('stats', stats(5));
    crawlers.two.emit('stats', stats(10));
    crawlers.one.emit('stats', stats(15));
    await log.close();
    expect([...read('stats-0001.txt').matchAll(/^crawler: (.*)$/gm)].map((match) => match[1])).toEqual(['one', 'two']);
    await run([19, 20], 21, { statsEveryPages: 10 }, 'one');
    expect(pagesIn('stats-0001.txt')).toEqual([10, 10, 20, 21]);
  });

  test('say what the crawl did, and nothing the network wrote can add a line', async () => {
    const collector = new StatsCollector({ clock });
    collector.requested('a.example', 0);
    collector.answered('a.example', 200, 'text/html\npages: 7', 5000, 100, 100);
    collector.delivered('a.example');
    collector.requested('a.example', 1100);
    collector.skipped('robots', 12);
    const crawler = new FakeCrawler();
    const log = new EventLog({ stream: memory().stream, statsDirectory: directory, clock }).monitor(crawler);
    crawler.emit('end', collector.snapshot({ queued: 4, inFlight: 1 }));
    await log.close();
    const text = read('stats-0001.txt');
    expect(pagesIn('stats-0001.txt')).toEqual([1]);
    for (const line of [
      'requests: 2',
      'skipped: 12 robots 12',
      'bytes: 5000 (5.0 kB)',
      'statuses: 200 1',
      'hosts: 1 a.example 1 (gap 1.0 s)',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
  });

  test('that cannot be written are counted and reported, and the lines go on', async () => {
    writeFileSync(join(directory, 'file'), '');
    const out = memory();
    const log = await run([1000], 1000, { statsDirectory: join(directory, 'file', 'stats'), stream: out.stream });
    expect(log.lost).toBe(2);
    expect(out.lines()).toHaveLength(2);
    await settled();
    expect(warnings).toHaveLength(1);
  });

  test('leave files of other names alone', async () => {
    for (const name of ['stats-0003.txt.bak', 'stats-x.txt', 'notes.txt']) writeFileSync(join(directory, name), 'x');
    await run([], 5);
    expect(files()).toContain('stats-0001.txt');
    expect(read('notes.txt')).toBe('x');
  });
});

describe('options', () => {
  test.each<[string, object, string]>([
    ['both stream and path', { stream: process.stdout, path: 'x' }, 'CRAWL_OPTION_CONFLICT'],
    ['no stream', { stream: {} }, 'CRAWL_OPTION_INVALID'],
    ['an empty path', { path: '' }, 'CRAWL_OPTION_INVALID'],
    ['a path with a NUL', { path: 'a\0b' }, 'CRAWL_OPTION_INVALID'],
    ['another format', { format: 'xml' }, 'CRAWL_OPTION_INVALID'],
    ['an unknown event', { events: ['pagee'] }, 'CRAWL_OPTION_INVALID'],
    ['one event as a string', { events: 'page' }, 'CRAWL_OPTION_INVALID'],
    ['no buffer', { maxBufferBytes: 0 }, 'CRAWL_OPTION_INVALID'],
    ['a slip of the pen', { statDirectory: 'x' }, 'CRAWL_OPTION_UNKNOWN'],
  ])('%s is refused', (_, options, code) => {
    let thrown: unknown;
    try {
      new EventLog(options as EventLogOptions);
    } catch (error) {
      thrown = error;
    }
    expect(isCrawlError(thrown) && thrown.code).toBe(code);
  });

  test('every event of the crawler has its line', async () => {
    const crawler = new FakeCrawler();
    new EventLog({ stream: memory().stream }).monitor(crawler);
    expect(crawler.eventNames().sort()).toEqual([...EVENT_LOG_DEFAULTS.events].sort());
  });
});
