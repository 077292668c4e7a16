import { appendFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../make-folder.ts';
import type { Clock } from '../ports.ts';
import type { CrawlStats } from '../types.ts';
import { localTime, oneLine } from './escape.ts';
import { duration, size } from './text-format.ts';

/** Records that one file holds. */
const RECORDS_PER_FILE = 10;
const FILE_NAME = /^stats-(\d{4,9})\.txt$/;
/** Names shown of each kind, highest count first. */
const TOP = 10;

/** What the files of earlier runs say. */
interface Position {
  file: number;
  records: number;
  /** Pages at the last record of each crawler in the last file. */
  readonly pages: Map<string, number>;
}

/**
 * Statistics as the Polite Crawler of 2002 kept them: a record every so many pages, ten records a file. After a restart
 * it goes on behind the last record.
 */
export class StatsFiles {
  readonly #directory: string;
  readonly #everyPages: number;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  #position: Position | undefined;
  #tail: Promise<void> = Promise.resolve();

  constructor(directory: string, everyPages: number, clock: Clock, onError: (error: unknown) => void) {
    this.#directory = directory;
    this.#everyPages = everyPages;
    this.#clock = clock;
    this.#onError = onError;
  }

  /** Writes a record if a multiple of the pages was crossed since the last one, or if it `isLast`. Never throws. */
  add(crawler: string | undefined, stats: CrawlStats, isLast: boolean): void {
    const time = new Date(this.#clock.now());
    const name = crawler === undefined ? '' : oneLine(crawler);
    this.#tail = this.#tail.then(() => this.#add(name, stats, isLast, time)).catch(this.#onError);
  }

  /** Resolves when all records are written. Never rejects. */
  flush(): Promise<void> {
    return this.#tail;
  }

  async #add(crawler: string, stats: CrawlStats, isLast: boolean, time: Date): Promise<void> {
    this.#position ??= await this.#find();
    const position = this.#position;
    let before = position.pages.get(crawler) ?? 0;
    // Fewer pages than at the last record: another crawl that keeps its records in the same place.
    if (stats.pages < before) before = 0;
    const crossed = Math.floor(stats.pages / this.#everyPages) > Math.floor(before / this.#everyPages);
    if (!crossed && !isLast) return;
    const next = position.records >= RECORDS_PER_FILE ? { file: position.file + 1, records: 0 } : position;
    const path = join(this.#directory, `stats-${String(next.file).padStart(4, '0')}.txt`);
    await appendFile(path, formatRecord(crawler, stats, time));
    position.file = next.file;
    position.records = next.records + 1;
    position.pages.set(crawler, stats.pages);
  }

  async #find(): Promise<Position> {
    makeFolder(this.#directory);
    const numbers = (await readdir(this.#directory)).map((name) => Number(FILE_NAME.exec(name)?.[1] ?? 0));
    const file = numbers.reduce((highest, number) => Math.max(highest, number), 0);
    const position: Position = { file: Math.max(1, file), records: 0, pages: new Map() };
    if (file === 0) return position;
    const text = await readFile(join(this.#directory, `stats-${String(file).padStart(4, '0')}.txt`), 'utf8');
    let crawler = '';
    for (const line of text.split('\n')) {
      if (line.startsWith('record ')) {
        position.records++;
        crawler = '';
      } else if (line.startsWith('crawler: ')) crawler = line.slice('crawler: '.length);
      else if (line.startsWith('pages: ')) position.pages.set(crawler, Number(line.slice('pages: '.length)) || 0);
    }
    return position;
  }
}

/** One record: a headline, a fact a line, an empty line. */
function formatRecord(crawler: string, stats: CrawlStats, time: Date): string {
  const { p50, p95, p99 } = stats.latencyMs;
  const lines = [
    `record of ${localTime(time)}`,
    ...(crawler === '' ? [] : [`crawler: ${crawler}`]),
    `pages: ${stats.pages}`,
    `requests: ${stats.requests}`,
    `offered: ${stats.offered}`,
    `queued: ${stats.queued}`,
    `in flight: ${stats.inFlight}`,
    `redirects: ${stats.redirects}`,
    `retries: ${stats.retries}`,
    `duplicates: ${stats.duplicates}`,
    `errors: ${stats.errors}${top(stats.errorCodes)}`,
    `skipped: ${stats.skipped}${top(stats.skips)}`,
    `bytes: ${stats.bytes} (${size(stats.bytes)})`,
    `time: ${duration(stats.elapsedMs)}`,
    `rates: ${stats.pagesPerSecond.toFixed(2)} pages/s, ${size(Math.round(stats.bytesPerSecond))}/s`,
    `latency: ${duration(p50)} half, ${duration(p95)} 95 %, ${duration(p99)} 99 %`,
    `statuses:${top(stats.statuses)}`,
    `content types:${top(stats.contentTypes)}`,
    `hosts: ${stats.hosts}${topHosts(stats)}`,
  ];
  return `${lines.join('\n')}\n\n`;
}

function top(counts: Readonly<Record<string, number>>): string {
  const ranked = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return list(ranked.map(([name, count]) => `${oneLine(name)} ${count}`));
}

function topHosts(stats: CrawlStats): string {
  const ranked = Object.entries(stats.perHost).sort(([, a], [, b]) => b.pages - a.pages);
  return list(
    ranked.map(([host, { pages, smallestGapMs }]) => {
      const gap = smallestGapMs === undefined ? '' : ` (gap ${duration(smallestGapMs)})`;
      return `${oneLine(host)} ${pages}${gap}`;
    }),
  );
}

function list(items: readonly string[]): string {
  if (items.length === 0) return '';
  return ` ${items.slice(0, TOP).join(', ')}${items.length > TOP ? ', ...' : ''}`;
}
