// The steps of a page's way one by one, each beside a peer or a limit, in turn in one process. Processor time.
//   node test/bench/micro.mjs [--rounds 7] [--only canonicalise,extract] [--json]
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Parser } from 'htmlparser2';
import { madeUpSite } from './pages.mjs';
import { ratioLine } from './ratio.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
// Beside this file an older one may lie that a peer needs.
const robotsParser = createRequire(new URL('../../package.json', import.meta.url))('robots-parser');
const dist = (path) => import(`${values.dist}/${path}`);
const { canonicalizeUrl, canonicalForm } = await dist('url.js');
const { LinkExtractor } = await dist('link-extractor/index.js');
const { RobotsTxt } = await dist('robots-txt.js');
const { UrlFilter } = await dist('url-filter.js');
const { Admission } = await dist('admission.js');
const { SeenTable } = await dist('store/memory/seen-table.js');
const { MemoryStore } = await dist('store/memory/index.js');
const { decodeText } = await dist('text.js');
const { crc32, crc32c, fingerprint } = await dist('fingerprint.js');
const { createRequest } = await dist('request.js');

const site = madeUpSite({ pages: 200, hosts: 20, port: 8080 });
const pages = Array.from({ length: 200 }, (_, number) => ({ url: site.url(number), body: site.html(number) }));
const texts = pages.map(({ body }) => body.toString('utf8'));
const extractor = new LinkExtractor();
const links = pages.flatMap(({ url }, number) =>
  extractor.extract({ url, html: texts[number] }).map((link) => link.url),
);
const bytes = pages.reduce((sum, { body }) => sum + body.length, 0);

function each(list, work) {
  for (let n = 0; n < list.length; n++) work(list[n], n);
}

/** Name of a step: what it is counted in, the most that the ratio may be, and its contestants, ours first. */
const steps = {
  canonicalise: () => ({
    unit: 'link',
    count: links.length,
    most: 2,
    runs: {
      canonicalizeUrl: () => each(links, (link) => canonicalizeUrl(link)),
      'new URL(link).href': () => each(links, (link) => new URL(link).href),
      'canonicalForm, parsed before': () => each(links, (link) => canonicalForm(link)),
    },
  }),
  extract: () => {
    // So that the engine has compiled both before they count.
    const often = Array.from({ length: 5 });
    return {
      unit: 'page of 30 KB',
      count: pages.length * often.length,
      most: 1 / 5,
      runs: {
        LinkExtractor: () =>
          each(often, () => each(pages, ({ url }, number) => extractor.scan({ url, html: texts[number] }))),
        'htmlparser2 Parser': () => each(often, () => each(texts, (html) => new Parser({}).end(html))),
      },
    };
  },
  robots: () => {
    const rules = ['/private/', '/cgi-bin/', '/search', '/*.pdf$', '/tmp', '/d3/page-1', '/q?id=7&'];
    const file = ['User-agent: *', ...rules.map((rule) => `Disallow: ${rule}`), 'Allow: /d3/'].join('\n');
    const { origin } = new URL(site.url(0));
    const urls = links.filter((link) => link.startsWith(`${origin}/`));
    const ours = RobotsTxt.parse(file, `${origin}/robots.txt`);
    const alone = robotsParser(`${origin}/robots.txt`, file);
    return {
      unit: 'question',
      count: urls.length,
      most: 1,
      runs: {
        'RobotsTxt.allows': () => each(urls, (url) => ours.allows(url, 'ExampleBot')),
        'robots-parser': () => each(urls, (url) => alone.isAllowed(url, 'ExampleBot')),
      },
    };
  },
  filter: () => {
    const filter = UrlFilter.sameHost(pages.map(({ url }) => url))
      .and(UrlFilter.extensions({ deny: ['pdf', 'zip', 'jpg'] }))
      .and(UrlFilter.matching({ deny: [/\/private\//, /[?&]session=/] }))
      .and(UrlFilter.maxLength(2000));
    const admission = new Admission({ scope: filter, maxDepth: 20, maxUrlLength: 2048 });
    const context = { depth: 1 };
    const hosts = new Set(pages.map(({ url }) => new URL(url).host));
    const byHand = (link) => {
      const { host, pathname, href } = new URL(link);
      if (!hosts.has(host) || /\.(?:pdf|zip|jpg)$/i.test(pathname)) return false;
      return !/\/private\//.test(href) && !/[?&]session=/.test(href) && href.length <= 2000;
    };
    return {
      unit: 'link',
      count: links.length,
      most: 1.25,
      runs: {
        'four filters joined': () => each(links, (link) => admission.refusal(link, context, context)),
        'the same by hand, over new URL': () => each(links, byHand),
      },
    };
  },
  seen: () => ({
    unit: 'link',
    count: links.length,
    most: 4,
    runs: {
      'SeenTable, fingerprints made': () => {
        const table = new SeenTable();
        each(links, (link) => table.add(crc32(link), crc32c(link)));
      },
      Set: () => {
        const set = new Set();
        // A string of its own, as a link is when it is met: one that was looked up before remembers its hash.
        each(links, (link) => set.add(` ${link}`.slice(1)));
      },
    },
  }),
  decode: () => ({
    unit: 'page of 30 KB',
    count: pages.length,
    most: 1,
    runs: {
      decodeText: () => each(pages, ({ body }) => decodeText(body, 'text/html; charset=utf-8')),
      TextDecoder: () => each(pages, ({ body }) => new TextDecoder('utf-8').decode(body)),
      'isUtf8, toString': () => each(pages, ({ body }) => isUtf8(body) && body.toString('utf8')),
    },
  }),
  digest: () => ({
    unit: 'page of 30 KB',
    count: pages.length,
    most: 1.1,
    runs: {
      fingerprint: () => each(pages, ({ body }) => fingerprint(body)),
      'createHash, SHA-256': () => each(pages, ({ body }) => createHash('sha256').update(body).digest('hex')),
    },
  }),
};

const RULES = { connectionsPerHost: 1, pagesPerHost: Infinity, startGapMs: 0, shareAddress: true };
const URLS = 20_000;
const requests = Array.from({ length: URLS }, (_, n) =>
  createRequest({ url: `https://www.host${n % 500}.example/section/article-${n}.html`, depth: 3, source: 'a/href' }),
);

/** Microseconds of processor time that each verb takes of a store, by the URL. */
async function verbs(store) {
  let now = 1;
  const timed = async (work) => {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / URLS;
  };
  const offerAll = async () => {
    for (let n = 0; n < URLS; n += 50) await store.offer(requests.slice(n, n + 50), now);
    await store.flush();
  };
  const offer = await timed(offerAll);
  const known = await timed(offerAll);
  const leaseAndSettle = await timed(async () => {
    for (let left = URLS; left > 0; ) {
      const leases = await store.lease(++now, 64, 1000, RULES);
      left -= leases.length;
      await Promise.all(leases.map((lease) => store.settle(lease, { outcome: 'done', host: { nextAt: now } }, now)));
    }
    await store.flush();
  });
  return { offer, known, leaseAndSettle };
}

/** The least that a queue may be: a Set and an array. */
function plainQueue() {
  const before = process.cpuUsage();
  const seen = new Set();
  const queue = [];
  for (const { url } of requests) {
    const own = ` ${url}`.slice(1);
    if (!seen.has(own)) queue.push(own);
    seen.add(own);
  }
  for (let n = 0; n < queue.length; n++) queue[n] = undefined;
  const { user, system } = process.cpuUsage(before);
  return (user + system) / URLS;
}

async function stores() {
  const rows = { MemoryStore: [], LmdbStore: [] };
  const plain = [];
  const hasLmdb = canLoad('lmdb');
  for (let round = 0; round < Math.min(3, rounds); round++) {
    plain.push(plainQueue());
    const memory = await MemoryStore.open();
    rows.MemoryStore.push(await verbs(memory));
    await memory.close();
    if (!hasLmdb) continue;
    const { LmdbStore } = await dist('store/lmdb/index.js');
    const directory = mkdtempSync(join(tmpdir(), 'bench-store-'));
    const lmdb = await LmdbStore.open(join(directory, 'store'));
    rows.LmdbStore.push(await verbs(lmdb));
    await lmdb.close();
    rmSync(directory, { recursive: true });
  }
  const least = (name, verb) => Math.min(...rows[name].map((row) => row[verb]));
  return Object.keys(rows)
    .filter((name) => rows[name].length > 0)
    .map((name) => {
      const us = {
        offer: least(name, 'offer'),
        known: least(name, 'known'),
        leaseAndSettle: least(name, 'leaseAndSettle'),
      };
      return {
        step: `store: ${name}`,
        us,
        plainUs: Math.min(...plain),
        ratio: (us.offer + us.leaseAndSettle) / Math.min(...plain),
      };
    });
}

function canLoad(name) {
  try {
    createRequire(import.meta.url)(name);
    return true;
  } catch {
    return false;
  }
}

const rounds = Number(values.rounds);
const wanted = values.only?.split(',') ?? [...Object.keys(steps), 'stores'];
const results = [];
for (const name of wanted.filter((one) => one in steps)) {
  const { unit, count, most, runs } = steps[name]();
  const best = Object.fromEntries(Object.keys(runs).map((contestant) => [contestant, Infinity]));
  for (let round = 0; round < rounds; round++) {
    for (const [contestant, run] of Object.entries(runs)) {
      const before = process.cpuUsage();
      run();
      const { user, system } = process.cpuUsage(before);
      best[contestant] = Math.min(best[contestant], (user + system) / count);
    }
  }
  const [ours, peer] = Object.keys(runs);
  results.push({ step: name, unit, us: best, ratio: best[ours] / best[peer], most });
}
if (wanted.includes('stores')) results.push(...(await stores()));

if (values.json) console.log(JSON.stringify({ bench: 'micro', bytesPerPage: bytes / pages.length, results }));
else for (const result of results) print(result);

function print({ step, unit, us, ratio, most, plainUs }) {
  if (plainUs !== undefined) {
    const { offer, known, leaseAndSettle } = us;
    console.log(
      `${step.padEnd(20)} offer ${offer.toFixed(2)}, known ${known.toFixed(2)}, lease and settle ${leaseAndSettle.toFixed(2)} µs a URL; ` +
        `a Set and an array ${plainUs.toFixed(2)}`,
    );
    printRatio({
      what: 'CPU of offer, lease and settle',
      ours: step.slice('store: '.length),
      peer: 'a Set and an array',
      ratio,
    });
    return;
  }
  const [ours, ...others] = Object.entries(us).map(([name, time]) => `${name} ${time.toFixed(2)}`);
  console.log(`${step.padEnd(20)} ${ours} µs a ${unit}; ${others.join('; ')}`);
  const [first, second] = Object.keys(us);
  printRatio({ what: 'CPU', ours: first, peer: second, ratio, most });
}

function printRatio(ratio) {
  console.log(`${''.padEnd(20)} ${ratioLine(ratio)}`);
}
