// This library as one peer among others that crawl one site, each in a process of its own, its job in the environment:
//   SEED=http://... [CONC=32] [CAP=1000] [PAGES=1000] node test/bench/peer-runner.mjs [got|lean] ['{"option":"value"}']
// SEED is where to begin, CONC the requests in flight, CAP the most pages. The last line is a JSON object: pages visited,
// titles and links found, errors. Everything is on but the delays.
import { parseArgs } from 'node:util';
import { WITHOUT_DELAYS } from './without-delays.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname } },
});
const { Crawler, UrlFilter } = await import(`${values.dist}/bundle/index.js`);
const { SEED, CONC = '32', CAP, PAGES } = process.env;
if (SEED === undefined) throw new Error('Set SEED to the URL to begin at.');
const site = new RegExp(`^http://${new URL(SEED).hostname.split('.').slice(0, 2).join('\\.')}\\.`);

const result = { visited: 0, titles: 0, links: 0, errors: 0 };
const crawler = new Crawler({
  ...WITHOUT_DELAYS,
  transport: positionals[0] ?? 'got',
  // The hosts of the site: addresses of loopback that begin alike.
  scope: UrlFilter.matching({ allow: [site] }),
  concurrency: Number(CONC),
  maxPages: CAP !== undefined && CAP !== PAGES ? Number(CAP) : Number.POSITIVE_INFINITY,
  ...JSON.parse(positionals[1] ?? '{}'),
});
crawler.on('page', (page) => {
  result.visited++;
  result.links += page.links.length;
  if (page.title !== undefined) result.titles++;
});
crawler.on('error', (error) => {
  result.errors++;
  if (process.env.DEBUG) console.error(error);
});
await crawler.run(SEED);
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ ...result, cpuS: (user + system) / 1e6 }));
