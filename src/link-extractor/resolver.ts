import { resolveUrl } from '../url.ts';
import { detached } from './entities.ts';

/** By code of a character: 1 stays as it is in a path and in a query, 2 has a meaning of its own. */
const CLASSES = new Uint8Array(128);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~!$()*+,;=@') {
  CLASSES[char.charCodeAt(0)] = 1;
}
for (const char of './?:%') CLASSES[char.charCodeAt(0)] = 2;

const PERCENT = 37;
const DOT = 46;
const SLASH = 47;
const COLON = 58;
const QUESTION = 63;

/** A host name of letters in lower case, digits, dots and single hyphens, whose last label can be no number. */
const PLAIN_HOST = /^(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]{2,}$/;

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
  readonly #isPlain: boolean;
  /** Hosts found to be plain or not. */
  #hosts: Map<string, boolean> | undefined;

  constructor(base: string | undefined) {
    this.#self = base === undefined ? null : resolveUrl(base);
    this.base = this.#self ?? (base !== undefined && URL.canParse(base) ? base : undefined);
    const self = this.#self ?? '';
    const slash = self.indexOf('/', self.indexOf('//') + 2);
    const query = self.indexOf('?');
    this.#withoutQuery = query < 0 ? self : self.slice(0, query);
    this.#origin = self.slice(0, slash);
    this.#directory = this.#withoutQuery.slice(0, this.#withoutQuery.lastIndexOf('/') + 1);
    this.#isPlain = self !== '';
  }

  /** @returns The URL without fragment, or `null` where it is none with http or https. Never throws. */
  resolve(reference: string): string | null {
    if (this.#isPlain) {
      const url = this.#plain(reference);
      if (url !== undefined) return url;
    }
    return resolveUrl(reference, this.base);
  }

  /** The answer for a reference whose characters mean what they seem to; `undefined` for all others. */
  #plain(reference: string): string | undefined {
    if (reference === '') return this.#self ?? undefined;
    let start = 0;
    const first = reference.charCodeAt(0);
    if (first === SLASH) {
      if (reference.charCodeAt(1) === SLASH) return undefined;
      return isPlain(reference, 0) ? this.#origin + reference : undefined;
    }
    if (first === QUESTION) return isPlain(reference, 0) ? this.#withoutQuery + reference : undefined;
    if (first === 104 && reference.startsWith('http')) {
      const absolute = this.#absolute(reference);
      if (absolute !== undefined) return absolute;
    }
    let directory = this.#directory;
    while (reference.startsWith('../', start)) {
      start += 3;
      const parent = directory.lastIndexOf('/', directory.length - 2);
      if (parent >= this.#origin.length) directory = directory.slice(0, parent + 1);
    }
    if (!isPlain(reference, start)) return undefined;
    return directory + (start === 0 ? reference : reference.slice(start));
  }

  #absolute(reference: string): string | undefined {
    const start = reference.startsWith('https://') ? 8 : reference.startsWith('http://') ? 7 : 0;
    if (start === 0) return undefined;
    const slash = reference.indexOf('/', start);
    if (slash < 0 || !isPlain(reference, slash)) return undefined;
    const host = reference.slice(start, slash);
    this.#hosts ??= new Map();
    let plain = this.#hosts.get(host);
    if (plain === undefined) {
      plain = host.length < 250 && PLAIN_HOST.test(host) && !host.includes('xn--');
      this.#hosts.set(host, plain);
    }
    return plain ? detached(reference) : undefined;
  }
}

/**
 * The base of a document (HTML Standard, 2.4.3): what its first `<base href>` says, or where it was found.
 * `data:` and `javascript:` can be no base.
 */
export function documentBase(href: string | undefined, fallback: string | undefined): string | undefined {
  if (href === undefined) return fallback;
  try {
    const base = new URL(href, fallback);
    return base.protocol === 'data:' || base.protocol === 'javascript:' ? fallback : base.href;
  } catch {
    return fallback;
  }
}

/**
 * Whether the URL parser would leave the characters from `start` on as they are: those of {@link CLASSES}, no dot
 * segment, no colon before the first slash (it might end a scheme), no escape that might be a dot.
 */
function isPlain(reference: string, start: number): boolean {
  let segmentStart = true;
  let inFirst = true;
  for (let at = start; at < reference.length; at++) {
    const code = reference.charCodeAt(at);
    const kind = code < 128 ? (CLASSES[code] as number) : 0;
    if (kind === 1) {
      segmentStart = false;
      continue;
    }
    if (kind === 0) return false;
    if (code === SLASH) {
      segmentStart = true;
      inFirst = false;
      continue;
    }
    if (code === QUESTION) return isPlainQuery(reference, at + 1);
    if (code === DOT ? segmentStart : code === PERCENT ? isEscapedDot(reference, at) : code === COLON && inFirst)
      return false;
    segmentStart = false;
  }
  return true;
}

function isPlainQuery(reference: string, start: number): boolean {
  for (let at = start; at < reference.length; at++) {
    const code = reference.charCodeAt(at);
    if (code !== 38 && (code >= 128 || CLASSES[code] === 0)) return false;
  }
  return true;
}

function isEscapedDot(reference: string, at: number): boolean {
  return reference.charCodeAt(at + 1) === 50 && (reference.charCodeAt(at + 2) | 32) === 101;
}
