import type { CrawlStats } from '../types.ts';
import { localTime, oneLine } from './escape.ts';
import type { EventName, Fields } from './fields.ts';

/** The longest event name, so that what follows is aligned. */
const EVENT_WIDTH = 'checkpoint'.length;

/** One readable line: time, event, crawler's name, what it is about, facts. */
export function textLine(time: Date, crawler: string | undefined, event: EventName, fields: Fields): string {
  const parts = [`${localTime(time)}  ${event.padEnd(EVENT_WIDTH)}`];
  if (crawler !== undefined) parts.push(`[${oneLine(crawler)}]`);
  const subject = fields.url ?? fields.host;
  if (subject !== undefined) parts.push(oneLine(String(subject)));
  const facts = FACTS[event]?.(fields).filter((fact) => fact !== '') ?? [];
  return [...parts, ...facts].join('  ').trimEnd();
}

/** Bytes for the eye: `12.3 kB`. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB', 'PB'];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}

/** Milliseconds for the eye: `850 ms`, `12.5 s`, `1:02:03`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const two = (value: number) => String(value % 60).padStart(2, '0');
  return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60))}:${two(seconds)}`;
}

const text = (value: unknown): string => (value === undefined ? '' : oneLine(String(value)));
const labelled = (label: string, value: unknown): string => (value === undefined ? '' : `${label} ${text(value)}`);
const ms = (value: unknown): string => (typeof value === 'number' ? duration(value) : '');

const FACTS: Partial<Record<EventName, (fields: Fields) => string[]>> = {
  offer: (fields) => [text(fields.source), fields.nofollow === true ? 'nofollow' : ''],
  skip: (fields) => [text(fields.reason), labelled('from', fields.from)],
  redirect: (fields) => [text(fields.status), labelled('to', fields.to)],
  retry: (fields) => [`in ${ms(fields.afterMs)}`, text(fields.code), text(fields.message)],
  page: (fields) => [
    text(fields.status),
    text(fields.contentType),
    `${size(Number(fields.bytes))}${fields.truncated === true ? ' (cut)' : ''}`,
    ms(fields.ms),
    labelled('depth', fields.depth),
    labelled('at', fields.finalUrl),
  ],
  duplicate: (fields) => [labelled('same as', fields.firstUrl)],
  unchanged: (fields) => [labelled('since', fields.fetchedAt)],
  warning: (fields) => [text(fields.code), text(fields.message)],
  error: (fields) => [text(fields.code), text(fields.message)],
  host: (fields) => [text(fields.state), `delay ${ms(fields.delayMs)}`, labelled('next', fields.nextAt)],
  stats: totals,
  end: totals,
};

function totals(fields: Fields): string[] {
  const stats = fields as unknown as CrawlStats;
  return [
    `${stats.pages} pages`,
    `${stats.requests} requests`,
    `${stats.queued} queued`,
    `${stats.errors} errors`,
    `${stats.skipped} skipped`,
    size(stats.bytes),
    `${stats.pagesPerSecond.toFixed(1)} pages/s`,
    duration(stats.elapsedMs),
  ];
}
