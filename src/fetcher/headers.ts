import zlib from 'node:zlib';
import { CrawlError, toCrawlError } from '../errors.ts';
import { mustTake } from '../options.ts';
import { ignore, isThenable } from '../promises.ts';
import type { Headers } from '../types.ts';
import { parseUrl } from '../url.ts';
import { checkUserAgent } from '../user-agent.ts';

/** What a server gave to ask by whether something has changed (RFC 9110, 8.8), as it was received. */
export interface Validators {
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
}

/** Headers of a user's: the same for all, or by URL. */
export type HeadersOption =
  | Readonly<Record<string, string>>
  | ((url: URL) => Readonly<Record<string, string>> | undefined);

const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/** Only what can be decoded here: an encoding that is listed will be sent. */
const ACCEPT_ENCODING = `gzip, deflate, br${'createZstdDecompress' in zlib ? ', zstd' : ''}`;

/** Say who asks; they go to no other origin than they were meant for. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization']);

/** Framing and routing are the transport's own. */
const FORBIDDEN: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding', 'upgrade', 'expect']);

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The parts of a fetcher's options that become headers. */
export interface HeaderSettings {
  readonly userAgent: string;
  readonly from: string | undefined;
  readonly acceptLanguage: string | undefined;
  readonly headers: HeadersOption | undefined;
}

/** What makes one request differ from the next. */
export interface HeaderContext {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly referer: string | undefined;
  /** Whether this request goes to the origin that the fetch began with. */
  readonly sameOrigin: boolean;
  /** Whether the user named this host himself, too. */
  readonly trusted: boolean;
  readonly validators: Validators | undefined;
}

/** The headers of one request, names in lower case. */
export function requestHeaders(settings: HeaderSettings, context: HeaderContext): Record<string, string> {
  const headers: Record<string, string> = {
    'user-agent': settings.userAgent,
    accept: ACCEPT,
    'accept-encoding': ACCEPT_ENCODING,
  };
  if (settings.from !== undefined) headers.from = settings.from;
  if (settings.acceptLanguage !== undefined) headers['accept-language'] = settings.acceptLanguage;
  const referer = refererFor(context.referer, context.url);
  if (referer !== undefined) headers.referer = referer;
  addValidators(headers, context.validators);
  const { headers: own } = settings;
  if (typeof own === 'function') add(headers, ask(own, context.url), true);
  else add(headers, own, context.trusted);
  add(headers, context.headers, context.sameOrigin);
  return headers;
}

/** RFC 9110, 13.1: byte for byte as they were received. */
function addValidators(headers: Record<string, string>, validators: Validators | undefined): void {
  if (validators === undefined) return;
  const { etag, lastModified } = validators;
  if (etag !== undefined && etag !== '') headers['if-none-match'] = etag;
  if (lastModified !== undefined && lastModified !== '') headers['if-modified-since'] = lastModified;
}

/** What an answer has to be asked again by, as {@link Validators}; of several lines of one name the first. */
export function validatorsOf(headers: Headers): Validators | undefined {
  mustTake('validatorsOf', 'the headers of an answer', headers !== null && typeof headers === 'object', headers);
  const etag = firstOf(headers.etag);
  const lastModified = firstOf(headers['last-modified']);
  if (etag === undefined && lastModified === undefined) return undefined;
  return { ...(etag === undefined ? {} : { etag }), ...(lastModified === undefined ? {} : { lastModified }) };
}

function firstOf(value: string | string[] | undefined): string | undefined {
  const first = typeof value === 'string' ? value : value?.[0];
  return first === undefined || first === '' || !isFieldValue(first) ? undefined : first;
}

function ask(own: Extract<HeadersOption, (url: URL) => unknown>, url: URL): ReturnType<typeof own> {
  try {
    const given: unknown = own(new URL(url));
    if (!isThenable(given)) return given as ReturnType<typeof own>;
    ignore(given);
    throw new TypeError('it must answer at once, not with a promise');
  } catch (error) {
    throw toCrawlError(error, 'CRAWL_HOOK_FAILED', `"headers" failed for ${url.href}`, { url: url.href });
  }
}

function add(
  headers: Record<string, string>,
  more: Readonly<Record<string, string>> | undefined,
  credentials: boolean,
): void {
  if (more === undefined) return;
  checkHeaders(more);
  for (const name of Object.keys(more)) {
    const lower = name.toLowerCase();
    if (credentials || !CREDENTIALS.has(lower)) headers[lower] = more[name] as string;
  }
}

/** @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where something can't be sent, or is the transport's to send. */
export function checkHeaders(headers: unknown): void {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw invalid('takes an object of names and values');
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!TOKEN.test(name)) throw invalid(`has a name that is none: ${JSON.stringify(name)}`);
    if (FORBIDDEN.has(name.toLowerCase())) throw invalid(`can't set "${name}", which the connection decides`);
    if (typeof value !== 'string' || !isFieldValue(value)) {
      throw invalid(`needs a string without control characters for "${name}"`);
    }
    if (name.toLowerCase() === 'user-agent') checkOwnUserAgent(value);
  }
}

/** Another name than `userAgent` is the user's to send, but not one that nobody can be reached by. */
function checkOwnUserAgent(value: string): void {
  try {
    checkUserAgent(value);
  } catch (thrown) {
    const error = toCrawlError(thrown, 'CRAWL_OPTION_INVALID', 'It is no user agent');
    throw new CrawlError(error.code, `The "User-Agent" in option "headers" can't be sent. ${error.message}`, {
      cause: thrown,
    });
  }
}

function invalid(why: string): CrawlError {
  return new CrawlError('CRAWL_OPTION_INVALID', `Option "headers" ${why}.`);
}

/** Tab, printable ASCII and Latin-1: what Node lets pass. */
export function isFieldValue(value: string): boolean {
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if ((code < 0x20 && code !== 0x09) || code === 0x7f || code > 0xff) return false;
  }
  return true;
}

/** RFC 9110, 10.1.3: without fragment and user information, and never from a secure page to an insecure one. */
function refererFor(referer: string | undefined, target: URL): string | undefined {
  const from = referer === undefined ? undefined : parseUrl(referer);
  if (from === undefined) return undefined;
  if (from.protocol !== 'https:' && from.protocol !== 'http:') return undefined;
  if (from.protocol === 'https:' && target.protocol === 'http:') return undefined;
  from.hash = '';
  from.username = '';
  from.password = '';
  return from.href;
}

/** Names as they came, and in lower case. */
const lowerCase = new Map<string, string>();
const MOST_NAMES = 500;
const LONGEST_NAME = 60;

/** Looks up what nearly every answer has, since making the text anew costs more, and more again when it is a key. */
function toLowerCase(name: string): string {
  const known = lowerCase.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  if (lowerCase.size < MOST_NAMES && name.length <= LONGEST_NAME) lowerCase.set(name, lower);
  return lower;
}

/** Header lines as Node has them (name, value, name, value) by name in lower case; lines of one name are not joined. */
export function toHeaders(rawHeaders: readonly string[]): Headers {
  // Without a prototype, since a server may send a header named `__proto__` or `constructor`.
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = toLowerCase(rawHeaders[at] as string);
    const value = rawHeaders[at + 1] as string;
    const known = headers[name];
    if (known === undefined) headers[name] = value;
    else if (typeof known === 'string') headers[name] = [known, value];
    else known.push(value);
  }
  return headers;
}
