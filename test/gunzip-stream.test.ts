import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GunzipStream } from '../src/fetcher/gunzip-stream.ts';
import { gunzip } from '../src/fetcher/gzip.ts';

/** A member with whatever its header may have. */
function member(data: Uint8Array, name: string, extra: Uint8Array, withCrc: boolean): Buffer {
  const flags = (withCrc ? 2 : 0) | (extra.length > 0 ? 4 : 0) | (name === '' ? 0 : 8 | 16);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(data), 0);
  trailer.writeUInt32LE(data.length, 4);
  const header = Buffer.concat([
    Buffer.from([0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255]),
    ...(extra.length > 0 ? [Buffer.from([extra.length, 0]), extra] : []),
    ...(name === '' ? [] : [Buffer.from(`${name}\0${name}\0`, 'latin1')]),
  ]);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc32(header) & 0xffff);
  return Buffer.concat([header, ...(withCrc ? [checksum] : []), deflateRawSync(data), trailer]);
}

/** With a wrong byte so far from its end. */
function spoiled(fromEnd: number): Buffer {
  const bytes = gzipSync('spoiled');
  bytes[bytes.length - fromEnd]! ^= 1;
  return bytes;
}

const members = fc
  .array(
    fc
      .tuple(
        fc.uint8Array({ maxLength: 300 }),
        fc.stringMatching(/^[a-z]{0,5}$/),
        fc.uint8Array({ maxLength: 20 }),
        fc.boolean(),
      )
      .map((parts) => member(...parts)),
    { maxLength: 4 },
  )
  .map((all) => Buffer.concat(all));

function unzip(bytes: Buffer, cuts: readonly number[]): Promise<Buffer> {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  const pieces = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
  return buffer(Readable.from(pieces.filter((piece) => piece.length > 0)).compose(new GunzipStream()));
}

const cuts = fc.array(fc.nat(), { maxLength: 6 });

test('what arrives in pieces comes out as what is there as a whole, junk behind it or not', async () => {
  await fc.assert(
    fc.asyncProperty(members, fc.uint8Array({ maxLength: 20 }), cuts, async (bytes, junk, pieces) => {
      // Junk that begins like a member is one, and broken.
      fc.pre(bytes.length > 0 && junk[0] !== 0x1f);
      const all = Buffer.concat([bytes, junk]);
      expect((await unzip(all, pieces)).equals(gunzip(all, 1e6))).toBe(true);
    }),
  );
});

test('what is cut fails wherever it is cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.nat(), cuts, async (data, cut, pieces) => {
      const bytes = gzipSync(data);
      const part = bytes.subarray(0, 1 + (cut % (bytes.length - 1)));
      await expect(unzip(part, pieces)).rejects.toMatchObject({ code: 'Z_BUF_ERROR' });
    }),
  );
});

test.each([
  ['no gzip at all', Buffer.from('plain text')],
  ['a wrong checksum', spoiled(8)],
  ['a wrong length', spoiled(4)],
  ['a name without end', Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 0]), Buffer.alloc(70_000, 'n')])],
  ['1,001 empty members', Buffer.concat(Array.from({ length: 1001 }, () => gzipSync('')))],
])('%s fails', async (_, bytes) => {
  await expect(unzip(bytes, [5, 2000])).rejects.toMatchObject({ code: 'Z_DATA_ERROR' });
});

test.each([
  ['1,000 empty members', 1000, ''],
  ['3,000 members that hold something', 3000, 'x'.repeat(256)],
])('%s are read', async (_, count, text) => {
  const bytes = Buffer.concat(Array.from({ length: count }, () => gzipSync(text)));
  expect((await unzip(bytes, [50, 10_000])).length).toBe(count * text.length);
});

test('it holds back what sends while nobody reads', async () => {
  const stream = new GunzipStream();
  const bytes = gzipSync(Buffer.alloc(20_000_000));
  let taken = false;
  stream.write(bytes, () => {
    taken = true;
  });
  for (let turn = 0; turn < 200; turn++) await nextTurn();
  expect(taken).toBe(false);
  expect(stream.readableLength).toBeLessThan(200_000);
  stream.end();
  expect((await buffer(stream)).length).toBe(20_000_000);
});
