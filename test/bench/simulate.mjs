// A whole crawl in virtual time: node test/bench/simulate.mjs [--urls 1000000] [--hosts 10000] [--workers 256]
import { parseArgs } from 'node:util';
import { simulate } from './simulation.mjs';

const { values } = parseArgs({
  options: {
    urls: { type: 'string', default: '1000000' },
    hosts: { type: 'string', default: '10000' },
    workers: { type: 'string', default: 'Infinity' },
    connections: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const { Frontier } = await import(`${values.dist}/frontier.js`);
const { MemoryStore } = await import(`${values.dist}/store/memory/index.js`);
const result = await simulate(
  { Frontier, MemoryStore },
  {
    urls: Number(values.urls),
    hosts: Number(values.hosts),
    workers: Number(values.workers),
    connectionsPerHost: Number(values.connections),
    seed: Number(values.seed),
  },
);
console.log(values.json ? JSON.stringify(result) : result);
if (result.faults.length > 0) process.exitCode = 1;
