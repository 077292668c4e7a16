import { CrawlError, describeThrown, isCrawlError } from '../errors.ts';
import { boolean, onlyKnown, show } from '../options.ts';
import type { CrawlStore } from '../ports.ts';
import { type GivenSeeds, readSeeds, type SeedInput } from '../seeding.ts';
import { MemoryStore } from '../store/memory/index.ts';
import type { CrawlRequest, CrawlStats, Explanation, Link, Page } from '../types.ts';
import { SafeEmitter } from './emitter.ts';
import { explain } from './explain.ts';
import type { CrawlerOptions } from './options.ts';
import { PageChannel } from './page-channel.ts';
import { Run } from './run.ts';
import { readOptions, type Settings } from './settings.ts';

/** What `run` and `pages` take besides seeds. */
export interface RunOptions {
  /** Aborting it stops the crawl at once, as `stop({ now: true })` does. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether seeds that were visited before are visited again. A page that has not changed since it was delivered is an
   * `unchanged` event then, and no `page`. Of what it links to only that is queued which was never seen.
   * @defaultValue `false`
   */
  readonly revisit?: boolean | undefined;
}

/** What `add` takes besides URLs. */
export type AddOptions = Pick<RunOptions, 'revisit'>;

/**
 * A polite crawl: wires the frontier, the fetcher, robots rules, link extraction and filters together, and tells what
 * happens through typed events. Several crawlers may run side by side.
 *
 * Without `store` the frontier lives in memory for as long as the crawler: a second `run` goes on where the first ended
 * and visits no page again. Subclasses may override `shouldVisit`, `visit`, `expand` and `prioritize`.
 *
 * @example
 * ```ts
 * const crawler = new Crawler({ userAgent: 'example/1.0 (+mailto:you@example.org)' });
 * crawler.on('page', (page) => console.log(page.status, page.url, page.title));
 * await crawler.run(['https://example.org/']);
 * ```
 */
export class Crawler extends SafeEmitter {
  readonly #settings: Settings;
  #memory: CrawlStore | undefined;
  #addedEarly: GivenSeeds[] = [];
  #run: Run | undefined;
  #last: CrawlStats | undefined;

  /**
   * Checks the options and opens nothing.
   * @throws {@link CrawlError} `CRAWL_CONTACT_MISSING`, `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`.
   */
  constructor(options: CrawlerOptions) {
    super();
    this.#settings = readOptions(options);
  }

  /**
   * Crawls until nothing is left to do, a limit is reached or it is stopped. Without seeds it goes on with what the
   * store holds; where that is nothing either, a `warning` says so.
   * @returns the totals, which are also the argument of `end`.
   * @throws {@link CrawlError} `CRAWL_URL_INVALID` for a seed that is no http or https URL, `CRAWL_ALREADY_RUNNING`,
   * `CRAWL_OPTION_INVALID` where `canonical` is not what the store was begun with, `CRAWL_DEPENDENCY_MISSING`, and what the
   * store throws where it is lost. A page that fails is an `error` event, never a rejection.
   */
  async run(seeds?: Iterable<SeedInput> | SeedInput, options: RunOptions = {}): Promise<CrawlStats> {
    const signal = readSignal('run', options);
    return this.#crawl(readBatch(seeds, options), undefined, signal);
  }

  /**
   * The pages as they are fetched. The crawl keeps to the reader's pace; leaving the loop, or aborting `signal`, stops
   * it at once and ends the iteration.
   * @throws {@link CrawlError} as `run` does, at the first step or where the crawl breaks off.
   */
  async *pages(
    seeds?: Iterable<SeedInput> | SeedInput,
    options: RunOptions = {},
  ): AsyncGenerator<Page, void, undefined> {
    const channel = new PageChannel();
    const signal = readSignal('pages', options);
    const batch = readBatch(seeds, options);
    let failure: unknown;
    const running = this.#crawl(batch, channel, signal)
      .catch((thrown: unknown) => {
        failure = thrown ?? new CrawlError('CRAWL_INTERNAL', 'The crawl failed without saying why');
      })
      .finally(() => channel.end());
    try {
      for (let page = await channel.next(); page !== undefined; page = await channel.next()) yield page;
    } finally {
      channel.cancel();
      // Only the crawl that this channel belongs to may be stopped by it.
      if (this.#run?.channel === channel) void this.#run.stop(true);
      await running;
    }
    if (failure !== undefined) throw failure;
  }

  /**
   * Queues URLs: before a run as further seeds, during one as URLs that scope and filter still judge.
   * @returns how many were new or are visited again; 0 before a run, when nothing is queued yet.
   * @throws {@link CrawlError} `CRAWL_URL_INVALID`, or `CRAWL_CLOSED` where the run is just ending; nothing is queued then.
   */
  async add(urls: Iterable<SeedInput> | SeedInput, options: AddOptions = {}): Promise<number> {
    onlyKnown('Crawler.add', options, ['revisit']);
    const batch = readBatch(urls, options);
    if (this.#run !== undefined) return this.#run.add(batch);
    this.#addedEarly.push(batch);
    try {
      await batch.urls();
    } catch (thrown) {
      this.#addedEarly = this.#addedEarly.filter((added) => added !== batch);
      throw thrown;
    }
    return 0;
  }

  /**
   * Starts no new request; resolves when none is in flight. Pages that are with their listeners are not waited for, since
   * it may be a listener that waits here. Does nothing where no crawl runs.
   */
  async pause(): Promise<void> {
    await this.#run?.pause();
  }

  /** Takes up a paused crawl. */
  resume(): void {
    this.#run?.resume();
  }

  /**
   * Ends the crawl: what is in flight is finished, or with `now` aborted and put back. Resolves when the run has ended,
   * or when all that keeps it are pages with their listeners, since it may be a listener that waits here; `run` itself
   * waits for them. What is queued stays so, and a later `run` goes on with it.
   */
  async stop(options: { readonly now?: boolean | undefined } = {}): Promise<void> {
    onlyKnown('Crawler.stop', options, ['now']);
    await this.#run?.stop(boolean('now', options.now, false));
  }

  /** The totals so far. */
  stats(): CrawlStats | undefined {
    return this.#run?.stats() ?? this.#last;
  }

  /** Whether a crawl runs. */
  get running(): boolean {
    return this.#run !== undefined;
  }

  /**
   * What became of a URL: where it was found, what the filter says, how often it was asked for.
   * @throws {@link CrawlError} what the store throws.
   */
  async explain(url: string): Promise<Explanation> {
    const session = this.#run?.openSession;
    return explain(url, this.#settings, { store: session?.store ?? this.#memory, admission: session?.admission });
  }

  /** Whether a link that passed scope and filter is to be visited: `true` or `false`. To be overridden; may be async. */
  shouldVisit(_link: Link, _from: Page): boolean | Promise<boolean> {
    return true;
  }

  /** Called with each page, awaited. To be overridden; does nothing by itself. */
  visit(_page: Page): void | Promise<void> {}

  /**
   * The links to follow from a page: links, URLs or texts relative to it; an item that is none is an `error`. To be
   * overridden; gives the page's links. May be async.
   */
  expand(page: Page): Iterable<Link> | Promise<Iterable<Link>> {
    return page.links;
  }

  /** The front queue of a request: −8 to 7, higher is sooner. To be overridden; gives 0. May be async. */
  prioritize(request: CrawlRequest): number | Promise<number> {
    return request.level;
  }

  protected override onError(error: CrawlError): void {
    this.#run?.countError(error);
  }

  async #crawl(
    seeds: GivenSeeds,
    channel: PageChannel | undefined,
    signal: AbortSignal | undefined,
  ): Promise<CrawlStats> {
    if (this.#run !== undefined) {
      throw new CrawlError('CRAWL_ALREADY_RUNNING', 'This crawler is running: await its run(), or stop() it first.');
    }
    const run = new Run(this.#settings, this.#hooks(), channel);
    this.#run = run;
    try {
      if (this.#settings.store === undefined) this.#memory ??= await MemoryStore.open();
      const all = [...this.#addedEarly.splice(0), seeds];
      this.#last = await run.crawl(all, this.#memory, signal);
      return this.#last;
    } catch (thrown) {
      if (isCrawlError(thrown)) throw thrown;
      throw new CrawlError('CRAWL_STORE_FAILED', `The crawl broke off: ${describeThrown(thrown)}`, { cause: thrown });
    } finally {
      this.#run = undefined;
    }
  }

  #hooks(): ConstructorParameters<typeof Run>[1] {
    const base = Crawler.prototype;
    return {
      emit: (event, ...args) => this.emit(event, ...args),
      emitAndWait: (event, ...args) => this.emitAndWait(event, ...args),
      wants: (event) => this.listenerCount(event) > 0,
      release: (stats) => {
        this.#run = undefined;
        this.#last = stats;
      },
      visit: this.visit === base.visit ? undefined : (page) => this.visit(page),
      expand: this.expand === base.expand ? undefined : (page) => this.expand(page),
      shouldVisit: this.shouldVisit === base.shouldVisit ? undefined : (link, from) => this.shouldVisit(link, from),
      prioritize: this.prioritize === base.prioritize ? undefined : (request) => this.prioritize(request),
    };
  }
}

/** @throws {@link CrawlError} `CRAWL_URL_INVALID` or `CRAWL_OPTION_INVALID`. */
function readBatch(seeds: Iterable<SeedInput> | SeedInput | undefined, { revisit }: AddOptions): GivenSeeds {
  return { urls: readSeeds(seeds), revisit: boolean('revisit', revisit, false) };
}

/** @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`. */
function readSignal(method: string, options: RunOptions): AbortSignal | undefined {
  onlyKnown(`Crawler.${method}`, options, ['signal', 'revisit']);
  const { signal } = options;
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw new CrawlError('CRAWL_OPTION_INVALID', `Option "signal" takes an AbortSignal, not ${show(signal)}.`);
}
