import { describeThrown, isCrawlError } from './errors.ts';
import { mustTake } from './options.ts';
import type { RobotsSource } from './ports.ts';
import { type Chain, lifetimeMs, type Outcome, type RobotsAnswer, readAnswer } from './robots-cache/answer.ts';
import { Entries } from './robots-cache/entries.ts';
import { type Entry, isFresh, judge, nextEntry, type RobotsVerdict, validators } from './robots-cache/entry.ts';
import { type RobotsCacheOptions, readOptions, type Settings } from './robots-cache/options.ts';
import { Records } from './robots-cache/records.ts';
import { type RobotsFetch, timedGet } from './robots-cache/timed-get.ts';
import { ROBOTS_MAX_BYTES, RobotsTxt, robotsOrigin } from './robots-txt.ts';
import { parseUrl } from './url.ts';

export type { RobotsAnswer } from './robots-cache/answer.ts';
export type { RobotsVerdict } from './robots-cache/entry.ts';
export { ROBOTS_CACHE_DEFAULTS, type RobotsCacheOptions } from './robots-cache/options.ts';
export type { RobotsFetch } from './robots-cache/timed-get.ts';

/** What an answer led to: another request, or a result that `verdict` now knows. */
export type RobotsStep =
  | {
      /** To be requested next, perhaps on another host; its answer goes to `accept` with the same origin. */
      readonly next: string;
      /** Redirects followed so far. */
      readonly redirects: number;
    }
  | {
      readonly done: true;
      /**
       * `rules`: a file was had. `open`: there is none, anything may be fetched. `closed`: nothing may be fetched.
       * `unreachable`: nothing for now. `ignored`: the answer was not the one awaited, nothing was changed.
       */
      readonly outcome: Entry['policy'] | 'ignored';
      /** What was met, for a log: `HTTP 503`, the message of an error. */
      readonly detail: string;
      /** Sitemaps that the file names. */
      readonly sitemaps: string[];
      /** For `unreachable`: when the file is to be asked for again, in milliseconds since the epoch. */
      readonly retryAt?: number;
    };

/** A request whose answer never came back to `accept` is given up after this long. */
const STEP_TTL_MS = 1_800_000;

/**
 * Knows which URLs robots.txt allows, and keeps the files: one request an origin at a time, at most a day old, an
 * unreachable file forbidding everything (RFC 9309, sections 2.3 and 2.4).
 *
 * Two ways to use it. {@link check} does all by itself. A crawler whose every request must wait its turn takes the steps
 * one by one: {@link verdict}, and where that is unknown, {@link load}, {@link nextFetch}, a request, {@link accept}.
 */
export class RobotsCache {
  readonly #settings: Settings;
  readonly #entries: Entries;
  readonly #chains = new Map<string, Chain>();
  readonly #flights = new Map<string, Promise<Entry | undefined>>();
  readonly #records: Records | undefined;

  /**
   * @param options - Or a source alone: `new RobotsCache(fetcher)`.
   * @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`
   */
  constructor(options: RobotsCacheOptions | RobotsSource = {}) {
    this.#settings = readOptions(options);
    const { maxOrigins, maxMemoryBytes, storage, onStorageError } = this.#settings;
    this.#entries = new Entries(maxOrigins, maxMemoryBytes);
    this.#records = storage === undefined ? undefined : new Records(storage, onStorageError);
  }

  /** Origins in memory. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Whether the URL may be fetched; fetches its origin's robots.txt first where that is not known. Many questions about
   * one origin share one request.
   *
   * @param userAgent - The `User-Agent` header; its product token selects the group.
   * @returns A failure denies, with a reason. Rejects with {@link CrawlError} `CRAWL_OPTION_INVALID` for a `userAgent`
   * that is no string, and else never.
   */
  async check(url: string, userAgent: string): Promise<RobotsVerdict> {
    mustTakeAgent('check', userAgent);
    try {
      const origin = robotsOrigin(url);
      const known = this.verdict(url, userAgent);
      if (known !== undefined) return known;
      const entry = await this.#fly(origin, userAgent);
      return entry === undefined ? denial('robots-unreachable', 'Being fetched') : this.#judge(entry, url, userAgent);
    } catch (error) {
      const reason = isCrawlError(error, 'CRAWL_URL_INVALID') ? 'url-invalid' : 'robots-unreachable';
      return denial(reason, describeThrown(error));
    }
  }

  /**
   * What is known about a URL at this moment; a crawler asks when it is about to fetch it, not when it is queued.
   *
   * @returns `undefined` where the file must be fetched or is on its way.
   * @throws {@link CrawlError} `CRAWL_URL_INVALID`, or `CRAWL_OPTION_INVALID` for a `userAgent` that is no string.
   */
  verdict(url: string, userAgent: string): RobotsVerdict | undefined {
    const entry = this.#entries.get(robotsOrigin(url));
    mustTakeAgent('verdict', userAgent);
    if (entry === undefined || !isFresh(entry, this.#now())) return undefined;
    return this.#judge(entry, url, userAgent);
  }

  /**
   * Takes an entry over from the storage, where that knows more than the memory. Cheap while the memory is fresh.
   *
   * @param origin - Or any URL of it.
   * @returns whether there is a verdict now. Never rejects, but for an invalid `origin`: `CRAWL_URL_INVALID`.
   */
  async load(origin: string): Promise<boolean> {
    const key = robotsOrigin(origin);
    if (!this.#isFresh(key)) this.#install(await this.#records?.read(key, this.#now()));
    return this.#isFresh(key);
  }

  /**
   * The request that is due for an origin, which from now on is {@link pending}: its answer must go to {@link accept}, or
   * the request to {@link abandon}.
   *
   * @param origin - Or any URL of it.
   * @returns `undefined` where none is due, or one is pending.
   * @throws {@link CrawlError} `CRAWL_URL_INVALID`
   */
  nextFetch(origin: string): RobotsFetch | undefined {
    const key = robotsOrigin(origin);
    if (this.pending(key) || this.#isFresh(key)) return undefined;
    const chain = this.#newChain(`${key}/robots.txt`, 0);
    this.#setChain(key, chain);
    return this.#fetchOf(key, chain);
  }

  /** Whether a request for the origin's file is on its way, or a redirect of it waits to be requested. */
  pending(origin: string): boolean {
    const chain = this.#chains.get(robotsOrigin(origin));
    return chain !== undefined && this.#now() - chain.touchedAt < STEP_TTL_MS;
  }

  /**
   * The conditional headers for a URL on the way to an origin's file; none where the copy that is kept was not found there.
   * @throws {@link CrawlError} `CRAWL_URL_INVALID`
   */
  conditions(origin: string, url: string): Readonly<Record<string, string>> {
    const key = robotsOrigin(origin);
    const copy = this.#entries.get(key)?.copy;
    if (copy?.url !== url || this.#chains.get(key)?.isUnconditional) return {};
    return {
      ...(copy.etag === undefined ? {} : { 'if-none-match': copy.etag }),
      ...(copy.lastModified === undefined ? {} : { 'if-modified-since': copy.lastModified }),
    };
  }

  /**
   * Takes the answer to a request of {@link nextFetch}, or to the `next` of a step before. A redirect's answer is also taken
   * where the beginning of its way is not known, because the process was started anew or another one began it.
   *
   * @param answer - The answer, of whatever status, or the error there was instead. Nothing is thrown because of it.
   * @throws {@link CrawlError} `CRAWL_URL_INVALID` for an invalid origin.
   */
  accept(origin: string, answer: RobotsAnswer): RobotsStep {
    const key = robotsOrigin(origin);
    const start = `${key}/robots.txt`;
    const url = 'error' in answer ? undefined : plainUrl(answer.url);
    const chain = this.pending(key)
      ? (this.#chains.get(key) as Chain)
      : this.#newChain(url ?? start, url === undefined || url === start ? 0 : 1);
    if (url !== undefined && url !== chain.url) {
      return { done: true, outcome: 'ignored', detail: 'Another answer is awaited', sitemaps: [] };
    }
    const outcome = readAnswer(answer, chain, {
      settings: this.#settings,
      hasCopy: Object.keys(this.conditions(key, chain.url)).length > 0,
      now: this.#now(),
    });
    if (outcome.kind === 'next') {
      this.#setChain(key, outcome.chain);
      return { next: outcome.chain.url, redirects: outcome.chain.redirects };
    }
    return this.#settle(key, chain, outcome);
  }

  /** Forgets a request that was given up before it could succeed or fail, as when a crawl is stopped. */
  abandon(origin: string): void {
    this.#chains.delete(robotsOrigin(origin));
  }

  /**
   * Lets an unreachable file be asked for again at once, and does not count the failure: for a connection that just broke,
   * before the waits of minutes begin.
   */
  retrySoon(origin: string): void {
    const entry = this.#entries.get(robotsOrigin(origin));
    if (entry?.policy !== 'unreachable') return;
    this.#entries.set({ ...entry, expiresAt: this.#now(), failures: Math.max(0, entry.failures - 1) });
  }

  /** Resolves when all that was learnt is in the storage. Never rejects. */
  async flush(): Promise<void> {
    await this.#records?.flush();
  }

  #now(): number {
    return this.#settings.clock.now();
  }

  #isFresh(key: string): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && isFresh(entry, this.#now());
  }

  #judge(entry: Entry, url: string, userAgent: string): RobotsVerdict {
    return judge(entry, url, userAgent, { now: this.#now(), after30Days: this.#settings.after30Days });
  }

  #newChain(url: string, redirects: number): Chain {
    return { url, redirects, repeats: 0, isUnconditional: false, touchedAt: this.#now() };
  }

  #fetchOf(key: string, { url }: Chain): RobotsFetch {
    return { url, headers: this.conditions(key, url), maxBytes: ROBOTS_MAX_BYTES };
  }

  #setChain(key: string, chain: Chain): void {
    this.#chains.delete(key);
    this.#chains.set(key, chain);
    for (const oldest of this.#chains.keys()) {
      if (this.#chains.size <= this.#settings.maxOrigins) return;
      this.#chains.delete(oldest);
    }
  }

  #settle(key: string, chain: Chain, outcome: Exclude<Outcome, { kind: 'next' }>): RobotsStep {
    const now = this.#now();
    const entry =
      outcome.kind === 'rules'
        ? this.#entryOf(key, chain, outcome, now)
        : nextEntry(key, outcome, this.#entries.get(key), now);
    this.#chains.delete(key);
    this.#entries.set(entry);
    this.#records?.write(entry);
    const { policy, detail, copy, expiresAt } = entry;
    const sitemaps = policy === 'rules' && copy !== undefined ? copy.robots.sitemaps : [];
    return {
      done: true,
      outcome: policy,
      detail,
      sitemaps,
      ...(policy === 'unreachable' ? { retryAt: expiresAt } : {}),
    };
  }

  /** Rules hold for the origin that was asked first, wherever they were found (RFC 9309, section 2.3.1.2). */
  #entryOf(key: string, { url }: Chain, { body, headers, detail }: Outcome & { kind: 'rules' }, now: number): Entry {
    const kept = body.subarray(0, ROBOTS_MAX_BYTES);
    const lifetime = lifetimeMs(headers, now);
    const copy = {
      robots: RobotsTxt.parse(body, `${key}/robots.txt`),
      body: this.#settings.storage === undefined ? undefined : Uint8Array.from(kept),
      bytes: kept.length,
      url,
      ...validators(headers),
      lifetimeMs: lifetime,
    };
    const expiresAt = now + lifetime;
    return { origin: key, policy: 'rules', copy, checkedAt: now, expiresAt, failures: 0, detail };
  }

  /** An entry of the storage counts where it is newer, also against a request that is still on its way elsewhere. */
  #install(stored: Entry | undefined): void {
    if (stored === undefined) return;
    const known = this.#entries.get(stored.origin);
    if (known !== undefined && known.checkedAt >= stored.checkedAt) return;
    this.#entries.set(stored);
    const chain = this.#chains.get(stored.origin);
    if (chain !== undefined && stored.checkedAt > chain.touchedAt) this.#chains.delete(stored.origin);
  }

  #fly(origin: string, userAgent: string): Promise<Entry | undefined> {
    const known = this.#flights.get(origin);
    if (known !== undefined) return known;
    const flight = this.#learn(origin, userAgent).finally(() => this.#flights.delete(origin));
    this.#flights.set(origin, flight);
    return flight;
  }

  /** `undefined` where the steps are being taken by somebody else. */
  async #learn(origin: string, userAgent: string): Promise<Entry | undefined> {
    const { source, timeoutMs } = this.#settings;
    await this.load(origin);
    let fetch = this.nextFetch(origin);
    if (fetch === undefined && this.pending(origin)) return undefined;
    while (fetch !== undefined) {
      const step = this.accept(origin, await timedGet(source, fetch, { origin, userAgent, timeoutMs }));
      if ('done' in step) break;
      fetch = this.#fetchOf(origin, this.#chains.get(origin) as Chain);
    }
    return this.#entries.get(origin);
  }
}

function mustTakeAgent(method: string, userAgent: unknown): void {
  const isText = typeof userAgent === 'string';
  mustTake(`RobotsCache.${method}`, 'a URL, and the User-Agent that will ask for it', isText, userAgent);
}

function denial(reason: 'robots-unreachable' | 'url-invalid', detail: string): RobotsVerdict {
  return { allowed: false, reason, detail, sitemaps: [] };
}

/** A URL as `next` and `nextFetch` give it: serialised, without fragment. */
function plainUrl(given: string): string {
  const url = parseUrl(given);
  if (url === undefined) return given;
  url.hash = '';
  return url.href;
}
