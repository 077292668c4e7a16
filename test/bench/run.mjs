// All benchmarks in turn, in less than five minutes. Each prints ratios to a limit or a peer of its own run.
//   npm run bench [-- crawl micro ...] [-- --json FILE]
// FILE gets one object: machine, date, and by name of the bench what it found.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } });

/** Those that take longest take fewer steps here than by themselves. */
const BENCHES = {
  crawl: ['crawl.mjs', '--rounds=2'],
  latency: ['latency.mjs', '--polite-pages=600'],
  micro: ['micro.mjs', '--rounds=5'],
  extract: ['extract.mjs', '--rounds=5'],
  fetch: ['fetch.mjs', '--rounds=9', '--requests=200'],
  schedule: ['schedule.mjs', '--pages=150000', '--rounds=2'],
  simulate: ['simulate.mjs', '--urls=50000', '--hosts=1000'],
  queued: ['memory.mjs', 'queued', '--count=300000'],
  seen: ['memory.mjs', 'seen', '--count=1000000'],
  lmdb: ['lmdb-scale.mjs', '--sizes=100000,300000', '--hosts=10000', '--cycles=5000'],
  growth: ['growth.mjs', '--sizes=10000,200000', '--pages=2000', '--rounds=2'],
  long: ['long-crawl.mjs', '--pages=10000'],
  'page-worker': ['page-worker.mjs', '--pages=1000', '--rounds=1'],
};

/** Run where they are named: each takes minutes. */
const LONG_BENCHES = {
  blocking: ['blocking.mjs'],
  'heavy-pages': ['heavy-pages.mjs'],
  soak: ['soak.mjs'],
};

if (!existsSync(here('node_modules/simplecrawler')) || !existsSync(here('node_modules/undici'))) {
  console.log('Installing what is compared with into test/bench/node_modules');
  const npm = ['install', '--no-audit', '--no-fund', '--no-package-lock'];
  const { status } = spawnSync('npm', npm, { cwd: here('.'), stdio: 'inherit' });
  if (status !== 0)
    console.error('It could not be installed, for which the registry is needed: crawl and latency will fail.');
}
const all = { ...BENCHES, ...LONG_BENCHES };
const unknown = positionals.filter((name) => !(name in all));
if (unknown.length > 0) {
  console.error(`No bench is called ${unknown.join(', ')}. There are: ${Object.keys(all).join(' ')}`);
  process.exit(1);
}
const found = {};
let failed = false;
for (const name of positionals.length > 0 ? positionals : Object.keys(BENCHES)) {
  const [script, ...args] = all[name];
  console.log(`\n== ${name}`);
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--expose-gc', here(script), ...args, ...(values.json === undefined ? [] : ['--json'])],
    { stdio: ['ignore', values.json === undefined ? 'inherit' : 'pipe', 'inherit'], encoding: 'utf8' },
  );
  failed ||= status !== 0;
  if (values.json === undefined) continue;
  console.log(stdout.trim());
  found[name] = JSON.parse(stdout.trim().split('\n').at(-1));
}
if (values.json !== undefined) {
  const [{ model } = { model: 'unknown' }] = os.cpus();
  const machine = {
    cpus: os.cpus().length,
    model,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    node: process.version,
  };
  const { version } = JSON.parse(readFileSync(here('../../package.json'), 'utf8'));
  const report = {
    version,
    date: new Date().toISOString().slice(0, 10),
    system: `${os.type()} ${os.release()}`,
    machine,
    found,
  };
  writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
}
process.exit(failed ? 1 : 0);
