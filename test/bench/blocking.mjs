// What hostile input costs a crawl, and for how long it keeps the event loop in one piece: each shape is crawled on
// loopback in a process of its own.
//   node test/bench/blocking.mjs [--bytes=15000000] [--shapes=part of a name] [--disk] [--json]
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { HEAVY_SHAPES } from '../helpers/heavy-shapes.mjs';

const { values } = parseArgs({
  options: {
    bytes: { type: 'string', default: '15000000' },
    shapes: { type: 'string', default: '' },
    dist: { type: 'string', default: new URL('../../dist/bundle/index.js', import.meta.url).href },
    disk: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const script = fileURLToPath(new URL('../helpers/heavy-crawl.mjs', import.meta.url));
const LONGEST_TURN_MS = 250;

const rows = [];
for (const shape of Object.keys(HEAVY_SHAPES).filter((name) => name.includes(values.shapes))) {
  const directory = values.disk ? mkdtempSync(join(tmpdir(), 'blocking-')) : undefined;
  const state = directory === undefined ? undefined : join(directory, 'crawl');
  const job = JSON.stringify({ dist: values.dist, shape, bytes: Number(values.bytes), state });
  const { stdout } = await promisify(execFile)(process.execPath, [script, job]);
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  const { longestTurnMs, cpuMs, rssMb, pages } = JSON.parse(stdout.trim().split('\n').at(-1));
  rows.push({ shape, longestTurnMs, cpuMs, rssMb, pages });
}
const slow = rows.filter(({ longestTurnMs }) => longestTurnMs > LONGEST_TURN_MS);
if (values.json)
  console.log(JSON.stringify({ bench: 'blocking', bytes: Number(values.bytes), disk: values.disk, rows }));
else {
  console.table(rows);
  console.log(
    `${rows.length - slow.length} of ${rows.length} shapes keep every turn of the event loop under ${LONGEST_TURN_MS} ms`,
  );
}
process.exit(slow.length === 0 ? 0 : 1);
