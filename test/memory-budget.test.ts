import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = new URL('..', import.meta.url).pathname;
// Inside the package, so that the build finds its dependencies.
const dist = `${root}node_modules/.cache/memory-budget-dist`;

beforeAll(() => {
  const options = ['--outDir', dist, '--composite', 'false', '--incremental', 'false', '--tsBuildInfoFile', 'null'];
  const declarations = ['--declaration', 'false', '--declarationMap', 'false', '--isolatedDeclarations', 'false'];
  const tsc = `${root}node_modules/typescript/bin/tsc`;
  try {
    execFileSync(process.execPath, [tsc, '-p', `${root}tsconfig.json`, ...options, ...declarations], { stdio: 'pipe' });
  } catch {
    // Types are another test's business; what was emitted can be measured.
  }
}, 120_000);

afterAll(() => rmSync(dist, { recursive: true, force: true }));

/** Memory is measured in a process of its own, in which nothing else has run. */
function measure(what: string, ...options: string[]): Record<'rssPerUrl' | 'bytesPerUrl' | 'grownMiB', number> {
  const script = `${root}test/bench/memory.mjs`;
  const args = ['--expose-gc', script, what, '--json', '--dist', dist, ...options];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

test('1,000,000 waiting URLs of 80 characters take less than 200 bytes each, all else in the process included', {
  timeout: 120_000,
}, () => {
  const { rssPerUrl, bytesPerUrl } = measure('queued', '--hosts', '1000');
  expect(rssPerUrl).toBeLessThan(200);
  expect(bytesPerUrl).toBeLessThan(150);
});

test('100,000 hosts are no burden', { timeout: 120_000 }, () => {
  expect(measure('queued', '--count', '200000', '--hosts', '100000').grownMiB).toBeLessThan(120);
});

test('10,000,000 seen fingerprints take less than 100 MB', { timeout: 120_000 }, () => {
  const { grownMiB } = measure('table');
  expect(grownMiB * 1.048576).toBeLessThan(100);
});
