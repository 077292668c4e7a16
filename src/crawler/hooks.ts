import { CrawlError, type CrawlErrorCode, describeThrown } from '../errors.ts';
import { readerFailed } from '../fetcher/body-stream.ts';
import { show } from '../options.ts';
import type { Sink } from '../ports.ts';
import { ignore, isThenable } from '../promises.ts';
import type { CrawlerEvents, CrawlRequest, CrawlStats, Link, Page } from '../types.ts';
import { toLinks } from './expanded-links.ts';
import type { PageChannel } from './page-channel.ts';
import { type Patience, TIMED_OUT } from './patience.ts';

/** The user's part of a crawl; `undefined` where a hook was not overridden, so that it costs nothing. */
export interface UserHooks {
  emit<K extends keyof CrawlerEvents>(event: K, ...args: CrawlerEvents[K]): boolean;
  emitAndWait<K extends keyof CrawlerEvents>(event: K, ...args: CrawlerEvents[K]): Promise<unknown> | undefined;
  wants(event: keyof CrawlerEvents): boolean;
  /** The run is over but for its last event. */
  release(stats: CrawlStats): void;
  readonly visit: ((page: Page) => void | Promise<void>) | undefined;
  readonly expand: ((page: Page) => Iterable<Link> | Promise<Iterable<Link>>) | undefined;
  readonly shouldVisit: ((link: Link, from: Page) => boolean | Promise<boolean>) | undefined;
  readonly prioritize: ((request: CrawlRequest) => number | Promise<number>) | undefined;
}

/** How the hooks of a run are called. */
export interface HookParts {
  readonly user: UserHooks;
  readonly sinks: readonly Sink[];
  readonly channel: PageChannel | undefined;
  /** Whether pages find their links with the built-in extractor, so that these need no looking over. */
  readonly trusted: boolean;
  readonly patience: Patience;
  /** The limit that `patience` has, for messages. */
  readonly timeoutMs: number;
  /** Does work that is with the user's code, and that who may be part of it must not wait for. */
  readonly delivering: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A call of the user's code. */
interface Call<T> {
  readonly what: string;
  readonly url: string;
  readonly code: CrawlErrorCode;
  readonly run: () => T | PromiseLike<T>;
  /** What counts where it fails. */
  readonly fallback: T;
  /** What the call may read of a body as it arrives. */
  readonly stream?: Page['stream'];
  /** What the call is part of: once one of a hook's did not settle in time, no more are made for it. */
  readonly about?: { readonly of: object; readonly hung: WeakSet<object> } | undefined;
}

/** Calls user code so that a fault in it costs one page its hook, and never the crawl. None of it throws or rejects. */
export class GuardedHooks {
  readonly #parts: HookParts;
  readonly #neverSaid = new WeakSet<object>();
  readonly #neverRanked = new WeakSet<object>();

  constructor(parts: HookParts) {
    this.#parts = parts;
  }

  /** See `VisitHooks.deliver`. */
  deliver(page: Page): Promise<boolean> {
    return this.#parts.delivering(() => this.#deliver(page));
  }

  async #deliver(page: Page): Promise<boolean> {
    const { channel, sinks, user } = this.#parts;
    // The reader of `pages()` takes the time it takes: only code that is called must come back.
    if (channel !== undefined && !(await channel.offer(page))) return false;
    const { visit } = user;
    const { stream, url } = page;
    const common = { url, stream, fallback: undefined };
    if (visit !== undefined) {
      const visiting = this.#call({
        ...common,
        what: 'The hook visit',
        code: 'CRAWL_HOOK_FAILED',
        run: () => visit(page),
      });
      if (isThenable(visiting)) await visiting;
    }
    const listening = user.emitAndWait('page', page);
    if (listening !== undefined) {
      const what = 'A listener of "page"';
      await this.#call<unknown>({ ...common, what, code: 'CRAWL_LISTENER_FAILED', run: () => listening });
    }
    for (const sink of sinks) {
      await this.#call({ ...common, what: 'A sink', code: 'CRAWL_SINK_FAILED', run: () => sink.write(page) });
    }
    return true;
  }

  /** See `VisitHooks.expand`; a fault leaves the page without links, an item that is none is told and left out. */
  async expand(page: Page, onNoUrl: (text: string) => void): Promise<readonly Link[]> {
    const { trusted, user } = this.#parts;
    const { expand } = user;
    if (expand === undefined && trusted) return page.links;
    const what = expand === undefined ? 'The extractor' : 'The hook expand';
    const { url } = page;
    const onWrong = (message: string): void =>
      void user.emit('error', new CrawlError('CRAWL_HOOK_FAILED', `${what} ${message}`, { url }), url);
    const read = (given: unknown): readonly Link[] => toLinks(given, page, { onNoUrl, onWrong });
    return this.#ask<readonly Link[]>({
      what,
      url,
      code: 'CRAWL_HOOK_FAILED',
      run: () => {
        const found = expand === undefined ? page.links : expand(page);
        return isThenable(found) ? found.then(read) : read(found);
      },
      fallback: [],
    });
  }

  /** See `VisitHooks.shouldVisit`; a fault refuses the link. */
  shouldVisit(link: Link, from: Page): Promise<boolean> | boolean {
    const { shouldVisit } = this.#parts.user;
    if (shouldVisit === undefined) return true;
    return this.#ask({
      what: 'The hook shouldVisit',
      url: link.url,
      code: 'CRAWL_HOOK_FAILED',
      run: () => {
        const given = shouldVisit(link, from);
        return isThenable(given) ? given.then(toVerdict) : toVerdict(given);
      },
      fallback: false,
      about: { of: from, hung: this.#neverSaid },
    });
  }

  /** See `VisitHooks.prioritize`; a fault leaves the level as it is. */
  get prioritize(): ((request: CrawlRequest, about: object) => Promise<number> | number) | undefined {
    const { prioritize } = this.#parts.user;
    if (prioritize === undefined) return undefined;
    return (request, about) =>
      this.#ask({
        what: 'The hook prioritize',
        url: request.url,
        code: 'CRAWL_HOOK_FAILED',
        run: () => {
          const given = prioritize(request);
          return isThenable(given) ? given.then(toNumber) : toNumber(given);
        },
        fallback: request.level,
        about: { of: about, hung: this.#neverRanked },
      });
  }

  /** As {@link GuardedHooks.#call}, for what is not part of a delivery. */
  #ask<T>(call: Call<T>): Promise<T> | T {
    const { about } = call;
    if (about?.hung.has(about.of) === true) return call.fallback;
    const answer = this.#call(call);
    return answer instanceof Promise ? this.#parts.delivering(() => answer) : answer;
  }

  /** What the code gives; where it fails or does not settle in time that is told, and the fallback counts. */
  #call<T>(call: Call<T>): Promise<T> | T {
    try {
      const returned = call.run();
      return isThenable(returned) ? this.#settled(call, returned as PromiseLike<T>) : returned;
    } catch (thrown) {
      return this.#failed(call, thrown);
    }
  }

  async #settled<T>(call: Call<T>, promise: PromiseLike<T>): Promise<T> {
    try {
      const settled = await this.#parts.patience.wait(promise);
      if (settled !== TIMED_OUT) return settled;
    } catch (thrown) {
      return this.#failed(call, thrown);
    }
    ignore(promise);
    const { about, url, what } = call;
    about?.hung.add(about.of);
    const message = `${what} did not come to its end in time (handlerTimeoutMs: ${this.#parts.timeoutMs}); the crawl goes on without it`;
    this.#parts.user.emit('error', new CrawlError('CRAWL_HANDLER_TIMEOUT', message, { url }), url);
    return call.fallback;
  }

  #failed<T>({ code, fallback, stream, url, what }: Call<T>, thrown: unknown): T {
    // That the body broke is told once, by whoever fetched it.
    if (readerFailed(stream, thrown)) return fallback;
    const message =
      code === 'CRAWL_SINK_FAILED'
        ? `A sink could not write ${url}: ${describeThrown(thrown)}`
        : `${what} failed: ${describeThrown(thrown)}`;
    this.#parts.user.emit('error', new CrawlError(code, message, { cause: thrown, url }), url);
    return fallback;
  }
}

function toVerdict(verdict: unknown): boolean {
  if (verdict === true || verdict === false) return verdict;
  throw new TypeError(`shouldVisit() must give true or false, not ${show(verdict)}`);
}

function toNumber(priority: unknown): number {
  if (typeof priority === 'number') return priority;
  throw new TypeError(`prioritize() must give a number, not ${show(priority)}`);
}
