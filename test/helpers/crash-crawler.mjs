// A crawl to be killed: runs until it is done, or kills itself at a labelled step or after a time.
//   node crash-crawler.mjs JOB    with JOB a JSON object, see `Job` in crash.ts
// Every delivered page is a line in `journal`, which outlives the process as soon as it is written.
import { openSync, writeSync } from 'node:fs';

const job = JSON.parse(process.argv[2]);
const { Crawler } = await import(`${job.dist}/index.js`);
const { LmdbStore } = await import(`${job.dist}/store/lmdb/index.js`);

const journal = openSync(job.journal, 'a');
const note = (kind, fields) =>
  writeSync(journal, `${JSON.stringify({ kind, run: job.run, at: Date.now(), ...fields })}\n`);

let left = job.kill?.count ?? 0;
/** One pass of a labelled step; the chosen one is the last thing this process does. */
function step(label) {
  if (job.kill?.label !== label || --left > 0) return;
  note('killed', { label });
  process.kill(process.pid, 'SIGKILL');
}

const VERBS = [
  'offer',
  'lease',
  'settle',
  'claimAddress',
  'setHost',
  'setMeta',
  'getMeta',
  'nextDueAt',
  'stats',
  'flush',
];
/** The store with a labelled step before and after each of its verbs. */
function labelled(store) {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (!VERBS.includes(name)) return value.bind(target);
      return async (...args) => {
        step(`before ${name}`);
        const result = await value.apply(target, args);
        step(`after ${name}`);
        return result;
      };
    },
  });
}

const store = await LmdbStore.open(job.directory);
step('after open');
const crawler = new Crawler({
  userAgent: 'crash/1.0 (+mailto:owner@example.test)',
  scope: 'any',
  network: 'any',
  store: labelled(store),
  ...job.options,
});
for (const event of ['start', 'offer', 'skip', 'request', 'redirect', 'retry', 'host', 'stats', 'checkpoint', 'end']) {
  crawler.on(event, () => step(event));
}
crawler.on('page', async (page) => {
  step('before page');
  note('page', { url: page.url });
  step('after page');
  await new Promise((resolve) => setImmediate(resolve));
  step('page handled');
});
crawler.on('error', (error, url) => note('error', { code: error.code, url }));
if (job.kill?.afterMs !== undefined) setTimeout(() => process.kill(process.pid, 'SIGKILL'), job.kill.afterMs);

const stats = await crawler.run(job.seeds);
step('before close');
await store.close();
note('done', { stats, redelivered: 0 });
