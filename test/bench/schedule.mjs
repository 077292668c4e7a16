// What scheduling costs: hosts that may each be asked once a second, in virtual time, and nothing else: no network, no
// pages, no referee (simulate.mjs has one). Each page is leased, its address claimed, and settled with what was seen of
// its host and one new link, so that every host always has work.
//   node test/bench/schedule.mjs [--hosts 10000] [--pages 300000] [--rounds 3] [--json]
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '10000' },
    pages: { type: 'string', default: '300000' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const { Frontier } = await import(`${values.dist}/frontier.js`);
const { MemoryStore } = await import(`${values.dist}/store/memory/index.js`);
const hosts = Number(values.hosts);
const pages = Number(values.pages);
const LATENCY_MS = 40;
const LIMIT_US = 30;

const urlOf = (host, page) => `https://www.host${host}.example/section/article-${page}.html`;

/** @returns microseconds of processor time a page, and how long hosts waited beyond their second. */
async function run() {
  let now = 1_700_000_000_000;
  const frontier = await Frontier.open({ store: await MemoryStore.open(), clock: { now: () => now } });
  const next = new Uint32Array(hosts).fill(2);
  await frontier.offer(Array.from({ length: hosts * 2 }, (_, n) => urlOf(n % hosts, n < hosts ? 0 : 1)));
  // All answers take equally long, so that they end in the order in which they began.
  let flying = [];
  let ended = 0;
  const from = now;
  const before = process.cpuUsage();
  while (ended < pages) {
    for (let leases = await frontier.lease(64); leases.length > 0; leases = await frontier.lease(64)) {
      for (const lease of leases) {
        const host = Number(lease.request.host.slice(8, -8));
        if ((await frontier.claimAddress(lease, `192.0.2.${host}`)) !== 0) throw new Error('An address was busy.');
        flying.push({ lease, host, endsAt: now + LATENCY_MS });
      }
    }
    const dueAt = (await frontier.nextDueAt()) ?? Infinity;
    now = Math.max(now, Math.min(flying[0]?.endsAt ?? Infinity, dueAt));
    let over = 0;
    for (; over < flying.length && flying[over].endsAt <= now; over++) {
      const { lease, host, endsAt } = flying[over];
      await frontier.settle(lease, {
        outcome: 'done',
        observation: { endedAt: endsAt, durationMs: LATENCY_MS, status: 200 },
        outlinks: [urlOf(host, next[host]++)],
        delivered: true,
      });
      ended++;
    }
    if (over > 0) flying = flying.slice(over);
  }
  const { user, system } = process.cpuUsage(before);
  await frontier.close();
  const perHostAndSecond = ended / hosts / ((now - from) / 1000);
  return { usPerPage: (user + system) / ended, perHostAndSecond };
}

const runs = [];
for (let round = 0; round < Number(values.rounds); round++) runs.push(await run());
const usPerPage = Math.min(...runs.map((one) => one.usPerPage));
const [{ perHostAndSecond }] = runs;
const result = {
  bench: 'schedule',
  hosts,
  pages,
  usPerPage,
  limitUs: LIMIT_US,
  ratio: usPerPage / LIMIT_US,
  perHostAndSecond,
};
if (values.json) console.log(JSON.stringify(result));
else {
  console.log(
    `${hosts} hosts, each asked ${perHostAndSecond.toFixed(3)} times a second: ${usPerPage.toFixed(1)} µs a page, ` +
      `${result.ratio.toFixed(2)} of the limit of ${LIMIT_US} µs`,
  );
}
