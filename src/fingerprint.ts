import { hash } from 'node:crypto';
import { createRequire } from 'node:module';
import { CrawlError } from './errors.ts';

type Crc = typeof import('crc-32');

// Required, since Node reads a CommonJS file twice that is imported; there are no types for the second polynomial.
const require = createRequire(import.meta.url);
const CRC32 = require('crc-32') as Crc;
const CRC32C = require('crc-32/crc32c.js') as Crc;

/** A hash of 64 bits in two halves, each from 0 to 2³² − 1. */
export interface Hash64 {
  readonly high: number;
  readonly low: number;
}

/** The digest of a body, for telling whether two are the same: SHA-256, 64 hexadecimal digits. Never throws. */
export function fingerprint(body: Uint8Array): string {
  return hash('sha256', body, 'hex');
}

/**
 * CRC-32 (ISO 3309, as in gzip) of the text's UTF-8 bytes, from 0 to 2³² − 1. Allocates nothing. Never throws.
 */
export function crc32(text: string): number {
  return CRC32.str(wellFormed(text)) >>> 0;
}

/** {@link crc32} of bytes. Never throws. */
export function crc32OfBytes(bytes: Uint8Array): number {
  return CRC32.buf(bytes) >>> 0;
}

/** CRC-32C (Castagnoli, as in iSCSI) of the text's UTF-8 bytes, from 0 to 2³² − 1. Allocates nothing. Never throws. */
export function crc32c(text: string): number {
  return CRC32C.str(wellFormed(text)) >>> 0;
}

/**
 * Both checksums as one hash of 64 bits: {@link crc32} above, {@link crc32c} below. Among n texts, the odds that any
 * two have one hash are about n² / 2⁶⁵: 1 in 370,000 for ten million. They hold for chance, not for an adversary, who can
 * make collisions at will. Never throws.
 */
export function hash64(text: string): Hash64 {
  return { high: crc32(text), low: crc32c(text) };
}

/**
 * Which of so many partitions a host belongs to: its {@link crc32} modulo their number, the same on every machine.
 *
 * @param host - In lower case, as in `CrawlRequest.host`.
 * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where `partitions` is not a whole number of at least 1.
 */
export function partitionOf(host: string, partitions: number): number {
  if (!Number.isInteger(partitions) || partitions < 1) {
    throw new CrawlError(
      'CRAWL_OPTION_INVALID',
      `Hosts are split into a whole number of partitions, not ${String(partitions)}.`,
    );
  }
  if (typeof host !== 'string') {
    throw new CrawlError('CRAWL_OPTION_INVALID', `partitionOf takes the name of a host, not a ${typeof host}.`);
  }
  return crc32(host) % partitions;
}

/** The text as an encoder sees it: surrogates without a partner, which `crc-32` would misread, are U+FFFD. */
function wellFormed(text: string): string {
  const checked = text as string & { isWellFormed(): boolean; toWellFormed(): string };
  return checked.isWellFormed() ? text : checked.toWellFormed();
}
