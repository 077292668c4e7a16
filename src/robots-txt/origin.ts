import { CrawlError } from '../errors.ts';
import { show } from '../options.ts';
import { parseUrl } from '../url.ts';

/**
 * The origin whose robots.txt governs a URL: scheme, host and port, as `http://host` or `http://host:8080`.
 * Host in lower case and punycode, without trailing dot; default ports left out (RFC 9309, section 2.3).
 * @throws {@link CrawlError} `CRAWL_URL_INVALID` where `url` is no absolute http or https URL.
 */
export function robotsOrigin(url: string | URL): string {
  if (typeof url !== 'string') return originOf(parseHttpUrl(url));
  return knownOrigin(url) ?? originOf(parseHttpUrl(url));
}

/** Origins by the beginning of a URL. A crawl asks about the same ones with every page. */
const origins = new Map<string, string>();
const MOST_ORIGINS = 4096;
const LONGEST_BEGINNING = 300;

/**
 * The origin of a URL by what stands before the slash that ends its authority, which alone decides it; `undefined` where
 * only the whole URL can tell.
 */
function knownOrigin(url: string): string | undefined {
  const slash = url.indexOf('/', 'https://'.length);
  if (slash < 0 || slash > LONGEST_BEGINNING) return undefined;
  const beginning = url.slice(0, slash);
  const known = origins.get(beginning);
  if (known !== undefined) return known;
  const parsed = parseUrl(`${beginning}/`);
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') return undefined;
  if (origins.size >= MOST_ORIGINS) origins.clear();
  const origin = originOf(parsed);
  origins.set(beginning, origin);
  return origin;
}

/** What has a meaning of its own nowhere behind an authority, but for dot segments. */
const PLAIN_REST = /^[A-Za-z0-9\-._~/?&=:,;+!()@]*$/;

/** Path and query of a URL of this origin that the URL parser would leave as they are; `undefined` for all others. */
export function plainPathOf(url: string, origin: string): string | undefined {
  // Not by its first slash: a backslash, `?` or `#` may end the authority before that.
  if (!url.startsWith(origin) || url[origin.length] !== '/') return undefined;
  const path = url.slice(origin.length);
  return PLAIN_REST.test(path) && !path.includes('/.') ? path : undefined;
}

/** @throws {@link CrawlError} `CRAWL_URL_INVALID` */
export function parseHttpUrl(url: string | URL): URL {
  const parsed = typeof url === 'string' ? parseUrl(url) : url instanceof URL ? url : undefined;
  if (parsed !== undefined && (parsed.protocol === 'http:' || parsed.protocol === 'https:')) return parsed;
  throw new CrawlError('CRAWL_URL_INVALID', `robots.txt needs an absolute http or https URL, not ${show(url)}.`, {
    url: typeof url === 'string' ? url : undefined,
  });
}

export function originOf(url: URL): string {
  const host = url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname;
  return url.port === '' ? `${url.protocol}//${host}` : `${url.protocol}//${host}:${url.port}`;
}
