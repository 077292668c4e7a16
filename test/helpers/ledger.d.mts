import type { Crawler } from '../../src/index.ts';

/** Keeps book of what becomes of each URL that a crawl queues. */
export declare class Ledger {
  readonly accounts: ReadonlyMap<
    string,
    { readonly pages: number; readonly errors: number; readonly skips: number; readonly redirects: number }
  >;
  /** Errors that are of no queued URL: those of robots files. */
  readonly otherErrors: number;
  constructor(crawler: Crawler);
  /** URLs that have not come to one end, and one only. */
  get unsettled(): string[];
}
