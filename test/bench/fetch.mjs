// What a request costs in processor time: the fetcher over got and over its lean transport, beside got alone and
// Node's own client alone. Usage: node test/bench/fetch.mjs [--requests 300] [--rounds 25] [--bytes 20000]
// Needs a build (npm run build). All four keep one connection alive, ask one after another and read every body whole.
// Rounds alternate, so that a machine whose speed changes is unfair to nobody; of each the median round counts.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { parseArgs } from 'node:util';
import got from 'got';
import { Fetcher } from '../../dist/bundle/index.js';

if (process.send !== undefined && process.env.BENCH_BYTES !== undefined) {
  const body = Buffer.alloc(Number(process.env.BENCH_BYTES), '<p>some text of a page</p>\n');
  const server = http.createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': body.length }).end(body);
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
} else {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '300' },
      rounds: { type: 'string', default: '25' },
      bytes: { type: 'string', default: '20000' },
      // The last line is for programs in any case.
      json: { type: 'boolean', default: false },
    },
  });
  await measure(Number(values.requests), Number(values.rounds), values.bytes);
}

async function measure(requests, rounds, bytes) {
  const server = fork(new URL(import.meta.url), { env: { ...process.env, BENCH_BYTES: bytes } });
  const [port] = await once(server, 'message');
  const url = `http://127.0.0.1:${port}/page`;
  const agent = new http.Agent({ keepAlive: true });
  const userAgent = 'bench/1.0 (+mailto:bench@example.test)';
  const overGot = new Fetcher({ userAgent, transport: 'got' });
  const lean = new Fetcher({ userAgent, transport: 'lean' });
  const headers = { 'user-agent': userAgent, accept: 'text/html', 'accept-encoding': 'gzip, deflate, br' };
  const plain = got.extend({ agent: { http: agent }, responseType: 'buffer', retry: { limit: 0 }, decompress: false });
  const contestants = {
    node: () => nodeGet(url, { agent, headers }),
    got: () => plain(url, { headers }),
    'Fetcher (got)': () => overGot.fetch({ url }),
    'Fetcher (lean)': () => lean.fetch({ url }),
  };
  const times = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
  for (const get of Object.values(contestants)) await run(get, 3000);
  for (let round = 0; round < rounds; round++) {
    const names = Object.keys(contestants);
    if (round % 2 === 1) names.reverse();
    for (const name of names) times[name].push((await run(contestants[name], requests)) / requests);
  }
  await overGot.close();
  await lean.close();
  agent.destroy();
  server.kill();
  report(times, { requests, rounds, bytes: Number(bytes) });
}

function nodeGet(url, options) {
  return new Promise((resolve, reject) => {
    http
      .get(url, options, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => resolve(Buffer.concat(chunks)));
        response.on('error', reject);
      })
      .on('error', reject);
  });
}

/** Processor time of this process in milliseconds; the server is another. */
async function run(get, requests) {
  const start = process.cpuUsage();
  for (let n = 0; n < requests; n++) await get();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

function report(times, setting) {
  const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
  // Each round beside its own round of the bare client.
  const against = (name, base) => median(times[name].map((ms, round) => ms / times[base][round]));
  const result = {};
  for (const name of Object.keys(times)) {
    const cpuMs = Number(median(times[name]).toFixed(4));
    result[name] = { cpuMs, perNode: ratio(against(name, 'node')), perGot: ratio(against(name, 'got')) };
    console.log(`${name.padEnd(15)} ${cpuMs} ms  ${result[name].perNode} x node  ${result[name].perGot} x got`);
  }
  console.log(JSON.stringify({ ...setting, node: process.version, result }));
}

function ratio(value) {
  return Number(value.toFixed(3));
}
