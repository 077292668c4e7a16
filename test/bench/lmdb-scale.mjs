// What an LmdbStore costs as it grows: processor time by the URL, memory, bytes on disk, and the time to open it again.
//   node test/bench/lmdb-scale.mjs [--sizes 1000000,10000000] [--hosts 100000] [--dir /var/tmp] [--json]
// One process with a small heap fills one store and stops at each size to measure; another one opens it again. Memory is
// RssAnon of /proc/self/status: what the process has of its own. Pages of LMDB's file that are mapped are RssFile, which
// the system takes away when it needs room. `--dist` names the build to measure.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1000000,10000000' },
    hosts: { type: 'string', default: '100000' },
    cycles: { type: 'string', default: '20000' },
    dir: { type: 'string', default: '/var/tmp' },
    heap: { type: 'string', default: '256' },
    json: { type: 'boolean', default: false },
    dist: { type: 'string', default: fileURLToPath(new URL('../../dist', import.meta.url)) },
    fill: { type: 'string' },
    open: { type: 'string' },
  },
});
const sizes = values.sizes.split(',').map(Number);
const hosts = Number(values.hosts);
const cycles = Number(values.cycles);
const RULES = { connectionsPerHost: 1, pagesPerHost: Infinity, startGapMs: 0, shareAddress: true };
const BATCH = 50;
let peakAnonMiB = 0;

if (values.fill !== undefined) await fill(values.fill);
else if (values.open !== undefined) await reopen(values.open);
else await parent();

async function parent() {
  const root = mkdtempSync(join(values.dir, 'lmdb-scale-'));
  try {
    const grown = await child('--fill', join(root, 'store'));
    const opened = await child('--open', join(root, 'store'));
    const [first] = grown.steps;
    const last = grown.steps.at(-1);
    const result = {
      hosts,
      heapMiB: Number(values.heap),
      ...grown,
      ...opened,
      ratio: {
        offer: last.offerUs / first.offerUs,
        known: last.knownUs / first.knownUs,
        cycle: last.cycleUs / first.cycleUs,
      },
    };
    console.log(
      JSON.stringify(
        result,
        (_, value) => (typeof value === 'number' ? Math.round(value * 100) / 100 : value),
        values.json ? 0 : 2,
      ),
    );
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Runs this file again and gives what it prints. */
function child(mode, directory) {
  const args = [`--max-old-space-size=${values.heap}`, fileURLToPath(import.meta.url), mode, directory];
  for (const name of ['sizes', 'hosts', 'cycles', 'dist']) args.push(`--${name}`, values[name]);
  const running = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  running.stdout.on('data', (chunk) => {
    text += chunk;
  });
  return new Promise((resolve, reject) => {
    running.on('close', (code, signal) => {
      if (code === 0) resolve(JSON.parse(text));
      else reject(new Error(`The process ended with ${code ?? signal}.`));
    });
  });
}

async function fill(directory) {
  const { LmdbStore } = await import(`${values.dist}/store/lmdb/index.js`);
  const store = await LmdbStore.open(directory);
  const steps = [];
  let count = 0;
  let done = 0;
  let now = 1;
  for (const size of sizes) {
    // The last part before each size is what the size costs; all sizes measure the same number of URLs.
    const measured = Math.min(sizes[0] / 2, size - count);
    count = await offer(store, count, size - measured);
    const offering = cpuUs();
    count = await offer(store, count, size);
    const offerUs = (cpuUs() - offering) / measured;
    const knownUs = await offerKnown(store, size);
    const cycle = await work(store, now);
    now = cycle.now;
    done += cycles;
    await store.flush();
    const stats = await store.stats();
    if (stats.seen !== size || stats.done !== done) throw new Error(`Lost some of ${size}: ${JSON.stringify(stats)}`);
    const { leaseUs, settleUs } = cycle;
    const fileBytes = statSync(join(directory, 'data.mdb')).size;
    steps.push({
      urls: size,
      offerUs,
      knownUs,
      leaseUs,
      settleUs,
      cycleUs: leaseUs + settleUs,
      bytesPerUrl: fileBytes / size,
      ...memory(),
    });
    console.error(JSON.stringify(steps.at(-1)));
  }
  const closing = performance.now();
  await store.close();
  console.log(JSON.stringify({ steps, closeMs: performance.now() - closing, peakAnonMiB }));
}

async function reopen(directory) {
  const { LmdbStore } = await import(`${values.dist}/store/lmdb/index.js`);
  await import('lmdb');
  const opening = performance.now();
  const store = await LmdbStore.open(directory);
  const openMs = performance.now() - opening;
  const first = await store.lease(1e9, 1, 1000, RULES);
  const firstLeaseMs = performance.now() - opening;
  if (first.length !== 1) throw new Error('Nothing is leased.');
  const { seen } = await store.stats();
  await store.close();
  console.log(JSON.stringify({ openMs, firstLeaseMs, seenAgain: seen }));
}

/** A URL of 80 characters, on one of so many hosts; links of one page stay on its host, and one page follows another. */
function request(n) {
  const page = Math.floor(n / BATCH);
  const host = `www${String((page * 7919) % hosts).padStart(7, '0')}.example.com`;
  const url = article(host, n);
  const parent = (page - hosts) * BATCH;
  const referrer = parent >= 0 ? article(host, parent) : page * BATCH === n ? undefined : article(host, page * BATCH);
  const rest = { depth: 3, level: 0, referrer, source: 'a/href', redirects: undefined, attempts: 0, origin: undefined };
  return { url, key: url, host, kind: 'page', ...rest };
}

function article(host, n) {
  return `https://${host}/shop/articles/show/${String(n).padStart(10, '0')}/`.padEnd(80, 'x');
}

async function offer(store, from, to) {
  for (let n = from; n < to; n += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, to - n) }, (_, i) => request(n + i));
    await store.offer(batch, 1);
    if (n % (BATCH * 20) === 0) await breathe();
    if (n % (BATCH * 500) === 0) memory();
  }
  return to;
}

/** URLs that were offered before, of pages here and there. */
async function offerKnown(store, size) {
  const pages = Math.min(2_000, Math.floor(size / BATCH));
  const starting = cpuUs();
  for (let i = 0; i < pages; i++) {
    const page = Math.floor((i * 0.6180339887 * size) / BATCH) % Math.floor(size / BATCH);
    const fresh = await store.offer(
      Array.from({ length: BATCH }, (_, k) => request(page * BATCH + k)),
      1,
    );
    if (fresh !== 0) throw new Error(`${fresh} known URLs were taken for new.`);
    if (i % 20 === 0) await breathe();
  }
  return (cpuUs() - starting) / (pages * BATCH);
}

/** Leases as a crawl of 32 workers has them, each settled as done. */
async function work(store, now) {
  let leasing = 0;
  let settling = 0;
  for (let done = 0; done < cycles; ) {
    const before = cpuUs();
    const leases = await store.lease(now, Math.min(32, cycles - done), 60_000, RULES);
    const between = cpuUs();
    leasing += between - before;
    for (const lease of leases) {
      const record = { status: 200, ms: 80 };
      await store.settle(lease, { outcome: 'done', host: { nextAt: now + 1_000 }, delivered: true, record }, now);
    }
    settling += cpuUs() - between;
    done += leases.length;
    now += leases.length === 0 ? 100 : 1;
    await breathe();
  }
  return { leaseUs: leasing / cycles, settleUs: settling / cycles, now };
}

function breathe() {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Of all threads: what others do on the machine meanwhile does not count. */
function cpuUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function memory() {
  const status = readFileSync('/proc/self/status', 'utf8');
  const mib = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  peakAnonMiB = Math.max(peakAnonMiB, mib('RssAnon'));
  return { rssAnonMiB: mib('RssAnon'), peakAnonMiB, rssFileMiB: mib('RssFile') };
}
