import { resolveUrl } from '../url.ts';
import { codesOf } from './codes.ts';
import { detached, joined } from './entities.ts';
import { hashCode, hashText, spread } from './hashing.ts';

/** By code of a character: 1 stays as it is in a path and in a query, 2 has a meaning of its own. */
const CLASSES = new Uint8Array(128);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~!$()*+,;=@') {
  CLASSES[char.charCodeAt(0)] = 1;
}
for (const char of './?:%') CLASSES[char.charCodeAt(0)] = 2;

const PERCENT = 37;
const AMPERSAND = 38;
const DOT = 46;
const SLASH = 47;
const COLON = 58;
const QUESTION = 63;
const LETTER_H = 104;

/** Every relative link of a document costs as much as its base is long. */
const LONGEST_BASE = 4096;

/** Behind so many references that are no URL, only plain ones are resolved: to have the others parsed costs too much. */
const MOST_FAILURES = 100_000;

/** Depth of the codes of strings that do not stand in a document. */
const STRINGS = 3;

/** A scheme and an authority as they are written. */
interface Origin {
  readonly text: string;
  readonly hash: number;
  /** Whether they are in the form that the URL parser gives them: what follows makes no difference. */
  readonly isPlain: boolean;
}

/** By their hashes; pages lead to the same few again and again. */
const origins: (Origin | undefined)[] = Array.from({ length: 1024 });
const LONGEST_ORIGIN = 250;

/** The origin from `start` to `end`, as far as it is plain. */
function plainOrigin(text: string, start: number, end: number, hash: number): Origin | undefined {
  const length = end - start;
  if (length > LONGEST_ORIGIN) return undefined;
  const place = spread(hash) & (origins.length - 1);
  let origin = origins[place];
  if (origin?.hash !== hash || origin.text.length !== length || !text.startsWith(origin.text, start)) {
    const written = detached(text.slice(start, end));
    origin = { text: written, hash, isPlain: resolveUrl(written) === `${written}/` };
    origins[place] = origin;
  }
  return origin.isPlain ? origin : undefined;
}

/**
 * Resolves references against one base. References of plain characters are put together from the base's parts, which
 * gives what the URL parser gives, many times faster; all others go through the parser.
 */
export class Resolver {
  /** The base, if it is a URL; without fragment where it is one with http or https. */
  readonly base: string | undefined;
  readonly #self: string | null;
  readonly #origin: string;
  /** The base's path up to its last `/`, for references within it. */
  readonly #directory: string;
  readonly #withoutQuery: string;
  /** References that the URL parser refused. */
  #failures = 0;
  /** Hashes of what references are put behind. */
  readonly #originHash: number;
  readonly #directoryHash: number;
  /** The hash of the URL that {@link resolveAt} gave last. */
  hash = 0;

  constructor(base: string | undefined) {
    this.#self = base === undefined ? null : (plainUrl(base) ?? resolveUrl(base));
    this.base = this.#self ?? (base !== undefined && URL.canParse(base) ? base : undefined);
    const self = this.#self ?? '';
    const slash = self.indexOf('/', self.indexOf('//') + 2);
    const query = self.indexOf('?');
    this.#withoutQuery = query < 0 ? self : self.slice(0, query);
    this.#origin = self.slice(0, slash);
    this.#directory = this.#withoutQuery.slice(0, this.#withoutQuery.lastIndexOf('/') + 1);
    this.#originHash = hashText(this.#origin);
    this.#directoryHash = hashText(this.#directory);
  }

  /** @returns The URL without fragment, or `null` where it is none with http or https. Never throws. */
  resolve(reference: string): string | null {
    return this.resolveAt(reference, codesOf(reference, STRINGS), 0, reference.length);
  }

  /** {@link resolve} for the reference that stands from `start` to `end`; sets {@link hash}. */
  resolveAt(text: string, codes: Uint16Array, start: number, end: number): string | null {
    if (this.#self !== null && start < end) {
      const url = this.#plain(text, codes, start, end);
      if (url !== undefined) return url;
    }
    const url = start === end && this.#self !== null ? this.#self : this.#parsed(text.slice(start, end));
    if (url !== null) this.hash = hashText(url);
    return url;
  }

  #parsed(reference: string): string | null {
    if (this.#failures >= MOST_FAILURES) return null;
    const url = resolveUrl(reference, this.base);
    if (url === null) this.#failures++;
    return url;
  }

  /** The answer for a reference whose characters mean what they seem to; `undefined` for all others. */
  #plain(text: string, codes: Uint16Array, start: number, end: number): string | undefined {
    const first = codes[start] as number;
    if (first === SLASH) {
      if (end > start + 1 && codes[start + 1] === SLASH) return undefined;
      return this.#join(this.#origin, this.#originHash, text, codes, start, end);
    }
    if (first === QUESTION) {
      return this.#join(this.#withoutQuery, hashText(this.#withoutQuery), text, codes, start, end);
    }
    if (first === LETTER_H && text.startsWith('http', start)) {
      const absolute = this.#absolute(text, codes, start, end);
      if (absolute !== undefined) return absolute;
    }
    if (first === DOT) return this.#climb(text, codes, start, end);
    return this.#join(this.#directory, this.#directoryHash, text, codes, start, end);
  }

  /** References that begin with `../`. */
  #climb(text: string, codes: Uint16Array, start: number, end: number): string | undefined {
    let directory = this.#directory;
    while (start + 3 <= end && text.startsWith('../', start)) {
      start += 3;
      const parent = directory.lastIndexOf('/', directory.length - 2);
      if (parent >= this.#origin.length) directory = directory.slice(0, parent + 1);
    }
    return this.#join(directory, hashText(directory), text, codes, start, end);
  }

  #join(
    before: string,
    hashBefore: number,
    text: string,
    codes: Uint16Array,
    start: number,
    end: number,
  ): string | undefined {
    if (!isPlain(hashBefore, codes, start, end)) return undefined;
    this.hash = plainHash;
    return joined(before + text.slice(start, end));
  }

  #absolute(text: string, codes: Uint16Array, start: number, end: number): string | undefined {
    const hostStart = start + (text.startsWith('https://', start) ? 8 : text.startsWith('http://', start) ? 7 : end);
    let slash = hostStart;
    while (slash < end && codes[slash] !== SLASH) slash++;
    if (slash >= end) return undefined;
    let hash = 0;
    for (let at = start; at < slash; at++) hash = hashCode(hash, codes[at] as number);
    const origin = plainOrigin(text, start, slash, hash);
    return origin && this.#join(origin.text, hash, text, codes, slash, end);
  }
}

/**
 * The base of a document (HTML Standard, 2.4.3): what its first `<base href>` says, or where it was found.
 * `data:` and `javascript:` can be no base, nor can what is longer than 4,096 characters.
 */
export function documentBase(href: string | undefined, fallback: string | undefined): string | undefined {
  if (href === undefined || href.length > LONGEST_BASE) return fallback;
  try {
    const base = new URL(href, fallback);
    return base.protocol === 'data:' || base.protocol === 'javascript:' ? fallback : base.href;
  } catch {
    return fallback;
  }
}

/** An absolute URL that the URL parser would leave as it is, without its fragment; `undefined` for all others. */
function plainUrl(url: string): string | undefined {
  const slash = url.indexOf('/', url.startsWith('https://') ? 8 : 7);
  if (slash < 0 || !url.startsWith('http')) return undefined;
  if (plainOrigin(url, 0, slash, hashText(url.slice(0, slash))) === undefined) return undefined;
  const hash = url.indexOf('#', slash);
  const end = hash < 0 ? url.length : hash;
  return isPlain(0, codesOf(url, STRINGS), slash, end) ? url.slice(0, end) : undefined;
}

/** The hash that {@link isPlain} came to. */
let plainHash = 0;

/**
 * Whether the URL parser would leave the characters from `start` to `end` as they are: those of {@link CLASSES}, no dot
 * segment, no colon before the first slash (it might end a scheme), no escape that might be a dot. Takes them into the
 * hash of what stands before them.
 */
function isPlain(hashBefore: number, codes: Uint16Array, start: number, end: number): boolean {
  let segmentStart = true;
  let inFirst = true;
  let inQuery = false;
  let hash = hashBefore;
  for (let at = start; at < end; at++) {
    const code = codes[at] as number;
    const kind = code < 128 ? (CLASSES[code] as number) : 0;
    hash = hashCode(hash, code);
    if (kind === 1) {
      segmentStart = false;
    } else if (inQuery) {
      if (kind === 0 && code !== AMPERSAND) return false;
    } else if (kind === 0) {
      return false;
    } else if (code === SLASH) {
      segmentStart = true;
      inFirst = false;
    } else if (code === QUESTION) {
      inQuery = true;
    } else {
      if (code === DOT && segmentStart) return false;
      if (code === COLON && inFirst) return false;
      if (code === PERCENT && codes[at + 1] === 50 && ((codes[at + 2] as number) | 32) === 101) return false;
      segmentStart = false;
    }
  }
  plainHash = hash;
  return true;
}
