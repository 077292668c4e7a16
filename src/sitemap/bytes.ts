import { promisify } from 'node:util';
import { constants, gunzip, gunzipSync, type ZlibOptions } from 'node:zlib';
import { CrawlError } from '../errors.ts';
import { parseContentType } from '../headers.ts';

/** Largest sitemap read, in bytes after decompression: the limit of the protocol, 50 MiB. */
export const MAX_SITEMAP_BYTES = 52_428_800;

/** Compressed more than this, it is no list of URLs but a bomb; counted only from {@link RATIO_FLOOR} bytes on. */
const MAX_RATIO = 100;
const RATIO_FLOOR = 1_048_576;
/** A packed file may have been packed once more on its way. */
const LAYERS = 2;

/** Where a sitemap was found. */
export interface SitemapContext {
  readonly url: string;
  /** The `Content-Type` header: only its charset matters. What a body is, its first bytes say better. */
  readonly contentType?: string | undefined;
}

/**
 * The text of a sitemap without byte order mark, unpacked where its first bytes are those of gzip.
 * @throws {@link CrawlError} `CRAWL_SITEMAP_INVALID` where it is too large or cannot be unpacked.
 */
export function toText(body: Uint8Array | string, context: SitemapContext): string {
  if (typeof body === 'string') {
    if (Buffer.byteLength(body) > MAX_SITEMAP_BYTES) throw tooLarge(context);
    return body.startsWith('\ufeff') ? body.slice(1) : body;
  }
  let bytes = body;
  for (let layer = 0; layer < LAYERS && isPacked(bytes); layer++) {
    try {
      bytes = gunzipSync(bytes, unpacking(body));
    } catch (cause) {
      throw notUnpacked(cause, body, context);
    }
  }
  return new TextDecoder(encodingOf(unpacked(bytes, context), context)).decode(bytes);
}

/**
 * The bytes of a sitemap as {@link toText} decodes them, unpacked by another thread. Rejects with {@link CrawlError}
 * `CRAWL_SITEMAP_INVALID` where it is too large or cannot be unpacked.
 */
export async function unpackSitemap(body: Uint8Array, context: SitemapContext): Promise<Uint8Array> {
  let bytes = body;
  for (let layer = 0; layer < LAYERS && isPacked(bytes); layer++) {
    try {
      bytes = await gunzipLater(bytes, unpacking(body));
    } catch (cause) {
      throw notUnpacked(cause, body, context);
    }
  }
  return unpacked(bytes, context);
}

/** The text of an unpacked sitemap in parts, each some milliseconds of work to read. */
export function* textInParts(
  bytes: Uint8Array,
  context: SitemapContext,
  partBytes: number,
): Generator<string, void, undefined> {
  const decoder = new TextDecoder(encodingOf(bytes, context));
  for (let at = 0; at < bytes.length; at += partBytes) {
    yield decoder.decode(bytes.subarray(at, at + partBytes), { stream: true });
  }
  yield decoder.decode();
}

const gunzipLater = promisify(gunzip) as (bytes: Uint8Array, options: ZlibOptions) => Promise<Buffer>;

function isPacked(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

function unpacking(body: Uint8Array): ZlibOptions {
  // Flushed at the end, a file that was cut off still gives what came before.
  return { maxOutputLength: mostUnpacked(body), finishFlush: constants.Z_SYNC_FLUSH };
}

function mostUnpacked(body: Uint8Array): number {
  return Math.min(MAX_SITEMAP_BYTES, Math.max(RATIO_FLOOR, body.length * MAX_RATIO));
}

function notUnpacked(cause: unknown, body: Uint8Array, context: SitemapContext): CrawlError {
  if (cause instanceof RangeError) return tooLarge(context, mostUnpacked(body));
  const message = `The sitemap ${context.url} cannot be unpacked: its gzip is broken.`;
  return new CrawlError('CRAWL_SITEMAP_INVALID', message, { cause, url: context.url });
}

function unpacked(bytes: Uint8Array, context: SitemapContext): Uint8Array {
  if (bytes.length > MAX_SITEMAP_BYTES) throw tooLarge(context);
  if (!isPacked(bytes)) return bytes;
  throw new CrawlError('CRAWL_SITEMAP_INVALID', `The sitemap ${context.url} is packed more than ${LAYERS} times.`, {
    url: context.url,
  });
}

function tooLarge(context: SitemapContext, limit = MAX_SITEMAP_BYTES): CrawlError {
  const why = limit < MAX_SITEMAP_BYTES ? `, ${MAX_RATIO} times its packed size` : ', the limit of the protocol';
  return new CrawlError('CRAWL_SITEMAP_INVALID', `The sitemap ${context.url} has more than ${limit} bytes${why}.`, {
    url: context.url,
  });
}

/** Byte order mark, then header, then the zeros of UTF-16, then the XML declaration, then UTF-8 (RFC 7303, 3). */
function encodingOf(bytes: Uint8Array, context: SitemapContext): string {
  return (
    markedEncoding(bytes) ??
    usable(parseContentType(context.contentType).charset) ??
    bareUtf16(bytes) ??
    usable(declaredEncoding(bytes)) ??
    'utf-8'
  );
}

function markedEncoding(bytes: Uint8Array): string | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

function bareUtf16(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0x3c && bytes[1] === 0) return 'utf-16le';
  return bytes[0] === 0 && bytes[1] === 0x3c ? 'utf-16be' : undefined;
}

/** The encoding that `<?xml ... encoding="..."?>` names. */
function declaredEncoding(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 256)).toString('latin1').trimStart();
  const end = head.indexOf('?>');
  if (!head.startsWith('<?xml') || end < 0) return undefined;
  return /\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(head.slice(0, end))?.[1];
}

/** The label, where it is known and can be true: UTF-16 would show in the first bytes. */
function usable(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    const { encoding } = new TextDecoder(label);
    return encoding.startsWith('utf-16') ? undefined : encoding;
  } catch {
    return undefined;
  }
}
