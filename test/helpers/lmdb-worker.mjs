// A small crawl without a network, to be killed: leases, "asks", settles with out-links, and writes down each step as soon
// as the store has acknowledged it. A line is in the file when `writeSync` returns; it outlives the process.
//   node lmdb-worker.mjs DIST DIRECTORY JOURNAL SEED MAX_URLS COMMIT_EVERY_MS LINES LOG
// After so many lines it kills itself, right behind the acknowledgement; 0 for never. With a LOG of so many rows, and not
// 0, records are written to the log from the first URL on, and merged all the time.
import { openSync, writeSync } from 'node:fs';

const [dist, directory, journal, seed, maxUrls, commitEveryMs, lines, logRows] = process.argv.slice(2);
const { LmdbStore } = await import(`${dist}/store/lmdb/index.js`);
const { LOG_LIMITS } = await import(`${dist}/store/lmdb/log-limits.js`);
const { createRequest } = await import(`${dist}/request.js`);
const { Random } = await import(`${dist}/testing/random.js`);

// Longer than a process takes to start, so that a clock that was lost is seen.
const START_GAP_MS = 400;
const HOSTS = 60;
const WORKERS = 16;
const RULES = { connectionsPerHost: 1, pagesPerHost: Infinity, startGapMs: START_GAP_MS, shareAddress: false };
const random = new Random(Number(seed));
const file = openSync(journal, 'a');

let written = 0;

if (Number(logRows) > 0) Object.assign(LOG_LIMITS, { from: 0, part: 1, most: Number(logRows), work: 2 });

function log(kind, fields) {
  writeSync(file, `${JSON.stringify({ kind, at: Date.now(), run: Number(seed), ...fields })}\n`);
  if (++written === Number(lines)) process.kill(process.pid, 'SIGKILL');
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const store = await LmdbStore.open(directory, { commitEveryMs: Number(commitEveryMs) });
log('open', {});
let { seen } = await store.stats();

function link() {
  const host = `h${random.below(HOSTS)}.test`;
  const fresh = seen < Number(maxUrls);
  const path = fresh && random.chance(0.6) ? `${seed}-${random.below(1e9)}` : `common-${random.below(3)}`;
  return createRequest({
    url: `https://${host}/${path}`,
    level: random.below(3) - 1,
    referrer: `https://${host}/`,
    source: 'a/href',
  });
}

const links = (count) => Array.from({ length: count }, link);

async function offerSeeds() {
  const batch = links(6);
  await store.offer(batch, Date.now());
  log('offered', { keys: batch.map(({ key }) => key) });
}

async function visit(lease) {
  const { host } = lease.request;
  log('asked', { host, key: lease.request.key, fence: lease.fence });
  await sleep(random.below(6));
  const endedAt = Date.now();
  log('answered', { host, at: endedAt });
  const delayMs = random.pick([0, 0, 0, 450, 1_100]);
  const blockedUntil = random.chance(0.05) ? endedAt + 1_500 : 0;
  const outcome = random.pick(['done', 'done', 'done', 'done', 'done', 'failed', 'deferred', 'retry']);
  const outlinks = links(random.below(4));
  const nextAt = endedAt + Math.max(START_GAP_MS, delayMs);
  const again = outcome === 'deferred' || outcome === 'retry';
  log('settling', { host, delayMs, blockedUntil });
  const settled = await store.settle(
    lease,
    {
      outcome,
      outlinks,
      host: { nextAt, delayMs, ...(blockedUntil > 0 ? { blockedUntil } : {}) },
      ...(again
        ? {
            requeue: {
              request: { ...lease.request, attempts: lease.request.attempts + 1 },
              dueAt: endedAt + random.below(20),
            },
          }
        : {}),
      delivered: outcome === 'done',
      record: { status: 200, ms: 3 },
      meta: [[`page:${lease.request.key}`, Buffer.from(String(lease.fence))]],
    },
    Date.now(),
  );
  seen += settled.offered;
  log('settled', {
    host,
    key: lease.request.key,
    fence: lease.fence,
    outcome,
    accepted: settled.accepted,
    delayMs,
    nextAt,
    blockedUntil,
    keys: outlinks.map(({ key }) => key),
  });
}

let working = 0;
await offerSeeds();
for (;;) {
  if (working < WORKERS) {
    const now = Date.now();
    const leases = await store.lease(now, WORKERS - working, 10_000, RULES);
    for (const lease of leases) {
      working++;
      void visit(lease).finally(() => working--);
    }
    if (leases.length === 0 && working === 0) {
      const dueAt = await store.nextDueAt(Date.now(), RULES);
      if (dueAt === undefined && seen >= Number(maxUrls)) break;
      if (dueAt === undefined) await offerSeeds();
      else await sleep(Math.max(1, dueAt - Date.now()));
      continue;
    }
  }
  if (random.chance(0.02)) await store.flush();
  if (random.chance(0.05)) await offerSeeds();
  await sleep(1);
}
const stats = await store.stats();
await store.close();
log('closed', { stats });
