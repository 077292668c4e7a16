import { describe, expect, test } from 'vitest';
import { type Address, type Resolvers, SystemLookup } from '../src/system-lookup.ts';
import { rejection } from './helpers/fetcher.ts';

const FROM_SYSTEM: Address[] = [{ address: '192.0.2.1', family: 4 }];
const FROM_SERVERS: Address[] = [{ address: '192.0.2.2', family: 4 }];

/** Resolvers whose answers come when the test says so. */
function setUp(patienceMs: number, serversKnow = true, more: Partial<Resolvers> = {}) {
  const open = new Map<string, { resolve: (addresses: Address[]) => void; reject: (error: Error) => void }>();
  const askedSystem: string[] = [];
  const askedServers: string[] = [];
  const stopped: string[] = [];
  const lookup = new SystemLookup({
    system: (hostname) => {
      askedSystem.push(hostname);
      return new Promise((resolve, reject) => open.set(hostname, { resolve, reject }));
    },
    nameServers: (hostname, found) => {
      askedServers.push(hostname);
      if (serversKnow) setImmediate(found, FROM_SERVERS);
      return { stop: () => void stopped.push(hostname) };
    },
    slots: 2,
    patienceMs,
    ...more,
  });
  return { askedServers, askedSystem, lookup, open, stopped };
}

describe('SystemLookup', () => {
  test('asks the system alone while it answers in time', async () => {
    const { askedServers, lookup, open } = setUp(10_000);
    const finding = lookup.find('a');
    open.get('a')?.resolve(FROM_SYSTEM);
    expect(await finding).toBe(FROM_SYSTEM);
    expect(askedServers).toEqual([]);
  });

  test('gives the system no more questions at once than it has threads for, in their order', async () => {
    const { askedSystem, lookup, open } = setUp(10_000);
    const finding = ['a', 'b', 'c', 'd'].map((name) => lookup.find(name));
    expect(askedSystem).toEqual(['a', 'b']);
    open.get('b')?.resolve(FROM_SYSTEM);
    await finding[1];
    await expect.poll(() => askedSystem).toEqual(['a', 'b', 'c']);
    open.get('a')?.reject(new Error('ENOTFOUND'));
    expect(await rejection(finding[0]!)).toMatchObject({ message: 'ENOTFOUND' });
    await expect.poll(() => askedSystem).toEqual(['a', 'b', 'c', 'd']);
    open.get('c')?.resolve(FROM_SYSTEM);
    open.get('d')?.resolve(FROM_SYSTEM);
    await Promise.all(finding.slice(2));
  });

  test('asks the name servers where the system is busy with others, and takes the name out of its queue', async () => {
    const { askedServers, askedSystem, lookup, open } = setUp(20);
    const stuck = [lookup.find('slow1'), lookup.find('slow2')];
    expect(await lookup.find('fast')).toBe(FROM_SERVERS);
    expect(askedServers).toContain('fast');
    open.get('slow1')?.resolve(FROM_SYSTEM);
    open.get('slow2')?.resolve(FROM_SYSTEM);
    await Promise.all(stuck);
    await new Promise(setImmediate);
    expect(askedSystem).toEqual(['slow1', 'slow2']);
  });

  test('waits on for the system where the name servers know nothing, and then stops asking them', async () => {
    const { askedServers, lookup, open, stopped } = setUp(5, false);
    const finding = lookup.find('in-hosts-file');
    await expect.poll(() => askedServers).toEqual(['in-hosts-file']);
    expect(stopped).toEqual([]);
    open.get('in-hosts-file')?.resolve(FROM_SYSTEM);
    expect(await finding).toBe(FROM_SYSTEM);
    expect(stopped).toEqual(['in-hosts-file']);
  });
});

describe('SystemLookup whose threads are all taken', () => {
  test('asks the name servers sooner for names that it has not even begun with', async () => {
    const { askedServers, lookup, open } = setUp(60_000, true, { queuePatienceMs: 5 });
    const stuck = [lookup.find('slow1'), lookup.find('slow2')];
    expect(await lookup.find('queued')).toBe(FROM_SERVERS);
    expect(askedServers).toEqual(['queued']);
    open.get('slow1')?.resolve(FROM_SYSTEM);
    open.get('slow2')?.resolve(FROM_SYSTEM);
    await Promise.all(stuck);
  });

  test('gives up names that it can not begin with in time, and asks nobody for them later', async () => {
    const { askedSystem, lookup, open, stopped } = setUp(60_000, false, { queuePatienceMs: 5, queueTimeoutMs: 20 });
    const stuck = [lookup.find('slow1'), lookup.find('slow2')];
    const late = Array.from({ length: 20 }, (_, n) => rejection(lookup.find(`late${n}`)));
    for (const error of await Promise.all(late)) expect(error).toMatchObject({ code: 'EAI_AGAIN' });
    expect(stopped).toHaveLength(20);
    open.get('slow1')?.resolve(FROM_SYSTEM);
    open.get('slow2')?.resolve(FROM_SYSTEM);
    await Promise.all(stuck);
    await new Promise(setImmediate);
    expect(askedSystem).toEqual(['slow1', 'slow2']);
  });
});
