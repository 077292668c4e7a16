// Crawls many large pages at once, each on a host of its own, and prints what it cost, as a line of JSON:
//   node large-pages.mjs '{"dist": URL of the package, "hosts": 32, "bytes": 15000000, "maxBodyBytes": nothing or a number}'
// The longest turn of the event loop is in processor time of the main thread, where the system tells that.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readSync } from 'node:fs';
import http from 'node:http';
import { fileURLToPath } from 'node:url';

const { role = 'crawl', dist, hosts = 32, bytes = 15_000_000, maxBodyBytes, transport } = JSON.parse(process.argv[2]);

/** A page as there are many: text, and 2,000 links in each megabyte. */
function serve() {
  const paragraph = (n) =>
    `<p>${'some text that is no more than that. '.repeat(13)}<a href="/page/${n}">more</a></p>\n`;
  let html = '<!doctype html><title>large</title>';
  for (let n = 0; html.length < bytes; n++) html += paragraph(n);
  const body = Buffer.from(html).subarray(0, bytes);
  const server = http.createServer((request, response) => {
    if (request.url === '/') response.writeHead(200, { 'content-type': 'text/html' }).end(body);
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
  process.on('disconnect', () => process.exit());
}

/** Nanoseconds that the main thread has run. */
function runTime() {
  let file;
  try {
    file = openSync('/proc/self/schedstat');
  } catch {
    return () => process.hrtime.bigint();
  }
  const buffer = Buffer.alloc(64);
  return () => BigInt(buffer.latin1Slice(0, readSync(file, buffer, 0, 64, 0)).split(' ', 1)[0]);
}

async function crawl() {
  const server = fork(fileURLToPath(import.meta.url), [JSON.stringify({ role: 'serve', bytes })]);
  const [port] = await once(server, 'message');
  const { Crawler } = await import(dist);
  const crawler = new Crawler({
    userAgent: 'bench/1.0 (+mailto:bench@example.org)',
    transport,
    network: 'any',
    dnsLookup: async () => '127.0.0.1',
    minDelayMs: 0,
    delayFactor: 0,
    maxDelayMs: 0,
    ipDelayMs: 0,
    concurrency: hosts,
    maxDepth: 0,
    ...(maxBodyBytes === undefined ? {} : { maxBodyBytes }),
  });
  const result = { pages: 0, errors: 0, bytes: 0, links: 0 };
  crawler.on('page', (page) => {
    result.pages++;
    result.bytes += page.bytes;
    result.links += page.links.length;
    if (page.title !== 'large') result.errors++;
  });
  crawler.on('error', () => result.errors++);
  const now = runTime();
  let last = now();
  let longest = 0n;
  let isRunning = true;
  const look = () => {
    const at = now();
    if (at - last > longest) longest = at - last;
    last = at;
    if (isRunning) setImmediate(look);
  };
  const beforeMiB = Math.round(process.memoryUsage.rss() / 2 ** 20);
  const before = process.cpuUsage();
  last = now();
  look();
  await crawler.run(Array.from({ length: hosts }, (_, n) => `http://h${n}.example.test:${port}/`));
  look();
  isRunning = false;
  const { user, system } = process.cpuUsage(before);
  server.disconnect();
  const peakMiB = Math.round(process.resourceUsage().maxRSS / 1024);
  const longestTurnMs = Math.round(Number(longest) / 1e6);
  console.log(
    JSON.stringify({ ...result, beforeMiB, peakMiB, longestTurnMs, cpuMs: Math.round((user + system) / 1e3) }),
  );
}

if (role === 'serve') serve();
else await crawl();
