export { AddressGuard, addressRange, BAD_PORTS, type NetworkPolicy } from './address-guard.ts';
export { type AddOptions, Crawler, type RunOptions } from './crawler/index.ts';
export {
  type Accept,
  acceptPages,
  CRAWLER_DEFAULTS,
  type CrawlerOptions,
  type RobotsChoices,
  type SitemapMode,
} from './crawler/options.ts';
export { robotsDirectives } from './directives.ts';
export {
  type AddressJudge,
  DNS_DEFAULTS,
  DnsCache,
  type DnsCacheOptions,
  type DnsLookup,
  type LookupAnswer,
  type LookupCallback,
  type ResolvedAddress,
} from './dns.ts';
export {
  CRAWL_ERROR_CODES,
  CrawlError,
  type CrawlErrorCode,
  type CrawlErrorDetails,
  isCrawlError,
} from './errors.ts';
export { EVENT_LOG_DEFAULTS, EventLog, type EventLogOptions, type MonitoredCrawler } from './event-log.ts';
export {
  type BodySizes,
  FETCHER_DEFAULTS,
  Fetcher,
  type FetcherOptions,
  type FetchRequest,
  type FetchResult,
  type HeadersOption,
  type ProxyOption,
  type Timeouts,
  type TlsSettings,
  type TransportOption,
  type Validators,
  validatorsOf,
} from './fetcher/index.ts';
export { partitionOf } from './fingerprint.ts';
export {
  FRONTIER_DEFAULTS,
  Frontier,
  type FrontierOptions,
  type FrontierSettleResult,
  type Offer,
  type Outcome,
} from './frontier.ts';
export {
  type ContentType,
  type HeaderLink,
  parseContentType,
  parseHttpDate,
  parseLinkHeader,
  parseRefresh,
  parseRetryAfter,
  productToken,
  type Refresh,
} from './headers.ts';
export {
  LINK_EXTRACTOR_DEFAULTS,
  type LinkDocument,
  LinkExtractor,
  type LinkExtractorOptions,
  type LinkProfile,
  type NamedMeta,
  type ScanResult,
} from './link-extractor/index.ts';
export type { PageHandler } from './page-worker/index.ts';
export { type Observation, POLITENESS_DEFAULTS, Politeness, type PolitenessOptions } from './politeness.ts';
export * from './ports.ts';
export { type CanonicalOptions, createRequest, LEVELS, type RequestInit } from './request.ts';
export {
  ROBOTS_CACHE_DEFAULTS,
  type RobotsAnswer,
  RobotsCache,
  type RobotsCacheOptions,
  type RobotsFetch,
  type RobotsStep,
  type RobotsVerdict,
} from './robots-cache.ts';
export { type RobotsAgent, type RobotsMatch, type RobotsRecord, RobotsTxt } from './robots-txt.ts';
export type { SeedInput } from './seeding.ts';
export { FILE_SINK_DEFAULTS, FileSink, type FileSinkOptions } from './sink/files/index.ts';
export {
  type ChangeFrequency,
  parseSitemap,
  type Sitemap,
  type SitemapAlternate,
  type SitemapContext,
  type SitemapEntry,
  type SitemapNews,
  type SitemapType,
  type SitemapVideo,
} from './sitemap.ts';
export { StatsCollector, type StatsCollectorOptions, type StatsContext, type StatsState } from './stats.ts';
export { MemoryStore, type MemoryStoreOptions } from './store/memory/index.ts';
export { type DecodedText, decodeText } from './text.ts';
export type * from './types.ts';
export { canonicalizeUrl, resolveUrl } from './url.ts';
export {
  DYNAMIC_EXTENSIONS,
  DYNAMIC_FOLDERS,
  type ExtensionRules,
  type FilterFunction,
  type FilterResult,
  type FilterSeeds,
  MAX_URL_LENGTH,
  type PatternRules,
  safeCheck,
  UrlFilter,
} from './url-filter.ts';
