// Pages per CPU second of a crawl without delays, beside a bare loop and a peer, in turn on one site.
//   node test/bench/crawl.mjs [--pages=3000] [--rounds=3] [--concurrency=32] [--runners=a,b] [--json]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '3000' },
    hosts: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '3' },
    concurrency: { type: 'string', default: '32' },
    latency: { type: 'string', default: '0' },
    runners: { type: 'string', default: 'bare-got,simplecrawler,polite-crawler' },
    json: { type: 'boolean', default: false },
  },
});
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const runners = values.runners.split(',');
const pages = Number(values.pages);

const siteOptions = JSON.stringify({ pages, hosts: Number(values.hosts), latencyMs: Number(values.latency) });
const site = spawn(process.execPath, [here('site.mjs'), siteOptions], { stdio: ['pipe', 'pipe', 'inherit'] });
const [line] = await once(createInterface({ input: site.stdout }), 'line');
const { seed } = JSON.parse(line);
const ask = async (path) => (await fetch(new URL(path, seed))).json();

const runs = new Map(runners.map((name) => [name, []]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const name of runners) {
    await ask('/__reset');
    const started = performance.now();
    const child = spawn(
      process.execPath,
      [here(`runners/${name}.mjs`), JSON.stringify({ seed, concurrency: Number(values.concurrency) })],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${name} ended with ${code}`);
    const wallMs = performance.now() - started;
    const seen = await ask('/__stats');
    runs.get(name).push({ ...JSON.parse(text.trim().split('\n').at(-1)), wallMs, ...seen });
  }
}
site.stdin.end();

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
const rows = runners.map((name) => {
  const all = runs.get(name);
  const cpuMsPerPage = median(all.map((run) => run.cpuMs / run.distinct));
  const { distinct, duplicates, titles, errors } = all[0];
  return {
    name,
    cpuMsPerPage,
    pagesPerCpuSecond: 1000 / cpuMsPerPage,
    wallMs: median(all.map((run) => run.wallMs)),
    rssMb: median(all.map((run) => run.rssMb)),
    distinct,
    duplicates,
    titles,
    errors,
  };
});
const ours = rows.find((row) => row.name === 'polite-crawler');
const ratios = Object.fromEntries(
  rows
    .filter((row) => row !== ours)
    .map((row) => [row.name, ours === undefined ? undefined : ours.cpuMsPerPage / row.cpuMsPerPage]),
);
if (values.json) {
  console.log(JSON.stringify({ bench: 'crawl', pages, rounds: Number(values.rounds), rows, cpuRatios: ratios }));
} else {
  console.table(
    rows.map(({ name, ...row }) => ({
      name,
      ...Object.fromEntries(Object.entries(row).map(([key, value]) => [key, Number(value.toFixed(3))])),
    })),
  );
  for (const [name, ratio] of Object.entries(ratios)) {
    if (ratio !== undefined) console.log(`CPU per page, polite-crawler : ${name} = ${ratio.toFixed(2)} : 1`);
  }
}
