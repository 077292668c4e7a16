import type { EventEmitter } from 'node:events';
import { CrawlError } from './errors.ts';
import { jsonLine } from './event-log/escape.ts';
import { type EventName, FIELDS, type Fields } from './event-log/fields.ts';
import { fileTarget, type LineTarget, LineWriter } from './event-log/line-writer.ts';
import { StatsFiles } from './event-log/stats-files.ts';
import { textLine } from './event-log/text-format.ts';
import { type Complete, integer, mustTake, oneOf, onlyKnown, show, wrongOption } from './options.ts';
import { type Clock, systemClock } from './ports.ts';
import { steady } from './steady-clock.ts';
import type { CrawlerEvents, CrawlStats, Explanation } from './types.ts';

/** What a log needs of a crawler: its events, and what it knows of a URL. */
export interface MonitoredCrawler extends EventEmitter<CrawlerEvents> {
  explain?(url: string): Promise<Explanation>;
}

/** Options of {@link EventLog}. */
export interface EventLogOptions {
  /** Where the lines go; it is not closed by the log. @defaultValue `process.stdout` */
  readonly stream?: NodeJS.WritableStream | undefined;
  /** A file to add the lines to, instead of `stream`; its folders are made where they are missing. */
  readonly path?: string | undefined;
  /** Lines for people, or one JSON object a line. @defaultValue `'text'` */
  readonly format?: 'text' | 'jsonl' | undefined;
  /** Events to write. @defaultValue all */
  readonly events?: readonly (keyof CrawlerEvents)[] | undefined;
  /** Folder for statistics files: a record every `statsEveryPages` pages, ten records a file. @defaultValue none */
  readonly statsDirectory?: string | undefined;
  /** Pages between two records of the statistics files. @defaultValue 1000 */
  readonly statsEveryPages?: number | undefined;
  /** Bytes that may wait for the stream before the crawl has to. @defaultValue 1 048 576 */
  readonly maxBufferBytes?: number | undefined;
  /** @defaultValue the machine's clock */
  readonly clock?: Clock | undefined;
}

/** Every default of {@link EventLogOptions}, written once. */
export const EVENT_LOG_DEFAULTS: Complete<Omit<EventLogOptions, 'stream' | 'path' | 'statsDirectory'>> = {
  format: 'text',
  events: Object.keys(FIELDS) as readonly EventName[],
  statsEveryPages: 1000,
  maxBufferBytes: 1_048_576,
  clock: systemClock,
};

const OPTION_NAMES = ['stream', 'path', 'statsDirectory', ...Object.keys(EVENT_LOG_DEFAULTS)];

/**
 * Writes down what crawlers do, an event a line, and tells what became of a URL. One log may follow several crawlers.
 *
 * It never disturbs a crawl: what cannot be written is counted in {@link EventLog.lost} and reported once, as a process
 * warning. It may slow a crawl down: while more than `maxBufferBytes` wait for the stream, the `page` event is held.
 */
export class EventLog implements AsyncDisposable {
  readonly #writer: LineWriter;
  readonly #format: 'text' | 'jsonl';
  readonly #events: readonly EventName[];
  readonly #statsFiles: StatsFiles | undefined;
  readonly #clock: Clock;
  readonly #crawlers = new Map<MonitoredCrawler, () => void>();
  #closed: Promise<void> | undefined;

  /**
   * Opens nothing: files are opened with the first line.
   * @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN`, `CRAWL_OPTION_INVALID`, or `CRAWL_OPTION_CONFLICT` where both
   * `stream` and `path` are given.
   */
  constructor(options: EventLogOptions = {}) {
    onlyKnown('EventLog', options, OPTION_NAMES);
    this.#format = oneOf('format', options.format, EVENT_LOG_DEFAULTS.format, ['text', 'jsonl']);
    this.#events = eventNames(options.events);
    this.#clock = steady(options.clock ?? EVENT_LOG_DEFAULTS.clock);
    const maxBuffer = integer('maxBufferBytes', options.maxBufferBytes, EVENT_LOG_DEFAULTS.maxBufferBytes, 1);
    const every = integer('statsEveryPages', options.statsEveryPages, EVENT_LOG_DEFAULTS.statsEveryPages, 1);
    this.#writer = new LineWriter(target(options), maxBuffer);
    const directory = path('statsDirectory', options.statsDirectory);
    if (directory !== undefined) {
      this.#statsFiles = new StatsFiles(directory, every, this.#clock, (error) => {
        this.#writer.lose(`cannot write statistics to ${directory}`, error);
      });
    }
  }

  /** Lines and records that could not be written. */
  get lost(): number {
    return this.#writer.lost;
  }

  /**
   * Writes down what this crawler does from now on; a crawler that is followed already is not followed twice.
   * @param options - `name` is what the crawler is called in each of its lines.
   * @throws {@link CrawlError} `CRAWL_CLOSED` after {@link EventLog.close}; `CRAWL_OPTION_INVALID` for what is no crawler.
   */
  monitor(crawler: MonitoredCrawler, options: { readonly name?: string } = {}): this {
    onlyKnown('EventLog.monitor', options, ['name']);
    if (this.#closed !== undefined) throw new CrawlError('CRAWL_CLOSED', 'This event log is closed: make a new one.');
    const isEmitter = typeof crawler?.on === 'function' && typeof crawler.off === 'function';
    mustTake('EventLog.monitor', 'a Crawler', isEmitter, crawler);
    if (!this.#crawlers.has(crawler)) this.#crawlers.set(crawler, this.#follow(crawler, options.name));
    return this;
  }

  /**
   * What became of a URL, by the crawlers that are followed: the first that knows it answers.
   * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where no crawler is followed that can tell; else what the
   * crawler's `explain` rejects with.
   */
  async explain(url: string): Promise<Explanation> {
    let answer: Explanation | undefined;
    for (const crawler of this.#crawlers.keys()) {
      if (crawler.explain === undefined) continue;
      answer = await crawler.explain(url);
      if (answer.state !== 'unknown') return answer;
    }
    if (answer !== undefined) return answer;
    throw new CrawlError('CRAWL_OPTION_INVALID', 'EventLog.explain asks a crawler: call monitor(crawler) first.', {
      url,
    });
  }

  /** Lets go of the crawlers and resolves when all is written. A second call does nothing more. Never rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const letGo of this.#crawlers.values()) letGo();
    await this.#statsFiles?.flush();
    await this.#writer.close();
  }

  /** @returns what ends it. */
  #follow(crawler: MonitoredCrawler, name: string | undefined): () => void {
    const listeners = this.#events.map((event) => {
      const fieldsOf = FIELDS[event] as (...args: unknown[]) => Fields;
      const listener = (...args: unknown[]) => this.#log(name, event, () => fieldsOf(...args));
      return [event, listener] as const;
    });
    if (this.#statsFiles !== undefined) {
      const files = this.#statsFiles;
      listeners.push(['stats', (stats) => void files.add(name, stats as CrawlStats, false)]);
      listeners.push(['end', (stats) => void files.add(name, stats as CrawlStats, true)]);
    }
    for (const [event, listener] of listeners) crawler.on(event, listener);
    return () => {
      for (const [event, listener] of listeners) crawler.off(event, listener);
    };
  }

  /** The promise is for `page`, the one event whose listeners a crawler waits for. */
  #log(name: string | undefined, event: EventName, fields: () => Fields): Promise<void> | undefined {
    try {
      this.#writer.write(this.#line(name, event, fields()));
    } catch (thrown) {
      this.#writer.lose(`cannot describe an event "${event}"`, thrown);
    }
    return event === 'page' ? this.#writer.ready() : undefined;
  }

  #line(name: string | undefined, event: EventName, fields: Fields): string {
    const time = new Date(this.#clock.now());
    if (this.#format === 'text') return textLine(time, name, event, fields);
    return jsonLine({ time: time.toISOString(), crawler: name, event, ...fields });
  }
}

function target(options: EventLogOptions): LineTarget {
  const file = path('path', options.path);
  if (file !== undefined && options.stream !== undefined) {
    throw new CrawlError(
      'CRAWL_OPTION_CONFLICT',
      'EventLog takes "stream" or "path", not both: they say where lines go.',
    );
  }
  if (file !== undefined) return fileTarget(file);
  const { stream } = options;
  if (stream === undefined) return { name: 'standard output', owned: false, open: () => process.stdout };
  if (stream !== null && typeof stream === 'object' && typeof stream.write === 'function') {
    return { name: 'its stream', owned: false, open: () => stream };
  }
  throw new CrawlError('CRAWL_OPTION_INVALID', `Option "stream" takes a writable stream, not ${show(stream)}.`);
}

function path(option: string, value: unknown): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '' && !value.includes('\0'))) return value;
  throw wrongOption(option, 'a path', value);
}

function eventNames(events: unknown): readonly EventName[] {
  if (events === undefined) return EVENT_LOG_DEFAULTS.events;
  if (!Array.isArray(events)) {
    throw new CrawlError('CRAWL_OPTION_INVALID', `Option "events" takes an array of event names, not ${show(events)}.`);
  }
  return [...new Set(events.map((event) => oneOf('events', event, 'start', EVENT_LOG_DEFAULTS.events)))];
}
