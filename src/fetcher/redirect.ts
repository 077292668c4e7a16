import { CrawlError } from '../errors.ts';
import type { Headers, RedirectHop } from '../types.ts';
import { parseUrl } from '../url.ts';

const REDIRECTS: ReadonlySet<number> = new Set([300, 301, 302, 303, 307, 308]);

/** Where an answer sends its client. */
export type Redirect =
  | { readonly kind: 'none' }
  | { readonly kind: 'to'; readonly url: URL }
  | { readonly kind: 'unusable'; readonly why: string };

/**
 * Reads `Location` of a redirect (RFC 9110, 10.2.2): relative to the URL that answered, its bytes above 0x7f taken as
 * they are, the fragment inherited where it has none.
 */
export function redirectOf(status: number, headers: Headers, from: URL, fragment: string): Redirect {
  if (!REDIRECTS.has(status)) return { kind: 'none' };
  const value = headers.location;
  const lines = new Set((typeof value === 'string' ? [value] : (value ?? [])).map((line) => line.trim()));
  lines.delete('');
  const [location] = lines;
  if (location === undefined)
    return status === 300 ? { kind: 'none' } : { kind: 'unusable', why: 'it has no Location' };
  if (lines.size > 1) return { kind: 'unusable', why: 'it has several Locations that differ' };
  const reference = escapeBytes(location);
  const url = parseUrl(reference, from);
  if (url === undefined) {
    return { kind: 'unusable', why: `its Location is no URL: ${JSON.stringify(location.slice(0, 200))}` };
  }
  if (url.hash === '' && fragment !== '') url.hash = fragment;
  return { kind: 'to', url };
}

/**
 * Node reads headers as Latin-1. Each byte above 0x7f becomes its escape, which keeps both UTF-8 and older encodings
 * as the server meant them.
 */
function escapeBytes(location: string): string {
  let escaped = '';
  for (let at = 0; at < location.length; at++) {
    const code = location.charCodeAt(at);
    escaped += code > 0x7f ? `%${code.toString(16).toUpperCase().padStart(2, '0')}` : location[at];
  }
  return escaped;
}

/**
 * Refuses a hop that comes too late in the chain, or back to where the chain has been: with the same request the answer
 * would be the same. With cookies it may be another request.
 * @throws {@link CrawlError} `CRAWL_TOO_MANY_REDIRECTS`
 */
export function checkChain(
  hops: readonly RedirectHop[],
  next: string,
  limits: { readonly maxRedirects: number; readonly mayRepeat: boolean },
  url: string,
): void {
  const { maxRedirects, mayRepeat } = limits;
  if (hops.length > maxRedirects) {
    throw new CrawlError('CRAWL_TOO_MANY_REDIRECTS', `Redirected more than ${maxRedirects} times: ${url}`, { url });
  }
  if (!mayRepeat && hops.some((hop) => hop.url === next)) {
    throw new CrawlError('CRAWL_TOO_MANY_REDIRECTS', `Redirected in a circle, back to ${next}: ${url}`, { url });
  }
}

/** Takes out of a URL what is not sent: the fragment and credentials. */
export function strip(url: URL): void {
  // Setting what is empty already would cost as much as parsing it.
  if (url.hash !== '' || url.href.endsWith('#')) url.hash = '';
  if (url.username !== '') url.username = '';
  if (url.password !== '') url.password = '';
}
