// Crawls one heavy shape on loopback in this process and prints what it cost, as a line of JSON:
//   node heavy-crawl.mjs '{"dist": URL of the package, "shape": name, "bytes": 15000000, "state": directory or nothing}'
// The longest turn of the event loop is measured in processor time of the main thread, so that it means something on a
// machine that others use, too; where the system doesn't tell that, by the clock.
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import { costOf, forkServer, listenForParent } from './crawl-cost.mjs';
import { HEAVY_SHAPES, heavyBody } from './heavy-shapes.mjs';

const { role = 'crawl', dist, shape: name, bytes, state } = JSON.parse(process.argv[2]);

/** Serves the shape where a crawl looks for it, and small pages besides. */
function serve() {
  const shape = HEAVY_SHAPES[name];
  let body;
  const small = Buffer.from('<title>small</title>');
  const server = http.createServer((request, response) => {
    const isIt = request.url === { page: '/', sitemap: '/sitemap.xml', robots: '/robots.txt' }[shape.kind];
    if (!isIt && /\.(?:txt|xml)$/.test(request.url)) return void response.writeHead(404).end();
    body ??= heavyBody(shape, bytes, request.headers.host);
    response.writeHead(200, { 'content-type': isIt ? shape.contentType : 'text/html' }).end(isIt ? body : small);
  });
  listenForParent(server, '0.0.0.0');
}

/** A hundred bytes stand for one seed. */
function seedsOf(start) {
  const { seed } = HEAVY_SHAPES[name];
  if (seed === undefined) return start;
  const { port } = new URL(start);
  return Array.from({ length: bytes / 100 }, (_, n) => new URL(seed(n + 1).replace('PORT', port), start).href);
}

async function crawl() {
  const server = await forkServer(fileURLToPath(import.meta.url), { shape: name, bytes });
  const { Crawler } = await import(dist);
  const crawler = new Crawler({
    userAgent: 'bench/1.0 (+mailto:bench@example.org)',
    network: 'any',
    minDelayMs: 0,
    delayFactor: 0,
    maxDelayMs: 0,
    ipDelayMs: 0,
    maxBodyBytes: bytes * 2,
    maxPages: 5,
    // Else the rules of all hosts would come before the first page.
    respectRobots: HEAVY_SHAPES[name].kind !== 'seeds',
    sitemaps: HEAVY_SHAPES[name].kind === 'seeds' ? 'off' : 'auto',
    ...(state === undefined ? {} : { store: state }),
  });
  const result = { shape: name, pages: 0, errors: 0 };
  crawler.on('page', (page) => {
    result.pages++;
    // What most listeners touch.
    result.title = page.title?.slice(0, 20);
  });
  crawler.on('error', (error) => {
    result.errors++;
    result.error = error.code;
  });
  const seeds = seedsOf(`http://127.0.0.1:${server.port}/`);
  const cost = await costOf(() => crawler.run(seeds));
  server.close();
  console.log(
    JSON.stringify({
      ...result,
      skips: cost.result.skips,
      longestTurnMs: cost.longestTurnMs,
      cpuMs: cost.cpuMs,
      rssMb: Math.round(process.resourceUsage().maxRSS / 1024),
    }),
  );
}

if (role === 'serve') serve();
else await crawl();
