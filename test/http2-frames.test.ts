import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameBudget } from '../src/fetcher/frame-budget.ts';
import { type Frame, FrameReader } from '../src/fetcher/http2-frames.ts';
import { TurnShare } from '../src/fetcher/turn-share.ts';
import { END_STREAM, frame, PADDED, uint32 } from '../src/testing/hostile/http2-peer.ts';

const stream = fc.integer({ min: 1, max: 0x7fff_ffff });
const payload = fc.uint8Array({ maxLength: 300 });

/** Frames as they are sent, and what is to be seen of each. */
const sent = fc.oneof(
  fc
    .record({ type: fc.constantFrom('headers', 'ping', 'settings', 'unknown', 'reset'), stream, payload })
    .map((made) => ({
      bytes: frame(made.type as 'ping', 0, made.stream, made.payload),
      bodyBytes: 0,
      errorCode: 0,
      stream: made.stream,
    })),
  fc.record({ stream, payload }).map((made) => ({
    bytes: frame('data', END_STREAM, made.stream, made.payload),
    bodyBytes: made.payload.length,
    errorCode: 0,
    stream: made.stream,
  })),
  fc.record({ stream, payload, padding: fc.integer({ min: 0, max: 255 }) }).map((made) => ({
    bytes: frame('data', PADDED, made.stream, Uint8Array.of(made.padding), made.payload, Buffer.alloc(made.padding)),
    bodyBytes: made.payload.length,
    errorCode: 0,
    stream: made.stream,
  })),
  fc.record({ code: fc.integer({ min: 0, max: 13 }), payload }).map((made) => ({
    bytes: frame('goAway', 0, 0, uint32(0), uint32(made.code), made.payload),
    bodyBytes: 0,
    errorCode: made.code,
    stream: 0,
  })),
);

test('frames are found however their bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.array(sent, { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 }),
      fc.constantFrom(0, 24),
      (frames, cuts, preface) => {
        const found: Pick<Frame, 'stream' | 'bytes' | 'bodyBytes' | 'errorCode'>[] = [];
        const onFrame = ({ stream: id, bytes, bodyBytes, errorCode }: Frame): void =>
          void found.push({ stream: id, bytes, bodyBytes, errorCode });
        const reader = new FrameReader(onFrame, preface);
        const all = Buffer.concat([Buffer.alloc(preface, 0xff), ...frames.map(({ bytes }) => bytes)]);
        for (let at = 0, turn = 0; at < all.length; turn++) {
          const size = cuts[turn % cuts.length] as number;
          reader.read(all.subarray(at, at + size));
          at += size;
        }
        expect(found).toEqual(frames.map((one) => ({ ...one, bytes: one.bytes.length })));
      },
    ),
  );
});

test('what says nothing uses up a budget after so many frames, however many requests there were before', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 9, max: 2000 }), (requests, bytes) => {
      const budget = new FrameBudget(65_536);
      for (let n = 0; n < requests; n++) budget.earn();
      let frames = 0;
      while (budget.spend(bytes, 0)) frames++;
      expect(frames).toBeGreaterThanOrEqual(Math.min(200, 500_000 / bytes));
      expect(frames).toBeLessThanOrEqual(2_000);
    }),
  );
});

test('requests that are open at once keep what each of them earned', () => {
  const budget = new FrameBudget(65_536);
  for (let n = 0; n < 3000; n++) budget.ask();
  // An answer takes a head of its own, and a frame that ends it.
  for (let n = 0; n < 3000; n++) {
    expect(budget.spend(12_000, 0) && budget.spend(9, 0)).toBe(true);
    budget.end();
  }
  let frames = 0;
  while (budget.spend(9, 0)) frames++;
  expect(frames).toBeLessThanOrEqual(500 * 3000);
  for (let n = 0; n < 50; n++) budget.earn();
  for (frames = 0; budget.spend(9, 0); ) frames++;
  expect(frames).toBeLessThanOrEqual(2000);
});

test('a body in frames of three bytes and more never uses it up, with a window for each', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 3, max: 16_384 }), { minLength: 1, maxLength: 20 }), (sizes) => {
      const budget = new FrameBudget(65_536);
      budget.earn();
      for (let n = 0; n < 5_000; n++) {
        const size = sizes[n % sizes.length] as number;
        expect(budget.spend(9 + size, size)).toBe(true);
      }
    }),
    { numRuns: 20 },
  );
});

test('a share of pieces is read in a turn, and the rest in those that follow', async () => {
  let left = 1000;
  let isPaused = true;
  const perTurn: number[] = [];
  const source = {
    pause: () => {
      isPaused = true;
      return source as never;
    },
    resume: () => {
      isPaused = false;
      return source as never;
    },
  };
  const share = new TurnShare(source, 100);
  share.want();
  while (left > 0) {
    let taken = 0;
    for (; !isPaused && left > 0; left--, taken++) share.took();
    perTurn.push(taken);
    await new Promise(setImmediate);
  }
  expect(perTurn.reduce((sum, taken) => sum + taken, 0)).toBe(1000);
  expect(Math.max(...perTurn)).toBe(100);
  share.stop();
  share.took();
  await new Promise(setImmediate);
  expect(isPaused).toBe(true);
});
