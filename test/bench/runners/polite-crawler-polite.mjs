// The same with the delays that it has by default.
const { minDelayMs, delayFactor, maxDelayMs, connectionsPerHost } = await import('../../../dist/bundle/index.js').then(
  ({ CRAWLER_DEFAULTS }) => CRAWLER_DEFAULTS,
);
process.env.CRAWLER_OPTIONS = JSON.stringify({ minDelayMs, delayFactor, maxDelayMs, connectionsPerHost });
await import('./polite-crawler.mjs');
