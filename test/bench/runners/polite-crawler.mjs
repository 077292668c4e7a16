// This library, everything on but the delays: robots rules, seen test, scope, events, statistics, titles.
import { Crawler, UrlFilter } from '../../../dist/bundle/index.js';
import { WITHOUT_DELAYS } from '../without-delays.mjs';
import { concurrency, report, result, seed } from './job.mjs';

const crawler = new Crawler({
  ...WITHOUT_DELAYS,
  scope: UrlFilter.matching({ allow: [/^http:\/\/127\.1\./] }),
  concurrency,
  ...JSON.parse(process.env.CRAWLER_OPTIONS ?? '{}'),
});
crawler.on('page', (page) => {
  result.pages++;
  if (page.title !== undefined) result.titles++;
});
crawler.on('error', () => result.errors++);
await crawler.run([seed]);
report();
