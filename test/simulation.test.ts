import { describe, expect, test } from 'vitest';
import { Frontier, type FrontierOptions } from '../src/frontier.ts';
import { MemoryStore } from '../src/store/memory/index.ts';
// @ts-expect-error Plain JavaScript, shared with the benches.
import { simulate } from './bench/simulation.mjs';

const classes = { Frontier, MemoryStore };

describe('A crawl in virtual time, with slow, failing and overloaded hosts, shared addresses and dying workers', () => {
  test('asks every host as soon as politeness allows, and never sooner', { timeout: 120_000 }, async () => {
    const { faults, utilisation, seen, ended, hosts } = await simulate(classes, { urls: 50_000, hosts: 500, seed: 1 });
    expect(faults).toEqual([]);
    expect({ seen, ended, hosts }).toEqual({ seen: 50_000, ended: 50_000, hosts: 500 });
    expect(utilisation).toBeGreaterThan(0.99);
  });

  test.each([
    { workers: 8, seed: 2 },
    { workers: 32, connectionsPerHost: 3, seed: 3 },
    { workers: 64, connectionsPerHost: 0, hostsPerAddress: 40, seed: 4 },
    { workers: 16, hostsPerAddress: 1, minDelayMs: 0, delayFactor: 0, maxDelayMs: 0, ipDelayMs: 0, seed: 5 },
    { workers: 100, troubled: 0.5, dying: 0.02, seed: 6 },
  ])('keeps the rules with $workers workers (seed $seed)', { timeout: 60_000 }, async (options) => {
    const { faults, ended } = await simulate(classes, { urls: 5_000, hosts: 200, ...options });
    expect(faults).toEqual([]);
    expect(ended).toBe(5_000);
  });

  test.each([
    ['a gap that is too short', { minDelayMs: 900 }, /too early|not 1000/],
    ['more connections than allowed', { connectionsPerHost: 2 }, /in flight/],
    ['one address by two names', { ipDelayMs: 0 }, /at once|too early/],
  ])('the referee sees %s', async (_, politeness, fault) => {
    const hasty = {
      open: (options: FrontierOptions) =>
        Frontier.open({ ...options, politeness: { ...options.politeness, ...politeness } }),
    };
    const { faults } = await simulate({ Frontier: hasty, MemoryStore }, { urls: 10_000, hosts: 50, workers: 64 });
    expect(faults.join('\n')).toMatch(fault);
  });
});
