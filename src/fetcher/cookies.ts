import { type CrawlError, toCrawlError } from '../errors.ts';
import type { CookieStore } from '../ports.ts';
import type { Headers } from '../types.ts';
import { isFieldValue } from './headers.ts';

type ToughCookie = typeof import('tough-cookie');

/** What RFC 6265, 6.1, asks of user agents at least, for one site (a registrable domain) … */
const MAX_COOKIES_PER_SITE = 50;
/** … and for one cookie. */
const MAX_COOKIE_BYTES = 4_096;
/** Sites remembered; the one that set a cookie longest ago is forgotten first. */
const MAX_SITES = 1_000;
/** Servers refuse requests whose head is larger than they like, many at 8 KiB. */
const MAX_HEADER_BYTES = 7_680;

/** The `Cookie` header for a URL; empty where there is none. Rejects with `CRAWL_HOOK_FAILED` where a store of the user's fails. */
export async function cookiesFor(store: CookieStore, url: string): Promise<string> {
  try {
    return fitting(await store.getCookieString(url));
  } catch (error) {
    throw storeError(error, url);
  }
}

/** Hands over what an answer sets, line by line; a line that is no good is ignored (RFC 6265, 5.3). Never rejects. */
export async function takeCookies(store: CookieStore, url: string, headers: Headers): Promise<void> {
  const lines = headers['set-cookie'];
  if (lines === undefined) return;
  for (const line of typeof lines === 'string' ? [lines] : lines) {
    try {
      await store.setCookie(line, url);
    } catch {
      // The page is worth more than its cookie.
    }
  }
}

/** As many of the cookies, in their order, as a server will take. */
function fitting(cookies: unknown): string {
  if (typeof cookies !== 'string' || !isFieldValue(cookies)) return '';
  if (cookies.length <= MAX_HEADER_BYTES) return cookies;
  let length = 0;
  const kept: string[] = [];
  for (const cookie of cookies.split('; ')) {
    const more = cookie.length + 2;
    if (length + more > MAX_HEADER_BYTES) continue;
    length += more;
    kept.push(cookie);
  }
  return kept.join('; ');
}

function storeError(error: unknown, url: string): CrawlError {
  return toCrawlError(error, 'CRAWL_HOOK_FAILED', `The cookie store failed for ${url}`, { url });
}

/** The cookies of one site. */
interface SiteJar {
  readonly jar: InstanceType<ToughCookie['CookieJar']>;
  /** Domain, path and name of each, in the order they were set. */
  readonly keys: Map<string, readonly [domain: string, path: string, name: string]>;
}

/**
 * Cookies as RFC 6265 has them, by tough-cookie: none for public suffixes, none across sites. Each site has a jar of its
 * own, so that a flood of cookies drowns only those of who sent it.
 */
export class CookieJars implements CookieStore {
  readonly #sites = new Map<string, SiteJar>();
  #library: Promise<ToughCookie> | undefined;

  async getCookieString(url: string): Promise<string> {
    if (this.#sites.size === 0) return '';
    const site = this.#sites.get(siteOf(await this.#load(), url));
    return site === undefined ? '' : site.jar.getCookieString(url);
  }

  async setCookie(cookie: string, url: string): Promise<void> {
    if (cookie.length > MAX_COOKIE_BYTES) return;
    const library = await this.#load();
    const name = siteOf(library, url);
    const known = this.#sites.get(name);
    const site = known ?? { jar: new library.CookieJar(), keys: new Map() };
    const set = await site.jar.setCookie(cookie, url, { ignoreError: true });
    if (set === undefined || set.domain === null || set.path === null) return;
    this.#sites.delete(name);
    this.#sites.set(name, site);
    const key = `${set.domain};${set.path};${set.key}`;
    site.keys.delete(key);
    site.keys.set(key, [set.domain, set.path, set.key]);
    await this.#makeRoom(site);
  }

  async #makeRoom(site: SiteJar): Promise<void> {
    const [oldestSite] = this.#sites.keys();
    if (this.#sites.size > MAX_SITES && oldestSite !== undefined) this.#sites.delete(oldestSite);
    const [oldest] = site.keys;
    if (site.keys.size <= MAX_COOKIES_PER_SITE || oldest === undefined) return;
    const [key, [domain, path, name]] = oldest;
    site.keys.delete(key);
    await site.jar.store.removeCookie(domain, path, name);
  }

  #load(): Promise<ToughCookie> {
    this.#library ??= import('tough-cookie');
    return this.#library;
  }
}

/** The registrable domain of a URL's host; the host itself where it has none. */
function siteOf(library: ToughCookie, url: string): string {
  const { hostname } = new URL(url);
  return library.getPublicSuffix(hostname, { allowSpecialUseDomain: true, ignoreError: true }) ?? hostname;
}
