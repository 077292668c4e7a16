import type { NetworkPolicy } from '../address-guard.ts';
import type { DnsLookup } from '../dns.ts';
import {
  FETCHER_DEFAULTS,
  type ProxyOption,
  type Timeouts,
  type TlsSettings,
  type TransportOption,
} from '../fetcher/index.ts';
import type { LinkExtractor, LinkProfile } from '../link-extractor/index.ts';
import type { Complete } from '../options.ts';
import { PAGE_WORKER_DEFAULTS } from '../page-worker/index.ts';
import { POLITENESS_DEFAULTS } from '../politeness.ts';
import type { Clock, CookieStore, CrawlStore, Sink } from '../ports.ts';
import type { CanonicalOptions } from '../request.ts';
import type { Acceptance, ResponseHead } from '../types.ts';
import type { UrlFilter } from '../url-filter.ts';

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
  /** Where the frontier lives: a {@link CrawlStore}, or a directory (a path or a `file:` URL) for an `LmdbStore`. @defaultValue in memory */
  readonly store?: CrawlStore | string | URL | undefined;
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
  /**
   * A module, by its path (relative to the working directory) or `file:` URL, whose default export is given each page in
   * a thread; what it returns arrives as `page.data` before `page` listeners run. @defaultValue none
   */
  readonly pageWorker?: string | URL | undefined;
  /** Threads for `pageWorker`; `'auto'` for as many as `os.availableParallelism()` says. @defaultValue `'auto'` */
  readonly threads?: number | 'auto' | undefined;
  /** Longest time that `pageWorker` may take for a page, in milliseconds. @defaultValue 30 000 */
  readonly pageWorkerTimeoutMs?: number | undefined;
  /** Largest heap of a thread of `pageWorker`, in bytes; `Infinity` for Node's own limit. @defaultValue 512 MiB */
  readonly pageWorkerMemoryBytes?: number | undefined;
  /** What the canonical form leaves out. @defaultValue nothing */
  readonly canonical?: CanonicalOptions | undefined;
  /** Pages between two `stats` events. @defaultValue 1000 */
  readonly statsEveryPages?: number | undefined;
  /** Milliseconds between two `stats` events. @defaultValue 10 000 */
  readonly statsEveryMs?: number | undefined;
  /** Longest URL that is followed, in characters. @defaultValue 2048 */
  readonly maxUrlLength?: number | undefined;
  /**
   * How long a listener of `page`, a hook or a sink is waited for, in milliseconds; then it is an `error` with
   * `CRAWL_HANDLER_TIMEOUT`, and the crawl goes on. The reader of `pages()` has all the time it wants.
   * @defaultValue 600 000
   */
  readonly handlerTimeoutMs?: number | undefined;
  /** The frontier's clock. One that tells no time ends the crawl with `CRAWL_HOOK_FAILED`. @defaultValue the system's */
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
  readonly threads: 'auto';
  readonly pageWorkerTimeoutMs: number;
  readonly pageWorkerMemoryBytes: number;
  readonly statsEveryPages: number;
  readonly statsEveryMs: number;
  readonly maxUrlLength: number;
  readonly handlerTimeoutMs: number;
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
  threads: PAGE_WORKER_DEFAULTS.threads,
  pageWorkerTimeoutMs: PAGE_WORKER_DEFAULTS.pageWorkerTimeoutMs,
  pageWorkerMemoryBytes: PAGE_WORKER_DEFAULTS.pageWorkerMemoryBytes,
  statsEveryPages: 1000,
  statsEveryMs: 10_000,
  maxUrlLength: 2048,
  handlerTimeoutMs: 600_000,
};

/** HTML and XHTML are pages, and so is what says no type: its body will tell. */
export const acceptPages: Accept = (head) =>
  head.contentType === 'text/html' || head.contentType === 'application/xhtml+xml' || head.contentType === ''
    ? 'buffer'
    : 'skip';
