import { constants, gunzipSync } from 'node:zlib';
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
  const bytes = unpack(body, context);
  if (bytes.length > MAX_SITEMAP_BYTES) throw tooLarge(context);
  return decode(bytes, context);
}

function isPacked(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

function unpack(body: Uint8Array, context: SitemapContext): Uint8Array {
  const maxOutputLength = Math.min(MAX_SITEMAP_BYTES, Math.max(RATIO_FLOOR, body.length * MAX_RATIO));
  let bytes = body;
  for (let layer = 0; layer < LAYERS && isPacked(bytes); layer++) {
    try {
      // Flushed at the end, a file that was cut off still gives what came before.
      bytes = gunzipSync(bytes, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH });
    } catch (cause) {
      if (cause instanceof RangeError) throw tooLarge(context, maxOutputLength);
      throw new CrawlError(
        'CRAWL_SITEMAP_INVALID',
        `The sitemap ${context.url} cannot be unpacked: its gzip is broken.`,
        {
          cause,
          url: context.url,
        },
      );
    }
  }
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
function decode(bytes: Uint8Array, context: SitemapContext): string {
  const label =
    markedEncoding(bytes) ??
    usable(parseContentType(context.contentType).charset) ??
    bareUtf16(bytes) ??
    usable(declaredEncoding(bytes)) ??
    'utf-8';
  return new TextDecoder(label).decode(bytes);
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
