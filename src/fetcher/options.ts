import { AddressGuard, type NetworkPolicy } from '../address-guard.ts';
import { DnsCache, type DnsLookup } from '../dns.ts';
import { CrawlError } from '../errors.ts';
import { boolean, integer, LONGEST_TIMER_MS, number, onlyKnown, show, wrongOption } from '../options.ts';
import type { CookieStore, Transport } from '../ports.ts';
import { checkUserAgent } from '../user-agent.ts';
import { CookieJars } from './cookies.ts';
import { checkHeaders, type HeaderSettings, type HeadersOption } from './headers.ts';
import { checkProxy, type ProxyOption } from './proxy.ts';
import { checkTls, type TlsSettings } from './tls.ts';

/** Who sends the requests of a fetcher. */
export type TransportOption = 'got' | 'lean' | Transport;

/** Limits of one fetch, in milliseconds. */
export interface Timeouts {
  /** Until a connection stands: name, TCP and TLS. @defaultValue 10 000 */
  readonly connect: number;
  /** From then until the head of the answer is there. @defaultValue 30 000 */
  readonly headers: number;
  /** From first to last, redirects and body included; a hard wall, also for bodies that come drop by drop. @defaultValue 120 000 */
  readonly page: number;
}

/** Where bodies are cut, in bytes after decompression. */
export interface BodySizes {
  /** HTML and XHTML. @defaultValue 2 097 152 (2 MiB) */
  readonly html: number;
  /** All else. @defaultValue 15 728 640 (15 MiB) */
  readonly other: number;
}

/** Options of {@link Fetcher}. */
export interface FetcherOptions {
  /** Name of the crawler and a contact: `name/1.0 (+mailto:you@site)` or `name/1.0 (+https://site/bot)`. No default. */
  readonly userAgent: string;
  /** @defaultValue `{ connect: 10 000, headers: 30 000, page: 120 000 }` ms */
  readonly timeouts?: Partial<Timeouts> | undefined;
  /** One number for all bodies, or by kind. @defaultValue `{ html: 2 MiB, other: 15 MiB }` */
  readonly maxBodyBytes?: number | Partial<BodySizes> | undefined;
  /** Hops of one chain that are followed. @defaultValue 10 */
  readonly maxRedirects?: number | undefined;
  /** Size of the head of an answer. @defaultValue 16 384 (16 KiB) */
  readonly maxHeaderBytes?: number | undefined;
  /** Header fields of an answer. @defaultValue 100 */
  readonly maxHeaderFields?: number | undefined;
  /** How many times larger than sent a body may get, past 1 MiB. @defaultValue 100 */
  readonly maxDecompressionRatio?: number | undefined;
  /**
   * What may be connected to. With `'seeds'`, the host of the URL given to `fetch` may be anywhere, those that it
   * redirects to only on the open internet. A guard decides alone, also about the URL given to `fetch`.
   * @defaultValue `'seeds'`
   */
  readonly network?: NetworkPolicy | AddressGuard | undefined;
  /** Finds the addresses of hosts: a function, or a cache that others use too. @defaultValue the system's resolver, behind a cache */
  readonly dnsLookup?: DnsLookup | DnsCache | undefined;
  /**
   * Sent with every request: a record, or a function of the URL. Credentials in a record go only to hosts that the user
   * named and never to another origin than the fetch began with; a function is asked for every hop.
   * @defaultValue none
   */
  readonly headers?: HeadersOption | undefined;
  /** Mailbox for the `From` header (RFC 9110, 10.1.2). @defaultValue none */
  readonly from?: string | undefined;
  /** `Accept-Language`. @defaultValue none */
  readonly acceptLanguage?: string | undefined;
  /**
   * Whether cookies are kept and sent back: in a jar of the fetcher's own, which holds at most 50 for each of 1000 sites
   * and keeps them apart by the Public Suffix List, or in one of the user's. What they hold goes behind a `cookie` header
   * that was set otherwise; no more than 7.5 KiB are sent. @defaultValue `false`
   */
  readonly cookies?: boolean | CookieStore | undefined;
  /**
   * The proxy to ask through: a URL of http, https, socks4, socks4a, socks5 or socks5h with the user's name and password
   * in it if need be, or a function of the URL that gives one or `undefined`. SOCKS needs the package `socks`. The target
   * is looked up here all the same, and refused where `network` says so; with `network: 'any'` only the proxy looks it up.
   * @defaultValue none
   */
  readonly proxy?: ProxyOption | undefined;
  /** Speak HTTP/2 with servers that choose it, HTTP/1.1 with others. @defaultValue `false` */
  readonly http2?: boolean | undefined;
  /** Certificate authorities of your own, a certificate for the client, and the like. @defaultValue Node's */
  readonly tls?: TlsSettings | undefined;
  /**
   * Sends the requests: got, Node's own client with nothing in between (`'lean'`, which takes about half of the time), or
   * a transport of your own, which is not closed with the fetcher. The first two behave the same. @defaultValue `'got'`
   */
  readonly transport?: TransportOption | undefined;
}

/** Every default of {@link FetcherOptions}, written once. */
export const FETCHER_DEFAULTS: Readonly<{
  timeouts: Timeouts;
  maxBodyBytes: BodySizes;
  maxRedirects: number;
  maxHeaderBytes: number;
  maxHeaderFields: number;
  maxDecompressionRatio: number;
  network: NetworkPolicy;
  cookies: boolean;
  http2: boolean;
  transport: 'got';
}> = {
  timeouts: { connect: 10_000, headers: 30_000, page: 120_000 },
  maxBodyBytes: { html: 2_097_152, other: 15_728_640 },
  maxRedirects: 10,
  maxHeaderBytes: 16_384,
  maxHeaderFields: 100,
  maxDecompressionRatio: 100,
  network: 'seeds',
  cookies: false,
  http2: false,
  transport: 'got',
};

const KNOWN = [
  ...Object.keys(FETCHER_DEFAULTS),
  'userAgent',
  'dnsLookup',
  'headers',
  'from',
  'acceptLanguage',
  'proxy',
  'tls',
];

/** Options, checked and with their defaults. */
export interface FetcherSettings extends HeaderSettings {
  readonly timeouts: Timeouts;
  readonly maxBodyBytes: BodySizes;
  readonly maxRedirects: number;
  readonly maxHeaderBytes: number;
  readonly maxHeaderFields: number;
  readonly maxDecompressionRatio: number;
  readonly network: NetworkPolicy | AddressGuard;
  readonly dns: DnsCache;
  readonly cookies: CookieStore | undefined;
  readonly proxy: ProxyOption | undefined;
  readonly http2: boolean;
  readonly tls: TlsSettings;
  readonly transport: TransportOption;
}

/** @throws {@link CrawlError} `CRAWL_CONTACT_MISSING`, `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID` */
export function fetcherSettings(options: FetcherOptions): FetcherSettings {
  onlyKnown('Fetcher', options, KNOWN);
  const { dnsLookup, headers, network = FETCHER_DEFAULTS.network, transport = FETCHER_DEFAULTS.transport } = options;
  if (headers !== undefined && typeof headers !== 'function') checkHeaders(headers);
  // Says so now, not at the first fetch.
  if (!(network instanceof AddressGuard)) new AddressGuard(network);
  if (transport !== 'got' && transport !== 'lean' && typeof transport?.request !== 'function') {
    throw new CrawlError(
      'CRAWL_OPTION_INVALID',
      `Option "transport" takes 'got', 'lean' or a Transport, not ${show(transport)}.`,
    );
  }
  if (typeof transport !== 'string') noOwnConnections(options);
  const { maxRedirects, maxHeaderBytes, maxHeaderFields, maxDecompressionRatio } = FETCHER_DEFAULTS;
  return {
    userAgent: checkUserAgent(options.userAgent),
    from: headerText('from', options.from),
    acceptLanguage: headerText('acceptLanguage', options.acceptLanguage),
    headers,
    timeouts: timeouts(options.timeouts),
    maxBodyBytes: bodySizes(options.maxBodyBytes),
    maxRedirects: integer('maxRedirects', options.maxRedirects, maxRedirects),
    maxHeaderBytes: integer('maxHeaderBytes', options.maxHeaderBytes, maxHeaderBytes, 256, 16_777_216),
    maxHeaderFields: integer('maxHeaderFields', options.maxHeaderFields, maxHeaderFields, 1),
    maxDecompressionRatio: number('maxDecompressionRatio', options.maxDecompressionRatio, maxDecompressionRatio, 1),
    network,
    dns: dnsLookup instanceof DnsCache ? dnsLookup : new DnsCache({ lookup: dnsLookup }),
    cookies: cookieStore(options.cookies),
    proxy: checkProxy(options.proxy),
    http2: boolean('http2', options.http2, FETCHER_DEFAULTS.http2),
    tls: checkTls(options.tls),
    transport,
  };
}

/** A transport of the user's makes its own connections. */
function noOwnConnections(options: FetcherOptions): void {
  for (const name of ['proxy', 'http2', 'tls'] as const) {
    if (options[name] === undefined || options[name] === false) continue;
    const message = `Options "transport" and "${name}" exclude each other: a Transport makes its own connections.`;
    throw new CrawlError('CRAWL_OPTION_CONFLICT', message);
  }
}

function timeouts(given: Partial<Timeouts> | undefined): Timeouts {
  const defaults = FETCHER_DEFAULTS.timeouts;
  if (given === undefined) return defaults;
  onlyKnown('timeouts', given, Object.keys(defaults));
  const ms = (name: keyof Timeouts) => integer(`timeouts.${name}`, given[name], defaults[name], 1, LONGEST_TIMER_MS);
  return { connect: ms('connect'), headers: ms('headers'), page: ms('page') };
}

function bodySizes(given: number | Partial<BodySizes> | undefined): BodySizes {
  const defaults = FETCHER_DEFAULTS.maxBodyBytes;
  if (typeof given === 'number') {
    const all = integer('maxBodyBytes', given, defaults.other);
    return { html: all, other: all };
  }
  if (given === undefined) return defaults;
  if (typeof given !== 'object' || given === null) {
    throw wrongOption('maxBodyBytes', 'a number of bytes, or { html, other }', given);
  }
  onlyKnown('maxBodyBytes', given, Object.keys(defaults));
  return {
    html: integer('maxBodyBytes.html', given.html, defaults.html),
    other: integer('maxBodyBytes.other', given.other, defaults.other),
  };
}

function cookieStore(given: boolean | CookieStore | undefined): CookieStore | undefined {
  const store: unknown = given === undefined ? FETCHER_DEFAULTS.cookies : given;
  if (typeof store === 'boolean') return store ? new CookieJars() : undefined;
  const { getCookieString, setCookie } = (store ?? {}) as Partial<Record<keyof CookieStore, unknown>>;
  if (typeof getCookieString === 'function' && typeof setCookie === 'function') return store as CookieStore;
  throw new CrawlError(
    'CRAWL_OPTION_INVALID',
    `Option "cookies" takes true, false or a CookieStore, not ${show(store)}.`,
  );
}

function headerText(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || value === '') {
    throw wrongOption(name, 'a text', value);
  }
  checkHeaders({ [name]: value });
  return value;
}
