import { Buffer, isAscii, isUtf8, transcode } from 'node:buffer';
import { createRequire } from 'node:module';
import { endianness } from 'node:os';
import { parseContentType } from './headers.ts';
import { mustTake } from './options.ts';
import { declaredLabels } from './text/declaration.ts';

/** A body as text. */
export interface DecodedText {
  readonly text: string;
  /** WHATWG name of the encoding, in lower case. */
  readonly encoding: string;
  /** The first label that names no encoding, where there was one; the next source was used in its place. */
  readonly unknownLabel?: string;
}

/** Labels that nearly all of the web uses, so that the tables of the others are rarely loaded. */
const COMMON: ReadonlyMap<string, string> = new Map([
  ...['utf-8', 'utf8', 'unicode-1-1-utf-8', 'unicode11utf8', 'unicode20utf8', 'x-unicode20utf8'].map(
    (label) => [label, 'utf-8'] as const,
  ),
  ...['windows-1252', 'iso-8859-1', 'iso8859-1', 'latin1', 'us-ascii', 'ascii', 'cp1252', 'x-cp1252', 'l1'].map(
    (label) => [label, 'windows-1252'] as const,
  ),
]);

/** These can't be what a page's own markup, read as ASCII, says that it is. */
const MARKUP_CANT_BE: ReadonlyMap<string, string> = new Map([
  ['utf-16le', 'utf-8'],
  ['utf-16be', 'utf-8'],
  ['x-user-defined', 'windows-1252'],
]);

/** In these, bytes below 0x80 are not, or not always, ASCII. */
const OTHER_THAN_ASCII: ReadonlySet<string> = new Set(['utf-16le', 'utf-16be', 'iso-2022-jp', 'replacement']);

type Encodings = typeof import('@exodus/bytes/encoding.js');

let loaded: Encodings | undefined;

/**
 * The text of a body. Its encoding is what the first of these says: a byte order mark, the `charset` of the header, a
 * declaration in the first 1024 bytes (`<meta>`, or that of XML). Where none does, it is UTF-8 if it is valid as such,
 * else windows-1252. A label that names no encoding is passed over. What can't be decoded becomes U+FFFD; a byte order
 * mark is left out. Never throws because of what the bytes are.
 *
 * @param contentType - The header as it came. The kind of markup decides which declarations count; without a type, both.
 * @see https://encoding.spec.whatwg.org/ and https://html.spec.whatwg.org/#determining-the-character-encoding
 */
export function decodeText(body: Uint8Array, contentType: string | readonly string[] | undefined): DecodedText {
  mustTake('decodeText', 'the bytes of a body', body instanceof Uint8Array, body);
  const { bytes, ...about } = recognized(body, contentType);
  return { text: decodeAs(bytes, about.encoding), ...about };
}

/** {@link decodeText} in steps of some milliseconds, for long bodies. */
export function* decodeInSteps(
  body: Uint8Array,
  contentType: string | readonly string[] | undefined,
  stepBytes: number = STEP_BYTES,
): Generator<void, DecodedText, undefined> {
  const { bytes, ...about } = recognized(body, contentType);
  const { encoding } = about;
  if (encoding === 'replacement' || (isAscii(bytes) && !OTHER_THAN_ASCII.has(encoding))) {
    return { text: decodeAs(bytes, encoding), ...about };
  }
  // The engine's own decoder of UTF-8 is right.
  const Decoder = encoding === 'utf-8' ? TextDecoder : encodings().TextDecoder;
  const decoder = new Decoder(encoding, KEEP_MARK);
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += stepBytes) {
    parts.push(decoder.decode(bytes.subarray(at, at + stepBytes), { stream: true }));
    yield;
  }
  parts.push(decoder.decode());
  return { text: parts.join(''), ...about };
}

/** How many bytes {@link decodeInSteps} decodes in one step. */
const STEP_BYTES = 262_144;

/** A body without its byte order mark, and what it is encoded in. */
function recognized(
  body: Uint8Array,
  contentType: string | readonly string[] | undefined,
): { readonly bytes: Buffer; readonly encoding: string; readonly unknownLabel?: string } {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const mark = byteOrderMark(bytes);
  if (mark !== undefined) return { bytes: bytes.subarray(mark.length), encoding: mark.encoding };
  const { encoding = guess(bytes), unknownLabel } = declared(bytes, contentType);
  return unknownLabel === undefined ? { bytes, encoding } : { bytes, encoding, unknownLabel };
}

/**
 * The WHATWG name of an encoding, in lower case, by any of its labels; `undefined` where the label is none.
 * Never throws.
 */
export function encodingOf(label: string): string | undefined {
  const bare = label.trim().toLowerCase();
  return COMMON.get(bare) ?? encodings().normalizeEncoding(bare) ?? undefined;
}

interface Mark {
  readonly encoding: string;
  readonly length: number;
}

function byteOrderMark(bytes: Buffer): Mark | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return { encoding: 'utf-8', length: 3 };
  if (first === 0xfe && second === 0xff) return { encoding: 'utf-16be', length: 2 };
  if (first === 0xff && second === 0xfe) return { encoding: 'utf-16le', length: 2 };
  return undefined;
}

/** What header and markup say, the header first. */
function declared(
  bytes: Buffer,
  contentType: string | readonly string[] | undefined,
): { encoding?: string; unknownLabel?: string } {
  const { charset, type } = parseContentType(contentType);
  let unknownLabel: string | undefined;
  const known = (label: string) => {
    const encoding = encodingOf(label);
    if (encoding === undefined) unknownLabel ??= label;
    return encoding;
  };
  let encoding = charset === undefined ? undefined : known(charset);
  if (encoding === undefined) {
    for (const label of declaredLabels(bytes, type)) {
      encoding = known(label);
      if (encoding === undefined) continue;
      encoding = MARKUP_CANT_BE.get(encoding) ?? encoding;
      break;
    }
  }
  return {
    ...(encoding === undefined ? {} : { encoding }),
    ...(unknownLabel === undefined ? {} : { unknownLabel }),
  };
}

function guess(bytes: Buffer): string {
  // The beginning of an XML declaration, two bytes a character.
  const start = bytes.toString('latin1', 0, 6);
  if (start === '<\0?\0x\0') return 'utf-16le';
  if (start === '\0<\0?\0x') return 'utf-16be';
  return isUtf8(bytes) ? 'utf-8' : 'windows-1252';
}

function decodeAs(bytes: Buffer, encoding: string): string {
  if (!OTHER_THAN_ASCII.has(encoding)) {
    if (isAscii(bytes)) return bytes.toString('latin1');
    if (encoding === 'utf-8')
      return isUtf8(bytes) ? decodeUtf8(bytes) : new TextDecoder('utf-8', KEEP_MARK).decode(bytes);
  }
  // Stands for encodings that were used for attacks: decodes to one U+FFFD, so that nothing comes of it.
  if (encoding === 'replacement') return bytes.length === 0 ? '' : '\uFFFD';
  const { TextDecoder: Decoder } = encodings();
  return new Decoder(encoding, KEEP_MARK).decode(bytes);
}

/** Texts from this length on are worth the way through UTF-16, which is several times as fast and costs a copy. */
const LONG_BYTES = 2048;
const IS_LITTLE_ENDIAN = endianness() === 'LE';

/** Bytes that are valid UTF-8 and not ASCII alone. */
function decodeUtf8(bytes: Buffer): string {
  // Node may have been built without the tables that `transcode` needs.
  if (bytes.length < LONG_BYTES || !IS_LITTLE_ENDIAN || transcode === undefined) return bytes.toString('utf8');
  return transcode(bytes, 'utf8', 'utf16le').toString('utf16le');
}

/** The mark that counts is taken off before; another one behind it is text. */
const KEEP_MARK = { ignoreBOM: true } as const;

/** Node's own decoder has mistakes in windows-1252 and several others, and lacks some. Loaded when first needed. */
function encodings(): Encodings {
  loaded ??= createRequire(import.meta.url)('@exodus/bytes/encoding.js') as Encodings;
  return loaded;
}
