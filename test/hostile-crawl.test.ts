// One crawl of 10,000 connections to hosts of which none behaves, with sound hosts beside them, in a process of its own.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compile } from './helpers/compiled.ts';

interface Report {
  readonly urls: number;
  readonly accounts: number;
  readonly unsettled: readonly string[];
  readonly queued: number;
  readonly inFlight: number;
  readonly errorCodes: Readonly<Record<string, number>>;
  readonly connections: number;
  readonly open: number;
  readonly unhandled: readonly string[];
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly memory: readonly { readonly requests: number; readonly rssMiB: number; readonly heapMiB: number }[];
  readonly alone: Pace;
  readonly beside: Pace;
  readonly hostileEndedAt: number;
}

interface Pace {
  readonly pages: number;
  readonly mean: number;
  readonly lastAt: number;
}

let compiled: ReturnType<typeof compile> | undefined;
let report: Report;

beforeAll(async () => {
  compiled = compile('hostile-crawl');
  const script = new URL('helpers/hostile-crawl.mjs', import.meta.url).pathname;
  const args = ['--expose-gc', script, JSON.stringify({ dist: compiled.dist })];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 240_000, maxBuffer: 2 ** 24 });
  report = JSON.parse(stdout) as Report;
}, 300_000);

afterAll(() => compiled?.remove());

test('10,000 connections were made', () => {
  expect(report.connections).toBeGreaterThanOrEqual(10_000);
});

test('every URL came to one end: a page, an error or a skip, or a redirect to another URL', () => {
  expect(report.accounts).toBeGreaterThanOrEqual(report.urls);
  expect(report.unsettled).toEqual([]);
  expect(report).toMatchObject({ queued: 0, inFlight: 0 });
  expect(Object.keys(report.errorCodes).length).toBeGreaterThanOrEqual(10);
  expect(report.errorCodes).not.toHaveProperty('CRAWL_INTERNAL');
});

test('no rejection and no exception was left to the process', () => {
  expect(report.unhandled).toEqual([]);
});

test('no socket, timer or handle is left', () => {
  expect(report.open).toBe(0);
  expect(report.after).toEqual(report.before);
});

test('memory is flat once all has been met: within 20 MiB above and below', () => {
  const { memory } = report;
  const settled = memory.slice(Math.floor(memory.length * 0.4));
  expect(settled.length).toBeGreaterThan(8);
  for (const what of ['rssMiB', 'heapMiB'] as const) {
    const values = settled.map((sample) => sample[what]);
    // Of the whole process a moment tells little: bodies of 15 MiB are under way, and the system takes pages back late.
    const grown = median(values.slice(-values.length / 2)) - median(values.slice(0, values.length / 2));
    expect(Math.abs(grown), what).toBeLessThanOrEqual(20);
  }
  const heaps = settled.map(({ heapMiB }) => heapMiB);
  expect(Math.max(...heaps) - Math.min(...heaps)).toBeLessThanOrEqual(40);
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

test('sound hosts keep 90 % of the pace that they have alone', () => {
  const { alone, beside, hostileEndedAt } = report;
  expect(beside.pages).toBeGreaterThan(alone.pages);
  expect(beside.lastAt).toBeLessThan(hostileEndedAt);
  expect(beside.mean / alone.mean).toBeGreaterThanOrEqual(0.9);
});
