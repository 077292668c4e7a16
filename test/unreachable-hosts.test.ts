import { expect, test } from 'vitest';
import { UnreachableHosts } from '../src/visit/unreachable-hosts.ts';

test('hosts that wait are given up together, with what else blocks them', () => {
  const hosts = new UnreachableHosts();
  hosts.wait('a.test', 500, 0);
  hosts.wait('b.test', 700, 20);
  hosts.wait('a.test', 600, 10);
  hosts.had('http://c.test', 'c.test');
  expect([hosts.isWaitingAt(500), hosts.isWaitingAt(600)]).toEqual([false, true]);
  expect(hosts.giveUpFrom(600)).toEqual([
    { host: 'b.test', until: 700, before: 20 },
    { host: 'a.test', until: 600, before: 10 },
  ]);
  expect(hosts.isHopeless('a.test')).toBe(true);
  expect(hosts.giveUpFrom(0)).toEqual([]);
});

test('of very many hosts that wait those met last are remembered', () => {
  const hosts = new UnreachableHosts();
  for (let n = 0; n < 30_000; n++) hosts.wait(`${n}.test`, n, 0);
  const kept = hosts.giveUpFrom(0);
  expect([kept.length, kept.at(-1)?.host]).toEqual([10_000, '29999.test']);
});
