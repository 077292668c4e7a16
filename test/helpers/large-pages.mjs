// Crawls many large pages at once, each on a host of its own, and prints what it cost, as a line of JSON:
//   node large-pages.mjs '{"dist": URL of the package, "hosts": 32, "bytes": 15000000, "maxBodyBytes": nothing or a number}'
// The longest turn of the event loop is in processor time of the main thread, where the system tells that.
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import { costOf, forkServer, listenForParent } from './crawl-cost.mjs';

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
  listenForParent(server, '127.0.0.1');
}

async function crawl() {
  const server = await forkServer(fileURLToPath(import.meta.url), { bytes });
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
  const beforeMiB = Math.round(process.memoryUsage.rss() / 2 ** 20);
  const seeds = Array.from({ length: hosts }, (_, n) => `http://h${n}.example.test:${server.port}/`);
  const { cpuMs, longestTurnMs } = await costOf(() => crawler.run(seeds));
  server.close();
  const peakMiB = Math.round(process.resourceUsage().maxRSS / 1024);
  console.log(JSON.stringify({ ...result, beforeMiB, peakMiB, longestTurnMs, cpuMs }));
}

if (role === 'serve') serve();
else await crawl();
