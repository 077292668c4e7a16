import type { CheerioAPI } from 'cheerio';
import type { CrawlError } from './errors.ts';
import type { CrawlStats } from './types/stats.ts';

export type { CrawlStats, HostStats, Latency } from './types/stats.ts';

/** Header names in lower case; a header that came on several lines is an array of them, never joined. */
export type Headers = Readonly<Record<string, string | string[]>>;

/** One step of a redirect chain. */
export interface RedirectHop {
  /** The URL that answered with a redirect. */
  readonly url: string;
  /** Its status: 301, 302, 303, 307, 308 (or 300 with a `Location`). */
  readonly status: number;
}

/** What a request is for. Robots and sitemap files take the same queues and clocks as pages. */
export type RequestKind = 'page' | 'sitemap' | 'robots';

/** A URL on its way through the crawl: made by `createRequest`, queued by the frontier, never changed. */
export interface CrawlRequest {
  /** What is asked for: the link as found, WHATWG-serialised, without fragment. */
  readonly url: string;
  /** The canonical form of `url`: what "seen before" is decided on. */
  readonly key: string;
  /** Politeness key: the host name in lower case, without port and trailing dot. */
  readonly host: string;
  readonly kind: RequestKind;
  /** Links from a seed; a seed has 0. For `kind: 'sitemap'`: the indexes above it. */
  readonly depth: number;
  /** Front queue: −8 (last) to 7 (first), 0 as a rule. */
  readonly level: number;
  /** The page the link was found on. */
  readonly referrer?: string | undefined;
  /** Where on that page, see {@link Link.source}. */
  readonly source?: string | undefined;
  /** The hops that led here. */
  readonly redirects?: readonly RedirectHop[] | undefined;
  /** Tries that failed and are to be made good, 0 at first. */
  readonly attempts: number;
  /** For `kind: 'robots'`: the origin whose rules are being fetched; for `'sitemap'`: the one whose robots.txt names it. */
  readonly origin?: string | undefined;
  /** Whether it is queued also where its URL was visited before; not while that still waits or is being worked on. */
  readonly revisit?: boolean | undefined;
  /** Whether its page was delivered and counted before, and is fetched again since its streamed body broke. */
  readonly delivered?: boolean | undefined;
}

/** A link found by `LinkExtractor`. */
export interface Link {
  /** Absolute, WHATWG-serialised, without fragment. */
  readonly url: string;
  /** Where it stood: `tag/attribute`, `meta/refresh`, `header/link`, `header/refresh`, ... */
  readonly source: string;
  /** Tokens of the `rel` attribute or parameter, lower case. */
  readonly rel: readonly string[];
  /** Whether a polite crawler should leave it: `rel=nofollow`, or a page-wide rule. */
  readonly nofollow: boolean;
  /** Text of the link, white space folded; only for `a` elements. */
  readonly text?: string;
}

/** What a `UrlFilter` knows about a URL besides itself. */
export interface LinkContext {
  /** Links from a seed the URL would have. */
  readonly depth: number;
  /** The page it was found on; none for a seed. */
  readonly referrer?: string | undefined;
  /** See {@link Link.source}; `seed`, `sitemap`, `redirect` or `added` where it was no link. */
  readonly source?: string | undefined;
  readonly rel?: readonly string[] | undefined;
  readonly text?: string | undefined;
}

/**
 * Why a URL left the road: one of the library's own words, or whatever a filter of the user's returned.
 * `seen` is what was met before.
 */
export type SkipReason =
  | 'seen'
  | 'off-host'
  | 'off-domain'
  | 'robots'
  | 'robots-unreachable'
  | 'nofollow'
  | 'depth'
  | 'host-limit'
  | 'host-unreachable'
  | 'not-accepted'
  | 'should-visit'
  | 'filter-failed'
  | 'url-invalid'
  | 'url-too-long'
  | 'links-per-page'
  | 'sitemap-location'
  | 'sitemaps-per-host'
  | 'scheme'
  | 'port'
  | 'extension'
  | 'dynamic'
  | 'path'
  | 'pattern'
  | (string & {});

/** Rules for the use of a page, from `<meta name="robots">` and `X-Robots-Tag`. */
export interface RobotsDirectives {
  readonly index: boolean;
  readonly follow: boolean;
  readonly archive: boolean;
  /** Not to be shown after this moment. */
  readonly unavailableAfter?: Date;
}

/** Durations of one request in milliseconds; absent where the step did not happen (a kept-alive socket connects to nothing). */
export interface Timings {
  readonly dns?: number;
  readonly connect?: number;
  readonly tls?: number;
  /** From the request sent to the first byte of the answer. */
  readonly firstByte?: number;
  readonly download?: number;
  /** From start to the last byte. */
  readonly total: number;
}

/** The head of a response, as `accept` sees it before the body is read. */
export interface ResponseHead {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  /** Media type in lower case without parameters; empty where none was sent. */
  readonly contentType: string;
}

/** What becomes of a body: kept in memory, handed on as a stream, or not downloaded. */
export type Acceptance = 'buffer' | 'stream' | 'skip';

/** A fetched page, as `page` listeners, `visit`, `pages()` and sinks get it. */
export interface Page {
  /** The URL as it was found, before redirects. */
  readonly url: string;
  /** The URL that answered. */
  readonly finalUrl: string;
  readonly redirects: readonly RedirectHop[];
  readonly status: number;
  readonly headers: Headers;
  /** Media type in lower case without parameters. */
  readonly contentType: string;
  /** The decompressed body; empty with `accept` = `'stream'`. */
  readonly body: Buffer;
  /**
   * With `accept` = `'stream'`, the decompressed body as it arrives; else `undefined`. It lives until the page is
   * delivered: to be read by a listener, `visit` or a sink that the crawl waits for, or before the next page of `pages()`.
   * Ends with a `CrawlError` where the body breaks before it is complete; the page then comes again, or is given up.
   */
  readonly stream: NodeJS.ReadableStream | undefined;
  /** The body as text: BOM, then header, then `<meta>`, then a guess. Decoded when first asked for. */
  readonly text: string;
  /** The encoding `text` was decoded with, a WHATWG name in lower case. */
  readonly encoding: string;
  /** The document, by cheerio; loaded and built when first asked for. */
  readonly $: CheerioAPI;
  readonly title: string | undefined;
  readonly links: readonly Link[];
  readonly depth: number;
  readonly referrer: string | undefined;
  /** What the page calls its own canonical URL (RFC 6596), absolute. */
  readonly canonical: string | undefined;
  readonly directives: RobotsDirectives;
  /** Digest of `body`: SHA-256, hexadecimal; `undefined` where the body is a stream. */
  readonly fingerprint: string | undefined;
  readonly fetchedAt: Date;
  readonly timings: Timings;
  /** Bytes of the body after decompression; of a stream, those that have come so far. */
  readonly bytes: number;
  /** Whether the body was cut at `maxBodyBytes`. */
  readonly truncated: boolean;
  /**
   * What the module named by `pageWorker` returned for the page; `undefined` without such a module, where it failed (an
   * `error` event says why), and where the body is a stream.
   */
  readonly data: unknown;
}

/** What a host is doing, in a `host` event. */
export type HostStatus = 'backing-off' | 'parked' | 'recovered' | 'robots-unreachable';

/** State of one host, in a `host` event. */
export interface HostEvent {
  readonly status: HostStatus;
  /** Milliseconds since the epoch before which the host is not asked again. */
  readonly nextAt: number;
  readonly delayMs: number;
}

/** The version of a page that was delivered, and that still holds. */
export interface PageVersion {
  readonly etag?: string | undefined;
  /** As the server wrote it. */
  readonly lastModified?: string | undefined;
  /** When it was fetched. */
  readonly fetchedAt: Date;
}

/** What a `warning` is about. */
export type WarningCode =
  | 'crawl-delay-ignored'
  | 'crawl-delay-cut'
  | 'retry-after-ignored'
  | 'retry-after-cut'
  | 'robots-cut'
  | 'charset-unknown'
  | 'coding-mislabelled'
  | 'limit-reached'
  | 'no-seeds';

/** Something that a server said is not so, or does not count as it stands, or a run that has no room or no work; nothing failed. */
export interface CrawlWarning {
  readonly code: WarningCode;
  /** For people; may get better in any release. */
  readonly message: string;
}

/** Event name to arguments, in the order of one URL's life. */
export interface CrawlerEvents {
  start: [];
  /** A link passed the filters and is new. */
  offer: [link: Link];
  /** A URL left the road; `from` is the page it was found on. */
  skip: [url: string, reason: SkipReason, from: string | undefined];
  /** A request is about to be sent; none is for a URL that is refused by its port, its address or a local name. */
  request: [url: string];
  redirect: [from: string, to: string, status: number];
  retry: [url: string, error: CrawlError, afterMs: number];
  page: [page: Page];
  /** A delivered page whose body was seen before under `firstUrl`. */
  duplicate: [page: Page, firstUrl: string];
  /** A page that was delivered before has not changed since: the server says so (304), and sends no body. */
  unchanged: [url: string, version: PageVersion];
  /** What a server said was left aside or cut; without a URL, what the whole run should know. */
  warning: [warning: CrawlWarning, url: string | undefined];
  /** Something failed; never kills the process, with or without a listener. */
  error: [error: CrawlError, url: string | undefined];
  host: [host: string, state: HostEvent];
  stats: [stats: CrawlStats];
  /** The store holds all that happened so far. */
  checkpoint: [];
  pause: [];
  resume: [];
  end: [stats: CrawlStats];
}

/** Everything that is known of one URL, by `explain(url)`. */
export interface Explanation {
  readonly url: string;
  /** Its canonical form; `null` where it can't be crawled. */
  readonly canonical: string | null;
  readonly host: string | undefined;
  /** `seen`: known, but what became of it is remembered no more (a store in memory keeps the last ones). */
  readonly state: 'unknown' | 'seen' | 'queued' | 'leased' | 'done' | 'failed' | 'skipped' | 'redirected';
  /** Why it was skipped or refused, or what the filter says of it now. */
  readonly reason?: string | undefined;
  readonly foundOn?: string | undefined;
  readonly source?: string | undefined;
  readonly depth?: number | undefined;
  readonly level?: number | undefined;
  /** How often it was leased. */
  readonly leases?: number | undefined;
  readonly fetches: readonly FetchRecord[];
  readonly duplicateOf?: string | undefined;
  readonly redirectedTo?: string | undefined;
  /** Not asked for before this moment. */
  readonly nextDueAt?: Date | undefined;
}

/** One request for a URL. */
export interface FetchRecord {
  readonly at: Date;
  readonly status?: number | undefined;
  readonly error?: string | undefined;
  readonly ms?: number | undefined;
}
