// CPU seconds that LinkExtractor takes, in one piece, for pages of 15 MB that ask for as much work as their size allows.
//   node test/bench/heavy-pages.mjs [--bytes=15728640] [--shapes=part of a name,another] [--rounds=3] [--json]
import { parseArgs } from 'node:util';
import { LinkExtractor } from '../../dist/link-extractor/index.js';
import { HEAVY_SHAPES, heavyBody } from '../helpers/heavy-shapes.mjs';

const { values } = parseArgs({
  options: {
    bytes: { type: 'string', default: String(15 * 1024 * 1024) },
    shapes: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const MOST_SECONDS = 1;
const wanted = values.shapes.split(',');

const rows = [];
for (const [name, shape] of Object.entries(HEAVY_SHAPES)) {
  if (shape.kind !== 'page' || !wanted.some((part) => name.includes(part))) continue;
  const isUtf8 = shape.contentType.includes('utf-8');
  const html = heavyBody(shape, Number(values.bytes), '127.0.0.1').toString(isUtf8 ? 'utf8' : 'latin1');
  let seconds = Number.POSITIVE_INFINITY;
  for (let round = 0; round < Number(values.rounds); round++) {
    const before = process.cpuUsage();
    new LinkExtractor().scan({ url: 'http://127.0.0.1/', html });
    const { user, system } = process.cpuUsage(before);
    seconds = Math.min(seconds, (user + system) / 1e6);
  }
  rows.push({ shape: name, seconds: Number(seconds.toFixed(2)) });
}
rows.sort((a, b) => b.seconds - a.seconds);
if (values.json) console.log(JSON.stringify({ bench: 'heavy-pages', rows, most: MOST_SECONDS }));
else console.table(rows);
if (rows.some(({ seconds }) => seconds > MOST_SECONDS)) process.exitCode = 1;
