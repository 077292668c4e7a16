// How near a crawl comes to the rate that latency allows, on a site whose answers take 50 ms: without delays, where
// requests in flight over latency is the limit, and with the usual ones, where hosts over delay and latency is.
//   node test/bench/latency.mjs [--pages=3000] [--latency=50] [--hosts=100] [--concurrency=32] [--json]
// The rate is the site's own, while neither the start nor the end of the crawl is in the way.
import { parseArgs } from 'node:util';
import { contest, printTable } from './contest.mjs';

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '3000' },
    'polite-pages': { type: 'string', default: '1000' },
    hosts: { type: 'string', default: '100' },
    concurrency: { type: 'string', default: '32' },
    latency: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const hosts = Number(values.hosts);
const concurrency = Number(values.concurrency);
const latencyMs = Number(values.latency);
/** What the library waits between two requests to a host where nothing else is said. */
const DELAY_MS = 1000;

const rows = [];
async function measure(runners, limit, { pages, flying, what }) {
  const site = { pages, hosts, latencyMs };
  const runs = await contest({ site, runners, rounds: Number(values.rounds), concurrency: flying });
  for (const [name, all] of runs) {
    const rate = Math.max(...all.map((run) => run.middle));
    const cpuMsPerPage = Math.min(...all.map((run) => run.cpuMs / run.distinct));
    rows.push({ what, name, pagesPerSecond: rate, limit, share: rate / limit, cpuMsPerPage, pages: all[0].distinct });
  }
}
await measure(['bare-undici', 'polite-crawler', 'polite-crawler-lean'], (concurrency * 1000) / latencyMs, {
  pages: Number(values.pages),
  flying: concurrency,
  what: 'no delays',
});
await measure(['polite-crawler-polite'], (hosts * 1000) / (DELAY_MS + latencyMs), {
  pages: Number(values['polite-pages']),
  flying: hosts * 2,
  what: 'usual delays',
});
if (values.json) console.log(JSON.stringify({ bench: 'latency', latencyMs, hosts, concurrency, rows }));
else printTable(rows);
