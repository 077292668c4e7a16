// All benchmarks in turn. Each prints ratios to a limit or a peer of its own run; --json gives one object a line.
//   npm run bench [-- --json] [-- crawl memory ...]
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const given = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const json = process.argv.includes('--json') ? ['--json'] : [];

const BENCHES = {
  crawl: ['crawl.mjs'],
  extract: ['extract.mjs'],
  blocking: ['blocking.mjs'],
  fetch: ['fetch.mjs'],
  'page-worker': ['page-worker.mjs'],
  queued: ['memory.mjs', 'queued'],
  seen: ['memory.mjs', 'seen'],
  simulate: ['simulate.mjs'],
  lmdb: ['lmdb-scale.mjs'],
};

if (!existsSync(here('node_modules/simplecrawler'))) {
  spawnSync('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock'], { cwd: here('.'), stdio: 'inherit' });
}
let failed = false;
for (const [name, [script, ...args]] of Object.entries(BENCHES)) {
  if (given.length > 0 && !given.includes(name)) continue;
  if (json.length === 0) console.log(`\n== ${name}`);
  const { status } = spawnSync(process.execPath, ['--expose-gc', here(script), ...args, ...json], { stdio: 'inherit' });
  failed ||= status !== 0;
}
process.exit(failed ? 1 : 0);
