// Whether a page costs more when more URLs are known: crawls on disk that begin with so many of them queued, each in a
// process of its own. Pages come from memory, not from a network, so that the store is what differs: 30 KB with 40
// links: 4 new, `far` anywhere among the known ones, the others among the 2,000 that were found last, as most links of a
// page lead to its neighbours. With `--far 36` none does, and every link must be looked up on disk.
//   node test/bench/growth.mjs [--sizes 10000,1000000] [--far 4] [--pages 10000] [--rounds 2] [--dir /var/tmp] [--json]
// Filling takes some 15 µs a URL: 10,000,000 take minutes, and 2 GB of disk.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ratioLine } from './ratio.mjs';
import { WITHOUT_DELAYS } from './without-delays.mjs';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10000,1000000' },
    pages: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '2' },
    far: { type: 'string', default: '4' },
    dir: { type: 'string', default: '/var/tmp' },
    json: { type: 'boolean', default: false },
    dist: { type: 'string', default: fileURLToPath(new URL('../../dist', import.meta.url)) },
    fill: { type: 'string' },
    crawl: { type: 'string' },
    size: { type: 'string' },
    from: { type: 'string' },
  },
});
const HOSTS = 1000;
const BATCH = 1000;
const MOST_RATIO = 1.15;
const pages = Number(values.pages);
const size = Number(values.size);
const far = Math.min(36, Number(values.far));
const NEAR = 2000;
// Addresses, so that no names are looked up.
const urlOf = (n) => `http://10.1.${(n % HOSTS) >> 8}.${(n % HOSTS) & 255}/section-${n % 97}/article-${n}.html`;

if (values.fill !== undefined) await fill(values.fill);
else if (values.crawl !== undefined) await crawl(values.crawl);
else await parent();

async function parent() {
  const sizes = values.sizes.split(',').map(Number);
  const root = mkdtempSync(join(values.dir, 'growth-'));
  try {
    const stores = [];
    for (const count of sizes) {
      const store = join(root, String(count));
      stores.push({ count, store, ...(await child('--fill', store, count)), runs: [] });
    }
    // In turn, and each crawl goes on where the one before has stopped.
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const one of stores) one.runs.push(await child('--crawl', one.store, one.count, round * pages));
    }
    const rows = stores.map(({ count, fillUs, runs }) => {
      const least = (name) => Math.min(...runs.map((run) => run[name]));
      return {
        known: count,
        fillUs,
        cpuUsPerPage: least('cpuUsPerPage'),
        anonMiB: least('anonMiB'),
        pages: runs[0].pages,
      };
    });
    const ratio = rows.at(-1).cpuUsPerPage / rows[0].cpuUsPerPage;
    if (values.json) console.log(JSON.stringify({ bench: 'growth', far, rows, ratio, most: MOST_RATIO }));
    else {
      console.table(rows);
      const [ours, peer] = [rows.at(-1), rows[0]].map(({ known }) => `${known} known URLs`);
      console.log(ratioLine({ what: 'CPU per page', ours, peer, ratio, most: MOST_RATIO }));
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function child(what, store, count, from = 0) {
  const args = [
    what,
    store,
    '--size',
    count,
    '--pages',
    pages,
    '--from',
    from,
    '--far',
    far,
    '--dist',
    values.dist,
  ].map(String);
  const running = spawn(process.execPath, [fileURLToPath(import.meta.url), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  for await (const chunk of running.stdout) text += chunk;
  if (text === '') throw new Error(`${what} failed`);
  return JSON.parse(text);
}

async function fill(directory) {
  const { LmdbStore } = await import(`${values.dist}/store/lmdb/index.js`);
  const { createRequest } = await import(`${values.dist}/request.js`);
  const store = await LmdbStore.open(directory);
  const before = process.cpuUsage();
  for (let n = 0; n < size; n += BATCH) {
    const batch = [];
    for (let i = n; i < Math.min(size, n + BATCH); i++)
      batch.push(createRequest({ url: urlOf(i), depth: 2, source: 'a/href' }));
    await store.offer(batch, 1);
  }
  await store.flush();
  await store.close();
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ fillUs: (user + system) / size }));
}

async function crawl(directory) {
  const { Crawler } = await import(`${values.dist}/bundle/index.js`);
  let state = Number(values.from) + 1;
  const random = (limit) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * limit);
  };
  let fresh = size + Number(values.from) * 4;
  const prose = '<p>The same text on all pages, as long as it takes to make them as long as pages are.</p>\n'.repeat(
    290,
  );
  const html = () => {
    let text = '<!doctype html><html><head><title>A page</title></head><body>';
    for (let n = 0; n < 36; n++) {
      const known = n < far ? random(size) : Math.max(0, fresh - 1 - random(NEAR));
      text += `<a href="${urlOf(known)}">known</a>\n`;
    }
    for (let n = 0; n < 4; n++) text += `<a href="${urlOf(fresh++)}">new</a>\n`;
    return Buffer.from(text + prose);
  };
  const transport = {
    request({ url }) {
      const isRobots = url.endsWith('/robots.txt');
      const body = isRobots ? Buffer.from('User-agent: *\nAllow: /\n') : html();
      const headers = { 'content-type': isRobots ? 'text/plain' : 'text/html; charset=utf-8' };
      return Promise.resolve({ status: 200, headers, body: Readable.from([body]), timings: { firstByte: 1 } });
    },
    close: () => Promise.resolve(),
  };
  const WARM = 2000;
  const crawler = new Crawler({
    ...WITHOUT_DELAYS,
    scope: 'any',
    store: directory,
    transport,
    maxPages: (1 + Number(values.from) / pages) * (WARM + pages),
  });
  let count = 0;
  let before;
  let after;
  crawler.on('page', () => {
    count++;
    if (count === WARM) before = process.cpuUsage();
    else if (count === WARM + pages) after = process.cpuUsage(before);
  });
  crawler.on('error', (error) => {
    throw error;
  });
  await crawler.run(Number(values.from) === 0 ? [urlOf(0)] : []);
  after ??= process.cpuUsage(before);
  console.log(
    JSON.stringify({
      cpuUsPerPage: (after.user + after.system) / Math.max(1, count - WARM),
      pages: count,
      anonMiB: await anonMiB(),
    }),
  );
}

async function anonMiB() {
  const { readFile } = await import('node:fs/promises');
  return Number(/^RssAnon:\s+(\d+)/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1]) / 1024;
}
