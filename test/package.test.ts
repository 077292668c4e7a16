// The package as a whole: what it says of itself holds, and importing it costs little and opens nothing.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DNS_DEFAULTS } from '../src/dns.ts';
import { EVENT_LOG_DEFAULTS } from '../src/event-log.ts';
import { FRONTIER_DEFAULTS } from '../src/frontier.ts';
import { CRAWLER_DEFAULTS, FETCHER_DEFAULTS, POLITENESS_DEFAULTS } from '../src/index.ts';
import { LINK_EXTRACTOR_DEFAULTS } from '../src/link-extractor/index.ts';
import { ROBOTS_CACHE_DEFAULTS } from '../src/robots-cache.ts';
import { FILE_SINK_DEFAULTS } from '../src/sink/files/index.ts';
import { STATS_COLLECTOR_DEFAULTS } from '../src/stats.ts';
import { MEMORY_STORE_DEFAULTS } from '../src/store/memory/memory-store.ts';
import { readDoc, root } from './helpers/docs.ts';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const entries: string[] = Object.values(manifest.exports as Record<string, string | { default: string }>).flatMap(
  (target) => (typeof target === 'string' ? [] : [join(root, target.default)]),
);
const main = join(root, manifest.main);

/** Runs a module in a process of its own and gives what it prints, as JSON. */
function inFreshProcess(source: string): unknown {
  const args = ['--expose-gc', '--input-type=module', '--eval', source];
  // Newer versions of Node read this file by themselves, and while that lasts it is open.
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  return JSON.parse(
    execFileSync(process.execPath, args, { cwd: root, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
  );
}

/** The options of an interface with what its comments say of their defaults. */
function documented(file: string, name: string): Map<string, string | undefined> {
  const source = readDoc(file);
  const start = source.indexOf(`export interface ${name} {`);
  const body = source.slice(start, source.indexOf('\n}', start));
  const options = new Map<string, string | undefined>();
  let comment = '';
  for (const line of body.split('\n')) {
    const option = /^ {2}readonly (\w+)\??:/.exec(line)?.[1];
    if (option === undefined) {
      comment = line.trim().startsWith('/**') ? line : comment + line;
      continue;
    }
    options.set(option, /@defaultValue (.*?)\s*(?:\*\/|$)/.exec(comment)?.[1]);
    comment = '';
  }
  return options;
}

/** A default as it is written for readers: `60 000`, `2 MiB`, `{ page: 120 000 }`, `'host'`. */
function defaultOf(text: string): unknown {
  const code = /^`([^`]+)`/.exec(text)?.[1] ?? /^[\d ]*\d(?: MiB| KiB)?(?=$| \()/.exec(text)?.[0];
  if (code === undefined) return undefined;
  const numbers = code
    .replaceAll(/(\d) (?=\d{3}\b)/g, '$1')
    .replaceAll(/(\d+) MiB/g, (_, count) => String(Number(count) * 1_048_576));
  if (!/^(?:\d+|Infinity|true|false|'[^']*'|[{[].*[}\]])$/.test(numbers)) return undefined;
  return new Function(`return (${numbers});`)();
}

describe.each<[string, string, object, string[]?]>([
  ['src/crawler/options.ts', 'CrawlerOptions', CRAWLER_DEFAULTS],
  ['src/fetcher/options.ts', 'FetcherOptions', FETCHER_DEFAULTS],
  ['src/politeness.ts', 'PolitenessOptions', POLITENESS_DEFAULTS],
  ['src/robots-cache/options.ts', 'RobotsCacheOptions', ROBOTS_CACHE_DEFAULTS],
  ['src/frontier.ts', 'FrontierOptions', FRONTIER_DEFAULTS],
  ['src/dns.ts', 'DnsCacheOptions', DNS_DEFAULTS, ['lookup', 'clock']],
  ['src/event-log.ts', 'EventLogOptions', EVENT_LOG_DEFAULTS, ['events', 'clock']],
  ['src/sink/files/index.ts', 'FileSinkOptions', FILE_SINK_DEFAULTS],
  ['src/link-extractor/index.ts', 'LinkExtractorOptions', LINK_EXTRACTOR_DEFAULTS],
  ['src/stats.ts', 'StatsCollectorOptions', STATS_COLLECTOR_DEFAULTS, ['clock']],
  ['src/store/memory/memory-store.ts', 'MemoryStoreOptions', MEMORY_STORE_DEFAULTS],
])('%s: the comments of %s', (file, name, defaults, inWords = []) => {
  const options = documented(file, name);

  test.each(Object.entries(defaults).filter(([option]) => !inWords.includes(option)))(
    'give %s the default that it has: %j',
    (option, value) => {
      expect(options.has(option)).toBe(true);
      expect(defaultOf(options.get(option) ?? '')).toEqual(value);
    },
  );

  test('promise no value where there is no default to be compared with', () => {
    const others = [...options].filter(([option]) => !(option in defaults));
    for (const [option, text] of others)
      expect([option, text === undefined ? undefined : defaultOf(text)]).toEqual([option, undefined]);
  });
});

test('the version of package.json has an entry in the changelog, with a date', () => {
  const headings = readDoc('CHANGELOG.md').matchAll(/^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?$/gm);
  const dates = new Map(Array.from(headings, ([, version, date]) => [version, date]));
  expect(dates.get(manifest.version)).toMatch(/^\d{4}-\d{2}-\d{2}$/);
});

describe('Importing', () => {
  test.each(entries.map((path) => path.slice(root.length)))('%s opens nothing, and lets the process end', (path) => {
    const seen = inFreshProcess(`
      import { readdirSync, readlinkSync } from 'node:fs';
      const state = () => {
        gc();
        return {
          // node:assert looks at the process's own outputs.
          resources: process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap'),
          listeners: process.eventNames().map(String),
          files: readdirSync('/proc/self/fd').flatMap((fd) => {
            try { return [readlinkSync('/proc/self/fd/' + fd)]; } catch { return []; }
          }).filter((target) => target.startsWith('/') && !target.startsWith('/dev/') || target.startsWith('socket:')),
        };
      };
      const before = state();
      await import(${JSON.stringify(join(root, path))});
      await new Promise((resolve) => setImmediate(resolve));
      console.log(JSON.stringify([before, state()]));
    `) as [object, object];
    expect(seen[1]).toEqual(seen[0]);
  });

  test('the main entry loads no optional dependency, and none that only some crawls need', () => {
    const loaded = inFreshProcess(`
      import { register } from 'node:module';
      import { MessageChannel } from 'node:worker_threads';
      const { port1, port2 } = new MessageChannel();
      const urls = [];
      port1.on('message', (url) => urls.push(url));
      const hook = 'let port; export const initialize = (given) => { port = given; };'
        + 'export const load = (url, context, next) => { port.postMessage(url); return next(url, context); };';
      register('data:text/javascript,' + encodeURIComponent(hook), { data: port2, transferList: [port2] });
      await import(${JSON.stringify(main)});
      await new Promise((resolve) => setTimeout(resolve, 50));
      port1.close();
      console.log(JSON.stringify(urls));
    `) as string[];
    const packages = new Set(loaded.flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []));
    expect(loaded.length).toBeGreaterThan(5);
    const optional = Object.keys({ ...manifest.optionalDependencies, ...manifest.peerDependencies });
    for (const name of [...optional, 'cheerio', 'got', 'commander', 'cli-progress', 'cli-table3']) {
      expect([...packages]).not.toContain(name);
    }
  });

  test('works by require(), too', () => {
    const source = `const { Crawler } = require(${JSON.stringify(main)}); console.log(typeof Crawler)`;
    expect(
      execFileSync(process.execPath, ['--eval', source], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    ).toBe('function\n');
  });

  test('takes no more than one and a half times as long as importing got', { timeout: 120_000 }, () => {
    // Processor time, since other work on the machine would be counted with the clock's.
    const cost = (module: string): number =>
      inFreshProcess(`
        const before = process.cpuUsage();
        await import(${JSON.stringify(module)});
        const { user, system } = process.cpuUsage(before);
        console.log(user + system);
      `) as number;
    const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
    const own: number[] = [];
    const gots: number[] = [];
    for (let round = 0; round < 9; round++) {
      own.push(cost(main));
      gots.push(cost('got'));
    }
    expect(median(own) / median(gots)).toBeLessThanOrEqual(1.5);
  });
});
