import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { DnsCache } from '../src/dns.ts';
import { HostFinder } from '../src/visit/host-finder.ts';
import { rejection } from './helpers/fetcher.ts';

/** A finder whose resolver answers when the test says so. */
function setUp() {
  const open = new Map<string, { answer: (address: string) => void; fail: (code: string) => void }>();
  let asked = 0;
  const dns = new DnsCache({
    lookup: (hostname) =>
      new Promise((answer, reject) => {
        asked++;
        open.set(hostname, { answer, fail: (code) => reject(Object.assign(new Error(code), { code })) });
      }),
    timeoutMs: 60_000,
  });
  return { finder: new HostFinder(dns), open, asked: () => asked };
}

const settled = () => new Promise(setImmediate);

describe('HostFinder', () => {
  test('gives what comes soon, and from then on knows it', async () => {
    const { finder, open } = setUp();
    const finding = finder.find('a.test', false);
    open.get('a.test')?.answer('192.0.2.1');
    expect(await finding).toEqual([{ address: '192.0.2.1', family: 4 }]);
    expect(finder.known('a.test')).toHaveLength(1);
  });

  test('gives up waiting, and is told the answer when it is asked again', async () => {
    const { asked, finder, open } = setUp();
    expect(await finder.find('a.test', false)).toBeUndefined();
    const before = performance.now();
    expect(await finder.find('a.test', true)).toBeUndefined();
    expect(performance.now() - before).toBeLessThan(100);
    open.get('a.test')?.answer('192.0.2.1');
    await settled();
    expect(finder.known('a.test')).toHaveLength(1);
    expect(asked()).toBe(1);
  });

  test('waits for nothing where the wait was ended before it began', async () => {
    const { asked, finder } = setUp();
    const set = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await finder.find('a.test', false, AbortSignal.abort())).toBeUndefined();
    expect(asked()).toBe(1);
    // That of the look-up itself, and none of the wait.
    expect(set.mock.calls.map(([, ms]) => ms)).toEqual([60_000]);
  });

  test('tells a failure that came late once, whenever that is; after it the name is asked for anew', async () => {
    const { asked, finder, open } = setUp();
    expect(await finder.find('a.test', false)).toBeUndefined();
    open.get('a.test')?.fail('EAI_AGAIN');
    await settled();
    expect(await rejection(finder.find('a.test', false))).toMatchObject({ code: 'CRAWL_DNS_FAILED' });
    const again = finder.find('a.test', true);
    expect(asked()).toBe(2);
    open.get('a.test')?.answer('192.0.2.1');
    expect(await again).toHaveLength(1);
  });

  test('has no more than 256 names open that nobody waits for, and does not even ask for more', async () => {
    const { asked, finder, open } = setUp();
    await Promise.all(Array.from({ length: 256 }, (_, n) => finder.find(`slow${n}.test`, false)));
    expect(await Promise.all(Array.from({ length: 100 }, (_, n) => finder.find(`more${n}.test`, false)))).toEqual(
      Array(100).fill(undefined),
    );
    expect(asked()).toBe(256);
    open.get('slow0.test')?.answer('192.0.2.1');
    await settled();
    const one = finder.find('more0.test', false);
    open.get('more0.test')?.answer('192.0.2.2');
    expect(await one).toHaveLength(1);
  });

  test('looks ahead only for names that are looked up here', async () => {
    const asked: string[] = [];
    const dns = new DnsCache({
      lookup: async (hostname) => {
        asked.push(hostname);
        return '192.0.2.1';
      },
    });
    const finder = new HostFinder(dns, (name) =>
      name.startsWith('in') ? 'proxy' : name.startsWith('un') ? 'unsure' : 'here',
    );
    finder.prefetch(['inside.test', 'unsure.test', 'here.test', '192.0.2.1', '[2001:db8::1]']);
    await settled();
    expect(asked).toEqual(['here.test']);
  });
});
