import { CrawlError } from '../errors.ts';

/**
 * The origin whose robots.txt governs a URL: scheme, host and port, as `http://host` or `http://host:8080`.
 * Host in lower case and punycode, without trailing dot; default ports left out (RFC 9309, section 2.3).
 * @throws {@link CrawlError} `CRAWL_URL_INVALID` where `url` is no absolute http or https URL.
 */
export function robotsOrigin(url: string | URL): string {
  return originOf(parseHttpUrl(url));
}

/** @throws {@link CrawlError} `CRAWL_URL_INVALID` */
export function parseHttpUrl(url: string | URL): URL {
  const parsed = typeof url === 'string' ? tryParse(url) : url;
  if (parsed !== undefined && (parsed.protocol === 'http:' || parsed.protocol === 'https:')) return parsed;
  throw new CrawlError('CRAWL_URL_INVALID', `robots.txt needs an absolute http or https URL, not "${url}".`, {
    url: String(url),
  });
}

export function originOf(url: URL): string {
  const host = url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname;
  return url.port === '' ? `${url.protocol}//${host}` : `${url.protocol}//${host}:${url.port}`;
}

export function tryParse(url: string, base?: string): URL | undefined {
  try {
    return new URL(url, base);
  } catch {
    return undefined;
  }
}
