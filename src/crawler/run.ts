import { setMaxListeners } from 'node:events';
import { CrawlError } from '../errors.ts';
import { isBuiltIn } from '../link-extractor/index.ts';
import { LONGEST_TIMER_MS } from '../options.ts';
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
import { Reports } from './reports.ts';
import { Session } from './session.ts';
import type { Settings } from './settings.ts';
import { type Before, NO_SEEDS, usedUp } from './used-up.ts';
import { type VisitParts, visitContext } from './visit-context.ts';

/** How long a store is waited for once the crawl is to stop at once, in milliseconds. */
const LAST_WAIT_MS = 60_000;

/** One run of a crawler, from opening the store to `end`. */
export class Run {
  readonly channel: PageChannel | undefined;
  readonly #settings: Settings;
  readonly #user: UserHooks;
  readonly #abort = new AbortController();
  #session: Session | undefined;
  #engine: Engine | undefined;
  #pageWorker: PageWorker | undefined;
  #wasGiven = false;
  #brokenBodies: ReadonlyMap<string, CrawlError> | undefined;
  #stopped: { readonly now: boolean } | undefined;
  #reports: Reports | undefined;
  readonly #opened = promised<Offering>();
  readonly #working = promised<Engine>();
  readonly #pausing = new Pausing(this.#working.promise, (event) => this.#user.emit(event));
  #limit: NodeJS.Timeout | undefined;
  #lastWait: NodeJS.Timeout | undefined;
  readonly #abandoned = promised<never>();
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
      this.#reports?.stop();
      clearTimeout(this.#limit);
      clearTimeout(this.#lastWait);
      signal?.removeEventListener('abort', onAbort);
      await this.#pageWorker?.close();
      this.#finished.resolve();
    }
  }

  stats(): CrawlStats | undefined {
    return this.#reports?.snapshot();
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
    const work = async (): Promise<number> => offering.add(this.#taken({ urls: await urls(), revisit }));
    return this.#engine === undefined ? work() : this.#engine.adding(work);
  }

  async #openAndRun(settings: Settings, given: readonly GivenSeeds[]): Promise<CrawlStats> {
    const seeds: SeedBatch[] = [];
    for (const { urls, revisit } of given) seeds.push(this.#taken({ urls: await urls(), revisit }));
    this.#pageWorker = await this.#openPageWorker();
    const session = await Session.open(settings);
    this.#session = session;
    const reports = new Reports({
      session,
      settings,
      user: this.#user,
      inFlight: () => this.#engine?.inFlight ?? 0,
      lost: (thrown) => this.#lose(thrown),
    });
    this.#reports = reports;
    return this.#run(session, seeds, reports);
  }

  async #run(session: Session, seeds: readonly SeedBatch[], reports: Reports): Promise<CrawlStats> {
    const { clock } = this.#settings;
    // Each request in flight listens to the one signal that stops them all.
    setMaxListeners(0, this.#abort.signal);
    const before = await session.frontier.stats();
    session.stats.correctPages(before.pages);
    const earlier = session.stats.snapshot({ queued: 0, inFlight: 0 });
    session.stats.started(clock.now());
    this.#user.emit('start');
    const { prioritize } = this.#guarded((work) => this.#engine?.asking(work) ?? work());
    const offering = new Offering(session, this.#settings.sitemaps, this.#user, prioritize);
    const engine = this.#makeEngine(session, offering, reports);
    this.#engine = engine;
    this.#working.resolve(engine);
    reports.begin(before.pages);
    this.#limitDuration(earlier.elapsedMs);
    try {
      await session.addSeeds(seeds.flatMap(({ urls }) => urls));
      // Who adds URLs meanwhile is judged by a scope that knows the seeds.
      this.#opened.resolve(offering);
      await offering.seed(seeds);
      await reports.refresh();
      this.#tellUsedUp({ ...earlier, queued: reports.snapshot().queued });
      if (this.#stopped !== undefined) void engine.stop();
      await engine.run();
      await this.#tellNothingGiven(session);
      this.#tellBroken(session);
    } finally {
      reports.stop();
      clearTimeout(this.#limit);
      session.stats.stopped(clock.now());
      await this.#pageWorker?.close();
      await this.#close(session, reports);
    }
    const stats = reports.snapshot();
    this.#user.release(stats);
    this.#user.emit('end', stats);
    return stats;
  }

  #tellUsedUp(before: Before): void {
    const warning = usedUp(this.#settings, before);
    if (warning === undefined || this.#stopped !== undefined) return;
    void this.#engine?.stop();
    this.#user.emit('warning', warning, undefined);
  }

  #taken(batch: SeedBatch): SeedBatch {
    this.#wasGiven ||= batch.urls.length > 0;
    return batch;
  }

  /** At the end, since something may be added until then. */
  async #tellNothingGiven({ frontier }: Session): Promise<void> {
    if (this.#wasGiven || this.#stopped !== undefined || (await frontier.stats()).seen > 0) return;
    this.#user.emit('warning', NO_SEEDS, undefined);
  }

  /** Of pages whose bodies broke, and which are not tried again since others have used up the limit meanwhile. */
  #tellBroken({ stats }: Session): void {
    if (this.#stopped !== undefined || stats.pages < this.#settings.maxPages) return;
    for (const [url, error] of this.#brokenBodies ?? []) this.#user.emit('error', error, url);
  }

  #makeEngine(session: Session, offering: Offering, reports: Reports): Engine {
    const { clock, concurrency, maxPages } = this.#settings;
    const context = visitContext(session, this.#settings, {
      user: this.#user,
      hooks: this.#hooks(offering),
      signal: this.#abort.signal,
      lost: (thrown) => this.#lose(thrown),
    });
    this.#brokenBodies = context.brokenBodies;
    return new Engine({
      frontier: session.frontier,
      clock,
      concurrency,
      unreachable: session.unreachable,
      prefetch: (hosts) => session.finder.prefetch(hosts),
      pagesLeft: () => maxPages - session.stats.pages,
      visit: (lease) => visit(context, lease),
      afterVisit: () => reports.afterVisit(),
    });
  }

  #hooks(offering: Offering): VisitParts['hooks'] {
    const hooks = this.#guarded((work) => this.#engine?.delivering(work) ?? work());
    return {
      deliver: (page) => this.#deliver(hooks, page),
      expand: (page, onNoUrl) => hooks.expand(page, onNoUrl),
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
      trusted: isBuiltIn(extractor),
      patience: this.#patience,
      timeoutMs: handlerTimeoutMs,
      delivering,
    });
  }

  async #close(session: Session, reports: Reports): Promise<void> {
    try {
      await reports.end();
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
}

function hostOfError(error: CrawlError): string | undefined {
  try {
    return error.url === undefined ? undefined : new URL(error.url).hostname;
  } catch {
    return undefined;
  }
}
