// The outlines of the pages of a site, read in threads: node dist-examples/headings.js https://example.org/ 20
import { CRAWLER_DEFAULTS, Crawler } from 'polite-crawler';
import type { Outline } from './headings-worker.ts';

const [url, maxDoc = '20'] = process.argv.slice(2);
const { CONTACT = '', DELAY_MS } = process.env; // your mail address, so that who is asked knows whom to talk to
if (url === undefined || CONTACT === '') {
  console.error('usage: CONTACT=you@example.org headings url [maxDoc]');
  process.exit(2);
}

const crawler = new Crawler({
  userAgent: `headings/1.0 (+mailto:${CONTACT})`,
  maxPages: Number(maxDoc),
  minDelayMs: Number(DELAY_MS ?? CRAWLER_DEFAULTS.minDelayMs),
  pageWorker: new URL('./headings-worker.js', import.meta.url),
});
crawler.on('page', (page) => {
  const outline = page.data as Outline | undefined; // undefined where the worker failed
  if (outline === undefined) return;
  console.log(`${page.url} ${outline.words} words`);
  for (const heading of outline.headings) console.log(`  ${heading}`);
});
crawler.on('error', (error) => console.error(error.code, error.url, error.message));
await crawler.run(url);
