import { mustTake } from '../options.ts';
/** Bytes of a robots.txt that are read; RFC 9309, section 2.5, asks for no less, and Google reads no more. */
export const ROBOTS_MAX_BYTES = 512_000;

/** Bytes of one line that are read: eight of the longest URLs that Internet Explorer knew, as in Google's parser. */
const LINE_MAX_BYTES = 2083 * 8;

/** A robots.txt ready to be read line by line. */
export interface RobotsBytes {
  /** Without byte order mark; UTF-8, unless the file was in an encoding that it did not name. */
  readonly bytes: Buffer;
  /** Whether the last line is not whole, because the limit fell into it or right behind it. */
  readonly cut: boolean;
}

type FieldKind = 'user-agent' | 'allow' | 'disallow' | 'crawl-delay' | 'request-rate' | 'sitemap' | 'other';

/** One `key: value`. Its strings hold one byte a character, see {@link eachField}. */
export interface Field {
  readonly kind: FieldKind;
  /** In lower case, as it was spelled. */
  readonly key: string;
  readonly value: string;
  /** From 1. */
  readonly line: number;
  /** Whether the end of the value is missing: the line was too long, or the file. */
  readonly cut: boolean;
}

/** Takes a copy, so that the caller may use its buffer again. */
export function readBytes(body: string | Uint8Array): RobotsBytes {
  const isFile = typeof body === 'string' || body instanceof Uint8Array;
  mustTake('RobotsTxt.parse', 'the text or the bytes of a file', isFile, body);
  const whole = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
  const kept = Buffer.from(whole.subarray(0, ROBOTS_MAX_BYTES));
  // Whoever fetched it may have stopped at the limit, so a file of just this length counts as cut.
  const cut = kept.length === ROBOTS_MAX_BYTES && !isLineEnd(kept.at(-1)) && !isLineEnd(whole[ROBOTS_MAX_BYTES]);
  return { bytes: withoutMark(kept), cut };
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === 0x0a || byte === 0x0d;
}

function withoutMark(bytes: Buffer): Buffer {
  const [first, second, third] = bytes;
  if (first === 0xff && second === 0xfe) return Buffer.from(new TextDecoder('utf-16le').decode(bytes), 'utf8');
  if (first === 0xfe && second === 0xff) return Buffer.from(new TextDecoder('utf-16be').decode(bytes), 'utf8');
  if (first !== 0xef) return bytes;
  // Google skips a mark that was cut short, too.
  return bytes.subarray(second !== 0xbb ? 1 : third !== 0xbf ? 2 : 3);
}

/**
 * Calls `visit` for every line that is a field. Linear; never throws.
 *
 * Works on bytes as characters U+0000 to U+00FF: a UTF-8 decoder would turn a byte that is not UTF-8 into U+FFFD, and
 * the rule it stands in would then match no URL.
 */
export function eachField({ bytes, cut }: RobotsBytes, visit: (field: Field) => void): void {
  const lines = bytes.toString('latin1').split(/\r\n|\r|\n/);
  const last = lines.length - 1;
  for (let i = 0; i <= last; i++) {
    const field = readField(lines[i] as string, i + 1, cut && i === last);
    if (field !== undefined) visit(field);
  }
}

function readField(raw: string, line: number, isPartial: boolean): Field | undefined {
  const comment = raw.indexOf('#');
  let text = comment < 0 ? raw : raw.slice(0, comment);
  let cut = isPartial && comment < 0;
  if (text.length > LINE_MAX_BYTES) {
    text = text.slice(0, LINE_MAX_BYTES);
    cut = true;
  }
  text = trimAscii(text);
  const colon = text.indexOf(':');
  const parts = colon < 0 ? twoWords(text) : ([text.slice(0, colon), text.slice(colon + 1)] as const);
  if (parts === undefined) return undefined;
  const key = trimAscii(parts[0]).toLowerCase();
  return key === '' ? undefined : { kind: kindOf(key), key, value: trimAscii(parts[1]), line, cut };
}

/** A field whose colon was forgotten is understood where it is exactly two words, as Google does. */
function twoWords(text: string): readonly [string, string] | undefined {
  let end = 0;
  while (end < text.length && !isSpace(text.charCodeAt(end))) end++;
  const value = trimAscii(text.slice(end));
  if (value === '') return undefined;
  for (let i = 0; i < value.length; i++) if (isSpace(value.charCodeAt(i))) return undefined;
  return [text.slice(0, end), value];
}

/** Spellings found in the wild, which Google's parser takes too: keys match by their beginning. */
const SPELLINGS: readonly (readonly [FieldKind, readonly string[]])[] = [
  ['user-agent', ['user-agent', 'useragent', 'user agent']],
  ['disallow', ['disallow', 'dissallow', 'dissalow', 'disalow', 'diasllow', 'disallaw']],
  ['allow', ['allow']],
  ['sitemap', ['sitemap', 'site-map']],
];

const EXACT: Readonly<Record<string, FieldKind>> = {
  'crawl-delay': 'crawl-delay',
  crawldelay: 'crawl-delay',
  'crawl delay': 'crawl-delay',
  'request-rate': 'request-rate',
};

function kindOf(key: string): FieldKind {
  for (const [kind, spellings] of SPELLINGS) {
    if (spellings.some((spelling) => key.startsWith(spelling))) return kind;
  }
  return Object.hasOwn(EXACT, key) ? (EXACT[key] as FieldKind) : 'other';
}

/** Not `trim()`, which would eat the byte A0 of a UTF-8 character. */
function trimAscii(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

export function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

/** Bytes as characters, read as UTF-8. */
export function toText(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
