import { readFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import { closest, LONGEST_TIMER_MS } from '../options.ts';
import { LONGEST_DELAY_MS } from '../politeness.ts';
import { conflict } from './conflicts.ts';
import { contact, count, decimal, headers, list, patterns } from './values.ts';

/** Longer times are no longer timers: 24 days. */
const LONGEST_TIMER_SECONDS = Math.floor(LONGEST_TIMER_MS / 1000);
const LONGEST_DELAY_SECONDS = LONGEST_DELAY_MS / 1000;

/** What was asked for on the command line. */
export interface Arguments {
  readonly urls: readonly string[];
  /** With `mailto:` or `http(s):` in front. */
  readonly contact?: string;
  readonly userAgent?: string;
  readonly depth?: number;
  readonly maxPages?: number;
  readonly maxPagesPerHost?: number;
  readonly maxDuration?: number;
  readonly concurrency?: number;
  readonly wait?: number;
  readonly delayFactor?: number;
  readonly maxWait?: number;
  readonly scope?: 'host' | 'domain' | 'any';
  readonly include?: readonly RegExp[];
  readonly exclude?: readonly RegExp[];
  readonly acceptExtensions?: readonly string[];
  readonly rejectExtensions?: readonly string[];
  readonly robots: boolean;
  readonly sitemaps?: 'off' | 'robots' | 'auto';
  readonly extract?: 'navigation' | 'resources' | 'exhaustive';
  readonly timeout?: number;
  readonly retries?: number;
  readonly maxBody?: number;
  readonly header?: Readonly<Record<string, string>>;
  readonly network?: 'public' | 'seeds' | 'any';
  readonly state?: string;
  readonly revisit?: boolean;
  readonly output?: string;
  readonly save?: string;
  readonly log?: string;
  readonly logFormat?: 'text' | 'jsonl';
  readonly statsDirectory?: string;
  readonly quiet: boolean;
  readonly demo: boolean;
}

/** The command line could not be used, or only asked for help. */
export class UsageError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Where the program's words go, so that tests can read them. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/**
 * Reads the command line.
 * @throws {@link UsageError} with exit code 2 for wrong usage (what is wrong has been printed), 0 for `--help` and `--version`.
 */
export function readArguments(argv: readonly string[], output: Output): Arguments {
  const misspelt = misspeltCommand(argv);
  if (misspelt !== undefined) refuse(misspelt, output);
  const command = describe(output);
  try {
    command.parse([...argv], { from: 'user' });
  } catch (thrown) {
    if (thrown instanceof CommanderError) throw new UsageError(thrown.message, thrown.exitCode === 0 ? 0 : 2);
    throw thrown;
  }
  const given: Arguments = { ...command.opts<Omit<Arguments, 'urls'>>(), urls: command.args };
  const wrong = conflict(given);
  if (wrong !== undefined) refuse(wrong, output);
  return given;
}

/** Says what is wrong. @throws {@link UsageError} with exit code 2. */
function refuse(wrong: string, output: Output): never {
  output.err(`error: ${wrong}\n`);
  throw new UsageError(wrong, 2);
}

/** `inspect` written nearly so, which would else be taken for a URL. */
function misspeltCommand([first = '']: readonly string[]): string | undefined {
  if (!/^[a-z]+$/i.test(first) || closest(first, ['inspect']) === undefined) return undefined;
  return `"${first}" is neither a command nor a URL. Did you mean: polite-crawler inspect <directory>`;
}

/**
 * Whether the command line says what to crawl, be it by the directory of a crawl to go on with, or is to be answered
 * otherwise: by help, or by a complaint.
 */
export function saysWhat(argv: readonly string[]): boolean {
  const silent = describe({ out: () => {}, err: () => {} });
  try {
    silent.parse([...argv], { from: 'user' });
  } catch {
    return true;
  }
  return silent.args.length > 0 || silent.opts<Arguments>().state !== undefined;
}

function describe(output: Output): Command {
  return new Command('polite-crawler')
    .description('Crawls web sites politely: every page once, robots.txt obeyed, one request at a time per host.')
    .argument('[url...]', 'where to start; absolute http: or https: URLs')
    .version(version())
    .optionsGroup('Who asks (required):')
    .option('--contact <mail-or-url>', 'how the owners of sites can reach you; sent in the User-Agent', contact)
    .option('--user-agent <text>', 'the whole User-Agent, contact included: "name/1.0 (+mailto:you@site)"')
    .optionsGroup('What to crawl:')
    .addOption(
      new Option('-s, --scope <where>', 'hosts of the URLs, their domains, or anywhere (default: host)').choices([
        'host',
        'domain',
        'any',
      ]),
    )
    .option('-d, --depth <links>', 'how many links from a start URL (default: 20)', count())
    .option('-n, --max-pages <count>', 'stop after so many pages', count({ least: 1 }))
    .option('--max-pages-per-host <count>', 'the same for each host', count({ least: 1 }))
    .option('-t, --max-duration <seconds>', 'stop after so long', decimal({ least: 0.001 }))
    .option('-I, --include <pattern>', 'only URLs that match this regular expression (repeatable)', patterns)
    .option('-X, --exclude <pattern>', 'no URLs that match this regular expression (repeatable)', patterns)
    .option('-A, --accept-extensions <list>', 'only URLs with these extensions: html,htm', list)
    .option('-R, --reject-extensions <list>', 'no URLs with these extensions: zip,iso', list)
    .addOption(
      new Option('-e, --extract <profile>', 'which links to look for (default: navigation)').choices([
        'navigation',
        'resources',
        'exhaustive',
      ]),
    )
    .addOption(
      new Option('--sitemaps <mode>', 'start from sitemaps, too (default: off)').choices(['off', 'robots', 'auto']),
    )
    .optionsGroup('How to ask:')
    .option(
      '-c, --concurrency <count>',
      'requests in flight, all hosts together (default: 32)',
      count({ least: 1, most: 10_000 }),
    )
    .option(
      '-w, --wait <seconds>',
      'least time between requests to one host (default: 1)',
      decimal({ most: LONGEST_DELAY_SECONDS }),
    )
    .option(
      '--delay-factor <factor>',
      'wait so many times as long as the last answer took (default: 5)',
      decimal({ most: 1_000_000 }),
    )
    .option('--max-wait <seconds>', 'the longest that slow answers make it wait (default: 60)', decimal())
    .option(
      '-T, --timeout <seconds>',
      'the longest one page may take (default: 120)',
      decimal({ least: 0.001, most: LONGEST_TIMER_SECONDS }),
    )
    .option('--retries <count>', 'further tries of what failed in passing (default: 2)', count())
    .option(
      '--max-body <bytes>',
      'where bodies are cut (default: 2 MiB of HTML, 15 MiB of others)',
      count({ least: 1 }),
    )
    .option('-H, --header <line>', 'a header for every request: "Name: value" (repeatable)', headers)
    .addOption(
      new Option(
        '--network <what>',
        'what may be connected to (default: seeds: public addresses and the hosts given)',
      ).choices(['public', 'seeds', 'any']),
    )
    .option('--no-robots', 'do not ask for robots rules (for sites of your own)')
    .optionsGroup('What to keep:')
    .option('--state <directory>', 'the crawl itself: run the same command again to go on, after whatever ended it')
    .option(
      '--revisit',
      'ask for the URLs given again, though they were visited: where the server gave an ETag or a date, whether they ' +
        'have changed (if not, they are no page); where it gave none, they come as pages again',
    )
    .option(
      '-o, --output <file>',
      'one JSON object per page, to a file or to standard output (-); the file is written anew, with --state added to',
    )
    .option('--save <directory>', 'the pages themselves, as files')
    .option('--log <file>', 'what happens, as lines added to the file; - for standard output')
    .addOption(new Option('--log-format <format>', 'lines to read, or JSON').choices(['text', 'jsonl']))
    .option('--stats-directory <directory>', 'statistics every 1,000 pages, as files')
    .option('-q, --quiet', 'no progress and no summary', false)
    .option('--demo', 'crawl a small web that is served on this machine', false)
    .addHelpText('after', EPILOGUE)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ writeOut: output.out, writeErr: output.err });
}

const EPILOGUE = `
Exit codes: 0 done, 1 nothing could be crawled or saved, 2 wrong usage, 130 after Ctrl-C, 143 after SIGTERM.
Ctrl-C once finishes what is in flight; twice stops at once.

polite-crawler inspect <directory> [url...] shows what the directory of --state holds, and what became of URLs.

Examples:
  polite-crawler https://example.org/ --contact you@example.org
  polite-crawler https://example.org/ --contact you@example.org -n 100 -o pages.jsonl
  polite-crawler https://example.org/docs/ --contact https://example.org/bot -I /docs/ --save mirror`;

/** The version of the package this file belongs to. */
export function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
