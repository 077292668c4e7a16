import { setMaxListeners } from 'node:events';
import { CrawlError, describeThrown } from '../errors.ts';
import { LinkExtractor } from '../link-extractor/index.ts';
import type { CrawlStore } from '../ports.ts';
import { type AdmittedSeeds, admitSeeds, admitSitemaps, sitemapLinks, usualSitemap } from '../seeding.ts';
import type { CrawlRequest, CrawlStats, Page } from '../types.ts';
import type { VisitContext } from '../visit/context.ts';
import { prioritized } from '../visit/links-step.ts';
import { refuse } from '../visit/refusal.ts';
import { visit } from '../visit/visit.ts';
import { Engine } from './engine.ts';
import { GuardedHooks, type UserHooks } from './hooks.ts';
import type { Settings } from './options.ts';
import type { PageChannel } from './page-channel.ts';
import { Session } from './session.ts';

/** The longest that `setInterval` can wait. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** One run of a crawler, from opening the store to `end`. */
export class Run {
  readonly channel: PageChannel | undefined;
  readonly #settings: Settings;
  readonly #user: UserHooks;
  readonly #abort = new AbortController();
  #session: Session | undefined;
  #engine: Engine | undefined;
  #stopped: { readonly now: boolean } | undefined;
  #pagesAtTick = 0;
  #queued = 0;
  #hosts: number | undefined;
  readonly #opened = promised<Session>();
  readonly #finished = promised<void>();

  constructor(settings: Settings, user: UserHooks, channel: PageChannel | undefined) {
    this.#settings = settings;
    this.#user = user;
    this.channel = channel;
  }

  /** What is open, once the store is. */
  get openSession(): Session | undefined {
    return this.#session;
  }

  /** The whole run. */
  async crawl(
    seeds: readonly URL[],
    memory: CrawlStore | undefined,
    signal: AbortSignal | undefined,
  ): Promise<CrawlStats> {
    const settings = memory === undefined ? this.#settings : { ...this.#settings, store: memory };
    const onAbort = (): void => void this.stop(true);
    try {
      const session = await Session.open(settings);
      this.#session = session;
      this.#opened.resolve(session);
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted === true) this.#stopped = { now: true };
      return await this.#run(session, seeds);
    } catch (thrown) {
      this.#opened.reject(thrown);
      throw thrown;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#finished.resolve();
    }
  }

  stats(): CrawlStats | undefined {
    return this.#session === undefined ? undefined : this.#snapshot(this.#session, this.#queued);
  }

  countError(error: CrawlError): void {
    this.#session?.stats.failed(error.code, hostOfError(error));
  }

  async pause(): Promise<void> {
    if (this.#engine === undefined || this.#engine.paused) return;
    await this.#engine.pause();
    this.#user.emit('pause');
  }

  resume(): void {
    if (this.#engine?.paused !== true) return;
    this.#engine.resume();
    this.#user.emit('resume');
  }

  /** Resolves when the run has ended, or waits for nothing but listeners. */
  async stop(now: boolean): Promise<void> {
    this.#stopped = { now: now || this.#stopped?.now === true };
    // Pages that wait for a reader would keep the run from ending; they are put back unread.
    this.channel?.cancel();
    if (now) this.#abort.abort();
    const quiet = this.#engine?.stop();
    if ((await quiet) === 'delivering') return;
    await this.#finished.promise;
  }

  async add(urls: readonly URL[]): Promise<number> {
    const session = await this.#opened.promise;
    const admitted = admitSeeds(urls, session.admission, 'added');
    const work = (): Promise<number> => this.#offer(session, admitted);
    return this.#engine === undefined ? work() : this.#engine.adding(work);
  }

  async #run(session: Session, seeds: readonly URL[]): Promise<CrawlStats> {
    const { clock, statsEveryMs } = this.#settings;
    // Each request in flight listens to the one signal that stops them all.
    setMaxListeners(0, this.#abort.signal);
    const before = await session.frontier.stats();
    session.stats.correctPages(before.pages);
    const earlier = session.stats.snapshot({ queued: 0, inFlight: 0 });
    session.stats.started(clock.now());
    this.#user.emit('start');
    const engine = this.#makeEngine(session);
    this.#engine = engine;
    const ticker = setInterval(() => void this.#tick(session), Math.min(statsEveryMs, LONGEST_TIMER_MS));
    const limit = this.#limitDuration(earlier.elapsedMs);
    try {
      await this.#seed(session, seeds);
      if (this.#stopped !== undefined) void engine.stop();
      await engine.run();
    } finally {
      clearInterval(ticker);
      clearTimeout(limit);
      session.stats.stopped(clock.now());
      await this.#close(session);
    }
    const stats = this.#snapshot(session, this.#queued);
    this.#user.emit('end', stats);
    return stats;
  }

  #makeEngine(session: Session): Engine {
    const { clock, concurrency, maxPages, statsEveryPages } = this.#settings;
    const context = this.#context(session);
    return new Engine({
      frontier: session.frontier,
      clock,
      concurrency,
      unreachable: session.unreachable,
      pagesLeft: () => maxPages - session.stats.pages,
      visit: (lease) => visit(context, lease),
      afterVisit: () => {
        if (session.stats.pages - this.#pagesAtTick < statsEveryPages) return;
        this.#pagesAtTick = session.stats.pages - (session.stats.pages % statsEveryPages);
        void this.#tick(session);
      },
    });
  }

  #context(session: Session): VisitContext {
    const { frontier, fetcher, robots, dns, admission, stats, contentSeen, unreachable, store } = session;
    const { clock, extractor, politeness, retries, maxRedirects, maxPagesPerHost, maxCrawlDelayMs } = this.#settings;
    const hooks = new GuardedHooks(
      this.#user,
      this.#settings.sinks,
      this.channel,
      extractor.extract === LinkExtractor.prototype.extract,
    );
    const sharesAddresses = Math.min(politeness.ipDelayMs ?? 0, politeness.minDelayMs ?? 0) > 0;
    return {
      userAgent: this.#settings.userAgent,
      frontier,
      fetcher,
      robots,
      resolve: sharesAddresses ? (hostname) => dns.resolve(hostname) : undefined,
      admission,
      extractor,
      stats,
      clock,
      contentSeen,
      unreachable,
      events: this.#user,
      hooks: {
        deliver: (page) => this.#deliver(hooks, page),
        expand: (page) => hooks.expand(page),
        shouldVisit: (link, from) => hooks.shouldVisit(link, from),
        prioritize: hooks.prioritize,
        seedMoved: (to) => void session.addSeeds([to]).catch((thrown: unknown) => this.#lose(thrown)),
        sitemapEntries: sitemapLinks,
        sitemapsOf: (origin, named) => this.#sitemapRequests(session, origin, named),
      },
      accept: guardedAccept(this.#settings.accept, this.#user),
      retries,
      maxRedirects,
      keepsCookies: this.#settings.keepsCookies,
      maxPagesPerHost,
      maxCrawlDelayMs,
      signal: this.#abort.signal,
      note:
        store.durable === true
          ? (url, reason, foundOn) => void frontier.note(url, { reason, foundOn }).catch((thrown) => this.#lose(thrown))
          : undefined,
      checkpoint: store.durable === true ? () => session.statsEntry(clock.now()) : undefined,
    };
  }

  async #deliver(hooks: GuardedHooks, page: Page): Promise<boolean> {
    if (this.#engine === undefined) return false;
    return this.#engine.delivering(() => hooks.deliver(page));
  }

  async #seed(session: Session, seeds: readonly URL[]): Promise<void> {
    await session.addSeeds(seeds);
    const admitted = admitSeeds(seeds, session.admission, 'seed');
    await this.#offer(session, admitted);
    if (session.robots !== undefined) return;
    // Nobody will read robots.txt and find sitemaps there, so the usual place is all there is to try.
    const origins = new Set(admitted.requests.map((request) => new URL(request.url).origin));
    const sitemaps = [...origins].flatMap((origin) => this.#sitemapRequests(session, origin, []));
    session.stats.offered(await session.frontier.offer(sitemaps));
  }

  /** The sitemaps to read for an origin whose robots.txt names these. */
  #sitemapRequests(session: Session, origin: string, named: readonly string[]): readonly CrawlRequest[] {
    const { sitemaps } = this.#settings;
    if (sitemaps === 'off') return [];
    const urls = named.length > 0 || sitemaps === 'robots' ? named : [usualSitemap(origin)];
    const admitted = admitSitemaps(urls, session.admission);
    this.#tellRefused(session, admitted);
    return admitted.requests;
  }

  #tellRefused(session: Session, { refused }: AdmittedSeeds): void {
    for (const refusal of refused)
      refuse({ events: this.#user, stats: session.stats, note: undefined }, refusal.url, refusal, undefined);
  }

  async #offer(session: Session, admitted: AdmittedSeeds): Promise<number> {
    this.#tellRefused(session, admitted);
    const { prioritize } = new GuardedHooks(this.#user, [], undefined, true);
    const requests: CrawlRequest[] = [];
    for (const request of admitted.requests) requests.push(await prioritized(prioritize, request));
    const known = new Set<number>();
    const fresh = await session.frontier.offer(requests, (index) => known.add(index));
    session.stats.offered(fresh);
    if (known.size > 0) session.stats.skipped('seen', known.size);
    for (const [index, request] of requests.entries()) {
      const link = { url: request.url, source: request.source ?? 'seed', rel: [], nofollow: false };
      if (known.has(index)) this.#user.emit('skip', request.url, 'seen', undefined);
      else this.#user.emit('offer', link);
    }
    this.#engine?.wake();
    return fresh;
  }

  /** `stats`, and a checkpoint where the store keeps one. */
  async #tick(session: Session): Promise<void> {
    try {
      this.#queued = (await session.frontier.stats()).queued;
      this.#hosts = (await session.frontier.stats()).hosts;
      this.#user.emit('stats', this.#snapshot(session, this.#queued));
      await session.checkpoint();
      this.#user.emit('checkpoint');
    } catch (thrown) {
      this.#lose(thrown);
    }
  }

  async #close(session: Session): Promise<void> {
    try {
      const { queued, hosts } = await session.frontier.stats();
      this.#queued = queued;
      this.#hosts = hosts;
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

  #limitDuration(elapsedMs: number): NodeJS.Timeout | undefined {
    const { maxDurationMs } = this.#settings;
    if (maxDurationMs === Number.POSITIVE_INFINITY) return undefined;
    const left = Math.max(0, maxDurationMs - elapsedMs);
    return setTimeout(() => void this.#engine?.stop(), Math.min(left, LONGEST_TIMER_MS));
  }

  #snapshot(session: Session, queued: number): CrawlStats {
    return session.stats.snapshot({ queued, inFlight: this.#engine?.inFlight ?? 0, hosts: this.#hosts });
  }
}

interface Promised<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** A promise to be settled from outside; one that nobody waits for may be rejected without harm. */
function promised<T>(): Promised<T> {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

function guardedAccept(accept: Settings['accept'], user: UserHooks): VisitContext['accept'] {
  return (head) => {
    try {
      const verdict = accept(head);
      if (verdict === 'buffer' || verdict === 'stream' || verdict === 'skip') return verdict;
      throw new TypeError(`accept() must give 'buffer', 'stream' or 'skip', not ${String(verdict)}`);
    } catch (thrown) {
      const message = `The option accept failed, so the body is not downloaded: ${describeThrown(thrown)}`;
      user.emit('error', new CrawlError('CRAWL_HOOK_FAILED', message, { cause: thrown, url: head.url }), head.url);
      return 'skip';
    }
  };
}

function hostOfError(error: CrawlError): string | undefined {
  try {
    return error.url === undefined ? undefined : new URL(error.url).hostname;
  } catch {
    return undefined;
  }
}
