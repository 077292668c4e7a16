// A crawl of hostile hosts with sound ones beside them, in a process of its own, so that its memory and what it leaves
// behind can be measured:
//   node --expose-gc hostile-crawl.mjs '{"dist": directory, "hosts": 230, "urlsPerHost": 44, ...}'
// Prints one line of JSON.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const options = {
  hosts: 230,
  urlsPerHost: 44,
  soundHosts: 8,
  soundPages: 12,
  crawlDelay: 4,
  minDelayMs: 500,
  seed: 1,
  ...JSON.parse(process.argv[2]),
};
const { dist } = options;
const unhandled = [];
process.on('unhandledRejection', (reason) => unhandled.push(`rejection: ${reason?.stack ?? reason}`));
process.on('uncaughtException', (error) => unhandled.push(`exception: ${error?.stack ?? error}`));

const ADDRESSES = ['127.20.0.1', '127.20.0.2', '127.20.0.3', '127.20.0.4'];
const web = fileURLToPath(new URL('../bench/hostile-web.mjs', import.meta.url));

function start(what) {
  return fork(web, [JSON.stringify({ dist, ...what })], { execArgv: [] });
}
async function ask(child) {
  child.send('report');
  return (await once(child, 'message'))[0];
}

const hostileWeb = start({ hostile: ADDRESSES, seed: options.seed });
const soundWeb = start({ sound: '127.20.1.1', pages: options.soundPages, crawlDelay: options.crawlDelay });
const [[servers], [sound]] = await Promise.all([once(hostileWeb, 'message'), once(soundWeb, 'message')]);

const { Crawler } = await import(`${dist}/index.js`);
const { Random } = await import(`${dist}/testing/random.js`);
const random = new Random(options.seed);

/** What has its host wait for a day, as it may, would have the crawl wait for as long. */
const faults = servers[0].faults.filter(({ name }) => name !== 'status-throttled-absurd');
const serverOf = (host) => servers[host % servers.length];
const nameOf = (host) => `h${host}.hostile.example`;

function urlOf(host, { name }, n) {
  const port = serverOf(host).faults.find((fault) => fault.name === name).port;
  return `http://${nameOf(host)}:${port}/${name}/${n}`;
}

/**
 * Every third page is sound, so that no host is given up; of the others a third are misbehaviours with names, each
 * equally often, and the rest those that are another each time.
 */
function hostileUrls() {
  const byName = new Map(faults.map((fault) => [fault.name, fault]));
  const chance = ['random-bytes', 'random-body', 'mutated'].map((name) => byName.get(name));
  const urls = [];
  let deck = [];
  const pick = (n) => {
    if (n % 3 === 0) return byName.get('half-close-without-length');
    if (!random.chance(1 / 3)) return random.pick(chance);
    if (deck.length === 0) deck = [...faults].sort(() => random.next() - 0.5);
    const fault = deck.pop();
    // The 50 MiB of a sitemap, which may be kept whole, would later be all that is seen of the memory.
    return fault.name === 'sitemap-endless' && urls.length > 2000 ? chance[0] : fault;
  };
  for (let n = 0; n < options.urlsPerHost; n++) {
    for (let host = 0; host < options.hosts; host++) urls.push(urlOf(host, pick(n), urls.length));
  }
  return urls;
}

const soundUrl = (name) => `http://${name}.sound.example:${sound.port}/`;

function lookup(hostname, _options, callback) {
  const host = /^h(\d+)\.hostile/.exec(hostname)?.[1];
  const address = host === undefined ? sound.address : serverOf(Number(host)).address;
  callback(null, [{ address, family: 4 }]);
}

function newCrawler() {
  return new Crawler({
    userAgent: 'test-hostile/1.0 (+mailto:owner@example.test)',
    transport: options.transport ?? 'lean',
    network: 'any',
    dnsLookup: lookup,
    concurrency: 200,
    minDelayMs: options.minDelayMs,
    delayFactor: 0,
    maxDelayMs: options.minDelayMs,
    ipDelayMs: 0,
    backoffMs: 10,
    retries: 1,
    maxRedirects: 3,
    maxBodyBytes: 50_000,
    sitemaps: 'robots',
    timeouts: { connect: 3000, headers: 1500, page: 2500 },
  });
}

/** Requests per second that the slowest of some hosts got, as its server saw them. */
function paceOf(asked, names) {
  const paces = names.map((name) => {
    const times = asked[new URL(soundUrl(name)).host] ?? [];
    return {
      pages: times.length,
      perSecond: ((times.length - 1) * 1000) / (times.at(-1) - times[0]),
      last: times.at(-1),
    };
  });
  return {
    pages: paces.reduce((total, { pages }) => total + pages, 0),
    mean: paces.reduce((total, { perSecond }) => total + perSecond, 0) / paces.length,
    slowest: Math.min(...paces.map(({ perSecond }) => perSecond)),
    lastAt: Math.max(...paces.map(({ last }) => last)),
  };
}

const memory = [];
function measure(requests) {
  globalThis.gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  memory.push({ requests, rss, heapUsed, external });
}

async function crawlAll(seeds) {
  const { Ledger } = await import(`./ledger.mjs`);
  const crawler = newCrawler();
  const ledger = new Ledger(crawler);
  let requests = 0;
  let hostileEndedAt = 0;
  crawler.on('request', (url) => {
    if (url.includes('.hostile.')) hostileEndedAt = Date.now();
    if (++requests % 500 === 0) measure(requests);
  });
  const stats = await crawler.run(seeds);
  return { ledger, stats, hostileEndedAt, requests };
}

const alone = Array.from({ length: options.soundHosts }, (_, i) => `few${i}`);
const beside = Array.from({ length: options.soundHosts }, (_, i) => `beside${i}`);
const settled = () => process.getActiveResourcesInfo().sort();

const startedAt = performance.now();
await crawlAll(alone.map(soundUrl));
let before = [];
// What the crawl before has closed is on its way out.
for (let same = 0; same < 3; ) {
  await new Promise((resolve) => setTimeout(resolve, 200));
  const now = settled();
  same = String(now) === String(before) ? same + 1 : 0;
  before = now;
}
const urls = hostileUrls();
memory.length = 0;
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
const cpu = process.cpuUsage();
const besideAt = performance.now();
const { ledger, stats, hostileEndedAt, requests } = await crawlAll([...beside.map(soundUrl), ...urls]);
const besideMs = performance.now() - besideAt;
const { user, system } = process.cpuUsage(cpu);
delay.disable();

const { asked } = await ask(soundWeb);
let open = Number.POSITIVE_INFINITY;
let hostile;
let after = [];
for (let tries = 0; tries < 50 && (open > 0 || String(after) !== String(before)); tries++) {
  hostile = await ask(hostileWeb);
  open = hostile.open;
  await new Promise((resolve) => setTimeout(resolve, 100));
  after = settled();
}
measure(requests);

console.log(
  JSON.stringify({
    urls: urls.length,
    accounts: ledger.accounts.size,
    unsettled: ledger.unsettled.slice(0, 20),
    unsettledCount: ledger.unsettled.length,
    otherErrors: ledger.otherErrors,
    queued: stats.queued,
    inFlight: stats.inFlight,
    pages: stats.pages,
    errorCodes: stats.errorCodes,
    skips: stats.skips,
    requests,
    connections: hostile.connections,
    open,
    unhandled,
    before,
    after,
    memory: memory.map(({ requests: at, rss, heapUsed, external }) => ({
      requests: at,
      rssMiB: Math.round(rss / 2 ** 18) / 4,
      heapMiB: Math.round(heapUsed / 2 ** 18) / 4,
      externalMiB: Math.round(external / 2 ** 18) / 4,
    })),
    alone: paceOf(asked, alone),
    beside: paceOf(asked, beside),
    hostileEndedAt,
    besideMs,
    cpuMs: (user + system) / 1000,
    delayP99Ms: delay.percentile(99) / 1e6,
    delayMaxMs: delay.max / 1e6,
    totalMs: performance.now() - startedAt,
  }),
);
hostileWeb.disconnect();
soundWeb.disconnect();
