import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import { CrawlError } from '../errors.ts';
import type { Headers } from '../types.ts';
import { GunzipStream } from './gunzip-stream.ts';
import { gunzip } from './gzip.ts';

/** A content coding that can be undone. */
export type Coding = 'gzip' | 'deflate' | 'deflate-raw' | 'br' | 'zstd';

/** Enough bytes of a body to tell what it is. */
export const SNIFF_BYTES = 64;

const MOST_CODINGS = 2;

/** Names of codings, and what servers write where they mean none. */
const NAMES: ReadonlyMap<string, Coding | 'identity'> = new Map<string, Coding | 'identity'>([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ...('createZstdDecompress' in zlib ? ([['zstd', 'zstd']] as const) : []),
  ['', 'identity'],
  ['identity', 'identity'],
  ['none', 'identity'],
  ['binary', 'identity'],
  ['8bit', 'identity'],
  ['7bit', 'identity'],
  ['utf-8', 'identity'],
  ['utf8', 'identity'],
]);

/** The names in `Content-Encoding`, in the order they were applied; those that change nothing left out. */
export function contentCodings(headers: Headers): readonly string[] {
  const value = headers['content-encoding'];
  if (value === undefined) return [];
  const names = (typeof value === 'string' ? value : value.join(','))
    .split(',')
    .map((name) => name.trim().toLowerCase());
  return names.filter((name) => NAMES.get(name) !== 'identity');
}

/**
 * What to do about the codings of a body, decided on its first bytes: servers put `gzip` on bodies that are not.
 * @returns The codings to undo, the outermost first. Empty means that the body is to be taken as it is.
 * @throws {@link CrawlError} `CRAWL_BODY_UNDECODABLE` where nothing is known that could be done.
 */
export function decodingSteps(codings: readonly string[], first: Buffer, url: string): readonly Coding[] {
  if (codings.length > MOST_CODINGS) {
    throw undecodable(`it has ${codings.length} content codings, more than ${MOST_CODINGS}`, url);
  }
  const steps: Coding[] = [];
  for (const name of [...codings].reverse()) {
    // Only the outermost coding can be seen; what is inside must be what was said.
    const coding = steps.length === 0 ? recognise(NAMES.get(name), first) : NAMES.get(name);
    if (coding === 'identity') continue;
    if (coding === undefined) {
      if (steps.length === 0 && looksLikeText(first)) return [];
      throw undecodable(`its content coding "${name.slice(0, 40)}" is not known`, url);
    }
    steps.push(coding);
  }
  return steps;
}

/** What the first bytes of a body say, where they can say something. */
function recognise(named: Coding | 'identity' | undefined, first: Buffer): Coding | 'identity' | undefined {
  if (named === 'gzip' || named === 'deflate') {
    if (isGzip(first)) return 'gzip';
    if (isZlib(first)) return 'deflate';
    if (named === 'gzip') return 'identity';
    return looksLikeText(first) || !startsRawDeflate(first) ? 'identity' : 'deflate-raw';
  }
  if (named === 'zstd' && isZstd(first)) return 'zstd';
  return named !== undefined && looksLikeText(first) ? 'identity' : named;
}

/** RFC 8878, 3.1: the magic number of a frame, or of one that is skipped. */
function isZstd(first: Buffer): boolean {
  const magic = first.length < 4 ? 0 : first.readUInt32LE(0);
  return magic === 0xfd2fb528 || (magic >= 0x184d2a50 && magic <= 0x184d2a5f);
}

function isGzip(first: Buffer): boolean {
  return first[0] === 0x1f && (first.length === 1 || first[1] === 0x8b);
}

/** RFC 1950: method 8, and a header that is a multiple of 31. */
function isZlib(first: Buffer): boolean {
  const [method = 0, flags = 0] = first;
  return (method & 0x0f) === 8 && method >> 4 <= 7 && (method * 256 + flags) % 31 === 0;
}

function startsRawDeflate(first: Buffer): boolean {
  try {
    zlib.inflateRawSync(first, { finishFlush: zlib.constants.Z_SYNC_FLUSH });
    return true;
  } catch {
    return false;
  }
}

/** Printable characters and white space only: no compressor's output begins with 64 of them. */
function looksLikeText(first: Buffer): boolean {
  for (const byte of first) {
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d) return false;
    if (byte === 0x7f) return false;
  }
  return true;
}

/** What Node has from 22.15 on. */
interface Zstd {
  createZstdDecompress(options: object): zlib.Gunzip;
  zstdDecompressSync(body: Buffer, options: object): Buffer;
}

const zstd = zlib as unknown as Zstd;

/** RFC 9659: a window of 8 MB at most. */
const ZSTD_WINDOW_LOG = 23;
const zstdParameter = (zlib.constants as Record<string, number>).ZSTD_d_windowLogMax;
const ZSTD_PARAMS: Readonly<Record<number, number>> =
  zstdParameter === undefined ? {} : { [zstdParameter]: ZSTD_WINDOW_LOG };

/** A stream that undoes a coding. */
export function decoder(coding: Coding): Transform & { readonly bytesWritten: number } {
  switch (coding) {
    case 'gzip':
      return new GunzipStream();
    case 'deflate':
      return zlib.createInflate();
    case 'deflate-raw':
      return zlib.createInflateRaw();
    case 'br':
      return zlib.createBrotliDecompress();
    case 'zstd':
      return zstd.createZstdDecompress({ params: ZSTD_PARAMS });
  }
}

/**
 * Undoes a coding in one go.
 * @throws the error of zlib; `ERR_BUFFER_TOO_LARGE` where there is more than `most`.
 */
export function decodeAtOnce(coding: Coding, body: Buffer, most: number): Buffer {
  const options = { maxOutputLength: most };
  switch (coding) {
    case 'gzip':
      return gunzip(body, most);
    case 'deflate':
      return zlib.inflateSync(body, options);
    case 'deflate-raw':
      return zlib.inflateRawSync(body, options);
    case 'br':
      return zlib.brotliDecompressSync(body, options);
    case 'zstd':
      return zstd.zstdDecompressSync(body, { ...options, params: ZSTD_PARAMS });
  }
}

function undecodable(why: string, url: string): CrawlError {
  return new CrawlError('CRAWL_BODY_UNDECODABLE', `The body can't be decompressed: ${why} (${url})`, { url });
}
