import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { nextTurn, turnIsOver } from '../src/turns.ts';

const SCRIPT = new URL('helpers/heavy-crawl.mjs', import.meta.url).pathname;
const DIST = pathToFileURL(new URL('../dist/bundle/index.js', import.meta.url).pathname).href;
/** In processor time of the thread, so that other processes don't count. */
const LONGEST_TURN_MS = 250;

interface Cost {
  readonly longestTurnMs: number;
  readonly cpuMs: number;
  readonly pages: number;
}

async function crawl(shape: string, bytes: number, state?: string): Promise<Cost> {
  const job = JSON.stringify({ dist: DIST, shape, bytes, state });
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, job], { timeout: 100_000 });
  return JSON.parse(stdout.trim().split('\n').at(-1) as string) as Cost;
}

// Each of these once kept the event loop for half a second or longer, in one piece.
test.each([
  ['a million links', 15_000_000],
  ['links that lead nowhere', 15_000_000],
  ['names that all differ', 15_000_000],
  ['attributes that all differ', 15_000_000],
  ['a title', 15_000_000],
  ['ISO-2022-JP', 15_000_000],
  ['a sitemap of entries', 15_000_000],
  ['seeds of as many hosts', 10_000_000],
])('no turn of the event loop is long: %s', { retry: 2, timeout: 120_000 }, async (shape, bytes) => {
  const { longestTurnMs, pages } = await crawl(shape, bytes);
  expect(pages).toBeGreaterThan(0);
  expect(longestTurnMs).toBeLessThan(LONGEST_TURN_MS);
});

test.each([
  ['a million links', 15_000_000],
  ['a sitemap of entries', 15_000_000],
  ['seeds of as many hosts', 10_000_000],
])('nor with a store on disk: %s', { retry: 2, timeout: 120_000 }, async (shape, bytes) => {
  const state = mkdtempSync(join(tmpdir(), 'blocking-'));
  try {
    const { longestTurnMs, pages } = await crawl(shape, bytes, join(state, 'crawl'));
    expect(pages).toBeGreaterThan(0);
    expect(longestTurnMs).toBeLessThan(LONGEST_TURN_MS);
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
});

test('those who wait for a turn get one each, in their order, and sockets and timers theirs in between', async () => {
  const order: string[] = [];
  let timers = 0;
  const timer = setInterval(() => timers++, 1);
  const work = async (name: string): Promise<void> => {
    for (let step = 0; step < 3; step++) {
      await nextTurn();
      order.push(`${name}${step}`);
      for (const until = performance.now() + 3; performance.now() < until; );
    }
  };
  await Promise.all([work('a'), work('b')]);
  clearInterval(timer);
  expect(order).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'b2']);
  expect(timers).toBeGreaterThan(2);
});

test('a turn is over after some milliseconds of work, and the next one begins anew', async () => {
  await nextTurn();
  expect(turnIsOver()).toBe(false);
  for (const until = performance.now() + 30; performance.now() < until; );
  expect(turnIsOver()).toBe(true);
  await nextTurn();
  expect(turnIsOver()).toBe(false);
});
