import { setMaxListeners } from 'node:events';
import { CrawlError } from '../errors.ts';
import { LinkExtractor } from '../link-extractor/index.ts';
import type { FetchedPage } from '../page.ts';
import { PageWorker } from '../page-worker/index.ts';
import type { CrawlStore } from '../ports.ts';
import { promised } from '../promises.ts';
import type { GivenSeeds, SeedBatch } from '../seeding.ts';
import type { CrawlStats } from '../types.ts';
import { visit } from '../visit/visit.ts';
import { Engine } from './engine.ts';
import { GuardedHooks, type HookParts, type UserHooks } from './hooks.ts';
import { Offering } from './offering.ts';
import type { PageChannel } from './page-channel.ts';
import { Patience } from './patience.ts';
import { Pausing } from './pausing.ts';
import { Session } from './session.ts';
import type { Settings } from './settings.ts';
import { type VisitParts, visitContext } from './visit-context.ts';

/** How old the counts that only the store knows may be, in milliseconds. */
const REFRESH_MS = 100;
/** How long a store is waited for once the crawl is to stop at once, in milliseconds. */
const LAST_WAIT_MS = 60_000;
/** The longest that a timer can wait. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** One run of a crawler, from opening the store to `end`. */
export class Run {
  readonly channel: PageChannel | undefined;
  readonly #settings: Settings;
  readonly #user: UserHooks;
  readonly #abort = new AbortController();
  #session: Session | undefined;
  #engine: Engine | undefined;
  #pageWorker: PageWorker | undefined;
  #stopped: { readonly now: boolean } | undefined;
  #pagesAtTick = 0;
  #queued = 0;
  #hosts: number | undefined;
  readonly #opened = promised<Offering>();
  readonly #working = promised<Engine>();
  readonly #pausing = new Pausing(this.#working.promise, (event) => this.#user.emit(event));
  #refreshedAt = 0;
  #limit: NodeJS.Timeout | undefined;
  #ticker: NodeJS.Timeout | undefined;
  #lastWait: NodeJS.Timeout | undefined;
  readonly #abandoned = promised<never>();
  #ticking = false;
  readonly #finished = promised<void>();
  readonly #patience: Patience;

  constructor(settings: Settings, user: UserHooks, channel: PageChannel | undefined) {
    this.#settings = settings;
    this.#patience = new Patience(settings.handlerTimeoutMs);
    this.#user = user;
    this.channel = channel;
  }

  /** What is open, once the store is. */
  get openSession(): Session | undefined {
    return this.#session;
  }

  /** The whole run. */
  async crawl(
    seeds: readonly GivenSeeds[],
    memory: CrawlStore | undefined,
    signal: AbortSignal | undefined,
  ): Promise<CrawlStats> {
    const settings = memory === undefined ? this.#settings : { ...this.#settings, store: memory };
    const onAbort = (): void => void this.stop(true);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
    try {
      return await Promise.race([this.#openAndRun(settings, seeds), this.#abandoned.promise]);
    } catch (thrown) {
      this.#opened.reject(thrown);
      this.#working.reject(thrown);
      throw thrown;
    } finally {
      this.#patience.close();
      clearInterval(this.#ticker);
      clearTimeout(this.#limit);
      clearTimeout(this.#lastWait);
      signal?.removeEventListener('abort', onAbort);
      await this.#pageWorker?.close();
      this.#finished.resolve();
    }
  }

  stats(): CrawlStats | undefined {
    return this.#session === undefined ? undefined : this.#snapshot(this.#session, this.#queued);
  }

  countError(error: CrawlError): void {
    this.#session?.stats.failed(error.code, hostOfError(error));
  }

  pause(): Promise<void> {
    return this.#pausing.pause();
  }

  resume(): void {
    void this.#pausing.resume();
  }

  /** Resolves when the run has ended, or waits for nothing but listeners. */
  async stop(now: boolean): Promise<void> {
    this.#stopped = { now: now || this.#stopped?.now === true };
    // Pages that wait for a reader would keep the run from ending; they are put back unread.
    this.channel?.cancel();
    if (now) this.#breakOff();
    const quiet = this.#engine?.stop();
    if ((await Promise.race([quiet, this.#finished.promise])) === 'delivering') return;
    await this.#finished.promise;
  }

  #breakOff(): void {
    this.#abort.abort();
    this.#patience.hurry();
    this.#pageWorker?.stop();
    this.#lastWait ??= setTimeout(() => {
      const message =
        'A minute after the crawl was to stop at once its store had still not answered. It is left as it is.';
      this.#abandoned.reject(new CrawlError('CRAWL_STORE_FAILED', message));
    }, LAST_WAIT_MS);
  }

  async add({ urls, revisit }: GivenSeeds): Promise<number> {
    const offering = await this.#opened.promise;
    const work = async (): Promise<number> => offering.add({ urls: await urls(), revisit });
    return this.#engine === undefined ? work() : this.#engine.adding(work);
  }

  async #openAndRun(settings: Settings, given: readonly GivenSeeds[]): Promise<CrawlStats> {
    const seeds: SeedBatch[] = [];
    for (const { urls, revisit } of given) seeds.push({ urls: await urls(), revisit });
    this.#pageWorker = await this.#openPageWorker();
    this.#session = await Session.open(settings);
    return this.#run(this.#session, seeds);
  }

  async #run(session: Session, seeds: readonly SeedBatch[]): Promise<CrawlStats> {
    const { clock, statsEveryMs, statsEveryPages } = this.#settings;
    // Each request in flight listens to the one signal that stops them all.
    setMaxListeners(0, this.#abort.signal);
    const before = await session.frontier.stats();
    session.stats.correctPages(before.pages);
    this.#pagesAtTick = before.pages - (before.pages % statsEveryPages);
    const earlier = session.stats.snapshot({ queued: 0, inFlight: 0 });
    session.stats.started(clock.now());
    this.#user.emit('start');
    // Nothing is in flight for the sake of what comes from the user.
    const { prioritize } = this.#guarded((work) => work());
    const offering = new Offering(session, this.#settings.sitemaps, this.#user, prioritize);
    const engine = this.#makeEngine(session, offering);
    this.#engine = engine;
    this.#working.resolve(engine);
    this.#ticker = setInterval(() => void this.#tick(session), Math.min(statsEveryMs, LONGEST_TIMER_MS));
    this.#limitDuration(earlier.elapsedMs);
    try {
      await session.addSeeds(seeds.flatMap(({ urls }) => urls));
      // Who adds URLs meanwhile is judged by a scope that knows the seeds.
      this.#opened.resolve(offering);
      await offering.seed(seeds);
      await this.#refresh(session);
      if (this.#stopped !== undefined) void engine.stop();
      await engine.run();
    } finally {
      clearInterval(this.#ticker);
      clearTimeout(this.#limit);
      session.stats.stopped(clock.now());
      await this.#pageWorker?.close();
      await this.#close(session);
    }
    const stats = this.#snapshot(session, this.#queued);
    this.#user.release(stats);
    this.#user.emit('end', stats);
    return stats;
  }

  #makeEngine(session: Session, offering: Offering): Engine {
    const { clock, concurrency, maxPages, statsEveryPages } = this.#settings;
    const context = visitContext(session, this.#settings, {
      user: this.#user,
      hooks: this.#hooks(offering),
      signal: this.#abort.signal,
      lost: (thrown) => this.#lose(thrown),
    });
    return new Engine({
      frontier: session.frontier,
      clock,
      concurrency,
      unreachable: session.unreachable,
      prefetch: (hosts) => session.finder.prefetch(hosts),
      pagesLeft: () => maxPages - session.stats.pages,
      visit: (lease) => visit(context, lease),
      afterVisit: () => {
        if (clock.now() - this.#refreshedAt >= REFRESH_MS)
          void this.#refresh(session).catch((thrown) => this.#lose(thrown));
        if (session.stats.pages - this.#pagesAtTick < statsEveryPages) return;
        this.#pagesAtTick = session.stats.pages - (session.stats.pages % statsEveryPages);
        void this.#tick(session);
      },
    });
  }

  #hooks(offering: Offering): VisitParts['hooks'] {
    const hooks = this.#guarded((work) => this.#engine?.delivering(work) ?? work());
    return {
      deliver: (page) => this.#deliver(hooks, page),
      expand: (page) => hooks.expand(page),
      shouldVisit: (link, from) => hooks.shouldVisit(link, from),
      prioritize: hooks.prioritize,
      sitemapsOf: (origin, named) => offering.sitemapsOf(origin, named),
    };
  }

  async #openPageWorker(): Promise<PageWorker | undefined> {
    const { pageWorker, userAgent, extractor } = this.#settings;
    if (pageWorker === undefined) return undefined;
    const onError = (error: CrawlError, url: string | undefined): void => void this.#user.emit('error', error, url);
    return PageWorker.open(pageWorker, { userAgent, extractor, onError });
  }

  async #deliver(hooks: GuardedHooks, page: FetchedPage): Promise<boolean> {
    if (this.#pageWorker !== undefined && !(await this.#pageWorker.process(page))) return false;
    return hooks.deliver(page);
  }

  #guarded(delivering: HookParts['delivering']): GuardedHooks {
    const { extractor, handlerTimeoutMs, sinks } = this.#settings;
    return new GuardedHooks({
      user: this.#user,
      sinks,
      channel: this.channel,
      trusted: extractor.extract === LinkExtractor.prototype.extract,
      patience: this.#patience,
      timeoutMs: handlerTimeoutMs,
      delivering,
    });
  }

  /** `stats`, and a checkpoint where the store keeps one; not while one is under way. */
  async #tick(session: Session): Promise<void> {
    if (this.#ticking) return;
    this.#ticking = true;
    try {
      await this.#refresh(session);
      this.#user.emit('stats', this.#snapshot(session, this.#queued));
      await session.checkpoint();
      this.#user.emit('checkpoint');
    } catch (thrown) {
      this.#lose(thrown);
    } finally {
      this.#ticking = false;
    }
  }

  /** What only the store knows of the statistics. */
  async #refresh(session: Session): Promise<void> {
    this.#refreshedAt = this.#settings.clock.now();
    const { queued, hosts } = await session.frontier.stats();
    this.#queued = queued;
    this.#hosts = hosts;
  }

  async #close(session: Session): Promise<void> {
    try {
      await this.#refresh(session);
      await session.checkpoint();
      this.#user.emit('checkpoint');
    } finally {
      await session.close();
    }
  }

  /** The store can't be written any more: the crawl ends, and `run` says why. */
  #lose(thrown: unknown): void {
    this.#engine?.fail(thrown);
  }

  /** Ends the run in time, by as many timers as it takes: one alone can't wait for more than 24 days. */
  #limitDuration(elapsedMs: number): void {
    const left = this.#settings.maxDurationMs - elapsedMs;
    if (left === Number.POSITIVE_INFINITY) return;
    const wait = Math.max(0, Math.min(left, LONGEST_TIMER_MS));
    this.#limit = setTimeout(() => {
      if (wait >= left) void this.#engine?.stop();
      else this.#limitDuration(elapsedMs + wait);
    }, wait);
  }

  #snapshot(session: Session, queued: number): CrawlStats {
    return session.stats.snapshot({ queued, inFlight: this.#engine?.inFlight ?? 0, hosts: this.#hosts });
  }
}

function hostOfError(error: CrawlError): string | undefined {
  try {
    return error.url === undefined ? undefined : new URL(error.url).hostname;
  } catch {
    return undefined;
  }
}
