// A web in a process of its own, for crawls that are measured: hostile servers at some addresses of loopback, or sound
// sites at one. Forked with one argument of JSON:
//   {"dist": directory, "hostile": [addresses], "seed": 1, "dripMs": 20}
//   {"sound": address, "pages": 20, "crawlDelay": 2}
// Tells where it listens, answers each message with what it has seen so far, and ends with its parent.
import http from 'node:http';

const { dist, hostile = [], sound, seed = 1, dripMs = 20, pages = 20, crawlDelay } = JSON.parse(process.argv[2]);

const sites = [];
const asked = new Map();

async function startHostile() {
  const { HostileServer } = await import(`${dist}/testing/index.js`);
  for (const host of hostile) sites.push(await HostileServer.start({ host, seed, dripMs }));
  return sites.map((site, i) => ({ address: hostile[i], faults: placesOf(site) }));
}

/** What is met by a plain URL of http, with no options of the crawl's own. */
const PLACES = ['answer', 'connection', 'robots.txt', 'sitemap'];

/** Name, place and port of each misbehaviour. */
function placesOf(site) {
  const faults = site.faults.filter(({ place }) => PLACES.includes(place));
  return faults.map(({ name, place }) => ({ name, place, port: Number(new URL(site.url(name)).port) }));
}

/** Pages that are alike on all hosts; `/` leads to all of them, but only to a few where the host is called "few". */
function soundPage(path, host) {
  const length = host.startsWith('few') ? 2 : pages;
  const links = path === '/' ? Array.from({ length }, (_, i) => `<a href="/p/${i}">${i}</a>`).join('\n') : '';
  return `<!doctype html><title>${path}</title><body>${links}${'<p>some text that is no more than that</p>'.repeat(200)}`;
}

function startSound() {
  const server = http.createServer((request, response) => {
    const host = request.headers.host ?? '';
    const times = asked.get(host) ?? [];
    asked.set(host, times);
    if (request.url === '/robots.txt') {
      const delay = crawlDelay === undefined ? '' : `Crawl-delay: ${crawlDelay}\n`;
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`User-agent: *\n${delay}Allow: /\n`);
      return;
    }
    times.push(Date.now());
    response.writeHead(200, { 'content-type': 'text/html' }).end(soundPage(request.url, host));
  });
  server.keepAliveTimeout = 60_000;
  return new Promise((resolve) => {
    server.listen(0, sound, () => resolve({ address: sound, port: server.address().port }));
  });
}

const sum = (what) => sites.reduce((total, site) => total + site[what], 0);

process.on('message', () => {
  process.send({
    connections: sum('connections'),
    open: sum('openConnections'),
    requests: sum('requests'),
    asked: Object.fromEntries(asked),
  });
});
process.on('disconnect', () => process.exit());
process.send(sound === undefined ? await startHostile() : await startSound());
