// Runs contestants in turn on one site, each in a process of its own. Used by crawl.mjs and latency.mjs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * @param site - What site.mjs takes.
 * @param runners - Names of files in runners/.
 * @returns by name, what each run told of itself and the site of it.
 */
export async function contest({ site: options, runners, rounds, concurrency, nodeOptions = [] }) {
  const site = spawn(process.execPath, [here('site.mjs'), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: site.stdout }), 'line');
  const { seed } = JSON.parse(line);
  const ask = async (path) => (await fetch(new URL(path, seed), { headers: { connection: 'close' } })).json();
  const runs = new Map(runners.map((name) => [name, []]));
  try {
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? runners : runners.toReversed();
      for (const name of order) {
        await ask('/__reset');
        const started = performance.now();
        const told = await run(
          [...nodeOptions, here(`runners/${name}.mjs`), JSON.stringify({ seed, concurrency })],
          name,
        );
        const wallMs = performance.now() - started;
        runs.get(name).push({ ...told, wallMs, ...(await ask('/__stats')) });
      }
    }
  } finally {
    site.stdin.end();
  }
  return runs;
}

async function run(args, name) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (data) => {
    text += data;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${name} ended with ${code}`);
  return JSON.parse(text.trim().split('\n').at(-1));
}

export const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

/** Figures of a table cut to three decimals. */
export function printTable(rows) {
  const short = (value) => (typeof value === 'number' ? Number(value.toFixed(3)) : value);
  console.table(
    rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, short(value)]))),
  );
}
