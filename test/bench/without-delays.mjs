/** Options of a crawl that waits for nothing, of a site on loopback. */
export const WITHOUT_DELAYS = {
  userAgent: 'bench/1.0 (+mailto:bench@example.org)',
  network: 'any',
  maxDepth: Number.POSITIVE_INFINITY,
  minDelayMs: 0,
  delayFactor: 0,
  maxDelayMs: 0,
  connectionsPerHost: 0,
};
