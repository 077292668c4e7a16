import type { AddressGuard } from '../address-guard.ts';
import type { Admission } from '../admission.ts';
import type { CrawlError } from '../errors.ts';
import type { Fetcher } from '../fetcher/index.ts';
import type { Frontier } from '../frontier.ts';
import type { LinkExtractor } from '../link-extractor/index.ts';
import type { FetchedPage } from '../page.ts';
import type { Clock } from '../ports.ts';
import type { RobotsCache } from '../robots-cache.ts';
import type { SitemapFiles } from '../sitemap/file-count.ts';
import type { StatsCollector } from '../stats.ts';
import type {
  Acceptance,
  CrawlerEvents,
  CrawlRequest,
  Link,
  LinkContext,
  Page,
  ResponseHead,
  SkipReason,
} from '../types.ts';
import type { ContentSeen } from './content-seen.ts';
import type { HostFinder } from './host-finder.ts';
import type { KnownUrls } from './known-urls.ts';
import type { LargeBodies } from './large-bodies.ts';
import type { UnreachableHosts } from './unreachable-hosts.ts';
import type { Versions } from './versions.ts';

/** What a visit needs of the crawl it belongs to. */
export interface VisitContext {
  readonly userAgent: string;
  readonly frontier: Frontier;
  readonly knownUrls: KnownUrls;
  readonly fetcher: Fetcher;
  /** Absent where robots rules are not asked for. */
  readonly robots: RobotsCache | undefined;
  readonly finder: HostFinder;
  readonly guard: AddressGuard;
  /** Whether hosts of one address share its clock. */
  readonly sharesAddresses: boolean;
  readonly admission: Admission;
  readonly extractor: LinkExtractor;
  readonly stats: StatsCollector;
  readonly clock: Clock;
  readonly contentSeen: ContentSeen;
  readonly unreachable: UnreachableHosts;
  readonly sitemapFiles: SitemapFiles;
  readonly largePages: LargeBodies;
  readonly largeSitemaps: LargeBodies;
  readonly events: VisitEvents;
  readonly hooks: VisitHooks;
  readonly accept: (head: ResponseHead) => Acceptance;
  readonly retries: number;
  readonly maxRedirects: number;
  /** Whether a second request of one URL may be answered otherwise than the first. */
  readonly keepsCookies: boolean;
  readonly maxPages: number;
  /** By URL, what broke the bodies of delivered pages that are to be tried again. */
  readonly brokenBodies: Map<string, CrawlError>;
  readonly maxPagesPerHost: number;
  readonly maxCrawlDelayMs: number;
  /** Aborts what is in flight, when the crawl is stopped at once. */
  readonly signal: AbortSignal;
  /** What pages were like when they were delivered, for a later visit. */
  readonly versions: Versions;
  /** Keeps why a URL was refused, for `explain`; absent where nothing is kept. */
  readonly note: ((url: string, reason: SkipReason, foundOn: string | undefined) => void) | undefined;
  /** What is to be written with the next commit besides its own: statistics, at most a few times a second. */
  readonly checkpoint?: (() => readonly [name: string, value: Uint8Array] | undefined) | undefined;
}

export interface VisitEvents {
  emit<K extends keyof CrawlerEvents>(event: K, ...args: CrawlerEvents[K]): boolean;
  /** Whether somebody listens, so that what nobody reads isn't made. */
  wants(event: keyof CrawlerEvents): boolean;
}

/** The user's code, each call guarded: none of these throws or rejects. */
export interface VisitHooks {
  /**
   * Resolves when listeners, `visit`, sinks and the reader of `pages()` are done with the page; with `false` where the
   * reader is gone and never saw it, or the crawl was stopped at once.
   */
  deliver(page: FetchedPage): Promise<boolean>;
  /** @param onNoUrl - Told of each text among the links that is no http or https URL. */
  expand(page: Page, onNoUrl: (text: string) => void): Promise<readonly Link[]>;
  shouldVisit(link: Link, from: Page): Promise<boolean> | boolean;
  /** The front queue of a request that was found on, or given with, `about`; absent where the user has no say in it. */
  readonly prioritize: ((request: CrawlRequest, about: object) => Promise<number> | number) | undefined;
  /** A seed moved to another spelling of its host: let the scope follow. */
  seedMoved(to: URL): void;
  /** What a sitemap lists. */
  sitemapEntries(body: Buffer, context: SitemapContext): Promise<SitemapLinks>;
  /** The sitemap files to queue for an origin whose robots.txt names these. */
  sitemapsOf(origin: string, named: readonly string[]): Promise<readonly CrawlRequest[]>;
}

export interface SitemapContext extends LinkContext {
  readonly url: string;
  readonly contentType: string;
}

export interface SitemapLinks {
  readonly links: readonly { readonly url: string; readonly kind: 'page' | 'sitemap' }[];
  readonly error?: CrawlError | undefined;
}
