import type { LeaseRules } from '../../src/ports.ts';

/** One request at a time, as many pages as there are, no wait when a host is new. */
export const RULES: LeaseRules = {
  connectionsPerHost: 1,
  pagesPerHost: Number.POSITIVE_INFINITY,
  startGapMs: 0,
  shareAddress: true,
};

/** When the tests of stores begin, by the frontier's clock. */
export const T0 = 1_700_000_000_000;
