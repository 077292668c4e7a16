import { CrawlError } from './errors.ts';
import { productToken } from './headers.ts';
import { mustTake } from './options.ts';
import { canonicalPath } from './robots-txt/canonical.ts';
import { type Group, type RobotsRecord, readRecords, selectGroup } from './robots-txt/group.ts';
import { type RobotsBytes, readBytes } from './robots-txt/lines.ts';
import { originOf, parseHttpUrl, plainPathOf } from './robots-txt/origin.ts';
import { RuleSet } from './robots-txt/rule-set.ts';
import { parseUrl } from './url.ts';

export type { RobotsRecord } from './robots-txt/group.ts';
export { ROBOTS_MAX_BYTES } from './robots-txt/lines.ts';
export { robotsOrigin } from './robots-txt/origin.ts';

/** What a robots.txt says about one URL. */
export interface RobotsMatch {
  readonly allowed: boolean;
  /** The rule that decided, as `Disallow: /x`; absent where none matched. */
  readonly rule?: string;
  /** The line of that rule, from 1. */
  readonly line?: number;
}

/** Product token or whole `User-Agent` header; of several, the first that the file names decides. */
export type RobotsAgent = string | readonly string[];

/** Groups made ready are kept for this many user agents; a crawler has one. */
const AGENTS_KEPT = 16;

/**
 * A robots.txt file, read by RFC 9309 with the lenience of Google's parser: missing colons, frequent misspellings, byte
 * order marks. Fetches nothing and knows no clock: see `RobotsCache`.
 *
 * It reads what robots-parser would misread (bytes, groups, tokens, escapes, delays), and lets that decide the rest.
 */
export class RobotsTxt {
  /** The origin that the file speaks for, as `https://host` or `https://host:8443`. */
  readonly origin: string;
  readonly #url: string;
  readonly #file: RobotsBytes;
  readonly #agents = new Map<string, { group: Group | undefined; rules: RuleSet }>();
  #sitemaps: readonly string[] | undefined;
  #records: readonly RobotsRecord[] | undefined;

  private constructor(file: RobotsBytes, url: URL) {
    this.#file = file;
    this.#url = url.href;
    this.origin = originOf(url);
  }

  /**
   * Reads a file. Anything is a robots.txt: lines that cannot be read are left out one by one. What lies behind the first
   * 512 000 bytes is left out, too (RFC 9309, section 2.5).
   *
   * @param body - The file after content decoding; bytes are better than text, since text may have been decoded wrongly.
   * @param url - Where it was asked for, before redirects: it speaks for this origin.
   * @throws {@link CrawlError} `CRAWL_URL_INVALID` where `url` is no absolute http or https URL; nothing because of `body`.
   */
  static parse(body: string | Uint8Array, url: string): RobotsTxt {
    return new RobotsTxt(readBytes(body), parseHttpUrl(url));
  }

  /**
   * Whether the user agent may fetch the URL. `/robots.txt` may be fetched always.
   *
   * @param userAgent - Product token (`ExampleBot`) or whole header (`ExampleBot/1.2 (+https://example.org/bot)`).
   * @throws {@link CrawlError} `CRAWL_URL_INVALID` where the URL is not of this file's {@link origin}, see {@link applies}.
   */
  allows(url: string, userAgent: RobotsAgent): boolean {
    return this.matches(url, userAgent).allowed;
  }

  /**
   * Like {@link allows}, with the rule that decided.
   * @throws {@link CrawlError} `CRAWL_URL_INVALID` where the URL is not of this file's {@link origin}.
   */
  matches(url: string, userAgent: RobotsAgent): RobotsMatch {
    mustTake('RobotsTxt', 'a URL as a string', typeof url === 'string', url);
    // A plain path is in canonical form as it is.
    const path = plainPathOf(url, this.origin) ?? canonicalPath(this.#pathOf(url));
    if (path === '/robots.txt') return { allowed: true };
    const rule = this.#agent(userAgent).rules.decide(path);
    return rule === undefined ? { allowed: true } : { allowed: rule.allow, rule: rule.text, line: rule.line };
  }

  /**
   * Whether the file speaks for the URL: same scheme, host and port. Default ports, upper case and a trailing dot make no
   * difference, a subdomain does. Never throws.
   */
  applies(url: string): boolean {
    const parsed = parseUrl(url);
    return parsed !== undefined && originOf(parsed) === this.origin;
  }

  /**
   * Seconds that the user agent is asked to leave between requests, by `Crawl-delay` and `Request-rate`; the largest where
   * there are several. Values that are no finite number of at least 0 are left out. No cap is applied. Never throws.
   */
  crawlDelay(userAgent: RobotsAgent): number | undefined {
    return this.#agent(userAgent).group?.delay;
  }

  /**
   * Delays meant for the user agent that are no time to wait, as `Crawl-delay: abc`; the first five. Never throws.
   */
  ignoredDelays(userAgent: RobotsAgent): string[] {
    return [...(this.#agent(userAgent).group?.ignoredDelays ?? [])];
  }

  /** Absolute http and https URLs of all sitemaps that are named, for whatever agent, in order and each once. */
  get sitemaps(): string[] {
    this.#sitemaps ??= this.#readSitemaps();
    return [...this.#sitemaps];
  }

  /**
   * All fields but user-agent lines and rules: delays, sitemaps, `Content-Signal`, `License`, `Clean-param` and what else
   * is found, raw, in order.
   */
  get records(): readonly RobotsRecord[] {
    this.#records ??= readRecords(this.#file);
    return this.#records;
  }

  #agent(userAgent: RobotsAgent): { readonly group: Group | undefined; readonly rules: RuleSet } {
    const isAgent = typeof userAgent === 'string' || Array.isArray(userAgent);
    mustTake('RobotsTxt', 'a user agent as a string, or a list of them', isAgent, userAgent);
    const key = typeof userAgent === 'string' ? userAgent : JSON.stringify(userAgent);
    let agent = this.#agents.get(key);
    if (agent === undefined) {
      const names = typeof userAgent === 'string' ? [userAgent] : userAgent;
      const group = selectGroup(
        this.#file,
        names.map((name) => productToken(name) ?? ''),
      );
      agent = { group, rules: new RuleSet(group?.rules ?? []) };
      if (this.#agents.size >= AGENTS_KEPT) this.#agents.clear();
      this.#agents.set(key, agent);
    }
    return agent;
  }

  /** Path and query as they are requested: a `?` without a query stays, an empty path is `/`. */
  #pathOf(url: string): string {
    const parsed = parseHttpUrl(url);
    if (originOf(parsed) !== this.origin) {
      throw new CrawlError(
        'CRAWL_URL_INVALID',
        `The robots.txt of ${this.origin} says nothing about ${url}. Load the one of ${originOf(parsed)}.`,
        { url },
      );
    }
    const path = parsed.href.slice(parsed.href.indexOf('/', parsed.protocol.length + 2));
    const fragment = path.indexOf('#');
    return fragment < 0 ? path : path.slice(0, fragment);
  }

  #readSitemaps(): string[] {
    const found = new Set<string>();
    for (const { key, value } of this.records) {
      if (value === '' || !(key.startsWith('sitemap') || key.startsWith('site-map'))) continue;
      const url = parseUrl(value, this.#url);
      if (url?.protocol !== 'http:' && url?.protocol !== 'https:') continue;
      url.hash = '';
      found.add(url.href);
    }
    return [...found];
  }
}
