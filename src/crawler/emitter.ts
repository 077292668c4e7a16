import { EventEmitter } from 'node:events';
import { CrawlError, describeThrown, isCrawlError } from '../errors.ts';
import { readerFailed } from '../fetcher/body-stream.ts';
import { isThenable } from '../promises.ts';
import type { CrawlerEvents } from '../types.ts';

type EventName = keyof CrawlerEvents;
type Listener = (...args: unknown[]) => unknown;

/**
 * An emitter that user code can't break: a listener that throws or rejects is reported as `CRAWL_LISTENER_FAILED` and
 * the others still run; an `error` event without a listener becomes a process warning and never an exception.
 */
export class SafeEmitter extends EventEmitter<CrawlerEvents> {
  /**
   * Calls the listeners in order. Never throws, and leaves no rejection unhandled.
   * @returns whether there was a listener.
   */
  override emit<K extends EventName>(event: K, ...args: CrawlerEvents[K]): boolean;
  override emit(event: string | symbol, ...args: unknown[]): boolean;
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    const pending = this.#call(event, args);
    if (pending === undefined) return false;
    for (const promise of pending) void promise;
    return true;
  }

  /**
   * As {@link emit}, and resolves when every promise that a listener returned has settled. Never rejects.
   * `undefined` where there is nothing to wait for, so that the caller needn't.
   */
  protected emitAndWait<K extends EventName>(event: K, ...args: CrawlerEvents[K]): Promise<unknown> | undefined {
    const pending = this.#call(event, args);
    return pending === undefined || pending.length === 0 ? undefined : Promise.all(pending);
  }

  /** Counts an error; the crawler overrides it. Called before the listeners of `error` are. */
  protected onError(_error: CrawlError): void {}

  #call(event: string | symbol, args: unknown[]): Promise<unknown>[] | undefined {
    if (event === 'error' && isCrawlError(args[0])) this.onError(args[0]);
    if (this.listenerCount(event as EventName) === 0) {
      if (event === 'error') warn(args[0]);
      return undefined;
    }
    const pending: Promise<unknown>[] = [];
    for (const listener of this.rawListeners(event as EventName) as Listener[]) {
      try {
        const returned = listener.apply(this, args);
        if (isThenable(returned)) {
          pending.push(Promise.resolve(returned).catch((thrown) => this.#fault(event, args, thrown)));
        }
      } catch (thrown) {
        this.#fault(event, args, thrown);
      }
    }
    return pending;
  }

  #fault(event: string | symbol, args: unknown[], thrown: unknown): void {
    // That the body broke is told once, by whoever fetched it.
    if (event === 'page' && readerFailed(streamOf(args), thrown)) return;
    const url = urlOf(args);
    const message = `A listener of "${String(event)}" failed: ${describeThrown(thrown)}`;
    const error = new CrawlError('CRAWL_LISTENER_FAILED', message, { cause: thrown, url });
    if (event === 'error') {
      // Reporting it as an `error` event would call the same listener again, for ever.
      this.onError(error);
      warn(error);
    } else {
      this.emit('error', error, url);
    }
  }
}

function streamOf([page]: readonly unknown[]): unknown {
  return page !== null && typeof page === 'object' && 'stream' in page ? page.stream : undefined;
}

/** The URL that an event's arguments are about, if they say. */
function urlOf(args: readonly unknown[]): string | undefined {
  const [first, second] = args;
  if (typeof first === 'string') return first;
  if (first !== null && typeof first === 'object' && 'url' in first && typeof first.url === 'string') return first.url;
  return typeof second === 'string' ? second : undefined;
}

function warn(error: unknown): void {
  const code = isCrawlError(error) ? error.code : 'CRAWL_INTERNAL';
  const where = isCrawlError(error) && error.url !== undefined ? ` (${error.url})` : '';
  process.emitWarning(`${describeThrown(error)}${where}`, { type: 'CrawlWarning', code });
}
