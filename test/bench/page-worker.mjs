// Wall time of a crawl whose handler uses page.$: in two threads, and in the page listener, in turn on one site.
//   node test/bench/page-worker.mjs [--pages=2000] [--rounds=3] [--threads=2] [--concurrency=32] [--json]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ratioLine } from './ratio.mjs';

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '2' },
    concurrency: { type: 'string', default: '32' },
    json: { type: 'boolean', default: false },
  },
});
const LIMITS = { ratio: 1.6, delayP99Ms: 20 };
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const pages = Number(values.pages);

const site = spawn(process.execPath, [here('site.mjs'), JSON.stringify({ pages, hosts: 100 })], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const [line] = await once(createInterface({ input: site.stdout }), 'line');
const { seed } = JSON.parse(line);

async function crawl(threads) {
  const job = JSON.stringify({ seed, concurrency: Number(values.concurrency) });
  const child = spawn(process.execPath, [here('runners/page-handler.mjs'), job], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, THREADS: String(threads) },
  });
  let text = '';
  child.stdout.on('data', (data) => {
    text += data;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`the crawl with ${threads} threads ended with ${code}`);
  const run = JSON.parse(text.trim().split('\n').at(-1));
  if (run.pages !== pages || run.titles !== pages || run.errors > 0) {
    throw new Error(`the crawl with ${threads} threads is not complete: ${JSON.stringify(run)}`);
  }
  return run;
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
const runs = { listener: [], threads: [] };
for (let round = 0; round < Number(values.rounds); round++) {
  runs.listener.push(await crawl(0));
  runs.threads.push(await crawl(Number(values.threads)));
}
site.stdin.end();

const rows = Object.entries(runs).map(([where, all]) => ({
  where,
  wallMs: median(all.map((run) => run.crawlMs)),
  cpuMsPerPage: median(all.map((run) => run.cpuMs / pages)),
  delayP50Ms: median(all.map((run) => run.delayP50Ms)),
  delayP99Ms: median(all.map((run) => run.delayP99Ms)),
  rssMb: median(all.map((run) => run.rssMb)),
}));
// Each pair ran under the same load.
const ratio = median(runs.listener.map((run, i) => run.crawlMs / runs.threads[i].crawlMs));
const holds = ratio >= LIMITS.ratio && rows[1].delayP99Ms <= LIMITS.delayP99Ms;
if (values.json) {
  console.log(JSON.stringify({ bench: 'page-worker', pages, threads: Number(values.threads), rows, ratio, holds }));
} else {
  console.table(
    rows.map(({ where, ...row }) => ({
      where,
      ...Object.fromEntries(Object.entries(row).map(([key, value]) => [key, Number(value.toFixed(2))])),
    })),
  );
  console.log(
    `load of the machine: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}`,
  );
  const ours = `${values.threads} threads`;
  console.log(ratioLine({ what: 'Time', ours, peer: 'listener', ratio: 1 / ratio, most: 1 / LIMITS.ratio }));
  const { delayP99Ms } = rows[1];
  const verdict = delayP99Ms <= LIMITS.delayP99Ms ? 'ok' : `MORE than ${LIMITS.delayP99Ms}`;
  console.log(
    `p99 of the event loop's delay, ${ours}: ${delayP99Ms.toFixed(1)} ms (less is better, at most ${LIMITS.delayP99Ms}) ${verdict}`,
  );
}
