// Pages per CPU second of a crawl without delays, beside bare loops and a peer, in turn on one site. Of each the least
// processor time counts, since other work on the machine can only add to it.
//   node test/bench/crawl.mjs [--pages=3000] [--rounds=3] [--concurrency=32] [--runners=a,b] [--json]
import { parseArgs } from 'node:util';
import { contest, median, printTable } from './contest.mjs';
import { ratioLine } from './ratio.mjs';

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '3000' },
    hosts: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '3' },
    concurrency: { type: 'string', default: '32' },
    latency: { type: 'string', default: '0' },
    runners: { type: 'string', default: 'bare-undici,bare-got,simplecrawler,polite-crawler,polite-crawler-lean' },
    json: { type: 'boolean', default: false },
  },
});
/** What a crawl with either transport may cost, by what it is beside. */
const MOST_RATIOS = { 'bare-undici': 1.15, 'bare-got': 0.85, simplecrawler: 0.4 };
const runners = values.runners.split(',');
const pages = Number(values.pages);
const runs = await contest({
  site: { pages, hosts: Number(values.hosts), latencyMs: Number(values.latency) },
  runners,
  rounds: Number(values.rounds),
  concurrency: Number(values.concurrency),
});

const rows = runners.map((name) => {
  const all = runs.get(name);
  const cpuMsPerPage = Math.min(...all.map((run) => run.cpuMs / run.distinct));
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
const isOurs = ({ name }) => name.startsWith('polite-crawler');
const ratios = rows
  .filter(isOurs)
  .flatMap((ours) =>
    rows
      .filter((row) => !isOurs(row))
      .map((peer) => ({ ours: ours.name, peer: peer.name, cpu: ours.cpuMsPerPage / peer.cpuMsPerPage })),
  );
if (values.json) {
  console.log(JSON.stringify({ bench: 'crawl', pages, rounds: Number(values.rounds), rows, ratios }));
} else {
  printTable(rows);
  for (const { ours, peer, cpu } of ratios) {
    console.log(ratioLine({ what: 'CPU per page', ours, peer, ratio: cpu, most: MOST_RATIOS[peer] }));
  }
}
