import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { crc32, crc32c } from '../src/fingerprint.ts';
import { LEVELS } from '../src/request.ts';
import { chooseLevel, LEVEL_COUNT, LEVEL_CYCLE } from '../src/store/levels.ts';
import { Arena } from '../src/store/memory/arena.ts';
import { Heap, type HeapNode } from '../src/store/memory/heap.ts';
import { RequestCodec } from '../src/store/memory/request-codec.ts';
import { SeenTable } from '../src/store/memory/seen-table.ts';
import { type QueueMemory, UrlQueue } from '../src/store/memory/url-queue.ts';
import { request } from '../src/testing/fixture.ts';
import type { CrawlRequest } from '../src/types.ts';

describe('SeenTable', () => {
  test('knows what was added and nothing else', () => {
    const table = new SeenTable();
    const half = fc.oneof(fc.integer(), fc.constantFrom(0, -1, 1));
    fc.assert(
      fc.property(fc.array(fc.tuple(half, half), { maxLength: 300 }), (pairs) => {
        table.clear();
        const known = new Set<string>();
        for (const [high, low] of pairs) {
          const name = `${high >>> 0}:${low >>> 0}`;
          expect(table.has(high, low)).toBe(known.has(name));
          expect(table.add(high, low)).toBe(!known.has(name));
          known.add(name);
        }
        expect(table.size).toBe(known.size);
      }),
    );
  });

  test('tells signed from unsigned halves by nothing', () => {
    const table = new SeenTable();
    table.add(-1, -2);
    expect(table.has(0xffffffff, 0xfffffffe)).toBe(true);
  });

  test('keeps 1,000,000 URLs of several patterns apart, in 10 bytes each', { timeout: 60_000 }, () => {
    const table = new SeenTable();
    const families = [
      (n: number) => `https://www.example.com/p?id=${n}`,
      (n: number) => `https://www.example.com/p?id=${String(n).padStart(10, '0')}`,
      (n: number) => `https://shop${n % 97}.example.com/c-${(n * 7919) % 10_007}/i-${n}.html?page=${n % 13}`,
      (n: number) => `https://example.org/${(Math.imul(n, 2_654_435_761) >>> 0).toString(16)}/${n.toString(36)}`,
    ];
    for (const family of families) {
      for (let n = 0; n < 250_000; n++) {
        const url = family(n);
        table.add(crc32(url), crc32c(url));
      }
    }
    expect(table.size).toBe(1_000_000);
    expect(table.bytes / table.size).toBeLessThan(10);
  });

  test('can never take one number in a URL for another: no collision among 10^15 pages of one pattern', () => {
    // CRCs are linear: two URLs of one length collide if and only if their difference is mapped to 0. Digits differ in
    // their lower four bits. If the images of all those bits are linearly independent, no two such URLs collide.
    const url = (digits: readonly number[]) => `https://example.com/p?id=${String.fromCharCode(...digits)}&x=1`;
    const zeros = Array.from({ length: 15 }, () => 0x30);
    const hash = (text: string) => (BigInt(crc32(text)) << 32n) | BigInt(crc32c(text));
    const images = zeros.flatMap((_, place) =>
      [1, 2, 4, 8].map((bit) => hash(url(zeros.with(place, 0x30 + bit))) ^ hash(url(zeros))),
    );
    expect(rank(images)).toBe(60);
  });
});

/** How many of the vectors over GF(2) are independent. */
function rank(vectors: readonly bigint[]): number {
  const basis: bigint[] = [];
  for (const vector of vectors) {
    let rest = vector;
    for (const one of basis) if ((rest ^ one) < rest) rest ^= one;
    if (rest !== 0n) basis.push(rest);
  }
  return basis.length;
}

describe('UrlQueue', () => {
  const memory = (): QueueMemory => ({ arena: new Arena(), codec: new RequestCodec() });
  const text = fc.string({ unit: 'binary' }).filter((value) => !/[\ud800-\udfff]/.test(value));
  const anyRequest: fc.Arbitrary<CrawlRequest> = fc.record(
    {
      url: fc.oneof(
        text,
        text.map((path) => `https://host.test/${path}`),
        text.map((path) => `http://host.test${path}`),
        fc.integer({ min: 0, max: 5_000 }).map((length) => `https://host.test/${'x'.repeat(length)}`),
      ),
      key: fc.oneof(text, fc.constant('https://host.test/')),
      host: fc.constant('host.test'),
      kind: fc.constantFrom('page', 'sitemap'),
      depth: fc.oneof(fc.nat(), fc.maxSafeNat()),
      level: fc.constant(2),
      attempts: fc.oneof(fc.constant(0), fc.nat(9)),
      referrer: fc.oneof(text, fc.constantFrom('https://host.test/a', 'https://host.test/b')),
      source: fc.constantFrom('a/href', 'img/srcset', 'ü'),
      redirects: fc.array(fc.record({ url: text, status: fc.integer({ min: 300, max: 308 }) }), { maxLength: 3 }),
      origin: text,
      later: text,
    },
    { requiredKeys: ['url', 'key', 'host', 'kind', 'depth', 'level', 'attempts'] },
  );

  test('gives back every request whole and in order, whatever is in it', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyRequest, fc.boolean()), { maxLength: 60 }), (steps) => {
        const store = memory();
        const queue = new UrlQueue('host.test', 2);
        const waiting: CrawlRequest[] = [];
        for (const [one, shift] of steps) {
          queue.push(store, one);
          waiting.push(one);
          if (shift) expect(queue.shift(store)).toEqual(waiting.shift());
        }
        while (waiting.length > 0) expect(queue.shift(store)).toEqual(waiting.shift());
        expect(queue.shift(store)).toBeUndefined();
      }),
    );
  });

  test('gives its memory back as it empties, and takes it again', () => {
    const store = memory();
    const queues = Array.from({ length: 300 }, (_, n) => new UrlQueue(`h${n}.test`, 0));
    const fill = () => {
      for (let n = 0; n < 40_000; n++)
        queues[n % 300]!.push(store, request(`https://h${n % 300}.test/${'path/'.repeat(40)}${n}`));
    };
    const drain = (left: number) => {
      for (const queue of queues) while (queue.size > left) queue.shift(store);
    };
    fill();
    const full = store.arena.bytes;
    drain(20);
    expect(store.arena.bytes).toBeLessThan(full / 3);
    drain(0);
    expect(store.arena.bytes).toBeLessThan(full / 5);
    for (let round = 0; round < 3; round++) {
      fill();
      expect(store.arena.bytes).toBeLessThan(full * 1.3);
      drain(0);
    }
  });
});

describe('Heap', () => {
  test('gives the smallest first, whatever is put in, moved and taken out', () => {
    const step = fc.tuple(fc.constantFrom('place', 'place', 'move', 'remove', 'pop'), fc.nat(30), fc.nat(20));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const heap = new Heap<HeapNode>();
        const nodes: HeapNode[] = [];
        let order = 0;
        const least = () => nodes.toSorted((a, b) => a.key - b.key || a.order - b.order)[0];
        for (const [kind, which, key] of steps) {
          const node = nodes[which % Math.max(1, nodes.length)];
          if (kind === 'place') nodes.push({ key, order: order++, slot: -1 });
          if (kind === 'place') heap.place(nodes.at(-1)!);
          else if (kind === 'pop') expect(heap.peek()).toBe(least());
          if (kind === 'move' && node !== undefined) {
            node.key = key;
            heap.place(node);
          }
          const out = kind === 'pop' ? heap.pop() : kind === 'remove' ? node : undefined;
          if (out === undefined) continue;
          heap.remove(out);
          expect(out.slot).toBe(-1);
          nodes.splice(nodes.indexOf(out), 1);
        }
        expect(heap.size).toBe(nodes.length);
        while (nodes.length > 0) expect(heap.pop()).toBe(nodes.splice(nodes.indexOf(least()!), 1)[0]);
      }),
    );
  });
});

describe('chooseLevel()', () => {
  const all = 2 ** LEVEL_COUNT - 1;
  const count = (waiting: number) => {
    const counts = new Map<number, number>();
    for (let turn = 0; turn < LEVEL_CYCLE; turn++) {
      const level = chooseLevel(turn, waiting);
      counts.set(level, (counts.get(level) ?? 0) + 1);
    }
    return counts;
  };

  test('names a level that has something', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: all }), (turn, waiting) => {
        expect((waiting >>> (chooseLevel(turn, waiting) - LEVELS.lowest)) & 1).toBe(1);
      }),
    );
  });

  test('serves the higher level at least as often, and the highest in every second turn', () => {
    const counts = count(all);
    for (let level = LEVELS.lowest; level < LEVELS.highest; level++) {
      expect(counts.get(level + 1)).toBeGreaterThanOrEqual(counts.get(level)!);
    }
    expect(counts.get(LEVELS.highest)).toBe(LEVEL_CYCLE / 2 + 8);
  });

  test('starves no level: each that waits is served within a cycle, whatever comes and goes at the others', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: LEVELS.lowest, max: LEVELS.highest }),
        fc.nat(10_000),
        fc.array(fc.nat(all), { minLength: LEVEL_CYCLE, maxLength: LEVEL_CYCLE }),
        (level, from, others) => {
          const own = 1 << (level - LEVELS.lowest);
          expect(others.some((other, i) => chooseLevel(from + i, other | own) === level)).toBe(true);
        },
      ),
    );
  });

  test('gives most turns to the higher of two levels', () => {
    const counts = count((1 << (7 - LEVELS.lowest)) | (1 << (0 - LEVELS.lowest)));
    expect([counts.get(7), counts.get(0)]).toEqual([139, 5]);
  });
});
