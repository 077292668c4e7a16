import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { CrawlError } from '../errors.ts';
import { show } from '../options.ts';
import { parseUrl } from '../url.ts';
import type { ReadableUrl } from './url-parts.ts';

/** Seeds as the host filters take them: one URL, or several. */
export type FilterSeeds = string | URL | Iterable<string | URL>;

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'ws:': 80,
  'wss:': 443,
  'ftp:': 21,
};

/** The question of a filter of the library's own: `undefined` accepts, a reason refuses. */
export type PartsFilter = (url: ReadableUrl) => string | undefined;

/** Accepts the hosts, ports included, that the seeds name. */
export function sameHost(seeds: FilterSeeds): PartsFilter {
  const hosts = new Set(parseSeeds('sameHost', seeds).map(hostAndPort));
  return (url) => (hosts.has(hostAndPort(url)) ? undefined : 'off-host');
}

/** Accepts the registrable domains that the seeds belong to, on any port. */
export function sameDomain(seeds: FilterSeeds): PartsFilter {
  const domains = new Set(parseSeeds('sameDomain', seeds).map(domainOf));
  return (url) => (domains.has(domainOf(url)) ? undefined : 'off-domain');
}

/** Accepts hosts that are one of the names, or below one of them. */
export function domainSuffix(suffixes: readonly string[]): PartsFilter {
  const names = new Set(atLeastOne('domainSuffix', suffixes).map(parseSuffix));
  return (url) => (isUnder(hostname(url), names) ? undefined : 'off-domain');
}

/** Accepts URLs of these schemes. */
export function schemes(wanted: readonly string[]): PartsFilter {
  const protocols = new Set(
    atLeastOne('schemes', wanted).map((name) => {
      if (typeof name === 'string' && /^[a-z][a-z0-9+.-]*:?$/i.test(name)) {
        return name.endsWith(':') ? name.toLowerCase() : `${name.toLowerCase()}:`;
      }
      throw invalid('schemes', `schemes such as 'https', not ${show(name)}`);
    }),
  );
  return (url) => (protocols.has(url.protocol) ? undefined : 'scheme');
}

/** Accepts URLs whose port, written or implied by the scheme, is one of these. */
export function ports(wanted: readonly number[]): PartsFilter {
  const numbers = new Set(atLeastOne('ports', wanted));
  for (const port of numbers) {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw invalid('ports', `whole numbers from 1 to 65535, not ${show(port)}`);
    }
  }
  return (url) => {
    const port = url.port === '' ? DEFAULT_PORTS[url.protocol] : Number(url.port);
    return port !== undefined && numbers.has(port) ? undefined : 'port';
  };
}

/** The list as given; an empty one would refuse every URL, which nobody writes on purpose. */
export function atLeastOne<T>(filter: string, values: readonly T[]): readonly T[] {
  if (values.length > 0) return values;
  throw invalid(filter, 'at least one value');
}

export function invalid(filter: string, takes: string): CrawlError {
  return new CrawlError('CRAWL_OPTION_INVALID', `UrlFilter.${filter} takes ${takes}.`);
}

let registrable: ((host: string) => string) | undefined;

/** The registrable domain as `sameDomain` compares it. */
export function domainOf(url: ReadableUrl): string {
  registrable ??= registrableDomain();
  return registrable(hostname(url));
}

function hostname(url: ReadableUrl): string {
  return url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname;
}

/** The host as `sameHost` compares it. */
export function hostAndPort(url: ReadableUrl): string {
  return url.port === '' ? hostname(url) : `${hostname(url)}:${url.port}`;
}

function parseSeeds(filter: string, seeds: FilterSeeds): URL[] {
  const list = typeof seeds === 'string' || seeds instanceof URL ? [seeds] : seeds;
  if (typeof (list as Partial<Iterable<unknown>> | null | undefined)?.[Symbol.iterator] !== 'function') {
    throw invalid(filter, `a URL or several, not ${show(seeds)}`);
  }
  return Array.from(atLeastOne(filter, [...list]), (seed) => {
    const url = parseUrl(String(seed));
    if (url !== undefined && url.hostname !== '') return url;
    throw new CrawlError(
      'CRAWL_URL_INVALID',
      `UrlFilter.${filter} takes absolute URLs with a host, not ${show(seed)}.`,
    );
  });
}

/** A suffix in the form that `URL.hostname` has: lower case, punycode. */
function parseSuffix(suffix: string): string {
  const bare = typeof suffix === 'string' ? suffix.replace(/^(?:\*?\.)/, '') : '';
  const url =
    bare === '' || /[/?#@\\:\s]/.test(bare.startsWith('[') ? '' : bare) ? undefined : parseUrl(`http://${bare}/`);
  if (url !== undefined && url.hostname !== '') return hostname(url);
  throw invalid('domainSuffix', `host names such as 'example.org', not ${show(suffix)}`);
}

function isUnder(host: string, names: ReadonlySet<string>): boolean {
  if (names.has(host)) return true;
  // The digits of an address are no hierarchy of names: 127.0.0.1 is not below 0.1.
  if (isAddress(host)) return false;
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    if (names.has(host.slice(dot + 1))) return true;
  }
  return false;
}

function isAddress(host: string): boolean {
  return host.startsWith('[') || isIP(host) !== 0;
}

/**
 * Host to registrable domain by the Public Suffix List, its private part included: two users of `github.io` are two
 * domains. An address, a name without a dot and a public suffix itself stand for themselves.
 */
function registrableDomain(): (host: string) => string {
  // The list takes some 35 ms to load, a third of what all of got takes; most crawls stay on one host and never need it.
  const { getDomain } = createRequire(import.meta.url)('tldts') as typeof import('tldts');
  const options = { allowPrivateDomains: true, extractHostname: false, validateHostname: false };
  return (host) => (isAddress(host) ? host : (getDomain(host, options) ?? host));
}
