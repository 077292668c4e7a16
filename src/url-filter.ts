import type { CrawlError } from './errors.ts';
import { integer, mustTake, show } from './options.ts';
import type { LinkContext } from './types.ts';
import { domainSuffix, type FilterSeeds, invalid, ports, sameDomain, sameHost, schemes } from './url-filter/hosts.ts';
import {
  dynamicPages,
  type ExtensionRules,
  extensions,
  matching,
  type PatternRules,
  pathPrefix,
} from './url-filter/paths.ts';
import { type ReadableUrl, UrlParts } from './url-filter/url-parts.ts';
import {
  Failure,
  FILTER_FAILED,
  type FilterFunction,
  thrownVerdict,
  toVerdict,
  type Verdict,
} from './url-filter/verdict.ts';

export type { FilterSeeds } from './url-filter/hosts.ts';
export { DYNAMIC_EXTENSIONS, DYNAMIC_FOLDERS, type ExtensionRules, type PatternRules } from './url-filter/paths.ts';
export type { FilterFunction } from './url-filter/verdict.ts';

/** Longest URL that `UrlFilter.maxLength()` lets pass, in characters of its serialised form. */
export const MAX_URL_LENGTH = 2048;

/** Longest description of a filter inside the reason `not(...)`, in characters. */
const MAX_NAME_LENGTH = 80;

/**
 * Decides whether a URL belongs to the crawl. It decides only: a filter rewrites nothing, so the order of filters
 * changes the reason a URL is refused for, never whether it is refused.
 *
 * Extend it, or make one with {@link UrlFilter.from}, and join filters with `and`, `or` and `not`. The joined filters
 * never throw: a part that throws, or answers with anything but `undefined` or a reason, gives `filter-failed`, which
 * refuses, and which `not` leaves as it is.
 */
export abstract class UrlFilter {
  /**
   * Whether `url` may be crawled. Must answer at once and leave `url` as it is.
   * @returns `undefined` to accept, else a reason in a few words; it appears unchanged in the `skip` event.
   */
  abstract check(url: URL, context: LinkContext): string | undefined;

  /** Accepts what both accept; refuses with the reason of the first that refuses. */
  and(next: UrlFilter): UrlFilter {
    return new AllOf([...partsOf(this, AllOf), ...partsOf(filterGiven('and', next), AllOf)]);
  }

  /** Accepts what either accepts; refuses with the reason of the last. */
  or(next: UrlFilter): UrlFilter {
    return new AnyOf([...partsOf(this, AnyOf), ...partsOf(filterGiven('or', next), AnyOf)]);
  }

  /** Accepts what this refuses, and refuses what this accepts with the reason `not(...)`, this filter's name inside. */
  not(): UrlFilter {
    return new Not(this);
  }

  /** How this filter is called in `not(...)`: the name of its class, of its function, or of the method that made it. */
  toString(): string {
    return this.constructor.name || 'filter';
  }

  /** Accepts every URL. */
  static any(): UrlFilter {
    return new FunctionFilter(() => undefined, 'any', 'origin');
  }

  /**
   * Accepts the hosts that the seeds name, on the ports they name; refuses with `off-host`. The default port may be
   * written or not, a trailing dot and the case of letters do not count; `www.` does. The scheme is not compared.
   * @throws {@link CrawlError} `CRAWL_URL_INVALID` where a seed is no absolute URL with a host, `CRAWL_OPTION_INVALID` where
   * none is given.
   */
  static sameHost(seeds: FilterSeeds): UrlFilter {
    return new FunctionFilter(sameHost(seeds), 'sameHost', 'origin');
  }

  /**
   * Accepts the registrable domains that the seeds belong to by the Public Suffix List, private suffixes such as
   * `github.io` included; refuses with `off-domain`. An address or a name without a dot only equals itself. Ports are
   * not compared.
   * @throws {@link CrawlError} `CRAWL_URL_INVALID` where a seed is no absolute URL with a host, `CRAWL_OPTION_INVALID` where
   * none is given.
   */
  static sameDomain(seeds: FilterSeeds): UrlFilter {
    return new FunctionFilter(sameDomain(seeds), 'sameDomain', 'origin');
  }

  /**
   * Accepts the hosts named and all names below them; refuses with `off-domain`. `'example.org'`, `'.example.org'` and
   * `'*.example.org'` mean the same.
   * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where a suffix is no host name, or none is given.
   */
  static domainSuffix(...suffixes: string[]): UrlFilter {
    return new FunctionFilter(domainSuffix(suffixes), 'domainSuffix', 'origin');
  }

  /**
   * Accepts URLs of these schemes, with or without colon; refuses with `scheme`.
   * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where one is no scheme, or none is given.
   */
  static schemes(...wanted: string[]): UrlFilter {
    return new FunctionFilter(schemes(wanted), 'schemes', 'origin');
  }

  /**
   * Accepts URLs on these ports, the default port of the scheme where none is written; refuses with `port`.
   * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where one is no port, or none is given.
   */
  static ports(...wanted: number[]): UrlFilter {
    return new FunctionFilter(ports(wanted), 'ports', 'origin');
  }

  /**
   * Accepts or refuses by the extension of the last path segment, in any case, written with or without dot; refuses
   * with `extension`. `''` in a list stands for names without an extension, folders among them: with `allow` they
   * pass only if it is listed. `deny` wins over `allow`.
   * @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`.
   */
  static extensions(rules: ExtensionRules): UrlFilter {
    return new FunctionFilter(extensions(rules), 'extensions', 'parts');
  }

  /**
   * Refuses pages that are made anew for each request, with `dynamic`: URLs with a query, those in
   * {@link DYNAMIC_FOLDERS}, and those of programs with one of {@link DYNAMIC_EXTENSIONS}.
   */
  static dynamicPages(): UrlFilter {
    return new FunctionFilter(dynamicPages(), 'dynamicPages', 'parts');
  }

  /**
   * Accepts paths that begin with one of these, letter for letter: `/docs` accepts `/docs2` too, `/docs/` only the
   * folder. Refuses with `path`. Escapes count as what they stand for, those of separators do not.
   * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where one has no slash in front or a query, or none is given.
   */
  static pathPrefix(...prefixes: string[]): UrlFilter {
    return new FunctionFilter(pathPrefix(prefixes), 'pathPrefix', 'parts');
  }

  /**
   * Accepts or refuses by regular expressions over the whole serialised URL; refuses with `pattern`. `deny` wins over
   * `allow`; an empty `allow` accepts nothing. The flags `g` and `y` carry nothing from one URL to the next.
   * @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`.
   */
  static matching(rules: PatternRules): UrlFilter {
    return new FunctionFilter(matching(rules), 'matching', 'parts');
  }

  /**
   * Refuses URLs of more than `characters`, escapes counted as written, with `url-too-long`.
   * @param characters - @defaultValue {@link MAX_URL_LENGTH}
   * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where it is no whole number of at least 1.
   */
  static maxLength(characters?: number): UrlFilter {
    const longest = integer('UrlFilter.maxLength', characters, MAX_URL_LENGTH, 1);
    return new FunctionFilter((url) => (url.href.length > longest ? 'url-too-long' : undefined), 'maxLength', 'parts');
  }

  /**
   * A filter out of a function.
   * @param name - What it is called in `not(...)`; the function's own name where none is given.
   * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where `check` is no function, or an async one.
   */
  static from(check: FilterFunction, name?: string): UrlFilter {
    if (typeof check !== 'function') throw invalid('from', `a function, not ${show(check)}`);
    if (check.constructor.name === 'AsyncFunction')
      throw invalid('from', 'a function that answers at once, none that is async');
    return new FunctionFilter(check, name ?? check.name, 'url');
  }
}

/** What {@link safeCheck} found. */
export interface FilterResult {
  /** `undefined` where the URL is accepted. */
  readonly reason: string | undefined;
  /** Why the reason is `filter-failed`: code `CRAWL_FILTER_FAILED`, what was thrown in `cause`. */
  readonly error?: CrawlError;
}

const ACCEPTED: FilterResult = { reason: undefined };

/**
 * Asks a filter, and takes whatever is no answer for a refusal with the reason `filter-failed`: something thrown, `true`,
 * `false`, an empty string, a promise (whose rejection is caught). Never throws.
 */
export function safeCheck(filter: UrlFilter, url: URL | UrlParts, context: LinkContext): FilterResult {
  const verdict = ask(filter, url, context);
  if (verdict === undefined) return ACCEPTED;
  return verdict instanceof Failure ? { reason: FILTER_FAILED, error: verdict.error } : { reason: verdict };
}

/** Whether a filter answers alike for all URLs of one origin, whatever their context, so that it need be asked but once. */
export function readsOriginAlone(filter: UrlFilter): boolean {
  if (filter instanceof FunctionFilter) return filter.reads === 'origin';
  return filter instanceof Joined && filter.parts.every(readsOriginAlone);
}

/** Whether a filter answers alike for one URL, whatever its context: it is one of the library's own. */
export function readsUrlAlone(filter: UrlFilter): boolean {
  if (filter instanceof FunctionFilter) return filter.reads !== 'url';
  return filter instanceof Joined && filter.parts.every(readsUrlAlone);
}

function ask(filter: UrlFilter, url: URL | UrlParts, context: LinkContext): Verdict {
  try {
    if (filter instanceof Joined) return filter.judge(url, context);
    if (filter instanceof FunctionFilter && filter.reads !== 'url') return filter.checkParts(url, context);
    return toVerdict(filter.check(url instanceof UrlParts ? url.toUrl() : url, context), url);
  } catch (thrown) {
    return thrownVerdict(thrown, url);
  }
}

/** What a filter reads of a URL; those of the user's may read all of it, and more than once. */
type Reads = 'origin' | 'parts' | 'url';

class FunctionFilter<R extends Reads = Reads> extends UrlFilter {
  readonly reads: R;
  readonly #check: FilterFunction;
  readonly #name: string;

  constructor(
    check: R extends 'url' ? FilterFunction : (url: ReadableUrl) => string | undefined,
    name: string,
    reads: R,
  ) {
    super();
    this.reads = reads;
    this.#check = check as FilterFunction;
    this.#name = name;
  }

  /** For those that read no more than parts. */
  checkParts(url: ReadableUrl, context: LinkContext): string | undefined {
    return this.#check(url as URL, context);
  }

  override check(url: URL, context: LinkContext): string | undefined {
    if (this.reads !== 'url') mustTake(`UrlFilter.${this}.check`, 'a URL object', typeof url?.href === 'string', url);
    return this.#check(url, context);
  }

  override toString(): string {
    return this.#name || 'filter';
  }
}

/** Filters made of filters. They pass failures up as such, so that the error reaches {@link safeCheck}. */
abstract class Joined extends UrlFilter {
  abstract readonly parts: readonly UrlFilter[];

  abstract judge(url: URL | UrlParts, context: LinkContext): Verdict;

  override check(url: URL, context: LinkContext): string | undefined {
    return safeCheck(this, url, context).reason;
  }
}

class AllOf extends Joined {
  override readonly parts: readonly UrlFilter[];

  constructor(parts: readonly UrlFilter[]) {
    super();
    this.parts = parts;
  }

  /** A refusal stands whatever a failed part would have said; else one failure spoils the answer. */
  override judge(url: URL | UrlParts, context: LinkContext): Verdict {
    let failed: Failure | undefined;
    for (const part of this.parts) {
      const verdict = ask(part, url, context);
      if (verdict instanceof Failure) failed ??= verdict;
      else if (verdict !== undefined) return verdict;
    }
    return failed;
  }

  override toString(): string {
    return this.parts.map(nameOf).join(' and ');
  }
}

class AnyOf extends Joined {
  override readonly parts: readonly UrlFilter[];

  constructor(parts: readonly UrlFilter[]) {
    super();
    this.parts = parts;
  }

  /** An acceptance stands whatever a failed part would have said; else one failure spoils the answer. */
  override judge(url: URL | UrlParts, context: LinkContext): Verdict {
    let failed: Failure | undefined;
    let reason: string | undefined;
    for (const part of this.parts) {
      const verdict = ask(part, url, context);
      if (verdict === undefined) return undefined;
      if (verdict instanceof Failure) failed ??= verdict;
      else reason = verdict;
    }
    return failed ?? reason;
  }

  override toString(): string {
    return this.parts.map(nameOf).join(' or ');
  }
}

class Not extends Joined {
  override readonly parts: readonly [inner: UrlFilter];
  readonly #reason: string;

  constructor(inner: UrlFilter) {
    super();
    this.parts = [inner];
    this.#reason = `not(${nameOf(inner)})`;
  }

  override judge(url: URL | UrlParts, context: LinkContext): Verdict {
    const verdict = ask(this.parts[0], url, context);
    if (verdict instanceof Failure) return verdict;
    return verdict === undefined ? this.#reason : undefined;
  }

  override toString(): string {
    return this.#reason;
  }
}

/** The parts of a filter already joined in the same way: a chain stays flat, however long it gets. */
function partsOf(filter: UrlFilter, kind: typeof AllOf | typeof AnyOf): readonly UrlFilter[] {
  return filter instanceof kind ? filter.parts : [filter];
}

function filterGiven(method: string, filter: UrlFilter): UrlFilter {
  if (typeof filter?.check === 'function') return filter;
  throw invalid(`prototype.${method}`, `a UrlFilter, not ${show(filter)}`);
}

function nameOf(filter: UrlFilter): string {
  try {
    const name = String(filter);
    return name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH - 3)}...` : name;
  } catch {
    return 'filter';
  }
}
