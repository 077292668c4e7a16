import { CrawlError, describeThrown } from '../errors.ts';
import { show } from '../options.ts';
import type { Sink } from '../ports.ts';
import type { CrawlerEvents, CrawlRequest, CrawlStats, Link, Page } from '../types.ts';
import { resolveUrl } from '../url.ts';
import { isThenable } from './emitter.ts';
import type { PageChannel } from './page-channel.ts';

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

/** Calls user code so that a fault in it costs one page its hook, and never the crawl. */
export class GuardedHooks {
  readonly #user: UserHooks;
  readonly #sinks: readonly Sink[];
  readonly #channel: PageChannel | undefined;
  readonly #trusted: boolean;

  /** @param trusted - Whether pages find their links with the built-in extractor, so that these need no looking over. */
  constructor(user: UserHooks, sinks: readonly Sink[], channel: PageChannel | undefined, trusted: boolean) {
    this.#user = user;
    this.#trusted = trusted;
    this.#sinks = sinks;
    this.#channel = channel;
  }

  /** See `VisitHooks.deliver`. Never rejects. */
  async deliver(page: Page): Promise<boolean> {
    if (this.#channel !== undefined && !(await this.#channel.offer(page))) return false;
    const { visit } = this.#user;
    if (visit !== undefined) await this.#guard('visit', page.url, () => visit(page), undefined);
    const listening = this.#user.emitAndWait('page', page);
    if (listening !== undefined) await listening;
    for (const sink of this.#sinks) await this.#write(sink, page);
    return true;
  }

  /** See `VisitHooks.expand`. Never rejects; a fault leaves the page without links. */
  async expand(page: Page): Promise<readonly Link[]> {
    const { expand } = this.#user;
    if (expand === undefined && this.#trusted) return page.links;
    return this.#guard(
      'expand',
      page.url,
      async () => Array.from((await expand?.(page)) ?? page.links, (link) => asLink(link, page)).flat(),
      [],
    );
  }

  /** See `VisitHooks.shouldVisit`. Never throws or rejects; a fault refuses the link. */
  shouldVisit(link: Link, from: Page): Promise<boolean> | boolean {
    const { shouldVisit } = this.#user;
    if (shouldVisit === undefined) return true;
    return this.#guard('shouldVisit', link.url, () => shouldVisit(link, from), false).then(
      (verdict) => verdict !== false,
    );
  }

  get prioritize(): ((request: CrawlRequest) => Promise<number>) | undefined {
    const { prioritize } = this.#user;
    if (prioritize === undefined) return undefined;
    return (request) =>
      this.#guard(
        'prioritize',
        request.url,
        async () => {
          const priority: unknown = await prioritize(request);
          if (typeof priority === 'number') return priority;
          throw new TypeError(`prioritize() must give a number, not ${show(priority)}`);
        },
        request.level,
      );
  }

  async #write(sink: Sink, page: Page): Promise<void> {
    try {
      await sink.write(page);
    } catch (thrown) {
      const message = `A sink could not write ${page.url}: ${describeThrown(thrown)}`;
      this.#user.emit(
        'error',
        new CrawlError('CRAWL_SINK_FAILED', message, { cause: thrown, url: page.url }),
        page.url,
      );
    }
  }

  async #guard<T>(name: string, url: string, call: () => T | PromiseLike<T>, fallback: T): Promise<T> {
    try {
      const returned = call();
      return isThenable(returned) ? ((await returned) as T) : (returned as T);
    } catch (thrown) {
      const message = `The hook ${name} failed: ${describeThrown(thrown)}`;
      this.#user.emit('error', new CrawlError('CRAWL_HOOK_FAILED', message, { cause: thrown, url }), url);
      return fallback;
    }
  }
}

/** What `expand` gave, as a link: a user may give a bare URL, relative to the page. */
function asLink(link: unknown, page: Page): Link[] {
  const given =
    typeof link === 'string' || link instanceof URL ? { url: String(link) } : (link as Partial<Link> | null);
  const url = typeof given?.url === 'string' ? resolveUrl(given.url, page.finalUrl) : null;
  if (given === null || url === null) return [];
  const { source, rel, nofollow, text } = given;
  return [
    {
      url,
      source: typeof source === 'string' ? source : 'expand',
      rel: Array.isArray(rel) ? rel.map(String) : [],
      nofollow: nofollow === true,
      ...(typeof text === 'string' ? { text } : {}),
    },
  ];
}
