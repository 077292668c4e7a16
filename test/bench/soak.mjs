// A crawl at full speed of hosts that misbehave in every way, with sound ones among them, for as long as is asked: does
// memory stay flat, and is nothing left open?
//   node --expose-gc test/bench/soak.mjs [--minutes=12] [--concurrency=64] [--transport=lean] [--seed=1] [--json]
// Prints a line each 10 s, one object of JSON at the end, and ends with 1 where something grew. The servers have a process
// of their own; `--dist` names the build to measure.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '12' },
    concurrency: { type: 'string', default: '64' },
    transport: { type: 'string', default: 'lean' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    dist: { type: 'string', default: fileURLToPath(new URL('../../dist', import.meta.url)) },
  },
});
if (globalThis.gc === undefined) throw new Error('Run it with node --expose-gc: what nobody has collected is no leak.');

const EVERY_MS = 10_000;
const durationMs = Number(values.minutes) * 60_000;
const HOSTS = 400;
const IN_FLIGHT = Number(values.concurrency);
/** URLs that wait, so that there is always work, and no more. */
const WAITING = 2000;
/** What may grow between the second and the last quarter of the time. */
const LIMITS = { rssMiB: 20, heapMiB: 20, externalMiB: 20 };
/** What there may be at any moment: a socket for each request in flight, and what the crawl itself needs. */
const MOST = { handles: IN_FLIGHT + 32, sockets: IN_FLIGHT + 16 };
/** What has its host wait for a day, as it may; and what fills 50 MiB each time, as a sitemap may. */
const LEFT_OUT = ['status-throttled-absurd', 'sitemap-endless'];

/** What misbehaves no more than to close each connection. */
const SOUND = 'half-close-without-length';

const unhandled = [];
process.on('unhandledRejection', (reason) => unhandled.push(String(reason?.stack ?? reason)));
process.on('uncaughtException', (error) => unhandled.push(String(error?.stack ?? error)));

const ADDRESSES = ['127.21.0.1', '127.21.0.2', '127.21.0.3', '127.21.0.4'];
const web = fileURLToPath(new URL('hostile-web.mjs', import.meta.url));
const start = (what) => fork(web, [JSON.stringify({ dist: values.dist, ...what })], { execArgv: [] });
const hostileWeb = start({ hostile: ADDRESSES, seed: Number(values.seed) });
const soundWeb = start({ sound: '127.21.1.1' });
const [[servers], [sound]] = await Promise.all([once(hostileWeb, 'message'), once(soundWeb, 'message')]);
const ask = async (child) => {
  child.send('report');
  return (await once(child, 'message'))[0];
};

for (const server of servers) server.faults = server.faults.filter(({ name }) => !LEFT_OUT.includes(name));

const { Crawler } = await import(`${values.dist}/index.js`);
const { Random } = await import(`${values.dist}/testing/random.js`);
const random = new Random(Number(values.seed));
const serverOf = (host) => servers[host % servers.length];

/** An endless supply. Every fourth host is sound, and every third page of the others, so that none of them is given up. */
let made = 0;
function nextUrls(count) {
  return Array.from({ length: count }, () => {
    const n = made++;
    const host = n % HOSTS;
    if (host % 4 === 0) return `http://h${host}.sound.example:${sound.port}/p/${n}`;
    const { faults } = serverOf(host);
    const isSound = Math.floor(n / HOSTS) % 3 === 0;
    const { name, port } = isSound ? faults.find((fault) => fault.name === SOUND) : random.pick(faults);
    return `http://h${host}.hostile.example:${port}/${name}/${n}`;
  });
}

const crawler = new Crawler({
  userAgent: 'soak/1.0 (+mailto:bench@example.org)',
  transport: values.transport,
  scope: 'any',
  network: 'any',
  dnsLookup: (hostname, _options, callback) => {
    const host = /^h(\d+)\.hostile/.exec(hostname)?.[1];
    callback(null, [{ address: host === undefined ? sound.address : serverOf(Number(host)).address, family: 4 }]);
  },
  concurrency: Number(values.concurrency),
  minDelayMs: 0,
  delayFactor: 0,
  maxDelayMs: 0,
  ipDelayMs: 0,
  connectionsPerHost: 4,
  backoffMs: 100,
  retries: 1,
  maxRedirects: 3,
  maxDepth: 0,
  sitemaps: 'robots',
  timeouts: { connect: 3000, headers: 1500, page: 2500 },
});
let pages = 0;
let titles = 0;
let errors = 0;
crawler.on('page', (page) => {
  if (page.title !== undefined) titles++;
  pages++;
});
crawler.on('error', () => errors++);

const startedAt = performance.now();
const samples = [];
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

function sample() {
  const delayP99Ms = Math.round(delay.percentile(99) / 1e6);
  const delayMaxMs = Math.round(delay.max / 1e6);
  globalThis.gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo();
  const mib = (bytes) => Math.round(bytes / 2 ** 17) / 8;
  const line = {
    seconds: Math.round((performance.now() - startedAt) / 1000),
    pages,
    errors,
    rssMiB: mib(rss),
    heapMiB: mib(heapUsed),
    externalMiB: mib(external),
    handles: resources.length,
    sockets: resources.filter((name) => name.startsWith('TCP')).length,
    delayP99Ms,
    delayMaxMs,
  };
  // The collection that was asked for is no delay of the crawl's.
  setTimeout(() => delay.reset(), 50);
  samples.push(line);
  if (!values.json)
    console.log(
      Object.entries(line)
        .map(([name, value]) => `${name} ${value}`)
        .join('  '),
    );
}

const running = crawler.run(nextUrls(WAITING));
const feeding = setInterval(() => {
  const { queued, inFlight } = crawler.stats();
  if (queued + inFlight < WAITING) crawler.add(nextUrls(WAITING / 2));
}, 100);
for (let at = EVERY_MS; at <= durationMs; at += EVERY_MS) {
  await wait(Math.max(0, at - (performance.now() - startedAt)));
  sample();
}
clearInterval(feeding);
await crawler.stop();
const stats = await running;
delay.disable();

let { open, connections } = await ask(hostileWeb);
for (let tries = 0; tries < 50 && open > 0; tries++) {
  await wait(100);
  ({ open } = await ask(hostileWeb));
}
hostileWeb.disconnect();
soundWeb.disconnect();
await wait(500);
const left = process
  .getActiveResourcesInfo()
  .filter((name) => !/^(PipeWrap|TTYWrap|ProcessWrap|FSReqPromise)$/.test(name));

const mean = (list, what) => list.reduce((total, line) => total + line[what], 0) / list.length;
const quarter = (index) =>
  samples.slice(Math.floor((samples.length * index) / 4), Math.floor((samples.length * (index + 1)) / 4));
const growth = Object.fromEntries(
  Object.keys(LIMITS).map((what) => [what, mean(quarter(3), what) - mean(quarter(1), what)]),
);
const wrong = [
  ...Object.entries(LIMITS)
    .filter(([what, most]) => !(growth[what] <= most))
    .map(([what]) => `${what} grew by ${growth[what]}`),
  ...Object.entries(MOST)
    .filter(([what, most]) => samples.some((line) => line[what] > most))
    .map(([what, most]) => `more than ${most} ${what}`),
  ...(open > 0 ? [`${open} connections are open`] : []),
  ...(left.length > 0 ? [`left behind: ${left.join(', ')}`] : []),
  ...unhandled,
];
console.log(
  JSON.stringify({
    bench: 'soak',
    minutes: Number(values.minutes),
    transport: values.transport,
    pages,
    errors,
    titles,
    requests: stats.requests,
    connections,
    pagesPerSecond: pages / ((performance.now() - startedAt) / 1000),
    errorCodes: stats.errorCodes,
    growth,
    wrong,
    samples,
  }),
);
process.exitCode = wrong.length === 0 ? 0 : 1;
