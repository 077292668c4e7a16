// A web to measure crawls on: the site of pages.mjs on addresses of loopback, the same at every start.
//   node site.mjs '{"pages":3000,"hosts":100,"links":40,"kb":30,"latencyMs":0,"endless":false}'
// Prints {"seed": URL, "pages": n, "port": n} and serves until its input ends. `/__reset` forgets, `/__stats` tells what was
// asked for, and when. An endless site has ever new pages, made as they are asked for: page n links to n + 1, n + 2, ...
import http from 'node:http';
import { madeUpSite } from './pages.mjs';

const {
  pages = 3000,
  hosts = 100,
  links = 40,
  kb = 30,
  latencyMs = 0,
  endless = false,
} = JSON.parse(process.argv[2] ?? '{}');
const HTML = 'text/html; charset=utf-8';

let site;
const bodies = new Map();
let requests = 0;
let served = new Map();
/** When each page was first asked for, in milliseconds. */
let times = [];

const server = http.createServer((request, response) => {
  if (request.url === '/__reset') {
    requests = 0;
    served = new Map();
    times = [];
    return void response.end('{}');
  }
  if (request.url === '/__stats') return void response.end(JSON.stringify(stats()));
  requests++;
  const at = performance.now();
  const body = endless ? endlessPage(request.url) : bodies.get(request.headers.host + request.url);
  if (body === undefined) return void response.writeHead(404).end();
  if (!endless) {
    const count = served.get(body) ?? 0;
    served.set(body, count + 1);
    if (count === 0) times.push(at);
  } else times.length++;
  const send = () => response.writeHead(200, { 'content-type': HTML, 'content-length': body.length }).end(body);
  if (latencyMs > 0) setTimeout(send, latencyMs);
  else send();
});

function stats() {
  const duplicates = [...served.values()].filter((count) => count > 1).length;
  return {
    requests,
    distinct: endless ? times.length : served.size,
    duplicates,
    middle: endless ? undefined : middleRate(),
  };
}

/** Pages a second between the first fifth and the last: while neither the start nor the end is in the way. */
function middleRate() {
  const first = Math.floor(times.length * 0.2);
  const last = Math.ceil(times.length * 0.8) - 1;
  return last > first ? ((last - first) * 1000) / (times[last] - times[first]) : 0;
}

const tail = Buffer.from('<p>The same text below every page of this site.</p>\n'.repeat(Math.ceil((kb * 1024) / 52)));

function endlessPage(url) {
  const page = Number(/^\/page-(\d+)\.html$/.exec(url)?.[1] ?? Number.NaN);
  if (!(page >= 0 && page < pages)) return undefined;
  let list = '';
  // Two new ones, and many that were met before.
  for (let n = 1; n <= 2 && page * 2 + n < pages; n++) list += `<a href="${endlessUrl(page * 2 + n)}">next</a> `;
  for (let n = 0; n < links - 2; n++) list += `<a href="${endlessUrl((page * 7 + n * 131) % (page + 1))}">page</a>\n`;
  return Buffer.concat([Buffer.from(`<!doctype html><title>Page ${page}</title>${list}`), tail]);
}

const endlessUrl = (page) => `http://127.1.1.${1 + (page % hosts)}:${port}/page-${page}.html`;

let port;
server.keepAliveTimeout = 60_000;
server.listen(0, '0.0.0.0', () => {
  port = server.address().port;
  site = madeUpSite({ pages, hosts, links, kb, port });
  if (!endless) {
    for (let page = 0; page < pages; page++)
      bodies.set(`${site.host(page)}:${port}${site.path(page)}`, site.html(page));
  }
  console.log(JSON.stringify({ seed: endless ? endlessUrl(0) : site.url(0), pages, port }));
});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
