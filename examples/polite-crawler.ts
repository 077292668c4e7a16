// The Polite Crawler as it was set up in 2002: from the roots of hosts, ten requests a minute to each, no dynamic pages,
// port 80, a statistics record every 1,000 pages and ten records a file.
// node dist-examples/polite-crawler.js directory host...
import { join } from 'node:path';
import { Crawler, EventLog, UrlFilter } from 'polite-crawler';

const [directory, ...hosts] = process.argv.slice(2);
const { CONTACT = '', DELAY_MS = '6000', PORT = '80' } = process.env;
if (directory === undefined || hosts.length === 0 || CONTACT === '') {
  console.error('usage: CONTACT=you@example.org polite-crawler directory host...');
  process.exit(2);
}

const crawler = new Crawler({
  userAgent: `polite-crawler/1.0 (+mailto:${CONTACT})`,
  minDelayMs: Number(DELAY_MS),
  filter: UrlFilter.ports(Number(PORT)).and(UrlFilter.dynamicPages()),
});
const log = new EventLog({ path: join(directory, 'events.log'), statsDirectory: directory }).monitor(crawler);
const stats = await crawler.run(hosts.map((host) => new URL(`http://${host}:${PORT}/`)));
await log.close();
console.log(`${stats.pages} pages of ${stats.hosts} hosts, ${stats.skips.dynamic ?? 0} links to dynamic pages`);
