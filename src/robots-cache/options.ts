import { CrawlError } from '../errors.ts';
import { integer, LONGEST_TIMER_MS, mustTake, oneOf, onlyKnown } from '../options.ts';
import type { Clock, MetaStorage, RobotsSource } from '../ports.ts';
import { steady } from '../steady-clock.ts';
import { OwnSource } from './own-source.ts';

/** Options of `RobotsCache`. */
export interface RobotsCacheOptions {
  /** Sends the requests of `check`; a `Fetcher` is one. Never closed by the cache. @defaultValue a `Fetcher` of its own */
  readonly source?: RobotsSource | undefined;
  /** @defaultValue the machine's clock */
  readonly clock?: Clock | undefined;
  /** Where entries outlive the process, under `robots:` and the origin. Never closed by the cache. @defaultValue none */
  readonly storage?: MetaStorage | undefined;
  /** Told when the storage fails; the cache goes on without it. Must not throw. @defaultValue nobody */
  readonly onStorageError?: ((error: CrawlError) => void) | undefined;
  /** Origins kept in memory; those that were asked about longest ago are left first. @defaultValue 10 000 */
  readonly maxOrigins?: number | undefined;
  /** Memory for all files and what is made of them, in bytes, reckoned at 16 times the size of a file. @defaultValue 134 217 728 (128 MiB) */
  readonly maxMemoryBytes?: number | undefined;
  /** From a request of `check` to the end of its answer, in milliseconds. @defaultValue 30 000 */
  readonly timeoutMs?: number | undefined;
  /**
   * More than five redirects: nothing may be fetched for a day, or anything may (RFC 9309, section 2.3.1.2, permits that).
   * @defaultValue `'disallow'`
   */
  readonly tooManyRedirects?: 'disallow' | 'allow' | undefined;
  /** Statuses 401 and 403: as if there were no file (RFC 9309, section 2.3.1.3), or nothing may be fetched. @defaultValue `'allow'` */
  readonly robots401403?: 'allow' | 'disallow' | undefined;
  /** Unreachable for over 30 days: still nothing may be fetched, or anything (RFC 9309, section 2.3.1.4). @defaultValue `'disallow'` */
  readonly after30Days?: 'disallow' | 'allow' | undefined;
}

/** What holds where an option of `RobotsCache` is not given. */
export const ROBOTS_CACHE_DEFAULTS = {
  maxOrigins: 10_000,
  maxMemoryBytes: 134_217_728,
  timeoutMs: 30_000,
  tooManyRedirects: 'disallow',
  robots401403: 'allow',
  after30Days: 'disallow',
} as const;

/** Options, checked and complete. */
export interface Settings {
  readonly source: RobotsSource;
  readonly clock: Clock;
  readonly storage: MetaStorage | undefined;
  readonly onStorageError: (error: CrawlError) => void;
  readonly maxOrigins: number;
  readonly maxMemoryBytes: number;
  readonly timeoutMs: number;
  readonly tooManyRedirects: 'disallow' | 'allow';
  readonly robots401403: 'allow' | 'disallow';
  readonly after30Days: 'disallow' | 'allow';
}

const CHOICES = ['disallow', 'allow'] as const;

/** @param given - Options, or a source alone. */
export function readOptions(given: RobotsCacheOptions | RobotsSource): Settings {
  const defaults = ROBOTS_CACHE_DEFAULTS;
  const isObject = given !== null && typeof given === 'object';
  mustTake('RobotsCache', 'an object of options, or a source such as a Fetcher', isObject, given);
  const options: RobotsCacheOptions = 'getOnce' in given ? { source: given } : given;
  onlyKnown('RobotsCache', options, ['source', 'clock', 'storage', 'onStorageError', ...Object.keys(defaults)]);
  if (options.source !== undefined && typeof options.source?.getOnce !== 'function') {
    throw new CrawlError('CRAWL_OPTION_INVALID', 'RobotsCache takes a "source" with getOnce(); a Fetcher is one.');
  }
  return {
    source: options.source ?? new OwnSource(),
    clock: steady(options.clock),
    storage: options.storage,
    onStorageError: options.onStorageError ?? (() => {}),
    maxOrigins: integer('maxOrigins', options.maxOrigins, defaults.maxOrigins, 1),
    maxMemoryBytes: integer('maxMemoryBytes', options.maxMemoryBytes, defaults.maxMemoryBytes),
    timeoutMs: integer('timeoutMs', options.timeoutMs, defaults.timeoutMs, 1, LONGEST_TIMER_MS),
    tooManyRedirects: oneOf('tooManyRedirects', options.tooManyRedirects, defaults.tooManyRedirects, CHOICES),
    robots401403: oneOf('robots401403', options.robots401403, defaults.robots401403, CHOICES),
    after30Days: oneOf('after30Days', options.after30Days, defaults.after30Days, CHOICES),
  };
}
