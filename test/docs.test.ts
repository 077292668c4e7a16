import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Arguments, readArguments } from '../src/cli/arguments.ts';
import { crawlerOptions } from '../src/cli/options.ts';
import { EVENT_LOG_DEFAULTS } from '../src/event-log.ts';
import { FRONTIER_DEFAULTS } from '../src/frontier.ts';
import {
  CRAWL_ERROR_CODES,
  CRAWLER_DEFAULTS,
  Crawler,
  EventLog,
  FileSink,
  Frontier,
  isCrawlError,
  MemoryStore,
  POLITENESS_DEFAULTS,
  RobotsCache,
} from '../src/index.ts';
import { ROBOTS_CACHE_DEFAULTS } from '../src/robots-cache.ts';
import { FILE_SINK_DEFAULTS } from '../src/sink/files/index.ts';
import { LMDB_STORE_DEFAULTS, LmdbStore } from '../src/store/lmdb/index.ts';
import { HOSTILE_SERVER_DEFAULTS, HostileServer } from '../src/testing/index.ts';
import { anchorsOf, DOCS, defaultIn, linksOf, optionRows, quotedIn, readDoc, root, rowsOf } from './helpers/docs.ts';

/** The options that a constructor takes, as it tells whoever misspells one beyond recognition. */
async function knownOptions(call: (options: never) => unknown): Promise<string[]> {
  try {
    await call({ 'no such option, not even nearly': 1 } as never);
  } catch (thrown) {
    if (!isCrawlError(thrown, 'CRAWL_OPTION_UNKNOWN')) throw thrown;
    return /Known are: (.*)\.$/.exec(thrown.message)![1]!.split(', ');
  }
  throw new Error('The option was taken');
}

describe('docs/cli.md', () => {
  test('names the options of the crawler that the command does not give', async () => {
    const every: Arguments = {
      ...{
        urls: [],
        robots: true,
        quiet: false,
        demo: false,
        userAgent: 'x/1 (+mailto:a@b.test)',
        state: 'x',
        save: 'x',
      },
      ...{
        depth: 1,
        maxPages: 1,
        maxPagesPerHost: 1,
        maxDuration: 1,
        concurrency: 1,
        wait: 1,
        delayFactor: 1,
        maxWait: 1,
      },
      ...{ scope: 'any', include: [/x/], sitemaps: 'off', extract: 'navigation', timeout: 1, retries: 1, maxBody: 1 },
      ...{ header: {}, network: 'any' },
    };
    const given = Object.keys(crawlerOptions(every));
    const rest = (await knownOptions((options) => new Crawler(options))).filter((name) => !given.includes(name));
    const [, section = ''] = readDoc('docs/cli.md').split('## What the library alone has\n');
    const table = section.slice(0, section.indexOf('Others can be given')).split('\n').slice(4).join('\n');
    expect([...table.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual(rest.sort());
  });
});

describe('docs/options.md', () => {
  const rows = optionRows(readDoc('docs/options.md'));

  test('names every option of the crawler once, and no other', async () => {
    const known = await knownOptions((options) => new Crawler(options));
    expect(rows.map(([name]) => name).sort()).toEqual(known.sort());
  });

  test.each(Object.entries(CRAWLER_DEFAULTS))('says that %s is %j where it is not given', (name, value) => {
    const cell = rows.find(([option]) => option === name)?.[1] ?? '';
    expect(defaultIn(cell)).toEqual(value);
  });
});

describe('the ranges in docs/options.md', () => {
  const numbers = Object.entries({
    ...CRAWLER_DEFAULTS,
    backoffMs: 30_000,
    threads: 1,
    timeouts: 1000,
    maxBodyBytes: 1000,
  })
    .filter(([, value]) => typeof value === 'number')
    .map(([name]) => name);
  const rows = rowsOf(readDoc('docs/options.md'));

  test.each(numbers)('%s takes what is said, and no more', (name) => {
    const meaning = rows.find(([option = '']) => option === `\`${name}\``)?.[2] ?? '';
    const [, from = '0', to = ''] = /([\d,]+) (?:to ([\d,]+)|(?:\([^)]*\) )?or more)/.exec(meaning) ?? [];
    const least = Number(from.replaceAll(',', ''));
    const most = to === '' ? Number.POSITIVE_INFINITY : Number(to.replaceAll(',', ''));
    const make = (value: number) => () =>
      new Crawler({
        userAgent: 'x/1 (+mailto:a@b.test)',
        [name]: name === 'timeouts' ? { connect: value, headers: value, page: value } : value,
      });
    expect(make(least)).not.toThrow();
    expect(make(most)).not.toThrow();
    expect(make(least - 1)).toThrow(/takes/);
    if (to !== '') expect(make(most + 1)).toThrow(/takes/);
    expect(make(Number.NaN)).toThrow(/takes/);
  });
});

describe.each([
  ['docs/politeness.md', 'The rules as a class', POLITENESS_DEFAULTS],
  ['docs/robots.md', 'Choices', CRAWLER_DEFAULTS.robots],
  ['docs/robots.md', 'Used alone', ROBOTS_CACHE_DEFAULTS],
  ['docs/stores.md', 'The frontier and its stores', FRONTIER_DEFAULTS],
  ['docs/stores.md', 'LmdbStore', LMDB_STORE_DEFAULTS],
  ['docs/event-log.md', 'Event log', without(EVENT_LOG_DEFAULTS, 'events', 'clock', 'maxBufferBytes')],
  ['docs/file-sink.md', 'Pages as files', FILE_SINK_DEFAULTS],
  ['docs/testing.md', 'A hostile server', HOSTILE_SERVER_DEFAULTS],
])('%s, under "%s"', (path, heading, defaults) => {
  test.each(Object.entries(defaults))('says that %s is %j', (name, value) => {
    const row = optionRows(readDoc(path), heading).find(([option]) => option === name);
    expect(defaultIn(row?.[1] ?? '')).toEqual(value);
  });
});

test.each<[string, string, (options: never) => unknown]>([
  ['docs/robots.md', 'Used alone', (options) => new RobotsCache(options)],
  ['docs/stores.md', 'The frontier and its stores', (options) => Frontier.open(options)],
  ['docs/stores.md', 'LmdbStore', (options) => LmdbStore.open(join(root, 'no-such-folder'), options)],
  ['docs/event-log.md', 'Event log', (options) => new EventLog(options)],
  ['docs/file-sink.md', 'Pages as files', (options) => new FileSink(options)],
  ['docs/testing.md', 'A hostile server', (options) => HostileServer.start(options)],
])('%s, under "%s", names every option', async (path, heading, open) => {
  const told = optionRows(readDoc(path), heading).map(([name]) => name);
  const known = await knownOptions(open);
  expect([...told, 'clock']).toEqual(expect.arrayContaining(known));
});

describe('docs/errors.md', () => {
  const headings = [...readDoc('docs/errors.md').matchAll(/^### (\S+)$/gm)].map(([, code]) => code!);

  test('has a heading for each error code, and no other', () => {
    expect([...headings].sort()).toEqual([...CRAWL_ERROR_CODES].sort());
  });

  test('each code is used somewhere, or is meant for a store on disk', () => {
    const grep = (code: string) => execFileSync('grep', ['-rl', `'${code}'`, join(root, 'src')], { encoding: 'utf8' });
    for (const code of CRAWL_ERROR_CODES) {
      if (/^CRAWL_(STORE|DEPENDENCY)_/.test(code)) continue;
      expect(grep(code).split('\n').length, code).toBeGreaterThan(2);
    }
  });

  test.each(DOCS)('%s names no code that does not exist', (path) => {
    const named = readDoc(path).match(/\bCRAWL_[A-Z_]+\b/g) ?? [];
    expect(CRAWL_ERROR_CODES).toEqual(expect.arrayContaining(named.filter((code) => code !== 'CRAWL_STORE_')));
  });
});

describe('docs/events.md', () => {
  const types = readFileSync(join(root, 'src/types.ts'), 'utf8');

  test('has each event with the names of its arguments', () => {
    const body = /interface CrawlerEvents \{([\s\S]*?)\n\}/.exec(types)![1]!;
    const events = [...body.matchAll(/^ {2}(\w+): \[(.*)\];$/gm)].map(([, event, args]) => [
      event!,
      [...args!.matchAll(/(\w+):/g)].map(([, name]) => name).join(', '),
    ]);
    const rows = rowsOf(readDoc('docs/events.md'), 'Events').flatMap(([names = '', args = '']) =>
      quotedIn(names).map((name) => [name, quotedIn(args).join(', ')]),
    );
    expect(rows.sort()).toEqual(events.sort());
  });

  test('gives no reason that the library does not know', () => {
    const union = /export type SkipReason =([\s\S]*?);/.exec(types)![1]!;
    const known = [...union.matchAll(/'([\w-]+)'/g)].map(([, reason]) => reason!);
    const told = rowsOf(readDoc('docs/events.md'), 'Reasons').flatMap(([reasons = '']) => quotedIn(reasons));
    expect(told.length).toBeGreaterThan(15);
    expect(known).toEqual(expect.arrayContaining(told));
  });

  test('has each hook', () => {
    const hooks = rowsOf(readDoc('docs/events.md'), 'Hooks').map(([hook = '']) => quotedIn(hook)[0]!.split('(')[0]!);
    expect(hooks).toEqual(['shouldVisit', 'visit', 'expand', 'prioritize']);
    for (const hook of hooks) expect(Crawler.prototype).toHaveProperty(hook);
  });
});

test('docs/cli.md has each option of --help, written the same, and no other', () => {
  const printed: string[] = [];
  const output = { out: (text: string) => void printed.push(text), err: () => {} };
  expect(() => readArguments(['--help'], output)).toThrow();
  const options = printed.join('').matchAll(/^ {2}((?:-\w, )?--[\w-]+(?: <[^>]+>)?)(?: |$)/gm);
  const told = rowsOf(readDoc('docs/cli.md'))
    .flatMap(([names = '']) => quotedIn(names))
    .filter((name) => name.startsWith('-'));
  expect(told.sort()).toEqual([...options].map(([, option]) => option!).sort());
});

test('docs/architecture.md has the same lines and rooms as the test that holds them', () => {
  const code = readFileSync(join(root, 'test/architecture.test.ts'), 'utf8');
  const lines = new Function(`return ${/const LINES = (\[[\s\S]*?\n\]);/.exec(code)![1]};`)() as string[][];
  const told = rowsOf(readDoc('docs/architecture.md')).map(([line = '', rooms = '']) => [line, quotedIn(rooms)]);
  expect(told.map(([line]) => Number.parseInt(String(line), 10))).toEqual(lines.map((_, i) => lines.length - i));
  expect(told.map(([, rooms]) => rooms).reverse()).toEqual(lines);
});

test('docs/dependencies.md has each runtime dependency once, with a reason, and no other', () => {
  const { dependencies, optionalDependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const rows = rowsOf(readDoc('docs/dependencies.md'));
  const names = rows.map(([name = '']) => quotedIn(name)[0]!);
  expect(names.sort()).toEqual(Object.keys({ ...dependencies, ...optionalDependencies }).sort());
  for (const [name, why = ''] of rows) expect(why.length, name).toBeGreaterThan(15);
});

test('docs/stores.md has every verb of a store', async () => {
  const ports = readFileSync(join(root, 'src/ports.ts'), 'utf8');
  const body = /export interface CrawlStore \{([\s\S]*?)\n\}/.exec(ports)![1]!;
  const verbs = [...body.matchAll(/^ {2}(?:readonly )?(\w+)[?(]/gm)].map(([, verb]) => verb!);
  const told = rowsOf(readDoc('docs/stores.md'), 'Writing a store').flatMap(([names = '']) => quotedIn(names));
  const named = told.map((name) => name.split('(')[0]!);
  expect(verbs.length).toBeGreaterThan(12);
  expect(named).toEqual(expect.arrayContaining(verbs));
  const store = await MemoryStore.open();
  for (const verb of verbs) if (verb !== 'durable') expect(store).toHaveProperty(verb);
});

test.each(DOCS)('%s leads only to what is there', (path) => {
  for (const target of linksOf(readDoc(path))) {
    const [file = '', anchor] = target.split('#');
    const found = file === '' ? path : normalize(join(dirname(path), file));
    expect(existsSync(join(root, found)), `${path} links to ${target}`).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(readDoc(found)), `${path} links to ${target}`).toContain(anchor);
  }
});

function without<T extends object>(object: T, ...names: (keyof T & string)[]): Partial<T> {
  const kept = Object.entries(object).filter(([name]) => !(names as string[]).includes(name));
  return Object.fromEntries(kept) as Partial<T>;
}
