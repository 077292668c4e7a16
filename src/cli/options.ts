import { acceptPages, CrawlError, type CrawlerOptions, FileSink, type Sink, UrlFilter } from '../index.ts';
import { type Arguments, version } from './arguments.ts';

const HOMEPAGE_TOKEN = 'polite-crawler';

/** The command line as options of the library. */
export function crawlerOptions(given: Arguments): CrawlerOptions {
  const filter = filterOf(given);
  const sinks: Sink[] = given.save === undefined ? [] : [new FileSink({ directory: given.save })];
  return defined({
    userAgent: userAgentOf(given),
    store: given.state,
    scope: given.scope,
    filter,
    maxDepth: given.depth,
    maxPages: given.maxPages,
    maxPagesPerHost: given.maxPagesPerHost,
    maxDurationMs: milliseconds(given.maxDuration),
    concurrency: given.concurrency,
    minDelayMs: milliseconds(given.wait),
    delayFactor: given.delayFactor,
    maxDelayMs: milliseconds(given.maxWait),
    respectRobots: given.robots,
    sitemaps: given.sitemaps,
    extract: given.extract,
    timeouts: given.timeout === undefined ? undefined : { page: Math.round(given.timeout * 1000) },
    retries: given.retries,
    maxBodyBytes: given.maxBody,
    headers: given.header,
    network: given.network,
    sinks,
    // Whoever wants resources or files wants them downloaded, not only pages.
    accept: given.save !== undefined || given.extract !== undefined ? acceptAll : undefined,
  });
}

/** Options of the library that its messages still name, by the names that they have on the command line. */
const FLAGS: Readonly<Record<string, string>> = {
  headers: '--header',
  maxDurationMs: '--max-duration',
  maxPages: '--max-pages',
  store: '--state',
  userAgent: '--user-agent',
  'timeouts.page': '--timeout',
};

/** A message of the library in the words of the command line. */
export function inFlags(message: string): string {
  return message.replace(/^Option "([\w.]+)"/, (whole, name: string) => FLAGS[name] ?? whole);
}

const acceptAll: CrawlerOptions['accept'] = (head) => (acceptPages(head) === 'buffer' ? 'buffer' : 'stream');

function filterOf(given: Arguments): UrlFilter | undefined {
  const filters: UrlFilter[] = [];
  const { include, exclude, acceptExtensions, rejectExtensions } = given;
  if (include !== undefined || exclude !== undefined) {
    filters.push(UrlFilter.matching(defined({ allow: include, deny: exclude })));
  }
  if (acceptExtensions !== undefined || rejectExtensions !== undefined) {
    filters.push(UrlFilter.extensions(defined({ allow: acceptExtensions, deny: rejectExtensions })));
  }
  const filter = filters.reduce<UrlFilter | undefined>((all, next) => all?.and(next) ?? next, undefined);
  // The URLs on the command line are wanted whatever the patterns say of links.
  return (
    filter && UrlFilter.from((url, context) => (context.source === 'seed' ? undefined : filter.check(url, context)))
  );
}

/** @throws {@link CrawlError} `CRAWL_CONTACT_MISSING`; what a user agent that was given lacks, the library says. */
function userAgentOf({ contact, userAgent }: Arguments): string {
  if (userAgent !== undefined) return userAgent;
  if (contact !== undefined) return `${HOMEPAGE_TOKEN}/${version()} (+${contact})`;
  throw new CrawlError(
    'CRAWL_CONTACT_MISSING',
    'A contact is missing, so that who is asked knows whom to talk to. Add --contact you@example.org, or --contact https://example.org/bot.',
  );
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

/** The object without the fields that were not given, since the library takes `undefined` for "not given" only so. */
function defined<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
