import { fileURLToPath } from 'node:url';
import type { NetworkPolicy } from '../address-guard.ts';
import type { DnsLookup } from '../dns.ts';
import { CrawlError } from '../errors.ts';
import type { FetcherOptions } from '../fetcher/index.ts';
import { fetcherSettings } from '../fetcher/options.ts';
import { LinkExtractor, type LinkProfile } from '../link-extractor/index.ts';
import { boolean, type Complete, integer, mustBeStore, number, oneOf, onlyKnown, wrongOption } from '../options.ts';
import { type PageWorkerSettings, pageWorkerSettings } from '../page-worker/index.ts';
import { LONGEST_DELAY_MS, type PolitenessOptions } from '../politeness.ts';
import type { Clock, CrawlStore, Sink } from '../ports.ts';
import type { CanonicalOptions } from '../request.ts';
import { steady } from '../steady-clock.ts';
import { UrlFilter } from '../url-filter.ts';
import { checkUserAgent } from '../user-agent.ts';
import {
  type Accept,
  acceptPages,
  CRAWLER_DEFAULTS,
  type CrawlerOptions,
  type RobotsChoices,
  type SitemapMode,
} from './options.ts';

const KNOWN = [
  ...Object.keys(CRAWLER_DEFAULTS),
  ...['userAgent', 'filter', 'store', 'backoffMs', 'dnsLookup', 'headers', 'from', 'acceptLanguage', 'accept', 'sinks'],
  ...['canonical', 'clock', 'proxy', 'tls', 'pageWorker'],
];

/** The options of one crawler, checked and complete; later changes to the user's object don't reach it. */
export interface Settings {
  readonly userAgent: string;
  readonly scope: 'host' | 'domain' | 'any' | UrlFilter;
  readonly filter: UrlFilter | undefined;
  readonly store: CrawlStore | string | undefined;
  readonly maxDepth: number;
  readonly maxPages: number;
  readonly maxPagesPerHost: number;
  readonly maxDurationMs: number;
  readonly concurrency: number;
  readonly politeness: PolitenessOptions;
  readonly respectRobots: boolean;
  readonly robots: Complete<RobotsChoices>;
  readonly retries: number;
  readonly maxRedirects: number;
  readonly keepsCookies: boolean;
  readonly network: NetworkPolicy;
  readonly dnsLookup: DnsLookup | undefined;
  readonly fetcher: FetcherOptions;
  readonly extractor: LinkExtractor;
  readonly accept: Accept;
  readonly sitemaps: SitemapMode;
  readonly sinks: readonly Sink[];
  readonly pageWorker: PageWorkerSettings | undefined;
  readonly canonical: CanonicalOptions | undefined;
  readonly statsEveryPages: number;
  readonly statsEveryMs: number;
  readonly maxUrlLength: number;
  readonly maxCrawlDelayMs: number;
  readonly handlerTimeoutMs: number;
  readonly clock: Clock;
}

const PROFILES: readonly LinkProfile[] = ['navigation', 'resources', 'exhaustive'];

/** First back-off as a multiple of the usual delay: 30 s at 1 s (standard practice), less for who may go faster. */
const BACKOFF_DELAYS = 30;
/** The longest back-off, and the time a failing host is parked, as a multiple of the first back-off. */
const LONGEST_BACKOFFS = 120;

/**
 * Checks options and fills in defaults.
 * @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN`, `CRAWL_OPTION_INVALID`, `CRAWL_CONTACT_MISSING`.
 */
export function readOptions(options: CrawlerOptions): Settings {
  onlyKnown('Crawler', options, KNOWN);
  const d = CRAWLER_DEFAULTS;
  const userAgent = checkUserAgent(options.userAgent);
  const minDelayMs = number('minDelayMs', options.minDelayMs, d.minDelayMs, 0, LONGEST_DELAY_MS);
  const usualBackoffMs = Math.min(Math.max(1000, BACKOFF_DELAYS * minDelayMs), LONGEST_DELAY_MS);
  const backoffMs = number('backoffMs', options.backoffMs, usualBackoffMs, 1, LONGEST_DELAY_MS);
  const longestBackoffMs = Math.min(backoffMs * LONGEST_BACKOFFS, LONGEST_DELAY_MS);
  const maxRedirects = integer('maxRedirects', options.maxRedirects, d.maxRedirects);
  const maxCrawlDelayMs = number('maxCrawlDelayMs', options.maxCrawlDelayMs, d.maxCrawlDelayMs);
  return {
    userAgent,
    scope: readScope(options.scope),
    filter: readFilter(options.filter),
    store: readStore(options.store),
    maxDepth: integer('maxDepth', options.maxDepth, d.maxDepth),
    maxPages: integer('maxPages', options.maxPages, d.maxPages, 1),
    maxPagesPerHost: integer('maxPagesPerHost', options.maxPagesPerHost, d.maxPagesPerHost, 1),
    maxDurationMs: number('maxDurationMs', options.maxDurationMs, d.maxDurationMs, 1),
    concurrency: integer('concurrency', options.concurrency, d.concurrency, 1, 10_000),
    politeness: {
      minDelayMs,
      delayFactor: number('delayFactor', options.delayFactor, d.delayFactor, 0, 1_000_000),
      maxDelayMs: number('maxDelayMs', options.maxDelayMs, d.maxDelayMs),
      connectionsPerHost: integer('connectionsPerHost', options.connectionsPerHost, d.connectionsPerHost),
      ipDelayMs: number('ipDelayMs', options.ipDelayMs, d.ipDelayMs),
      maxCrawlDelayMs,
      backoffMs,
      maxBackoffMs: longestBackoffMs,
      parkMs: longestBackoffMs,
    },
    respectRobots: boolean('respectRobots', options.respectRobots, d.respectRobots),
    robots: readRobots(options.robots),
    retries: integer('retries', options.retries, d.retries),
    maxRedirects,
    keepsCookies: (options.cookies ?? d.cookies) !== false,
    network: options.network ?? d.network,
    dnsLookup: callable('dnsLookup', options.dnsLookup, undefined),
    fetcher: readFetcherOptions(options, userAgent, maxRedirects),
    extractor: readExtractor(options.extract),
    accept: callable('accept', options.accept, acceptPages),
    sitemaps: oneOf('sitemaps', options.sitemaps, d.sitemaps, ['off', 'robots', 'auto']),
    sinks: readSinks(options.sinks),
    pageWorker: pageWorkerSettings(options),
    canonical: options.canonical === undefined ? undefined : readCanonical(options.canonical),
    statsEveryPages: integer('statsEveryPages', options.statsEveryPages, d.statsEveryPages, 1),
    statsEveryMs: number('statsEveryMs', options.statsEveryMs, d.statsEveryMs, 1),
    maxUrlLength: integer('maxUrlLength', options.maxUrlLength, d.maxUrlLength, 16),
    maxCrawlDelayMs,
    handlerTimeoutMs: number('handlerTimeoutMs', options.handlerTimeoutMs, d.handlerTimeoutMs, 1),
    clock: readClock(options.clock),
  };
}

function readFetcherOptions(options: CrawlerOptions, userAgent: string, maxRedirects: number): FetcherOptions {
  const { timeouts, maxBodyBytes, headers, from, acceptLanguage, cookies, http2, proxy, tls, transport } = options;
  const given = { timeouts, maxBodyBytes, headers, from, acceptLanguage, cookies, http2, proxy, tls, transport };
  const present = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, copyOf(value)]])),
  );
  const fetcher: FetcherOptions = { userAgent, maxRedirects, ...present };
  // The fetcher is made when a crawl begins; what is wrong with its options is to be known now.
  fetcherSettings({ ...fetcher, network: options.network });
  return fetcher;
}

/** Records and lists are copied, so that what becomes of the user's object is no matter; anything else is itself. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  const isRecord = isObject(value) && Object.getPrototypeOf(value) === Object.prototype;
  return isRecord ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, copyOf(part)])) : value;
}

function readClock(clock: unknown): Clock {
  if (clock === undefined) return steady();
  if (typeof (clock as Partial<Clock> | null)?.now === 'function') return steady(clock as Clock);
  throw wrongOption('clock', 'an object with now()', clock);
}

function readScope(scope: CrawlerOptions['scope']): Settings['scope'] {
  if (scope instanceof UrlFilter) return checking('scope', scope);
  if (scope !== undefined && typeof scope !== 'string') {
    throw wrongOption('scope', SCOPES, scope, filterHint(scope));
  }
  if (scope === undefined) return CRAWLER_DEFAULTS.scope;
  if (scope === 'host' || scope === 'domain' || scope === 'any') return scope;
  throw wrongOption('scope', SCOPES, scope);
}

const SCOPES = "'host', 'domain', 'any' or a UrlFilter";

function readFilter(filter: unknown): UrlFilter | undefined {
  if (filter === undefined) return undefined;
  if (filter instanceof UrlFilter) return checking('filter', filter);
  throw wrongOption('filter', 'a UrlFilter', filter, filterHint(filter));
}

/** A subclass in JavaScript may have forgotten it. */
function checking(name: string, filter: UrlFilter): UrlFilter {
  if (typeof filter.check === 'function') return filter;
  const message = `Option "${name}" takes a UrlFilter; ${filter.constructor.name || 'this one'} has no method check(url, context).`;
  throw new CrawlError('CRAWL_OPTION_INVALID', message);
}

function filterHint(given: unknown): string {
  if (typeof given === 'function') return ' UrlFilter.from(check) makes one of a function.';
  return given instanceof RegExp ? ' UrlFilter.matching({ allow: [pattern] }) makes one of a pattern.' : '';
}

function readStore(store: unknown): CrawlStore | string | undefined {
  if (store === undefined) return undefined;
  if (typeof store === 'string' && store !== '') return store;
  if (store instanceof URL) return pathOf(store);
  mustBeStore('Option "store" takes a CrawlStore or a directory', store);
  return store as CrawlStore;
}

function pathOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw wrongOption('store', 'a CrawlStore or a directory, which as a URL begins with file:///', url.href);
  }
}

function readExtractor(extract: CrawlerOptions['extract']): LinkExtractor {
  if (extract instanceof LinkExtractor) return extract;
  const profile = extract ?? CRAWLER_DEFAULTS.extract;
  if (PROFILES.includes(profile)) return new LinkExtractor({ profile });
  throw wrongOption('extract', `${PROFILES.map((name) => `'${name}'`).join(', ')} or a LinkExtractor`, extract);
}

function readRobots(robots: RobotsChoices | undefined): Complete<RobotsChoices> {
  const d = CRAWLER_DEFAULTS.robots;
  if (robots === undefined) return d;
  onlyKnown('Crawler.robots', robots, Object.keys(d));
  const either = (name: keyof typeof d): 'allow' | 'disallow' =>
    oneOf<'allow' | 'disallow'>(`robots.${name}`, robots[name], d[name], ['allow', 'disallow']);
  return {
    tooManyRedirects: either('tooManyRedirects'),
    robots401403: either('robots401403'),
    after30Days: either('after30Days'),
  };
}

function readSinks(sinks: unknown): readonly Sink[] {
  if (sinks === undefined) return [];
  const list = Array.isArray(sinks) ? sinks : [sinks];
  for (const sink of list) {
    if (!isObject(sink) || typeof sink.write !== 'function') throw wrongOption('sinks', 'an array of Sinks', sink);
  }
  return [...list] as Sink[];
}

function readCanonical(canonical: CanonicalOptions): CanonicalOptions {
  onlyKnown('Crawler.canonical', canonical, ['stripTracking', 'sortQuery']);
  return {
    stripTracking: boolean('canonical.stripTracking', canonical.stripTracking, false),
    sortQuery: boolean('canonical.sortQuery', canonical.sortQuery, false),
  };
}

function callable<T, F extends T | undefined>(name: string, value: T | undefined, fallback: F): T | F {
  if (value === undefined) return fallback;
  if (typeof value === 'function') return value;
  throw wrongOption(name, 'a function', value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object';
}
