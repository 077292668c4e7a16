export { AddressGuard, addressRange, type NetworkPolicy } from './address-guard.ts';
export { Crawler, type RunOptions } from './crawler/index.ts';
export {
  type Accept,
  acceptPages,
  CRAWLER_DEFAULTS,
  type CrawlerOptions,
  type SitemapMode,
} from './crawler/options.ts';
export { robotsDirectives } from './directives.ts';
export { DnsCache, type DnsLookup } from './dns.ts';
export {
  CRAWL_ERROR_CODES,
  CrawlError,
  type CrawlErrorCode,
  type CrawlErrorDetails,
  isCrawlError,
} from './errors.ts';
export { EventLog, type EventLogOptions } from './event-log.ts';
export {
  FETCHER_DEFAULTS,
  Fetcher,
  type FetcherOptions,
  type FetchRequest,
  type FetchResult,
} from './fetcher/index.ts';
export { Frontier, type FrontierOptions, type Outcome } from './frontier.ts';
export { LinkExtractor, type LinkExtractorOptions, type LinkProfile } from './link-extractor/index.ts';
export { POLITENESS_DEFAULTS, Politeness, type PolitenessOptions } from './politeness.ts';
export type * from './ports.ts';
export { RobotsCache, type RobotsCacheOptions } from './robots-cache.ts';
export { RobotsTxt } from './robots-txt.ts';
export type { SeedInput } from './seeding.ts';
export { FileSink, type FileSinkOptions } from './sink/files/index.ts';
export { parseSitemap, type SitemapEntry } from './sitemap.ts';
export { MemoryStore } from './store/memory/index.ts';
export type * from './types.ts';
export { canonicalizeUrl } from './url.ts';
export { UrlFilter } from './url-filter.ts';
