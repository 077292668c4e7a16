// 32 hosts that send 15 MB each at the same time, in a process of its own.
import { execFile } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compile } from './helpers/compiled.ts';

const SCRIPT = new URL('helpers/large-pages.mjs', import.meta.url).pathname;
const HOSTS = 32;
const BYTES = 15_000_000;
/** In processor time of the thread, so that other processes don't count. */
const LONGEST_TURN_MS = 400;

interface Cost {
  readonly pages: number;
  readonly errors: number;
  readonly bytes: number;
  readonly peakMiB: number;
  readonly longestTurnMs: number;
}

let compiled: ReturnType<typeof compile> | undefined;

beforeAll(() => {
  compiled = compile('hostile-memory');
}, 120_000);

afterAll(() => compiled?.remove());

// Peaks are 270 to 370 and 640 to 690 MiB; where none waits for others the second is 2 GiB.
test.each([
  ['the limit as it is', undefined, 2 * 2 ** 20, 700],
  ['a limit that lets all of it in', 15 * 2 ** 20, BYTES, 1400],
] as const)(
  '%s: memory is bounded, and no turn of the event loop is long',
  { timeout: 90_000 },
  async (_, maxBodyBytes, each, mostMiB) => {
    const dist = pathToFileURL(`${compiled?.dist}/index.js`).href;
    const job = JSON.stringify({ dist, hosts: HOSTS, bytes: BYTES, maxBodyBytes });
    const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, job], { timeout: 80_000 });
    const cost = JSON.parse(stdout.trim()) as Cost;
    expect(cost).toMatchObject({ pages: HOSTS, errors: 0, bytes: HOSTS * each });
    expect(cost.peakMiB).toBeLessThan(mostMiB);
    expect(cost.longestTurnMs).toBeLessThanOrEqual(LONGEST_TURN_MS);
  },
);
