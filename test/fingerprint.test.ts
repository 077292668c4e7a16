import CRC32 from 'crc-32';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { crc32, crc32c, fingerprint, hash64, partitionOf } from '../src/fingerprint.ts';

describe('fingerprint()', () => {
  test.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  ])('of %j is the SHA-256 of FIPS 180-4', (text, digest) => expect(fingerprint(Buffer.from(text))).toBe(digest));
});

describe('crc32() and crc32c()', () => {
  test('give the published check values', () => {
    expect(crc32('123456789')).toBe(0xcbf43926);
    expect(crc32c('123456789')).toBe(0xe3069283);
    expect(crc32('')).toBe(0);
    expect(crc32c('')).toBe(0);
    expect(hash64('123456789')).toEqual({ high: 0xcbf43926, low: 0xe3069283 });
  });

  /** Bit by bit, as the definition has it; the polynomial reflected. */
  function slowly(bytes: Uint8Array, polynomial: number): number {
    let crc = 0xffffffff;
    for (const byte of bytes) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? polynomial : 0);
    }
    return ~crc >>> 0;
  }

  test('are those of the UTF-8 bytes, for any text', () => {
    const lone = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));
    const surrogates = fc.array(fc.constantFrom('\ud83d', '\ude00', 'a', 'é', '漢')).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), lone, surrogates), (text) => {
        const bytes = Buffer.from(text);
        expect(crc32(text)).toBe(slowly(bytes, 0xedb88320));
        expect(crc32(text)).toBe(CRC32.buf(bytes) >>> 0);
        expect(crc32c(text)).toBe(slowly(bytes, 0x82f63b78));
      }),
      { numRuns: 500 },
    );
  });
});

describe('partitionOf()', () => {
  test('keeps within the partitions and spreads hosts evenly over them', () => {
    const counts = new Array<number>(16).fill(0);
    for (let i = 0; i < 16_000; i++) {
      const partition = partitionOf(`host-${i}.example.test`, 16);
      counts[partition] = (counts[partition] ?? Number.NaN) + 1;
    }
    expect(counts).toHaveLength(16);
    expect(Math.min(...counts)).toBeGreaterThan(850);
    expect(Math.max(...counts)).toBeLessThan(1150);
  });

  test('never changes, or machines would disagree', () => {
    expect(partitionOf('a.example.test', 64)).toBe(crc32('a.example.test') % 64);
    expect(partitionOf('123456789', 1000)).toBe(0xcbf43926 % 1000);
    expect(partitionOf('a.example.test', 1)).toBe(0);
  });

  test.each([0, -1, 1.5, Number.NaN])('refuses %s partitions', (partitions) =>
    expect(() => partitionOf('a', partitions)).toThrow(expect.objectContaining({ code: 'CRAWL_OPTION_INVALID' })),
  );
});
