import { type CrawlError, isCrawlError } from '../errors.ts';
import { isBuiltIn, type LinkExtractor } from '../link-extractor/index.ts';
import type { FetchedPage } from '../page.ts';
import { handlerError, idleError, moduleError, threadError } from './faults.ts';
import { CutShort } from './job.ts';
import { errorOf, taskOf, unpack } from './messages.ts';
import type { PageWorkerSettings } from './options.ts';
import { ThreadPool } from './thread-pool.ts';

export { PAGE_WORKER_DEFAULTS, type PageHandler, type PageWorkerSettings, pageWorkerSettings } from './options.ts';

/** What a page worker needs of the crawl it belongs to. */
export interface PageWorkerContext {
  readonly userAgent: string;
  readonly extractor: LinkExtractor;
  /** Is told of each fault; `url` is `undefined` where a thread failed between two pages. Must not throw. */
  readonly onError: (error: CrawlError, url: string | undefined) => void;
  /** Longest time until a thread has loaded the module, in milliseconds. @defaultValue half a minute */
  readonly loadTimeoutMs?: number;
}

/** Starting a thread takes a tenth of a second; on a machine that is busy, several. */
const LOAD_TIMEOUT_MS = 30_000;

/**
 * Hands pages to a module of the user's in threads. A fault costs a page its data, and at most a thread, for which
 * another one is started.
 */
export class PageWorker {
  readonly #settings: PageWorkerSettings;
  readonly #context: PageWorkerContext;
  readonly #pool: ThreadPool;
  readonly #loadMs: number;
  readonly #hasOwnExtractor: boolean;

  /**
   * Starts the first thread and has it load the module.
   * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where the module can't be used, with the reason as `cause`, or
   * `CRAWL_DEPENDENCY_MISSING` without `piscina`.
   */
  static async open(settings: PageWorkerSettings, context: PageWorkerContext): Promise<PageWorker> {
    const { userAgent, extractor, onError, loadTimeoutMs: loadMs = LOAD_TIMEOUT_MS } = context;
    const { module, threads, memoryBytes, timeoutMs } = settings;
    let onIdleFault: (thrown: unknown) => void = () => {};
    const pool = await ThreadPool.open({
      ...{ threads, memoryBytes, limits: { loadMs, handleMs: timeoutMs } },
      data: { module, userAgent, ...extractor.options },
      onIdleFault: (thrown) => onIdleFault(thrown),
    });
    try {
      // A thread that can't even take up a task says so in no other way.
      const broken = new Promise<never>((_, reject) => {
        onIdleFault = reject;
      });
      const answer = await Promise.race([pool.run(() => 'load'), broken]);
      if ('failed' in answer) throw errorOf(answer.fault);
    } catch (thrown) {
      await pool.close();
      throw moduleError(thrown, settings, loadMs);
    }
    onIdleFault = (thrown) => onError(idleError(thrown), undefined);
    return new PageWorker(settings, context, pool, loadMs);
  }

  private constructor(settings: PageWorkerSettings, context: PageWorkerContext, pool: ThreadPool, loadMs: number) {
    this.#settings = settings;
    this.#context = context;
    this.#pool = pool;
    this.#loadMs = loadMs;
    this.#hasOwnExtractor = !isBuiltIn(context.extractor);
  }

  /**
   * Has a thread handle a page, and sets the page's `data`. A fault is told, and leaves the page without. A page whose
   * body is a stream is left alone. Never rejects.
   * @returns `false` where the work was broken off by {@link PageWorker.stop}.
   */
  async process(page: FetchedPage): Promise<boolean> {
    if (page.stream !== undefined) return true;
    try {
      const answer = await this.#pool.run(() => taskOf(page, this.#hasOwnExtractor));
      if ('failed' in answer) throw handlerError(answer, page.url);
      page.data = unpack(answer.data);
    } catch (thrown) {
      if (thrown instanceof CutShort && thrown.reason === 'stopped') return false;
      const error = isCrawlError(thrown) ? thrown : threadError(thrown, page.url, this.#settings, this.#loadMs);
      this.#context.onError(error, page.url);
    }
    return true;
  }

  /** Breaks off what is being worked on, and takes no more pages. */
  stop(): void {
    this.#pool.stop();
  }

  /** Ends all threads. */
  async close(): Promise<void> {
    await this.#pool.close();
  }
}
