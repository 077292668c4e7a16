// A body may come in chunks of one byte: a buffer for each would take 400 times its room.
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Meter, readBody } from '../src/fetcher/body.ts';
import { ChunkJoiner, Chunks } from '../src/fetcher/small-chunks.ts';
import { fetcherOver, TRANSPORTS } from './helpers/fetcher.ts';
import { startRawSite } from './helpers/site.ts';

/** Runs of chunks of one size each. */
const runs = fc.array(
  fc.tuple(
    fc.integer({ min: 0, max: 600 }),
    fc.oneof(fc.constant(0), fc.constant(1), fc.integer({ min: 0, max: 3000 })),
  ),
  { maxLength: 6 },
);

function chunksOf(given: readonly (readonly [times: number, size: number])[]): Buffer[] {
  return given.flatMap(([times, size], run) =>
    Array.from({ length: times }, (_, at) => Buffer.alloc(size, (run * 31 + at) % 256)),
  );
}

/** How often others had their turn until `work` was done. */
async function turnsWhile(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = (): void => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await work;
  clearImmediate(next);
  return turns;
}

test('chunks are kept whole and in order, however many and however large they are', () => {
  fc.assert(
    fc.property(runs, (given) => {
      const chunks = chunksOf(given);
      const kept = new Chunks();
      for (const chunk of chunks) kept.add(chunk);
      expect(kept.whole().equals(Buffer.concat(chunks))).toBe(true);
    }),
  );
});

test('what came as one is not copied', () => {
  const kept = new Chunks();
  const chunk = Buffer.from('page');
  kept.add(chunk);
  expect(kept.whole()).toBe(chunk);
});

test('joined chunks are whole and in order, also where their reader is slow', async () => {
  await fc.assert(
    fc.asyncProperty(runs, fc.boolean(), async (given, isSlow) => {
      const chunks = chunksOf(given).filter(({ length }) => length > 0);
      const joiner = Readable.from(chunks, { objectMode: false }).pipe(new ChunkJoiner());
      if (isSlow) await new Promise((resolve) => setImmediate(resolve));
      expect((await buffer(joiner)).equals(Buffer.concat(chunks))).toBe(true);
    }),
    { numRuns: 30 },
  );
});

test('small chunks that arrive together are joined to few', async () => {
  const joiner = new ChunkJoiner();
  const sizes: number[] = [];
  joiner.on('data', ({ length }: Buffer) => sizes.push(length));
  for (let n = 0; n < 40_000; n++) joiner.write(Buffer.from('x'));
  joiner.end();
  await new Promise((resolve) => joiner.once('end', resolve));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(40_000);
  expect(sizes.length).toBeLessThan(10);
});

test('a chunk that comes alone waits for no other', async () => {
  const joiner = new ChunkJoiner();
  const arrived = new Promise((resolve) => joiner.once('data', resolve));
  joiner.write(Buffer.from('x'));
  expect(await arrived).toEqual(Buffer.from('x'));
  joiner.destroy();
});

test('a body in very many chunks gives others their turn', async () => {
  let left = 50_000;
  const source = new Readable({
    read() {
      this.push(left-- > 0 ? Buffer.from('x') : null);
    },
  });
  const meter = new Meter('http://site.test/', { maxBytes: 1_000_000, maxRatio: 100 });
  const reading = readBody(source, [], meter);
  expect(await turnsWhile(reading)).toBeGreaterThanOrEqual(10);
  expect((await reading).length).toBe(50_000);
});

describe.each(TRANSPORTS)('over %s', (transport) => {
  test('two megabytes in chunks of one byte take no more room than that of a few bodies', async () => {
    const size = 2_000_000;
    const chunks = Buffer.from('1\r\nx\r\n'.repeat(size));
    await using site = await startRawSite((socket: Socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
        socket.write(chunks);
        socket.write('0\r\n\r\n');
      });
    });
    await using fetcher = fetcherOver(transport)({ maxBodyBytes: size });
    const before = process.memoryUsage.rss();
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss());
    }, 10);
    const { body, truncated } = await fetcher.fetch({ url: site.url('/') });
    clearInterval(watch);
    most = Math.max(most, process.memoryUsage.rss());
    expect(body.length).toBe(size);
    expect(truncated).toBe(false);
    expect(most - before).toBeLessThan(400_000_000);
  });
});
