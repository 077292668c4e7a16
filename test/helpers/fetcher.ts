import { Fetcher, type FetcherOptions } from '../../src/fetcher/index.ts';

export const USER_AGENT = 'testbot/1.0 (+mailto:operator@example.test)';

/** A fetcher that is closed with its scope. */
export function newFetcher(options: Partial<FetcherOptions> = {}): Fetcher & AsyncDisposable {
  const fetcher = new Fetcher({ userAgent: USER_AGENT, ...options });
  return Object.assign(fetcher, { [Symbol.asyncDispose]: () => fetcher.close() });
}

/** What every test of fetching runs over. */
export const TRANSPORTS = ['got', 'lean'] as const;

/** {@link newFetcher} over one of {@link TRANSPORTS}, where the test names no other. */
export function fetcherOver(transport: (typeof TRANSPORTS)[number]): typeof newFetcher {
  return (options = {}) => newFetcher({ transport, ...options });
}

/** What a promise rejects with; fails where it does not reject. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected a rejection, got ${String(value)}`);
}
