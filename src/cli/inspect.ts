import { existsSync } from 'node:fs';
import Table from 'cli-table3';
import { Command, CommanderError } from 'commander';
import { CrawlError, Crawler, type Explanation } from '../index.ts';
import { LmdbStore } from '../store/lmdb/index.ts';
import { type Output, UsageError } from './arguments.ts';
import { noDirectory } from './conflicts.ts';
import { PLAIN } from './summary.ts';
import { count } from './values.ts';

const MOST_HOSTS = 20;

/**
 * `polite-crawler inspect DIRECTORY [URL...]`: what a crawl's directory holds, and what became of URLs. It only looks,
 * so that it may be used while the crawl runs.
 * @throws {@link UsageError}, or what opening the store throws.
 */
export async function inspect(argv: readonly string[], output: Output): Promise<void> {
  const { directory, urls, hosts, json } = read(argv, output);
  if (!existsSync(directory)) {
    throw new CrawlError('CRAWL_STORE_FORMAT', `There is no crawl in ${directory}: give the directory of --state.`);
  }
  const report = urls.length > 0 ? await explainAll(directory, urls) : await overview(directory, hosts);
  if (json) output.out(`${JSON.stringify(report, null, 2)}\n`);
  else output.out('explanations' in report ? explanationText(report.explanations) : overviewText(report));
}

interface Given {
  readonly directory: string;
  readonly urls: readonly string[];
  readonly hosts: number;
  readonly json: boolean;
}

function read(argv: readonly string[], output: Output): Given {
  const command = new Command('polite-crawler inspect')
    .description('Shows what the directory of --state holds, and what became of URLs.')
    .argument('<directory>', 'the directory given as --state')
    .argument('[url...]', 'URLs to explain')
    .option('--hosts <count>', 'how many hosts to list', count(), MOST_HOSTS)
    .option('--json', 'as JSON', false)
    .exitOverride()
    .configureOutput({ writeOut: output.out, writeErr: output.err });
  try {
    command.parse([...argv], { from: 'user' });
  } catch (thrown) {
    if (thrown instanceof CommanderError) throw new UsageError(thrown.message, thrown.exitCode === 0 ? 0 : 2);
    throw thrown;
  }
  const [directory = '', ...urls] = command.args;
  const wrong = noDirectory('polite-crawler inspect', directory);
  if (wrong !== undefined) {
    output.err(`error: ${wrong}\n`);
    throw new UsageError(wrong, 2);
  }
  return { directory, urls, ...command.opts<{ hosts: number; json: boolean }>() };
}

async function overview(directory: string, most: number) {
  const store = await LmdbStore.open(directory, { readOnly: true });
  try {
    const stats = await store.stats();
    const hosts = await store.hosts(most);
    return { stats, hosts };
  } finally {
    await store.close();
  }
}

async function explainAll(directory: string, urls: readonly string[]): Promise<{ explanations: Explanation[] }> {
  const crawler = new Crawler({ userAgent: 'polite-crawler-inspect (+mailto:nobody@localhost)', store: directory });
  const explanations: Explanation[] = [];
  for (const url of urls) {
    const { reason, ...found } = await crawler.explain(url);
    // What the filters would say of it is the crawl's to know: here there are none.
    explanations.push(found.state === 'unknown' && found.canonical !== null ? found : { ...found, reason });
  }
  return { explanations };
}

function overviewText({ stats, hosts }: Awaited<ReturnType<typeof overview>>): string {
  const counts = new Table(PLAIN);
  counts.push(
    ['URLs met', stats.seen],
    ['Queued now', stats.queued],
    ['Being fetched now', stats.leased],
    ['Pages delivered', stats.pages],
    ['Visits done', stats.done],
    ['Visits redirected', stats.redirected],
    ['Visits skipped', stats.skipped],
    ['Visits failed', stats.failed],
    ['Hosts', stats.hosts],
  );
  const table = new Table({
    head: ['Host', 'Queued', 'Pages', 'Delay', 'Asked not before', 'Failures', 'Address'],
    colAligns: ['left', 'right', 'right', 'right', 'left', 'right', 'left'],
    ...PLAIN,
  });
  for (const host of hosts) {
    const dueAt = Math.max(host.nextAt, host.blockedUntil);
    const delay = `${Math.max(host.delayMs, host.crawlDelayMs)} ms`;
    const due = dueAt === 0 ? '' : new Date(dueAt).toISOString();
    table.push([host.host, host.queued, host.pages, delay, due, host.failures, host.address ?? '']);
  }
  return `${counts.toString()}\n${hosts.length > 0 ? `${table.toString()}\n` : ''}`;
}

function explanationText(explanations: readonly Explanation[]): string {
  return explanations.map(explanation).join('\n');
}

function explanation(found: Explanation): string {
  const table = new Table(PLAIN);
  const rows: [string, unknown][] = [
    ['URL', found.url],
    ['Canonical form', found.canonical ?? "none: it can't be crawled"],
    ['State', found.state],
    ['Reason', found.reason],
    ['Found on', found.foundOn],
    ['As', found.source],
    ['Links from a seed', found.depth],
    ['Level', found.level],
    ['Host', found.host],
    ['Leases', found.leases],
    ['Duplicate of', found.duplicateOf],
    ['Redirected to', found.redirectedTo],
    ['Next due', found.nextDueAt?.toISOString()],
    ...found.fetches.map(({ at, status, error, ms }): [string, unknown] => [
      'Fetched',
      [at.toISOString(), status, error, ms === undefined ? undefined : `${ms} ms`]
        .filter((part) => part !== undefined)
        .join(' '),
    ]),
  ];
  for (const [name, value] of rows) if (value !== undefined) table.push([name, String(value)]);
  return `${table.toString()}\n`;
}
