import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
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
import { LmdbStore } from '../src/store/lmdb/index.ts';
import { exerciseStore, HostileServer, storeContract } from '../src/testing/index.ts';

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

/** A call, and what its message must say. */
const SAYS: Readonly<Record<string, readonly [call: () => unknown, ...says: string[]]>> = {
  'a log without a crawler': [() => new EventLog().monitor(undefined as never), 'EventLog.monitor takes a Crawler'],
  'a log with an object': [() => new EventLog().monitor({} as never), 'EventLog.monitor takes a Crawler'],
  'a walk without a store': [() => exerciseStore(undefined as never, { seed: 1 }), 'takes a CrawlStore, not undefined'],
  'a walk with options of another': [
    () => exerciseStore(new MemoryStore(), { seed: 1, stepps: 2 } as never),
    'Did you mean "steps"?',
  ],
  'a walk without a seed': [() => exerciseStore(new MemoryStore(), {} as never), '"seed"'],
  'a contract without a function': [() => storeContract(undefined as never), 'a function that opens an empty store'],
  'a contract with options of another': [() => storeContract(MemoryStore.open, { sedes: [1] } as never), '"seeds"'],
  'a contract on what is no store': [() => storeContract(async () => ({}) as never)[0]?.run(), 'opens a CrawlStore'],
  'a Frontier on half a store': [
    () => Frontier.open({ store: { offer() {}, lease() {} } as never }),
    'lacks settle, renew, claimAddress, setHost',
  ],
  'a Crawler on half a store': [
    () => new Crawler({ userAgent: AGENT, store: { offer() {}, lease() {} } as never }),
    'lacks settle, renew, claimAddress, setHost',
  ],
  'a store that is opening': [
    () => new Crawler({ userAgent: AGENT, store: MemoryStore.open() as never }),
    'not a promise of one: await it',
  ],
  'a store on the web': [() => new Crawler({ userAgent: AGENT, store: new URL('http://a.test/') }), 'file:///'],
  'a store on another machine': [() => new Crawler({ userAgent: AGENT, store: new URL('file://a/b%2Fc') }), 'file:///'],
  'a filter without check': [
    () =>
      new Crawler({
        userAgent: AGENT,
        filter: new (class Half extends (UrlFilter as never as typeof Object) {})() as never,
      }),
    'Half has no method check(url, context)',
  ],
  'a function for a filter': [() => new Crawler({ userAgent: AGENT, filter: (() => {}) as never }), 'UrlFilter.from'],
  'a pattern for a scope': [() => new Crawler({ userAgent: AGENT, scope: /x/ as never }), 'UrlFilter.matching'],
  'a word that is no scope': [
    () => new Crawler({ userAgent: AGENT, scope: 'hosts' as never }),
    "'host', 'domain', 'any' or a UrlFilter",
  ],
  'a word that is no profile': [
    () => new Crawler({ userAgent: AGENT, extract: 'images' as never }),
    `Option "extract" takes 'navigation', 'resources', 'exhaustive' or a LinkExtractor, not "images".`,
  ],
  'a text for sizes': [
    () => new Crawler({ userAgent: AGENT, maxBodyBytes: '1' as never }),
    'Option "maxBodyBytes" takes a number of bytes, or { html, other }, not "1".',
  ],
  'a URL for a request': [() => new Fetcher({ userAgent: AGENT }).fetch(URL_TEXT as never), "{ url: 'https://...' }"],
  'a bare pattern': [
    () => UrlFilter.matching(/a/ as never),
    'UrlFilter.matching takes { allow: [/.../]',
    'not a regular',
  ],
  'a list of patterns': [() => UrlFilter.matching([/a/] as never), 'takes { allow: [/.../]', 'not an array'],
  'bytes for a document': [
    () => new LinkExtractor().extract({ url: URL_TEXT, html: Buffer.from('') as never }),
    'decodeText makes it of bytes), not a Buffer.',
  ],
  'no user agent for rules': [
    () => new RobotsCache({ source }).check(...([URL_TEXT] as unknown as [string, string])),
    'RobotsCache.check takes a URL, and the User-Agent that will ask for it, not undefined.',
  ],
  'no user agent for a verdict': [
    () => new RobotsCache({ source }).verdict(...([URL_TEXT] as unknown as [string, string])),
    'RobotsCache.verdict takes a URL, and the User-Agent',
  ],
  'a proxy without its scheme': [
    () => new Crawler({ userAgent: AGENT, proxy: '127.0.0.4:8080' }),
    'Write http://127.0.0.4:8080',
  ],
  'a named proxy without its scheme': [
    () => new Crawler({ userAgent: AGENT, proxy: 'proxy.test:3128' }),
    'Write http://proxy.test:3128',
  ],
  'a proxy with a name and without its scheme': [
    () => new Crawler({ userAgent: AGENT, proxy: 'user:secret@proxy.test:3128' }),
    'not a text that is none. Write http:// in front of it.',
  ],
  'a proxy that is a promise': [
    () => new Fetcher({ userAgent: AGENT, proxy: (async () => 'http://127.0.0.4:1') as never }).fetch({ url }),
    '"proxy" failed for https://a.example.test/: it must answer at once, not with a promise',
  ],
  'a file for certificates': [
    () => new Crawler({ userAgent: AGENT, tls: { ca: 'ca/ca.pem' } }),
    'Option "tls.ca" takes the text of certificates',
    'not "ca/ca.pem". Of a file give what it holds: readFileSync(path).',
  ],
  'a file for one of the certificates': [
    () => new Fetcher({ userAgent: AGENT, tls: { ca: [Buffer.from(''), 'ca.pem'] } }),
    'not "ca.pem". Of a file give what it holds',
  ],
  'a page worker on the web': [
    () => new Crawler({ userAgent: AGENT, pageWorker: 'https://a.test/worker.mjs' }),
    'takes the path or file URL of a module, not "https://a.test/worker.mjs". Modules are loaded from files',
  ],
  'no domains': [() => UrlFilter.sameDomain([]), 'UrlFilter.sameDomain takes at least one value'],
  'no hosts': [() => UrlFilter.sameHost(new Set<string>()), 'UrlFilter.sameHost takes at least one value'],
  'an async filter': [() => UrlFilter.from((async () => undefined) as never), 'answers at once'],
  'a filter asked about a text': [
    () => UrlFilter.sameHost(URL_TEXT).check('http://b.test/' as never, { depth: 0 }),
    'UrlFilter.sameHost.check takes a URL object, not "http://b.test/"',
  ],
};

describe('The message of a wrong call says what is right', () => {
  test.each(Object.entries(SAYS))('%s', async (_, [call, ...says]) => {
    const thrown = await (async () => call())().then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(thrown).toSatisfy(isCrawlError);
    for (const text of says) expect((thrown as Error).message).toContain(text);
  });

  test('a hostile server knows its misbehaviours, its numbers and where it can listen', async () => {
    await using server = await HostileServer.start();
    const wrong = { code: 'CRAWL_OPTION_INVALID' };
    expect(() => server.url('redirect-selff')).toThrow(
      expect.objectContaining({ ...wrong, message: expect.stringContaining('Did you mean "redirect-self"?') }),
    );
    expect(() => server.url('redirect-self', 'x' as never)).toThrow(expect.objectContaining(wrong));
    const nowhere = HostileServer.start({ host: '192.0.2.1' });
    await expect(nowhere).rejects.toMatchObject({ ...wrong, cause: { code: 'EADDRNOTAVAIL' } });
  });
});

test('a store may be named by a file URL', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'polite-crawler-url-'));
  try {
    const crawler = new Crawler({ userAgent: AGENT, store: pathToFileURL(join(folder, 'a b')) });
    await crawler.run([]);
    const again = await LmdbStore.open(join(folder, 'a b'));
    await again.close();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
