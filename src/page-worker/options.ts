import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { integer, number, wrongOption } from '../options.ts';
import type { Page } from '../types.ts';

/**
 * What the module named by `pageWorker` exports by default. It runs in a thread of its own, once for each page; what it
 * returns arrives as `page.data` on the main thread, copied as by `structuredClone`, but for Buffers, which stay Buffers,
 * and views, each of which gets memory of its own.
 */
export type PageHandler<Data = unknown> = (page: Page) => Data | Promise<Data>;

/** The options of a crawler that are about its page worker. */
export interface PageWorkerOptions {
  readonly pageWorker?: string | URL | undefined;
  readonly threads?: number | 'auto' | undefined;
  readonly pageWorkerTimeoutMs?: number | undefined;
  readonly pageWorkerMemoryBytes?: number | undefined;
}

/** Their defaults, written once. */
export const PAGE_WORKER_DEFAULTS: {
  readonly threads: 'auto';
  readonly pageWorkerTimeoutMs: number;
  readonly pageWorkerMemoryBytes: number;
} = {
  threads: 'auto',
  pageWorkerTimeoutMs: 30_000,
  pageWorkerMemoryBytes: 536_870_912,
};

/** The options checked and complete. */
export interface PageWorkerSettings {
  /** The module's URL. */
  readonly module: string;
  readonly threads: number;
  readonly timeoutMs: number;
  readonly memoryBytes: number;
}

/** More threads than any machine has processors for are a slip. */
const MOST_THREADS = 1024;
/** A thread with less can't load what a document is built with. */
const LEAST_MEMORY_BYTES = 33_554_432;

/**
 * Reads the options; `undefined` where there is no page worker. Loads nothing, and does not look for the module.
 * @throws {@link CrawlError} `CRAWL_OPTION_INVALID`
 */
export function pageWorkerSettings(options: PageWorkerOptions): PageWorkerSettings | undefined {
  const d = PAGE_WORKER_DEFAULTS;
  const settings = {
    threads: threadsOf(options.threads ?? d.threads),
    timeoutMs: number('pageWorkerTimeoutMs', options.pageWorkerTimeoutMs, d.pageWorkerTimeoutMs, 1),
    memoryBytes: integer(
      'pageWorkerMemoryBytes',
      options.pageWorkerMemoryBytes,
      d.pageWorkerMemoryBytes,
      LEAST_MEMORY_BYTES,
    ),
  };
  return options.pageWorker === undefined ? undefined : { module: moduleUrl(options.pageWorker), ...settings };
}

function threadsOf(threads: unknown): number {
  if (threads === 'auto') return availableParallelism();
  if (typeof threads === 'number' && Number.isInteger(threads) && threads >= 1 && threads <= MOST_THREADS)
    return threads;
  throw wrongOption('threads', `'auto' or a whole number from 1 to ${MOST_THREADS}`, threads);
}

const SAVE_IT = ' Modules are loaded from files of this machine alone: save it as one.';

function moduleUrl(module: unknown): string {
  const takes = 'the path or file URL of a module';
  if (module instanceof URL) {
    if (module.protocol === 'file:') return module.href;
    throw wrongOption('pageWorker', takes, module.href, SAVE_IT);
  }
  if (typeof module !== 'string' || module === '') throw wrongOption('pageWorker', takes, module);
  if (/^file:/i.test(module) && URL.canParse(module)) return new URL(module).href;
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(module) && URL.canParse(module))
    throw wrongOption('pageWorker', takes, module, SAVE_IT);
  return pathToFileURL(resolve(module)).href;
}
