import { isIP } from 'node:net';
import { CrawlError, toCrawlError } from '../errors.ts';
import { show } from '../options.ts';
import { ignore, isThenable } from '../promises.ts';

/** Which proxy a URL is asked for through: one for all, or by URL; `undefined` for none. */
export type ProxyOption = string | ((url: URL) => string | undefined);

/** A proxy, and how it is spoken to. */
export interface ProxyRoute {
  /** Without credentials, for messages. */
  readonly name: string;
  /** Names one proxy and who asks it. */
  readonly key: string;
  readonly kind: 'http' | 'socks4' | 'socks5';
  /** Whether the connection to an HTTP proxy is itself secure. */
  readonly secure: boolean;
  /** Whether the proxy gets an address that was found here, not a name. */
  readonly resolvesHere: boolean;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

/** Schemes as curl has them: with `socks5` and `socks4` the address is found here, with `socks5h` and `socks4a` by the proxy. */
const SCHEMES: Readonly<
  Record<string, Pick<ProxyRoute, 'kind' | 'secure' | 'resolvesHere'> & { readonly port: number }>
> = {
  'http:': { kind: 'http', secure: false, resolvesHere: false, port: 80 },
  'https:': { kind: 'http', secure: true, resolvesHere: false, port: 443 },
  'socks:': { kind: 'socks5', secure: false, resolvesHere: false, port: 1080 },
  'socks5:': { kind: 'socks5', secure: false, resolvesHere: true, port: 1080 },
  'socks5h:': { kind: 'socks5', secure: false, resolvesHere: false, port: 1080 },
  'socks4:': { kind: 'socks4', secure: false, resolvesHere: true, port: 1080 },
  'socks4a:': { kind: 'socks4', secure: false, resolvesHere: false, port: 1080 },
};

/** @throws {@link CrawlError} `CRAWL_OPTION_INVALID` */
export function checkProxy(proxy: unknown): ProxyOption | undefined {
  if (proxy === undefined || typeof proxy === 'function') return proxy as ProxyOption | undefined;
  parseProxy(proxy);
  return proxy as string;
}

/**
 * The proxy for a URL.
 * @throws {@link CrawlError} `CRAWL_HOOK_FAILED` where the user's function fails, `CRAWL_OPTION_INVALID` where it gives no proxy.
 */
export function routeOf(proxy: ProxyOption, url: URL): ProxyRoute | undefined {
  if (typeof proxy === 'string') return parseProxy(proxy);
  let chosen: string | undefined;
  try {
    chosen = proxy(new URL(url));
    if (isThenable(chosen)) {
      ignore(chosen);
      throw new TypeError('it must answer at once, not with a promise');
    }
  } catch (error) {
    throw toCrawlError(error, 'CRAWL_HOOK_FAILED', `"proxy" failed for ${url.href}`, { url: url.href });
  }
  return chosen === undefined || chosen === null ? undefined : parseProxy(chosen);
}

/**
 * Whether it is told a name in place of an address, so that nobody here has to know where the host is; `undefined` where
 * a function chooses. Never throws for a proxy that was checked.
 */
export function takesNames(proxy: ProxyOption | undefined): boolean | undefined {
  if (typeof proxy === 'function') return undefined;
  return proxy !== undefined && !parseProxy(proxy).resolvesHere;
}

/** Whether it is one of SOCKS for all URLs; what a function chooses is known when it is asked. */
export function isSocks(proxy: ProxyOption | undefined): boolean {
  return typeof proxy === 'string' && parseProxy(proxy).kind !== 'http';
}

const parsed = new Map<string, ProxyRoute>();
const MOST_PARSED = 1_000;

function parseProxy(proxy: unknown): ProxyRoute {
  if (typeof proxy !== 'string' || !URL.canParse(proxy)) throw noProxy(proxy);
  const known = parsed.get(proxy);
  if (known !== undefined) return known;
  const url = new URL(proxy);
  const scheme = Object.hasOwn(SCHEMES, url.protocol) ? SCHEMES[url.protocol] : undefined;
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  if (scheme === undefined || host === '') throw noProxy(proxy.includes('://') ? url.protocol : proxy);
  const port = url.port === '' ? scheme.port : Number(url.port);
  const route: ProxyRoute = {
    ...scheme,
    name: `${url.protocol}//${url.hostname}:${port}`,
    key: url.href,
    host,
    port,
    user: decoded(url.username),
    password: decoded(url.password),
  };
  if (parsed.size >= MOST_PARSED) parsed.clear();
  parsed.set(proxy, route);
  return route;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Shows no more of it than its scheme, since it may hold a password. */
function noProxy(proxy: unknown): CrawlError {
  const what =
    typeof proxy === 'string' && /^[a-z0-9+.-]+:$/i.test(proxy)
      ? proxy
      : typeof proxy === 'string'
        ? 'a text that is none'
        : show(proxy);
  return new CrawlError(
    'CRAWL_OPTION_INVALID',
    `Option "proxy" takes a URL of http, https, socks4, socks4a, socks5 or socks5h, or a function that gives one; not ${what}.${schemeMissing(proxy)}`,
  );
}

/** A host and port, as other programs take them. What may hold a password is not repeated. */
function schemeMissing(proxy: unknown): string {
  if (typeof proxy !== 'string' || proxy.includes('://') || !/:\d+\/?$/.test(proxy)) return '';
  return /^[\w.[\]:-]+$/.test(proxy) ? ` Write http://${proxy}` : ' Write http:// in front of it.';
}

/** The headers that name a proxy's user; none where the proxy's URL names nobody. */
export function proxyAuthorization({ password, user }: ProxyRoute): Record<string, string> {
  if (user === '' && password === '') return {};
  return { 'proxy-authorization': `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

/** Whether requests go to the proxy as they are, with the whole URL in their first line, and not through a tunnel. */
export function takesWholeUrls(route: ProxyRoute, target: URL): boolean {
  return route.kind === 'http' && target.protocol === 'http:';
}

/** What may be tried again, and what is for the user to mend. */
export function proxyError(
  route: ProxyRoute,
  url: string,
  why: string,
  details: { cause?: unknown; retryable: boolean },
): CrawlError {
  return new CrawlError('CRAWL_PROXY_FAILED', `The proxy ${route.name} did not lead to ${url}: ${why}`, {
    ...details,
    url,
  });
}

/** `host:port` as it stands in CONNECT. */
export function authorityOf(target: URL): string {
  return `${target.hostname}:${portOf(target)}`;
}

export function portOf(target: URL): number {
  return target.port === '' ? (target.protocol === 'https:' ? 443 : 80) : Number(target.port);
}

/** An IPv6 address without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** The name for SNI: none for an address, and no dot at its end (RFC 6066, 3). */
export function serverNameOf(host: string): string {
  if (isIP(host) !== 0) return '';
  return host.endsWith('.') ? host.slice(0, -1) : host;
}
