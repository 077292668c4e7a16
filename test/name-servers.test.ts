import { createSocket, type Socket } from 'node:dgram';
import type * as Dns from 'node:dns';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { systemLookup } from '../src/system-lookup.ts';
import { rejection } from './helpers/fetcher.ts';

const state = vi.hoisted(() => ({
  port: 0,
  resolvers: 0,
  /** What `getaddrinfo` was asked, and never answers until told. */
  waiting: new Map<string, (error: Error | null, addresses?: unknown) => void>(),
}));

vi.mock('node:dns', async (original) => {
  const dns = await original<typeof Dns>();
  class Resolver extends dns.Resolver {
    constructor(options: Dns.ResolverOptions) {
      super(options);
      state.resolvers++;
      this.setServers([`127.0.0.1:${state.port}`]);
    }
  }
  const lookup = (hostname: string, _options: object, callback: (error: Error | null) => void) =>
    void state.waiting.set(hostname, callback);
  return { ...dns, Resolver, lookup };
});

/** A name server that knows an IPv4 address for every name but those that begin with `unknown`. */
let server: Socket;
let openAtOnce = 0;
let mostAtOnce = 0;

beforeAll(async () => {
  server = createSocket('udp4', (query, from) => {
    mostAtOnce = Math.max(mostAtOnce, ++openAtOnce);
    const end = query.indexOf(0, 12) + 5;
    const isKnown = query.readUInt16BE(end - 4) === 1 && !query.includes('unknown');
    const head = Buffer.from(query.subarray(0, end));
    head.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2);
    head.writeUInt16BE(isKnown ? 1 : 0, 6);
    head.writeUInt16BE(0, 10);
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
    setTimeout(() => {
      openAtOnce--;
      server.send(isKnown ? Buffer.concat([head, answer]) : head, from.port, from.address);
    }, 5);
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
  state.port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());
beforeEach(() => {
  for (const answer of state.waiting.values()) answer(Object.assign(new Error('none'), { code: 'ENOTFOUND' }));
  state.waiting.clear();
  state.resolvers = 0;
});

test('hundreds of names are found while the system’s threads are all stuck, a bounded number at a time', async () => {
  const found = await Promise.all(Array.from({ length: 300 }, (_, n) => systemLookup(`h${n}.example.test`)));
  expect(found).toHaveLength(300);
  expect(new Set(found.flat().map(({ address }) => address))).toEqual(new Set(['192.0.2.7']));
  expect(state.waiting.size).toBe(2);
  expect(state.resolvers).toBeLessThanOrEqual(3);
  expect(mostAtOnce).toBeGreaterThan(0);
  expect(mostAtOnce).toBeLessThanOrEqual(128);
});

test('names that the name servers do not know, or can not be asked, are the system’s to tell', async () => {
  const names = ['unknown.example.test', `${'a'.repeat(70)}.example.test`, 'two..dots'];
  const failing = names.map((name) => rejection(systemLookup(name)));
  // Long enough for the name servers to have been asked about all.
  const others = await Promise.all(Array.from({ length: 5 }, (_, n) => systemLookup(`k${n}.example.test`)));
  expect(others).toHaveLength(5);
  for (let told = 0; told < names.length; ) {
    for (const [name, answer] of state.waiting) {
      state.waiting.delete(name);
      if (names.includes(name)) told++;
      answer(Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' }));
    }
    await new Promise(setImmediate);
  }
  for (const error of await Promise.all(failing)) expect(error).toMatchObject({ code: 'ENOTFOUND' });
});
