// A web to measure crawls on: PAGES pages over HOSTS addresses of loopback, the same ones at every start.
//   node site.mjs '{"pages":3000,"hosts":100,"links":40,"kb":30,"latencyMs":0}'
// Prints {"seed": URL, "pages": n, "port": n} and serves until its input ends.
import http from 'node:http';

const { pages = 3000, hosts = 100, links = 40, kb = 30, latencyMs = 0 } = JSON.parse(process.argv[2] ?? '{}');
const words = 'crawl queue host page link robot delay fetch index frontier polite server answer header body text'.split(
  ' ',
);

/** Small, fast, and the same everywhere (mulberry32). */
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const address = (page) => `127.1.${Math.floor((page % hosts) / 250)}.${1 + ((page % hosts) % 250)}`;
const path = (page) => (page % 10 === 9 ? `/q?id=${page}&v=2` : `/d${page % 7}/page-${page}.html`);
const url = (page) => `http://${address(page)}:${port}${path(page)}`;
const escaped = (text) => text.replaceAll('&', '&amp;');

/** A tree underneath, so that every page is reached, and random links besides. */
function html(page) {
  const next = random(page + 1);
  const targets = [];
  for (let child = page * 3 + 1; child <= page * 3 + 3; child++) if (child < pages) targets.push(child);
  while (targets.length < links) targets.push(Math.floor(next() * pages));
  const sentence = () => Array.from({ length: 12 }, () => words[Math.floor(next() * words.length)]).join(' ');
  let body = '';
  for (const target of targets) {
    const near = target % hosts === page % hosts;
    body += `<li class="item"><a href="${escaped(near ? path(target) : url(target))}" title="to ${target}">Page ${target}</a> <b>${sentence()}</b></li>\n`;
  }
  const head = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page ${page}</title></head><body><ul>\n${body}</ul>\n`;
  let text = head;
  while (text.length < kb * 1024) text += `<p id="p${text.length}">${sentence()}, <em>${sentence()}</em>.</p>\n`;
  return Buffer.from(`${text}</body></html>`);
}

const bodies = new Map();
let requests = 0;
let served = new Map();
const server = http.createServer((request, response) => {
  if (request.url === '/__reset') {
    requests = 0;
    served = new Map();
    return void response.end('{}');
  }
  if (request.url === '/__stats') {
    const duplicates = [...served.values()].filter((count) => count > 1).length;
    return void response.end(JSON.stringify({ requests, distinct: served.size, duplicates }));
  }
  requests++;
  const page = bodies.get(`http://${request.headers.host}${request.url}`);
  if (page === undefined) return void response.writeHead(404).end();
  served.set(page, (served.get(page) ?? 0) + 1);
  const send = () =>
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': page.length }).end(page);
  if (latencyMs > 0) setTimeout(send, latencyMs);
  else send();
});
server.keepAliveTimeout = 60_000;
let port;
server.listen(0, '0.0.0.0', () => {
  port = server.address().port;
  for (let page = 0; page < pages; page++) bodies.set(url(page), html(page));
  console.log(JSON.stringify({ seed: url(0), pages, port }));
});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
