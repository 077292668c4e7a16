import Table from 'cli-table3';
import prettyBytes from 'pretty-bytes';
import type { CrawlStats } from '../index.ts';

/** Hosts listed; a crawl of many more lists those asked most. */
const MOST_HOSTS = 15;

/** Tables without colours, for people and for files. */
export const PLAIN: { readonly style: { readonly head: string[]; readonly border: string[]; readonly compact: true } } =
  { style: { head: [], border: [], compact: true } };

/** What a crawl came to, for a person: totals, statuses, skips by reason, and how politely each host was asked. */
export function summary(stats: CrawlStats): string {
  const parts = [
    totals(stats),
    counts('Status', stats.statuses),
    counts('Skipped because', stats.skips),
    counts('Error', stats.errorCodes),
    hosts(stats),
  ];
  return `\n${parts.filter((part) => part !== '').join('\n')}\n`;
}

function totals(stats: CrawlStats): string {
  const table = new Table(PLAIN);
  table.push(
    ['Pages', stats.pages],
    ['Requests', stats.requests],
    ['Bytes', prettyBytes(stats.bytes)],
    ['Time', `${(stats.elapsedMs / 1000).toFixed(1)} s`],
    ['Pages per second', stats.pagesPerSecond.toFixed(1)],
    ['Redirects', stats.redirects],
    ['Retries', stats.retries],
    ['Duplicates', stats.duplicates],
    ...(stats.unchanged > 0 ? [['Unchanged', stats.unchanged]] : []),
    ['Still queued', stats.queued],
    ['Response time', `p50 ${ms(stats.latencyMs.p50)}, p95 ${ms(stats.latencyMs.p95)}, p99 ${ms(stats.latencyMs.p99)}`],
  );
  return table.toString();
}

function counts(title: string, record: Readonly<Record<string, number>>): string {
  const entries = Object.entries(record).sort(([, a], [, b]) => b - a);
  if (entries.length === 0) return '';
  const table = new Table({ head: [title, 'Count'], colAligns: ['left', 'right'], ...PLAIN });
  table.push(...entries);
  return table.toString();
}

function hosts(stats: CrawlStats): string {
  const entries = Object.entries(stats.perHost).sort(([, a], [, b]) => b.requests - a.requests);
  if (entries.length === 0) return '';
  const table = new Table({
    head: ['Host', 'Pages', 'Requests', 'Bytes', 'Smallest gap'],
    colAligns: ['left', 'right', 'right', 'right', 'right'],
    ...PLAIN,
  });
  for (const [host, { pages, requests, bytes, smallestGapMs }] of entries.slice(0, MOST_HOSTS)) {
    table.push([host, pages, requests, prettyBytes(bytes), smallestGapMs === undefined ? '' : ms(smallestGapMs)]);
  }
  const more = stats.hosts - MOST_HOSTS;
  return `${table.toString()}${more > 0 ? `\n(${more} more hosts)` : ''}`;
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
