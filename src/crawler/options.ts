import type { NetworkPolicy } from '../address-guard.ts';
import type { DnsLookup } from '../dns.ts';
import { CrawlError, describeThrown } from '../errors.ts';
import {
  FETCHER_DEFAULTS,
  type FetcherOptions,
  type ProxyOption,
  type Timeouts,
  type TlsSettings,
  type TransportOption,
} from '../fetcher/index.ts';
import { fetcherSettings } from '../fetcher/options.ts';
import { LinkExtractor, type LinkProfile } from '../link-extractor/index.ts';
import { boolean, type Complete, integer, number, oneOf, onlyKnown, show } from '../options.ts';
import { POLITENESS_DEFAULTS, type PolitenessOptions } from '../politeness.ts';
import { type Clock, type CookieStore, type CrawlStore, type Sink, systemClock } from '../ports.ts';
import type { CanonicalOptions } from '../request.ts';
import type { Acceptance, ResponseHead } from '../types.ts';
import { UrlFilter } from '../url-filter.ts';
import { checkUserAgent } from '../user-agent.ts';

/** Which sitemaps a crawl is seeded from: none, those that robots.txt names, or also `/sitemap.xml` where it names none. */
export type SitemapMode = 'off' | 'robots' | 'auto';

/** Which responses are wanted, decided on their heads: keep the body, hand it on as a stream, or don't download it. */
export type Accept = (head: ResponseHead) => Acceptance;

/** Options of a {@link Crawler}. Only `userAgent` must be given. */
export interface CrawlerOptions {
  /**
   * Product token and a contact: `name/1.0 (+mailto:you@site)` or `name/1.0 (+https://site/bot)`. Sent with every
   * request; the token selects the group of robots.txt. There is no default: who is asked must be able to answer.
   */
  readonly userAgent: string;
  /** Where links may lead: the hosts of the seeds, their registrable domains, anywhere, or a filter. @defaultValue `'host'` */
  readonly scope?: 'host' | 'domain' | 'any' | UrlFilter | undefined;
  /** A further filter, asked after the scope. @defaultValue none */
  readonly filter?: UrlFilter | undefined;
  /** Where the frontier lives: a {@link CrawlStore}, or a directory for an `LmdbStore`. @defaultValue in memory */
  readonly store?: CrawlStore | string | undefined;
  /** Links from a seed. @defaultValue 20 */
  readonly maxDepth?: number | undefined;
  /** Pages delivered, over all runs of one store; robots files, sitemaps, redirects and failures don't count. @defaultValue `Infinity` */
  readonly maxPages?: number | undefined;
  /** The same for each host. @defaultValue `Infinity` */
  readonly maxPagesPerHost?: number | undefined;
  /** Time spent crawling, over all runs of one store, in milliseconds. @defaultValue `Infinity` */
  readonly maxDurationMs?: number | undefined;
  /** Requests in flight, all hosts together. @defaultValue 32 */
  readonly concurrency?: number | undefined;
  /** Least gap between the end of a response and the next request to its host, in milliseconds. @defaultValue 1000 */
  readonly minDelayMs?: number | undefined;
  /** The gap is also this many times as long as the last response took. @defaultValue 5 */
  readonly delayFactor?: number | undefined;
  /** Most that `delayFactor` can make of the gap, in milliseconds. @defaultValue 60 000 */
  readonly maxDelayMs?: number | undefined;
  /** Requests in flight to one host; 0 for no limit of its own. @defaultValue 1 */
  readonly connectionsPerHost?: number | undefined;
  /** Gap between requests to one IP address under several names, in milliseconds; never more than `minDelayMs`. @defaultValue 250 */
  readonly ipDelayMs?: number | undefined;
  /** Longest Crawl-delay that is obeyed as written; longer ones are cut to it. Milliseconds. @defaultValue 300 000 */
  readonly maxCrawlDelayMs?: number | undefined;
  /** First pause of a host that answers 429 or 503 or times out, in milliseconds; it doubles up to 120 times itself. @defaultValue 30 × `minDelayMs`, at least 1000 */
  readonly backoffMs?: number | undefined;
  /** Obey robots.txt (RFC 9309), robots meta tags, X-Robots-Tag and rel=nofollow. @defaultValue `true` */
  readonly respectRobots?: boolean | undefined;
  /** Limits of one request in milliseconds. @defaultValue `{ connect: 10 000, headers: 30 000, page: 120 000 }` */
  readonly timeouts?: Partial<Timeouts> | undefined;
  /** Where bodies are cut, in bytes after decompression. @defaultValue `{ html: 2 MiB, other: 15 MiB }` */
  readonly maxBodyBytes?: number | { readonly html?: number | undefined; readonly other?: number };
  /** Hops of one chain. @defaultValue 10 */
  readonly maxRedirects?: number | undefined;
  /**
   * Where the standard leaves a choice (RFC 9309): after more than five redirects of robots.txt, for a 401 or 403, and
   * for a file that has been unreachable for 30 days. @defaultValue `{ tooManyRedirects: 'allow', robots401403: 'allow', after30Days: 'disallow' }`
   */
  readonly robots?: RobotsChoices | undefined;
  /** Further tries of a URL that failed in a way that can pass. @defaultValue 2 */
  readonly retries?: number | undefined;
  /** What may be connected to. @defaultValue `'seeds'`: public addresses, and whatever the hosts named as seeds resolve to */
  readonly network?: NetworkPolicy | undefined;
  /** Resolves host names in place of the system. */
  readonly dnsLookup?: DnsLookup | undefined;
  /** Headers sent with every request, or a function of the URL. @defaultValue none */
  readonly headers?: Readonly<Record<string, string>> | ((url: URL) => Readonly<Record<string, string>>) | undefined;
  /** Keep cookies, in a jar of the run's own or one of `tough-cookie`'s shape. @defaultValue `false` */
  readonly cookies?: boolean | CookieStore | undefined;
  /**
   * The proxy to ask through: a URL of http, https or one of the socks schemes, or a function of the URL that gives one or
   * `undefined`. What it is asked for is held to `network` all the same. @defaultValue none
   */
  readonly proxy?: ProxyOption | undefined;
  /** Speak HTTP/2 with servers that choose it. @defaultValue `false` */
  readonly http2?: boolean | undefined;
  /** Certificate authorities of your own, a client certificate (for the hosts of the seeds), and the like. @defaultValue Node's */
  readonly tls?: TlsSettings | undefined;
  /** Sends the requests: got, Node's own client (`'lean'`, which behaves the same and takes half the time), or a transport of your own. @defaultValue `'got'` */
  readonly transport?: TransportOption | undefined;
  /** Mailbox for the `From` header. @defaultValue none */
  readonly from?: string | undefined;
  /** `Accept-Language`. @defaultValue none */
  readonly acceptLanguage?: string | undefined;
  /** Which links are looked for. @defaultValue `'navigation'` */
  readonly extract?: LinkProfile | LinkExtractor | undefined;
  /** Which responses are wanted. @defaultValue HTML and XHTML, and what says no type */
  readonly accept?: Accept | undefined;
  /** Seed the crawl from sitemaps. @defaultValue `'off'` */
  readonly sitemaps?: SitemapMode | undefined;
  /** Where delivered pages are written; awaited like a `page` listener, closed by who made them. @defaultValue none */
  readonly sinks?: readonly Sink[] | undefined;
  /** What the canonical form leaves out. @defaultValue nothing */
  readonly canonical?: CanonicalOptions | undefined;
  /** Pages between two `stats` events. @defaultValue 1000 */
  readonly statsEveryPages?: number | undefined;
  /** Milliseconds between two `stats` events. @defaultValue 10 000 */
  readonly statsEveryMs?: number | undefined;
  /** Longest URL that is followed, in characters. @defaultValue 2048 */
  readonly maxUrlLength?: number | undefined;
  /** The frontier's clock. @defaultValue the system's */
  readonly clock?: Clock | undefined;
}

/** Choices that RFC 9309 leaves to the crawler. */
export type RobotsChoices = {
  readonly [name in 'tooManyRedirects' | 'robots401403' | 'after30Days']?: 'allow' | 'disallow';
};

/** Every default of {@link CrawlerOptions}, written once. */
export const CRAWLER_DEFAULTS: {
  readonly scope: 'host';
  readonly maxDepth: number;
  readonly maxPages: number;
  readonly maxPagesPerHost: number;
  readonly maxDurationMs: number;
  readonly concurrency: number;
  readonly minDelayMs: number;
  readonly delayFactor: number;
  readonly maxDelayMs: number;
  readonly connectionsPerHost: number;
  readonly ipDelayMs: number;
  readonly maxCrawlDelayMs: number;
  readonly respectRobots: boolean;
  readonly robots: Complete<RobotsChoices>;
  readonly timeouts: Timeouts;
  readonly maxBodyBytes: { readonly html: number; readonly other: number };
  readonly maxRedirects: number;
  readonly retries: number;
  readonly network: 'seeds';
  readonly cookies: boolean;
  readonly http2: boolean;
  readonly transport: 'got';
  readonly extract: 'navigation';
  readonly sitemaps: SitemapMode;
  readonly statsEveryPages: number;
  readonly statsEveryMs: number;
  readonly maxUrlLength: number;
} = {
  scope: 'host',
  maxDepth: 20,
  maxPages: Number.POSITIVE_INFINITY,
  maxPagesPerHost: Number.POSITIVE_INFINITY,
  maxDurationMs: Number.POSITIVE_INFINITY,
  concurrency: 32,
  minDelayMs: POLITENESS_DEFAULTS.minDelayMs,
  delayFactor: POLITENESS_DEFAULTS.delayFactor,
  maxDelayMs: POLITENESS_DEFAULTS.maxDelayMs,
  connectionsPerHost: POLITENESS_DEFAULTS.connectionsPerHost,
  ipDelayMs: POLITENESS_DEFAULTS.ipDelayMs,
  maxCrawlDelayMs: POLITENESS_DEFAULTS.maxCrawlDelayMs,
  respectRobots: true,
  // RFC 9309 section 2.3.1.2 lets a file that redirects for ever count as one that isn't there.
  robots: { tooManyRedirects: 'allow', robots401403: 'allow', after30Days: 'disallow' },
  timeouts: FETCHER_DEFAULTS.timeouts,
  maxBodyBytes: FETCHER_DEFAULTS.maxBodyBytes,
  maxRedirects: FETCHER_DEFAULTS.maxRedirects,
  retries: 2,
  network: 'seeds',
  cookies: FETCHER_DEFAULTS.cookies,
  http2: FETCHER_DEFAULTS.http2,
  transport: FETCHER_DEFAULTS.transport,
  extract: 'navigation',
  sitemaps: 'off',
  statsEveryPages: 1000,
  statsEveryMs: 10_000,
  maxUrlLength: 2048,
};

/** HTML and XHTML are pages, and so is what says no type: its body will tell. */
export const acceptPages: Accept = (head) =>
  head.contentType === 'text/html' || head.contentType === 'application/xhtml+xml' || head.contentType === ''
    ? 'buffer'
    : 'skip';

const KNOWN = [
  ...Object.keys(CRAWLER_DEFAULTS),
  ...['userAgent', 'filter', 'store', 'backoffMs', 'dnsLookup', 'headers', 'from', 'acceptLanguage', 'accept', 'sinks'],
  ...['canonical', 'clock', 'proxy', 'tls'],
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
  readonly canonical: CanonicalOptions | undefined;
  readonly statsEveryPages: number;
  readonly statsEveryMs: number;
  readonly maxUrlLength: number;
  readonly maxCrawlDelayMs: number;
  readonly clock: Clock;
}

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
  const minDelayMs = number('minDelayMs', options.minDelayMs, d.minDelayMs);
  const backoffMs = number('backoffMs', options.backoffMs, Math.max(1000, BACKOFF_DELAYS * minDelayMs), 1);
  const maxRedirects = integer('maxRedirects', options.maxRedirects, d.maxRedirects);
  const maxCrawlDelayMs = number('maxCrawlDelayMs', options.maxCrawlDelayMs, d.maxCrawlDelayMs);
  return {
    userAgent,
    scope: readScope(options.scope),
    filter: instance('filter', options.filter, UrlFilter, 'a UrlFilter'),
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
      maxBackoffMs: backoffMs * LONGEST_BACKOFFS,
      parkMs: backoffMs * LONGEST_BACKOFFS,
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
    canonical: options.canonical === undefined ? undefined : readCanonical(options.canonical),
    statsEveryPages: integer('statsEveryPages', options.statsEveryPages, d.statsEveryPages, 1),
    statsEveryMs: number('statsEveryMs', options.statsEveryMs, d.statsEveryMs, 1),
    maxUrlLength: integer('maxUrlLength', options.maxUrlLength, d.maxUrlLength, 16),
    maxCrawlDelayMs,
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

/** Records of values are copied, so that what becomes of the user's object is no matter; anything else is itself. */
function copyOf(value: unknown): unknown {
  const isRecord = isObject(value) && Object.getPrototypeOf(value) === Object.prototype;
  return isRecord ? { ...value } : value;
}

function readClock(clock: unknown): Clock {
  if (clock === undefined) return systemClock;
  if (typeof (clock as Partial<Clock> | null)?.now === 'function') return clock as Clock;
  throw invalid('clock', 'an object with now()', clock);
}

function readScope(scope: CrawlerOptions['scope']): Settings['scope'] {
  if (scope instanceof UrlFilter) return scope;
  if (scope !== undefined && typeof scope !== 'string') {
    throw invalid('scope', `'host', 'domain', 'any' or a UrlFilter`, scope);
  }
  return oneOf<'host' | 'domain' | 'any'>('scope', scope, CRAWLER_DEFAULTS.scope, ['host', 'domain', 'any']);
}

function readStore(store: unknown): CrawlStore | string | undefined {
  if (store === undefined) return undefined;
  if (typeof store === 'string' && store !== '') return store;
  if (isObject(store) && typeof store.offer === 'function' && typeof store.lease === 'function') {
    return store as unknown as CrawlStore;
  }
  throw invalid('store', 'a CrawlStore or a directory', store);
}

function readExtractor(extract: CrawlerOptions['extract']): LinkExtractor {
  if (extract instanceof LinkExtractor) return extract;
  if (extract !== undefined && typeof extract !== 'string')
    throw invalid('extract', 'a profile or a LinkExtractor', extract);
  try {
    return new LinkExtractor({ profile: extract ?? CRAWLER_DEFAULTS.extract });
  } catch (thrown) {
    // It calls the option by the name that it has there.
    throw new CrawlError('CRAWL_OPTION_INVALID', `Option "extract": ${describeThrown(thrown)}`, { cause: thrown });
  }
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
    if (!isObject(sink) || typeof sink.write !== 'function') throw invalid('sinks', 'an array of Sinks', sink);
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

function instance<T>(name: string, value: unknown, type: abstract new () => T, what: string): T | undefined {
  if (value === undefined || value instanceof type) return value;
  throw invalid(name, what, value);
}

function callable<T, F extends T | undefined>(name: string, value: T | undefined, fallback: F): T | F {
  if (value === undefined) return fallback;
  if (typeof value === 'function') return value;
  throw invalid(name, 'a function', value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object';
}

function invalid(name: string, takes: string, value: unknown): CrawlError {
  return new CrawlError('CRAWL_OPTION_INVALID', `Option "${name}" takes ${takes}, not ${show(value)}.`);
}
