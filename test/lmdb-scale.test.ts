import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compile } from './helpers/compiled.ts';

const script = new URL('bench/lmdb-scale.mjs', import.meta.url).pathname;
const root = mkdtempSync(join(tmpdir(), 'lmdb-scale-'));
let built: ReturnType<typeof compile>;

interface Step {
  readonly rssAnonMiB: number;
  readonly peakAnonMiB: number;
}

interface Result {
  readonly steps: readonly Step[];
  readonly openMs: number;
  readonly firstLeaseMs: number;
  readonly seenAgain: number;
  readonly ratio: { readonly offer: number; readonly known: number; readonly cycle: number };
}

beforeAll(() => {
  built = compile('lmdb-scale-dist');
}, 120_000);

afterAll(() => {
  built.remove();
  rmSync(root, { recursive: true, force: true });
});

test('ten times the URLs cost no more each, no memory, and no time to open', { timeout: 180_000 }, () => {
  const options = ['--sizes', '30000,300000', '--hosts', '3000', '--cycles', '3000', '--heap', '64', '--json'];
  const args = [script, ...options, '--dir', root, '--dist', built.dist];
  const output = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const { steps, openMs, firstLeaseMs, seenAgain, ratio } = JSON.parse(output) as Result;
  const [small, large] = steps as [Step, Step];
  expect(ratio.offer).toBeLessThan(1.5);
  expect(ratio.known).toBeLessThan(1.5);
  expect(ratio.cycle).toBeLessThan(1.5);
  expect(large.rssAnonMiB - small.rssAnonMiB).toBeLessThan(30);
  expect(large.peakAnonMiB).toBeLessThan(150);
  expect(seenAgain).toBe(300_000);
  expect(openMs).toBeLessThan(1_000);
  expect(firstLeaseMs).toBeLessThan(1_000);
});
