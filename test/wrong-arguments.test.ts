import { describe, expect, test } from 'vitest';
import * as library from '../src/index.ts';
import {
  AddressGuard,
  addressRange,
  Crawler,
  canonicalizeUrl,
  createRequest,
  DnsCache,
  decodeText,
  EventLog,
  Fetcher,
  FileSink,
  Frontier,
  isCrawlError,
  LinkExtractor,
  MemoryStore,
  Politeness,
  parseContentType,
  parseHttpDate,
  parseLinkHeader,
  parseRefresh,
  parseRetryAfter,
  parseSitemap,
  partitionOf,
  productToken,
  RobotsCache,
  RobotsTxt,
  resolveUrl,
  robotsDirectives,
  StatsCollector,
  safeCheck,
  UrlFilter,
  validatorsOf,
} from '../src/index.ts';

const AGENT = 'testbot/1.0 (+mailto:owner@example.test)';
const URL_TEXT = 'https://a.example.test/';
const url = new URL(URL_TEXT);
const robots = RobotsTxt.parse('User-agent: *\nDisallow: /x', `${URL_TEXT}robots.txt`);
const source = { getOnce: async () => ({ status: 404, headers: {}, body: new Uint8Array(), url: URL_TEXT }) };

/** What nobody should pass, and some will. */
const WRONG: readonly unknown[] = [
  undefined,
  null,
  5,
  Number.NaN,
  true,
  'no url',
  '',
  Symbol('s'),
  12n,
  {},
  [],
  [undefined],
  () => {},
  new Map(),
  new Uint8Array(2),
  { url: 5 },
  { [Symbol.iterator]: 5 },
];

type Call = (wrong: never) => unknown;

const CALLS: Readonly<Record<string, Call>> = {
  'new AddressGuard(?)': (wrong) => new AddressGuard(wrong),
  'AddressGuard.check(?)': (wrong) => new AddressGuard('public').check(wrong, 'host'),
  'AddressGuard.allowHost(?)': (wrong) => new AddressGuard('public').allowHost(wrong),
  'addressRange(?)': (wrong) => addressRange(wrong),
  'canonicalizeUrl(?)': (wrong) => canonicalizeUrl(wrong),
  'canonicalizeUrl(url, ?)': (wrong) => canonicalizeUrl('/x', wrong),
  'canonicalizeUrl(url, base, ?)': (wrong) => canonicalizeUrl(URL_TEXT, undefined, wrong),
  'resolveUrl(?)': (wrong) => resolveUrl(wrong),
  'resolveUrl(url, ?)': (wrong) => resolveUrl('/x', wrong),
  'new Crawler(?)': (wrong) => new Crawler(wrong),
  'Crawler.add(?)': (wrong) => new Crawler({ userAgent: AGENT }).add(wrong),
  'Crawler.run([], ?)': (wrong) => new Crawler({ userAgent: AGENT }).run([], wrong),
  'Crawler.explain(?)': (wrong) => new Crawler({ userAgent: AGENT }).explain(wrong),
  'Crawler.stop(?)': (wrong) => new Crawler({ userAgent: AGENT }).stop(wrong),
  'createRequest(?)': (wrong) => createRequest(wrong),
  'createRequest({ url }, ?)': (wrong) => createRequest({ url: URL_TEXT }, wrong),
  'new DnsCache(?)': (wrong) => new DnsCache(wrong),
  'DnsCache.resolve(?)': (wrong) => new DnsCache({ lookup: async () => ['127.0.0.1'] }).resolve(wrong),
  'DnsCache.prefetch(?)': (wrong) => new DnsCache({ lookup: async () => ['127.0.0.1'] }).prefetch(wrong),
  'decodeText(?)': (wrong) => decodeText(wrong, undefined),
  'decodeText(body, ?)': (wrong) => decodeText(new Uint8Array(3), wrong),
  'new EventLog(?)': (wrong) => new EventLog(wrong),
  'EventLog.monitor(?)': (wrong) => new EventLog({ events: [] }).monitor(wrong),
  'EventLog.monitor(crawler, ?)': (wrong) =>
    new EventLog({ events: [] }).monitor(new Crawler({ userAgent: AGENT }), wrong),
  'EventLog.explain(?)': (wrong) => new EventLog({ events: [] }).explain(wrong),
  'new Fetcher(?)': (wrong) => new Fetcher(wrong),
  'Fetcher.fetch(?)': (wrong) => new Fetcher({ userAgent: AGENT }).fetch(wrong),
  'Fetcher.fetch({ url: ? })': (wrong) => new Fetcher({ userAgent: AGENT }).fetch({ url: wrong }),
  'Fetcher.fetch(request, ?)': (wrong) => new Fetcher({ userAgent: AGENT }).fetch({ url: 'mailto:x' }, wrong),
  'Fetcher.getOnce(?)': (wrong) => new Fetcher({ userAgent: AGENT }).getOnce(wrong, { maxBytes: 5, userAgent: AGENT }),
  'Fetcher.getOnce(url, ?)': (wrong) => new Fetcher({ userAgent: AGENT }).getOnce('mailto:x', wrong),
  'Fetcher.headersFor(?)': (wrong) => new Fetcher({ userAgent: AGENT }).headersFor(wrong),
  'new FileSink(?)': (wrong) => new FileSink(wrong),
  'FileSink.pathFor(?)': (wrong) => new FileSink({ directory: 'x' }).pathFor(wrong, 'text/html'),
  'FileSink.pathFor(url, ?)': (wrong) => new FileSink({ directory: 'x' }).pathFor(URL_TEXT, wrong),
  'FileSink.write(?)': (wrong) => new FileSink({ directory: '/proc/no-such-folder' }).write(wrong),
  'Frontier.open(?)': (wrong) => Frontier.open(wrong),
  'Frontier.offer(?)': async (wrong) => (await Frontier.open({ store: new MemoryStore() })).offer(wrong),
  'Frontier.lease(?)': async (wrong) => (await Frontier.open({ store: new MemoryStore() })).lease(wrong),
  'Frontier.has(?)': async (wrong) => (await Frontier.open({ store: new MemoryStore() })).has(wrong),
  'Frontier.record(?)': async (wrong) => (await Frontier.open({ store: new MemoryStore() })).record(wrong),
  'Frontier.settle(?)': async (wrong) =>
    (await Frontier.open({ store: new MemoryStore() })).settle(wrong, { outcome: 'done' }),
  'Frontier.settle(lease, ?)': async (wrong) => {
    const frontier = await Frontier.open({ store: new MemoryStore() });
    await frontier.offer(URL_TEXT);
    const [lease] = await frontier.lease();
    return frontier.settle(lease as never, wrong);
  },
  'Frontier.renew(?)': async (wrong) => (await Frontier.open({ store: new MemoryStore() })).renew(wrong),
  'new LinkExtractor(?)': (wrong) => new LinkExtractor(wrong),
  'LinkExtractor.extract(?)': (wrong) => new LinkExtractor().extract(wrong),
  'LinkExtractor.scan(?)': (wrong) => new LinkExtractor().scan(wrong),
  'LinkExtractor.extract({ url: ? })': (wrong) => new LinkExtractor().extract({ url: wrong, html: '<a href=x>' }),
  'LinkExtractor.extract({ html: ? })': (wrong) => new LinkExtractor().extract({ url: URL_TEXT, html: wrong }),
  'LinkExtractor.extract({ headers: ? })': (wrong) =>
    new LinkExtractor().extract({ url: URL_TEXT, html: '', headers: wrong }),
  'LinkExtractor.extract({ userAgent: ? })': (wrong) =>
    new LinkExtractor().extract({ url: URL_TEXT, html: '<meta name=robots content=none>', userAgent: wrong }),
  'MemoryStore.open(?)': (wrong) => MemoryStore.open(wrong),
  'new Politeness(?)': (wrong) => new Politeness(wrong),
  'parseContentType(?)': (wrong) => parseContentType(wrong),
  'parseHttpDate(?)': (wrong) => parseHttpDate(wrong, 0),
  'parseLinkHeader(?)': (wrong) => parseLinkHeader(wrong),
  'parseRefresh(?)': (wrong) => parseRefresh(wrong),
  'parseRetryAfter(?)': (wrong) => parseRetryAfter(wrong, { now: 0 }),
  'parseSitemap(?)': (wrong) => parseSitemap(wrong, { url: URL_TEXT }),
  'parseSitemap(body, ?)': (wrong) => parseSitemap('https://a.example.test/', wrong),
  'parseSitemap(body, { url: ? })': (wrong) => parseSitemap('<urlset></urlset>', { url: wrong }),
  'partitionOf(?)': (wrong) => partitionOf(wrong, 4),
  'partitionOf(host, ?)': (wrong) => partitionOf('host', wrong),
  'productToken(?)': (wrong) => productToken(wrong),
  'new RobotsCache(?)': (wrong) => new RobotsCache(wrong),
  'RobotsCache.check(?)': (wrong) => new RobotsCache({ source }).check(wrong, AGENT),
  'RobotsCache.check(url, ?)': (wrong) => new RobotsCache({ source }).check(URL_TEXT, wrong),
  'RobotsTxt.parse(?)': (wrong) => RobotsTxt.parse(wrong, `${URL_TEXT}robots.txt`),
  'RobotsTxt.parse(body, ?)': (wrong) => RobotsTxt.parse('', wrong),
  'RobotsTxt.allows(?)': (wrong) => robots.allows(wrong, 'testbot'),
  'RobotsTxt.allows(url, ?)': (wrong) => robots.allows(URL_TEXT, wrong),
  'RobotsTxt.applies(?)': (wrong) => robots.applies(wrong),
  'RobotsTxt.crawlDelay(?)': (wrong) => robots.crawlDelay(wrong),
  'RobotsTxt.ignoredDelays(?)': (wrong) => robots.ignoredDelays(wrong),
  'robotsDirectives(?)': (wrong) => robotsDirectives(wrong, 'testbot'),
  'robotsDirectives(page, ?)': (wrong) => robotsDirectives({ html: '<meta name=robots content=none>' }, wrong),
  'robotsDirectives({ headers: ? })': (wrong) => robotsDirectives({ headers: wrong }, 'testbot'),
  'robotsDirectives({ html: ? })': (wrong) => robotsDirectives({ html: wrong }, 'testbot'),
  'new StatsCollector(?)': (wrong) => new StatsCollector(wrong),
  'StatsCollector.restore(?)': (wrong) => new StatsCollector().restore(wrong),
  'safeCheck(?)': (wrong) => safeCheck(wrong, url, { depth: 0 }),
  'safeCheck(filter, ?)': (wrong) => safeCheck(UrlFilter.any(), wrong, { depth: 0 }),
  'UrlFilter.sameHost(?)': (wrong) => UrlFilter.sameHost(wrong),
  'UrlFilter.sameDomain(?)': (wrong) => UrlFilter.sameDomain(wrong),
  'UrlFilter.domainSuffix(?)': (wrong) => UrlFilter.domainSuffix(wrong),
  'UrlFilter.schemes(?)': (wrong) => UrlFilter.schemes(wrong),
  'UrlFilter.ports(?)': (wrong) => UrlFilter.ports(wrong),
  'UrlFilter.extensions(?)': (wrong) => UrlFilter.extensions(wrong),
  'UrlFilter.extensions({ allow: ? })': (wrong) => UrlFilter.extensions({ allow: wrong }),
  'UrlFilter.matching(?)': (wrong) => UrlFilter.matching(wrong),
  'UrlFilter.matching({ deny: ? })': (wrong) => UrlFilter.matching({ deny: wrong }),
  'UrlFilter.pathPrefix(?)': (wrong) => UrlFilter.pathPrefix(wrong),
  'UrlFilter.maxLength(?)': (wrong) => UrlFilter.maxLength(wrong),
  'UrlFilter.from(?)': (wrong) => UrlFilter.from(wrong),
  'UrlFilter.and(?)': (wrong) => UrlFilter.any().and(wrong),
  'UrlFilter.or(?)': (wrong) => UrlFilter.any().or(wrong),
  'validatorsOf(?)': (wrong) => validatorsOf(wrong),
};

/** What a call throws or rejects with, if it does. */
async function thrownBy(call: () => unknown): Promise<{ readonly thrown: unknown } | undefined> {
  try {
    await call();
    return undefined;
  } catch (thrown) {
    return { thrown };
  }
}

describe('a wrong argument', () => {
  test.each(Object.entries(CALLS))('of %s is taken, or refused with an error of the library', async (_, call) => {
    for (const wrong of WRONG) {
      const failed = await thrownBy(() => call(wrong as never));
      if (failed === undefined) continue;
      expect.soft(failed.thrown, `given ${shown(wrong)}`).toSatisfy(isCrawlError);
    }
  });
});

/** These take anything, or are the errors themselves. */
const OTHERS = ['acceptPages', 'CrawlError', 'isCrawlError'];

test('every class and function that is exported has its calls above', () => {
  const named = Object.keys(CALLS).join(' ');
  const callable = Object.entries(library).filter(([, value]) => typeof value === 'function');
  expect(
    callable
      .map(([name]) => name)
      .filter((name) => !named.includes(name))
      .sort(),
  ).toEqual(OTHERS.sort());
});

function shown(wrong: unknown): string {
  if (typeof wrong === 'symbol' || typeof wrong === 'bigint') return typeof wrong;
  return `${typeof wrong} ${JSON.stringify(wrong)}`;
}
