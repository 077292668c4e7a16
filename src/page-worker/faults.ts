import { CrawlError, describeThrown } from '../errors.ts';
import { CutShort } from './job.ts';
import { errorOf, type ThreadAnswer } from './messages.ts';
import type { PageWorkerSettings } from './options.ts';

type FailedAnswer = Extract<ThreadAnswer, { failed: unknown }>;

/** The module can't be used at all: found before the crawl begins. */
export function moduleError(thrown: unknown, { module }: PageWorkerSettings, loadMs: number): CrawlError {
  const what = `Option "pageWorker": the module ${module} can't be used`;
  const why =
    thrown instanceof CutShort ? `it was not loaded within ${loadMs} ms` : describeThrown(thrown).replace(/\.$/, '');
  return new CrawlError('CRAWL_OPTION_INVALID', `${what}: ${why}.`, { cause: thrown });
}

/** The user's code failed, and said so. */
export function handlerError({ failed, fault }: FailedAnswer, url: string): CrawlError {
  const cause = errorOf(fault);
  const what = {
    load: 'The module of the page worker could not be loaded in a further thread',
    handler: `The page worker failed on ${url}`,
    result: `What the page worker returned for ${url} can't be copied from its thread; return plain data`,
  }[failed];
  return new CrawlError('CRAWL_WORKER_FAILED', `${what}: ${short(fault.message)}`, { cause, url });
}

/** What can't be copied is quoted whole in the complaint, functions of many lines among it. */
function short(message: string): string {
  const line = message.slice(0, 1000).replaceAll(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 197)}...` : line;
}

/** The thread did not come to an end, or came to a bad one. */
export function threadError(thrown: unknown, url: string, settings: PageWorkerSettings, loadMs: number): CrawlError {
  if (thrown instanceof CutShort) {
    const message =
      thrown.reason === 'handler'
        ? `The page worker was not done with ${url} within ${settings.timeoutMs} ms (pageWorkerTimeoutMs); its thread was ended`
        : `No thread of the page worker was ready for ${url} within ${loadMs} ms`;
    return new CrawlError('CRAWL_WORKER_TIMEOUT', message, { url });
  }
  const isMemory = (thrown as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY';
  const message = isMemory
    ? `The page worker took more memory for ${url} than ${settings.memoryBytes} bytes (pageWorkerMemoryBytes); its thread was ended`
    : `The thread of the page worker broke down at ${url}: ${describeThrown(thrown)}`;
  return new CrawlError('CRAWL_WORKER_FAILED', message, { cause: thrown, url });
}

/** A thread failed that had no page: by what an earlier one left behind. */
export function idleError(thrown: unknown): CrawlError {
  const message = `A thread of the page worker broke down between two pages: ${describeThrown(thrown)}`;
  return new CrawlError('CRAWL_WORKER_FAILED', message, { cause: thrown });
}
