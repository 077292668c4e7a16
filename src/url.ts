/** What the canonical form leaves out or re-orders besides what it always does. */
export interface CanonicalizeOptions {
  /** Leave out campaign, click and session identifiers, see {@link canonicalizeUrl}. @defaultValue `false` */
  readonly stripTracking?: boolean;
  /** Sort the query's parts by name. @defaultValue `false` */
  readonly sortQuery?: boolean;
}

/** Query parameters that `stripTracking` leaves out, in lower case, besides `utm_*`. */
const TRACKING_NAMES: ReadonlySet<string> = new Set([
  'gclid',
  'dclid',
  'gbraid',
  'wbraid',
  'fbclid',
  'msclkid',
  'yclid',
  'mc_cid',
  'mc_eid',
  'jsessionid',
  'phpsessid',
  'sid',
  'sessionid',
]);
const LONGEST_TRACKING_NAME = 10;
const SESSION_PARAMETER = ';jsessionid=';

/** How many URLs are still asked beforehand whether they can be parsed, and how many after one that could not. */
let doubts = 0;
const DOUBTS = 8;
const ASCII = /^[\x00-\x7f]*$/;

const PERCENT = 0x25;
const DOT = 0x2e;
const COLON = 0x3a;

/**
 * The canonical form of a URL: what "seen before" is decided on. It names the same resource as the URL, but may not be
 * what to ask for; for that see {@link resolveUrl}.
 *
 * The URL is parsed as a browser does (WHATWG), then fragment, user name and password are dropped, as is the dot that
 * ends a fully qualified host name; in path and query, escapes of unreserved characters are decoded once and the others
 * get upper-case digits (RFC 3986, 6.2.2). Reserved characters are neither decoded nor encoded, and nothing in the
 * query is added, dropped or re-ordered unless an option says so. The result is a fixed point.
 *
 * With `stripTracking`, query parameters named `utm_*`, `gclid`, `dclid`, `gbraid`, `wbraid`, `fbclid`, `msclkid`,
 * `yclid`, `mc_cid`, `mc_eid`, `jsessionid`, `phpsessid`, `sid` or `sessionid` (whole name, any case) go, and the path
 * parameter `;jsessionid=...`. With `sortQuery`, what stands between `&` is sorted by name in code unit order, each part
 * as it is and equal names in their order.
 *
 * @param input - A URL, or a reference to be resolved against `base`.
 * @returns `null` where it is no http or https URL. Never throws.
 */
export function canonicalizeUrl(
  input: string,
  base?: string | URL,
  options?: { stripTracking?: boolean; sortQuery?: boolean },
): string | null {
  const resolved = resolveUrl(input, base);
  return resolved === null ? null : canonicalForm(resolved, options ?? undefined);
}

/**
 * The URL as it is to be asked for: absolute, http or https, serialised by the WHATWG rules, without fragment, user
 * name and password (a page must not choose which credentials a crawler sends), and otherwise as it was written.
 *
 * @returns `null` where it is no http or https URL. Never throws.
 */
export function resolveUrl(input: string, base?: string | URL): string | null {
  let href: string;
  try {
    // To throw costs ten times what it costs to ask before, and those that can't be parsed come in rows.
    // Node 20's `canParse` is wrong about hosts beyond ASCII.
    if (doubts > 0 && ASCII.test(input) && (typeof base !== 'string' || ASCII.test(base))) {
      if (!URL.canParse(input, base as string | undefined)) return null;
      doubts--;
    }
    href = new URL(input, base).href;
  } catch {
    doubts = DOUBTS;
    return null;
  }
  if (!href.startsWith('http')) return null;
  const start = authorityStart(href);
  if (start === 0) return null;
  const fragment = href.indexOf('#', start);
  if (fragment >= 0) href = href.slice(0, fragment);
  const at = href.lastIndexOf('@', href.indexOf('/', start));
  return at < start ? href : href.slice(0, start) + href.slice(at + 1);
}

/**
 * {@link canonicalizeUrl} for what {@link resolveUrl} gave, without parsing it again. Other strings give no meaningful
 * result. Never throws.
 */
export function canonicalForm(resolved: string, options?: CanonicalizeOptions): string {
  const start = authorityStart(resolved);
  let slash = resolved.indexOf('/', start);
  const dot = trailingDot(resolved, start, slash);
  if (dot > 0) {
    resolved = resolved.slice(0, dot) + resolved.slice(dot + 1);
    slash--;
  }
  const percent = resolved.indexOf('%', slash);
  if (percent > 0) resolved = normalizeEscapes(resolved, percent);
  if (options === undefined) return resolved;
  if (options.stripTracking === true) resolved = stripSessionParameter(resolved, slash);
  return options.stripTracking === true || options.sortQuery === true ? rewriteQuery(resolved, options) : resolved;
}

/**
 * The host name of what {@link resolveUrl} gave, without port and without the dot that ends a fully qualified name;
 * an IPv6 address keeps its brackets. Never throws.
 */
export function hostOf(resolved: string): string {
  const start = authorityStart(resolved);
  const slash = resolved.indexOf('/', start);
  const end = trailingDot(resolved, start, slash);
  return resolved.slice(start, end > 0 ? end : hostEnd(resolved, start, slash));
}

/**
 * A URL, or `undefined` where it is none. Not by `URL.canParse`, which in Node 20 is wrong about hosts beyond ASCII. Never
 * throws.
 */
export function parseUrl(url: string, base?: string | URL): URL | undefined {
  try {
    return new URL(url, base);
  } catch {
    return undefined;
  }
}

/** The origin of what {@link resolveUrl} gave, as `URL.origin` has it. Never throws. */
export function originOf(resolved: string): string {
  return resolved.slice(0, resolved.indexOf('/', authorityStart(resolved)));
}

/** Where the authority of an http or https URL begins; 0 for other schemes. */
function authorityStart(href: string): number {
  if (href.startsWith('http://')) return 7;
  return href.startsWith('https://') ? 8 : 0;
}

/** Where the host name ends in what {@link resolveUrl} gave: before the port, if there is one. */
export function hostEnd(href: string, start: number, slash: number): number {
  // A port has at most five digits, so this looks at no more than six characters.
  for (let at = slash - 1; at > start && at >= slash - 6; at--) {
    const code = href.charCodeAt(at);
    if (code === COLON) return at;
    if (code < 0x30 || code > 0x39) break;
  }
  return slash;
}

/** Index of the dot that ends a fully qualified host name, or -1. What follows an empty label is no such name. */
function trailingDot(href: string, start: number, slash: number): number {
  const dot = hostEnd(href, start, slash) - 1;
  if (href.charCodeAt(dot) !== DOT || dot === start || href.charCodeAt(dot - 1) === DOT) return -1;
  return dot;
}

/**
 * Decodes the escapes of unreserved characters from `first` on and writes the others in upper case.
 * An escape whose decoding would make another one out of a stray percent sign before it stays, or the result would
 * change its meaning and be no fixed point.
 */
function normalizeEscapes(text: string, first: number): string {
  let out = '';
  let copied = 0;
  for (let at = first; at >= 0; ) {
    const code = escapedByte(text, at);
    if (code < 0) {
      at = text.indexOf('%', at + 1);
      continue;
    }
    const decode = isUnreserved(code) && !(isHexDigit(code) && followsStrayPercent(text, at));
    if (decode || isLowerCase(text.charCodeAt(at + 1)) || isLowerCase(text.charCodeAt(at + 2))) {
      out += text.slice(copied, at);
      out += decode ? String.fromCharCode(code) : text.slice(at, at + 3).toUpperCase();
      copied = at + 3;
    }
    at = text.indexOf('%', at + 3);
  }
  return copied === 0 ? text : out + text.slice(copied);
}

/** The byte that the escape at `at` stands for, or -1 where there is none. */
function escapedByte(text: string, at: number): number {
  const high = hexValue(text.charCodeAt(at + 1));
  const low = hexValue(text.charCodeAt(at + 2));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/** Whether a percent sign that begins no escape stands so near before `at` that a hexadecimal digit would complete it. */
function followsStrayPercent(text: string, at: number): boolean {
  if (text.charCodeAt(at - 1) === PERCENT) return true;
  return text.charCodeAt(at - 2) === PERCENT && isHexDigit(text.charCodeAt(at - 1));
}

function hexValue(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function isHexDigit(code: number): boolean {
  return hexValue(code) >= 0;
}

function isLowerCase(code: number): boolean {
  return code >= 0x61 && code <= 0x7a;
}

/** Letters, digits and `-._~` (RFC 3986, 2.3). */
function isUnreserved(code: number): boolean {
  if (isLowerCase(code | 0x20)) return code >= 0x41;
  return (code >= 0x30 && code <= 0x39) || code === 0x2d || code === DOT || code === 0x5f || code === 0x7e;
}

/** Leaves out `;jsessionid=...` up to the next `;` or `/`, in every segment of the path. */
function stripSessionParameter(href: string, slash: number): string {
  const query = href.indexOf('?', slash);
  const path = query < 0 ? href.slice(slash) : href.slice(slash, query);
  if (!path.toLowerCase().includes(SESSION_PARAMETER)) return href;
  const segments = path.split('/').map(withoutSession);
  return href.slice(0, slash) + segments.join('/') + (query < 0 ? '' : href.slice(query));
}

function withoutSession(segment: string): string {
  const kept = segment
    .split(';')
    .filter((part, index) => index === 0 || !`;${part}`.toLowerCase().startsWith(SESSION_PARAMETER))
    .join(';');
  // A dot segment would be resolved at the next parse, and name another resource.
  return kept === '.' || kept === '..' ? segment : kept;
}

function rewriteQuery(href: string, options: CanonicalizeOptions): string {
  const mark = href.indexOf('?');
  if (mark < 0) return href;
  let parts = href.slice(mark + 1).split('&');
  const count = parts.length;
  if (options.stripTracking === true) parts = parts.filter((part) => !isTracking(nameOf(part)));
  if (options.sortQuery === true) parts.sort(byName);
  const query = parts.join('&');
  return query === '' && parts.length < count ? href.slice(0, mark) : `${href.slice(0, mark)}?${query}`;
}

function nameOf(part: string): string {
  const equals = part.indexOf('=');
  return equals < 0 ? part : part.slice(0, equals);
}

function isTracking(name: string): boolean {
  if (name.length <= LONGEST_TRACKING_NAME && TRACKING_NAMES.has(name.toLowerCase())) return true;
  return name.slice(0, 4).toLowerCase() === 'utm_';
}

function byName(left: string, right: string): number {
  const a = nameOf(left);
  const b = nameOf(right);
  return a < b ? -1 : a > b ? 1 : 0;
}
