// A crawl whose handler uses page.$: in threads where THREADS says how many, else in the page listener.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Crawler } from '../../../dist/bundle/index.js';
import { WITHOUT_DELAYS } from '../without-delays.mjs';
import { concurrency, report, result, seed } from './job.mjs';
import readPage from './read-page.mjs';

const RESOLUTION_MS = 1;
const threads = Number(process.env.THREADS ?? 0);
const inThreads = threads > 0 ? { pageWorker: new URL('read-page.mjs', import.meta.url), threads } : {};

const crawler = new Crawler({
  ...WITHOUT_DELAYS,
  scope: 'any',
  concurrency,
  ...inThreads,
  ...JSON.parse(process.env.CRAWLER_OPTIONS ?? '{}'),
});
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
crawler.on('page', (page) => {
  const data = threads > 0 ? page.data : readPage(page);
  result.pages++;
  if (data?.items.length > 0) result.titles++;
});
crawler.on('error', () => result.errors++);
const started = performance.now();
delay.enable();
await crawler.run([seed]);
delay.disable();
result.crawlMs = performance.now() - started;
// Node counts the time between two looks, so that a loop that is never late is late by the resolution.
for (const part of [50, 99]) result[`delayP${part}Ms`] = delay.percentile(part) / 1e6 - RESOLUTION_MS;
report();
