import Table from 'cli-table3';
import prettyBytes from 'pretty-bytes';
import type { CrawlStats } from '../index.ts';
import type { RunStats } from './run-stats.ts';

/** Hosts listed; a crawl of many more lists those asked most. */
const MOST_HOSTS = 15;

const BOTH = ['This run', 'All runs'];

/** Tables without colours, for people and for files. */
export const PLAIN: { readonly style: { readonly head: string[]; readonly border: string[]; readonly compact: true } } =
  { style: { head: [], border: [], compact: true } };

/**
 * What a crawl came to, for a person: totals, statuses, skips by reason, and how politely each host was asked. Where it
 * went on with an earlier one, this run and all runs stand side by side.
 */
export function summary(stats: RunStats): string {
  const parts = [
    totals(stats),
    counts('Status', stats, 'statuses'),
    counts('Skipped because', stats, 'skips'),
    counts('Error', stats, 'errorCodes'),
    hosts(stats),
  ];
  return `\n${parts.filter((part) => part !== '').join('\n')}\n`;
}

function totals({ run, all, resumed }: RunStats): string {
  const both = (value: (stats: CrawlStats) => string | number): (string | number)[] =>
    resumed ? [value(run), value(all)] : [value(run)];
  const lastly = (value: string | number): (string | number)[] => (resumed ? ['', value] : [value]);
  const { p50, p95, p99 } = all.latencyMs;
  const table = new Table({ ...(resumed ? { head: ['', ...BOTH] } : {}), ...PLAIN });
  table.push(
    ['Pages', ...both(({ pages }) => pages)],
    ['Requests', ...both(({ requests }) => requests)],
    ['Bytes', ...both(({ bytes }) => prettyBytes(bytes))],
    ['Time', ...both(({ elapsedMs }) => `${(elapsedMs / 1000).toFixed(1)} s`)],
    ['Pages per second', ...both((stats) => perSecond(stats).toFixed(1))],
    ['Redirects', ...both(({ redirects }) => redirects)],
    ['Retries', ...both(({ retries }) => retries)],
    ['Duplicates', ...both(({ duplicates }) => duplicates)],
    ...(all.unchanged > 0 ? [['Unchanged', ...both(({ unchanged }) => unchanged)]] : []),
    ['Still queued', ...lastly(all.queued)],
    ['Response time', ...lastly(`p50 ${ms(p50)}, p95 ${ms(p95)}, p99 ${ms(p99)}`)],
  );
  return table.toString();
}

function perSecond({ pages, elapsedMs }: CrawlStats): number {
  return elapsedMs <= 0 ? 0 : (pages * 1000) / elapsedMs;
}

function counts(title: string, { run, all, resumed }: RunStats, field: 'statuses' | 'skips' | 'errorCodes'): string {
  const entries = Object.entries(all[field]).map(([name, sum]): [string, number, number] => [
    name,
    run[field][name] ?? 0,
    sum,
  ]);
  if (entries.length === 0) return '';
  entries.sort(([, a, sumA], [, b, sumB]) => b - a || sumB - sumA);
  const head = [title, ...(resumed ? BOTH : ['Count'])];
  const table = new Table({ head, colAligns: ['left', 'right', 'right'].slice(0, head.length) as 'left'[], ...PLAIN });
  table.push(...entries.map(([name, now, sum]) => (resumed ? [name, now, sum] : [name, now])));
  return table.toString();
}

function hosts({ run, resumed }: RunStats): string {
  const entries = Object.entries(run.perHost)
    .filter(([, { requests, pages }]) => !resumed || requests + pages > 0)
    .sort(([, a], [, b]) => b.requests - a.requests);
  if (entries.length === 0) return '';
  const table = new Table({
    head: [
      resumed ? 'Host, this run' : 'Host',
      'Pages',
      'Requests',
      'Bytes',
      resumed ? 'Smallest gap, all runs' : 'Smallest gap',
    ],
    colAligns: ['left', 'right', 'right', 'right', 'right'],
    ...PLAIN,
  });
  for (const [host, { pages, requests, bytes, smallestGapMs }] of entries.slice(0, MOST_HOSTS)) {
    table.push([host, pages, requests, prettyBytes(bytes), smallestGapMs === undefined ? '' : ms(smallestGapMs)]);
  }
  const more = (resumed ? entries.length : run.hosts) - MOST_HOSTS;
  return `${table.toString()}${more > 0 ? `\n(${more} more hosts)` : ''}`;
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
