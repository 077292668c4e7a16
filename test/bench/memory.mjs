// What waiting and seen URLs cost in memory, and a store's verbs in time. Measures the whole process (RSS), so each figure
// takes a process of its own:
//   node --expose-gc test/bench/memory.mjs queued [--count 1000000] [--hosts 1000]
//   node --expose-gc test/bench/memory.mjs seen [--count 10000000]: offered, leased and settled
//   node --expose-gc test/bench/memory.mjs table [--count 10000000]: fingerprints alone
// `--json` prints one line for programs, `--dist` names the build to measure.
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string' },
    hosts: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const what = positionals[0] ?? 'queued';
const { SeenTable } = await import(`${values.dist}/store/memory/seen-table.js`);
const { MemoryStore } = await import(`${values.dist}/store/memory/index.js`);
const RULES = { connectionsPerHost: 1, pagesPerHost: Infinity, startGapMs: 0, shareAddress: true };
const BATCH = 50;

const collect = () => {
  for (let i = 0; i < 3; i++) globalThis.gc();
  return process.memoryUsage().rss;
};

/** A URL of exactly 80 characters, on one of so many hosts; links of one page stay on its host. */
function request(n, hosts) {
  const page = Math.floor(n / BATCH);
  const host = `www${String(page % hosts).padStart(7, '0')}.example.com`;
  const url = `https://${host}/shop/articles/show/${String(n).padStart(10, '0')}/`.padEnd(80, 'x');
  const referrer = `https://${host}/shop/articles/list/${page}`;
  return { url, key: url, host, kind: 'page', depth: 3, level: 0, attempts: 0, referrer, source: 'a/href' };
}

async function offerAll(store, count, hosts, drain) {
  let offering = 0;
  let leasing = 0;
  let settling = 0;
  let now = 1;
  for (let n = 0; n < count; n += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - n) }, (_, i) => request(n + i, hosts));
    const started = performance.now();
    await store.offer(batch, now);
    offering += performance.now() - started;
    if (!drain) continue;
    for (;;) {
      const before = performance.now();
      const leases = await store.lease(now++, 1, 1000, RULES);
      leasing += performance.now() - before;
      if (leases.length === 0) break;
      const between = performance.now();
      for (const lease of leases) await store.settle(lease, { outcome: 'done', host: { nextAt: now } }, now);
      settling += performance.now() - between;
    }
  }
  return { offerUs: (offering / count) * 1000, leaseUs: (leasing / count) * 1000, settleUs: (settling / count) * 1000 };
}

/** Fingerprints that differ, for nothing but the table. */
function fillTable(table, count) {
  const started = performance.now();
  for (let n = 0; n < count; n++) table.add(Math.imul(n, 0x9e3779b1), Math.imul(n + 1, 0x85ebca6b));
  return { addUs: ((performance.now() - started) / count) * 1000 };
}

const count = Number(values.count ?? (what === 'queued' ? 1_000_000 : 10_000_000));
const hosts = Number(values.hosts);
const store = await MemoryStore.open();
const table = new SeenTable();
const before = collect();
const times = what === 'table' ? fillTable(table, count) : await offerAll(store, count, hosts, what === 'seen');
const after = collect();
const seen = what === 'table' ? table.size : (await store.stats()).seen;
if (seen !== count) throw new Error(`${count - seen} URLs were lost.`);
const result = {
  what,
  count,
  hosts,
  rssMiB: after / 2 ** 20,
  grownMiB: (after - before) / 2 ** 20,
  peakMiB: process.resourceUsage().maxRSS / 1024,
  bytesPerUrl: (after - before) / count,
  rssPerUrl: after / count,
  ...times,
};
const round = (value) => (typeof value === 'number' ? Math.round(value * 100) / 100 : value);
const rounded = Object.fromEntries(Object.entries(result).map(([name, value]) => [name, round(value)]));
console.log(values.json ? JSON.stringify(rounded) : rounded);
