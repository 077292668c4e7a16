// CPU seconds that LinkExtractor takes, in one piece, for pages of 15 MB that ask for as much work as their size allows.
//   node test/bench/heavy-pages.mjs [--bytes=15728640] [--shapes=part of a name,another] [--rounds=3] [--most=1] [--json]
// Ends with 1 where one takes more than the most.
import { parseArgs } from 'node:util';
import { HEAVY_SHAPES, heavyBody } from '../helpers/heavy-shapes.mjs';

const { values } = parseArgs({
  options: {
    bytes: { type: 'string', default: String(15 * 1024 * 1024) },
    shapes: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    most: { type: 'string', default: '1' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
    json: { type: 'boolean', default: false },
  },
});
const { LinkExtractor } = await import(`${values.dist}/link-extractor/index.js`);
/** On a machine that does nothing else. */
const most = Number(values.most);
const wanted = values.shapes.split(',');

/** The least of all rounds. */
function cpuSeconds(work) {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < Number(values.rounds); round++) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1e6);
  }
  return least;
}

const rows = [];
for (const [name, shape] of Object.entries(HEAVY_SHAPES)) {
  if (shape.kind !== 'page' || !wanted.some((part) => name.includes(part))) continue;
  const isUtf8 = shape.contentType.includes('utf-8');
  const html = heavyBody(shape, Number(values.bytes), '127.0.0.1').toString(isUtf8 ? 'utf8' : 'latin1');
  const seconds = cpuSeconds(() => new LinkExtractor().scan({ url: 'http://127.0.0.1/', html }));
  rows.push({ shape: name, seconds: Number(seconds.toFixed(2)) });
}
rows.sort((a, b) => b.seconds - a.seconds);
if (values.json) console.log(JSON.stringify({ bench: 'heavy-pages', rows, most }));
else console.table(rows);
if (rows.some(({ seconds }) => seconds > most)) process.exitCode = 1;
