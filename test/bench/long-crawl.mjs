// Whether memory stays as it is through a long crawl: a site with ever new pages over HTTP, the frontier in memory (which
// grows by some 10 bytes a URL that was seen, and keeps the last 10,000 records).
//   node --expose-gc test/bench/long-crawl.mjs [--pages=50000] [--transport=got] [--json]
// Resident memory is read every hundredth of the way, after a collection; its growth is that of the second half.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Crawler } from '../../dist/bundle/index.js';
import { WITHOUT_DELAYS } from './without-delays.mjs';

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '50000' },
    kb: { type: 'string', default: '10' },
    transport: { type: 'string', default: 'got' },
    json: { type: 'boolean', default: false },
  },
});
const pages = Number(values.pages);
const options = JSON.stringify({ pages, hosts: 100, kb: Number(values.kb), endless: true });
const site = spawn(process.execPath, [fileURLToPath(new URL('site.mjs', import.meta.url)), options], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const [line] = await once(createInterface({ input: site.stdout }), 'line');
const { seed } = JSON.parse(line);

const crawler = new Crawler({
  ...WITHOUT_DELAYS,
  scope: 'any',
  transport: values.transport,
});
const samples = [];
let count = 0;
const step = Math.max(1, Math.floor(pages / 100));
crawler.on('page', () => {
  count++;
  if (count % step !== 0) return;
  globalThis.gc?.();
  samples.push({
    pages: count,
    rssMiB: process.memoryUsage.rss() / 2 ** 20,
    heapMiB: process.memoryUsage().heapUsed / 2 ** 20,
  });
});
const before = process.cpuUsage();
await crawler.run([seed]);
const { user, system } = process.cpuUsage(before);
site.stdin.end();

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const part = (from, to, name) =>
  median(samples.slice(samples.length * from, samples.length * to).map((one) => one[name]));
const growth = (name) => ({ middle: part(0.45, 0.6, name), end: part(0.85, 1, name) });
const rssMiB = growth('rssMiB');
const heapMiB = growth('heapMiB');
const perPage = ({ end, middle }) => ((end - middle) * 2 ** 20) / (pages * 0.4);
const result = {
  bench: 'long-crawl',
  pages: count,
  transport: values.transport,
  cpuMsPerPage: (user + system) / 1000 / count,
  rssMiB,
  heapMiB,
  rssRatio: rssMiB.end / rssMiB.middle,
  rssBytesPerPage: perPage(rssMiB),
  heapBytesPerPage: perPage(heapMiB),
};
if (values.json) console.log(JSON.stringify(result));
else console.log(result);
