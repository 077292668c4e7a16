import { constants } from 'node:os';
import { type CRAWL_ERROR_CODES, Crawler, type CrawlerOptions, isCrawlError } from '../index.ts';
import { type Arguments, type Output, readArguments, UsageError } from './arguments.ts';
import { allowClosedPipes } from './closed-pipes.ts';
import { startDemo } from './demo.ts';
import { inspect } from './inspect.ts';
import { interruptible } from './interrupt.ts';
import { openLog } from './log.ts';
import { crawlerOptions, inFlags } from './options.ts';
import { writePages } from './page-lines.ts';
import { showProgress } from './progress.ts';
import { type RunStats, tellApart } from './run-stats.ts';
import { summary } from './summary.ts';

/** Exit codes of the program. */
export const EXIT_CODES: { readonly done: 0; readonly nothing: 1; readonly usage: 2 } = {
  done: 0,
  nothing: 1,
  usage: 2,
};

/** What shells add to the number of the signal that ended a program. */
const SIGNALLED = 128;

const TERMINAL: Output = {
  out: (text) => void (process.stdout.destroyed || process.stdout.write(text)),
  err: (text) => void (process.stderr.destroyed || process.stderr.write(text)),
};

/** Faults of the command line rather than of the web. */
const USAGE_CODES: ReadonlySet<string> = new Set<(typeof CRAWL_ERROR_CODES)[number]>([
  'CRAWL_CONTACT_MISSING',
  'CRAWL_OPTION_INVALID',
  'CRAWL_OPTION_UNKNOWN',
  'CRAWL_OPTION_CONFLICT',
  'CRAWL_URL_INVALID',
]);

/**
 * Runs the program: reads the command line, crawls, prints a summary.
 * @returns the exit code. Never rejects.
 */
export async function runCli(argv: readonly string[], output: Output = TERMINAL): Promise<number> {
  if (output === TERMINAL) allowClosedPipes();
  try {
    if (argv[0] === 'inspect') {
      await inspect(argv.slice(1), output);
      return EXIT_CODES.done;
    }
    const given = readArguments(argv, output);
    if (!given.demo) return await crawl(given.urls, crawlerOptions(given), given, output);
    await using demo = await startDemo();
    if (!given.quiet) output.err(`Demo web on ${demo.url} (${demo.hosts} hosts on this machine)\n`);
    const code = await crawl(
      [demo.url],
      // Briskly, unless it was said otherwise; but to that web alone.
      {
        ...demo.options,
        ...crawlerOptions({ contact: 'mailto:demo@example.org', ...given }),
        network: demo.options.network,
      },
      given,
      output,
    );
    if (!given.quiet && code === EXIT_CODES.done) output.err(`\n${demo.lastWord}\n`);
    return code;
  } catch (thrown) {
    return explainFailure(thrown, output);
  }
}

async function crawl(
  urls: readonly string[],
  options: CrawlerOptions,
  given: Arguments,
  output: Output,
): Promise<number> {
  const crawler = new Crawler(options);
  const errors = collectErrors(crawler);
  const apart = tellApart(crawler);
  const log = openLog(given);
  const pages =
    given.output === undefined ? undefined : writePages(crawler, given.output, given.state !== undefined, output);
  const progress = given.quiet ? undefined : showProgress(crawler, output);
  const interrupt = interruptible(crawler, output, given.state);
  try {
    log?.monitor(crawler);
    const stats = apart(await crawler.run(urls, { revisit: given.revisit }));
    progress?.stop();
    await pages?.close();
    await log?.close();
    if (!given.quiet) output.err(summary(stats));
    const unwritten = interrupt.failure();
    if (unwritten !== undefined) errors.unwritten ??= `standard output can't be written: ${unwritten.message}`;
    if (log !== undefined && log.lost > 0) errors.unwritten ??= `${log.lost} lines of the log could not be written`;
    return exitCode(stats, errors, { given, output, signal: interrupt.signal(), unread: interrupt.unread() });
  } finally {
    progress?.stop();
    interrupt.stop();
    await pages?.close();
    await log?.close();
  }
}

/** The first errors, for the last word: a crawl that got nothing, or could not keep what it got, must say why. */
interface FirstErrors {
  readonly all: string[];
  /** Why the run could not so much as begin. */
  limit: string | undefined;
  unsaved: string | undefined;
  unwritten: string | undefined;
}

function collectErrors(crawler: Crawler): FirstErrors {
  const errors: FirstErrors = { all: [], limit: undefined, unsaved: undefined, unwritten: undefined };
  crawler.on('error', (error) => {
    if (errors.all.length < 5) errors.all.push(`${error.code}: ${error.message}`);
    // What keeps pages here is all there is that could come too late.
    if (error.code === 'CRAWL_SINK_FAILED' || error.code === 'CRAWL_HANDLER_TIMEOUT') errors.unsaved ??= error.message;
  });
  crawler.on('warning', ({ code, message }) => {
    if (code === 'limit-reached' || code === 'no-seeds') errors.limit = inFlags(message);
  });
  return errors;
}

function exitCode(
  { run, all }: RunStats,
  errors: FirstErrors,
  how: { given: Arguments; output: Output; signal: NodeJS.Signals | undefined; unread: boolean },
): number {
  const { given, output, signal, unread } = how;
  if (errors.unsaved !== undefined) {
    const { CRAWL_HANDLER_TIMEOUT: late = 0, CRAWL_SINK_FAILED: failed = 0 } = run.errorCodes;
    output.err(`error: ${late + failed} pages could not be saved\n  ${errors.unsaved}\n`);
    return EXIT_CODES.nothing;
  }
  if (errors.unwritten !== undefined) {
    output.err(`error: ${errors.unwritten}\n`);
    return EXIT_CODES.nothing;
  }
  // As shells have it: by this a script knows that it was not the crawl that came to its end.
  if (signal !== undefined) return SIGNALLED + constants.signals[signal];
  if (errors.limit !== undefined) {
    output.err(`error: nothing could be crawled\n  ${errors.limit}\n`);
    return EXIT_CODES.nothing;
  }
  if (all.pages > 0 || unread) return EXIT_CODES.done;
  const skips = Object.entries(run.skips)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${count} ${reason}`);
  const why = [...errors.all, ...(skips.length > 0 ? [`skipped: ${skips.join(', ')}`] : [])];
  output.err(
    `error: nothing could be crawled from ${given.urls.join(' ')}\n${why.map((line) => `  ${line}\n`).join('')}`,
  );
  return EXIT_CODES.nothing;
}

function explainFailure(thrown: unknown, output: Output): number {
  if (thrown instanceof UsageError) return thrown.exitCode;
  const code = isCrawlError(thrown) ? thrown.code : 'CRAWL_INTERNAL';
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const isUnhinted = code === 'CRAWL_CONTACT_MISSING' && !message.includes('--contact');
  const hint = isUnhinted ? ' On the command line: --contact you@example.org' : '';
  output.err(`error: ${inFlags(message)}${hint}\n`);
  return USAGE_CODES.has(code) ? EXIT_CODES.usage : EXIT_CODES.nothing;
}
