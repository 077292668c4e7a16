import { CrawlError, describeThrown } from '../errors.ts';
import { show } from '../options.ts';
import { ignore, isThenable } from '../promises.ts';
import type { LinkContext } from '../types.ts';

/** A filter's question as a plain function: `undefined` accepts, a reason refuses. */
export type FilterFunction = (url: URL, context: LinkContext) => string | undefined;

/** The reason for a URL that a filter gave no usable answer on. */
export const FILTER_FAILED = 'filter-failed';

/** No answer: neither yes nor no, so that turning it round with `not()` accepts nothing either. */
export class Failure {
  readonly error: CrawlError;
  constructor(error: CrawlError) {
    this.error = error;
  }
}

/** Accepted, refused for a reason, or not to be told. */
export type Verdict = string | undefined | Failure;

/** What a filter returned, as a verdict. Throws only what reading the value throws. */
export function toVerdict(value: unknown, url: { toString(): string }): Verdict {
  if (value === undefined || value instanceof Failure) return value;
  if (value === FILTER_FAILED) return failure('A URL filter within another could not be computed.', url);
  if (typeof value === 'string' && value !== '') return value;
  const isPromise = isThenable(value);
  // Its outcome comes too late to count, but must not end the process as an unhandled rejection.
  if (isPromise) ignore(value);
  const what = isPromise ? 'a promise, but filters answer at once' : show(value);
  return failure(`A URL filter returned ${what}: return undefined to accept, or a reason to refuse.`, url);
}

/** The verdict of a filter that threw. Never throws. */
export function thrownVerdict(thrown: unknown, url: { toString(): string }): Failure {
  return failure(`A URL filter threw: ${describeThrown(thrown)}`, url, { cause: thrown });
}

function failure(message: string, url: { toString(): string }, details: { readonly cause?: unknown } = {}): Failure {
  return new Failure(new CrawlError('CRAWL_FILTER_FAILED', message, { ...details, url: describeThrown(url) }));
}
