// This library, everything on but the delays: robots rules, seen test, scope, events, statistics, titles.
import { Crawler, UrlFilter } from '../../../dist/bundle/index.js';
import { concurrency, report, result, seed } from './job.mjs';

const crawler = new Crawler({
  userAgent: 'bench/1.0 (+mailto:bench@example.org)',
  scope: UrlFilter.matching({ allow: [/^http:\/\/127\.1\./] }),
  network: 'any',
  concurrency,
  maxDepth: Number.POSITIVE_INFINITY,
  minDelayMs: 0,
  delayFactor: 0,
  maxDelayMs: 0,
  connectionsPerHost: 0,
  ...JSON.parse(process.env.CRAWLER_OPTIONS ?? '{}'),
});
crawler.on('page', (page) => {
  result.pages++;
  if (page.title !== undefined) result.titles++;
});
crawler.on('error', () => result.errors++);
await crawler.run([seed]);
report();
