import leven from 'leven';
import { CrawlError } from './errors.ts';
import type { CrawlStore } from './ports.ts';

/** Options with every field given: what defaults and settings are. */
export type Complete<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> };

/** Objects that are values of their own and have no fields to look at: taken for options they would mean none. */
const NO_OPTIONS = [Array, RegExp, Date, Map, Set, Promise, URL, Error];

/**
 * Refuses options that are not known, and says which was meant.
 * @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN`, or `CRAWL_OPTION_INVALID` where `options` is no object.
 */
export function onlyKnown(owner: string, options: unknown, known: Iterable<string>): void {
  if (options === null || typeof options !== 'object' || NO_OPTIONS.some((type) => options instanceof type)) {
    throw new CrawlError('CRAWL_OPTION_INVALID', `${owner} takes an object of options, not ${show(options)}.`);
  }
  const names = [...known];
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue;
    const meant = closest(name, names);
    const hint = meant === undefined ? `Known are: ${names.join(', ')}.` : `Did you mean "${meant}"?`;
    throw new CrawlError('CRAWL_OPTION_UNKNOWN', `${owner} has no option "${name}". ${hint}`);
  }
}

/**
 * The number given, or the default where none was.
 * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where it is not a number from `min` to `max`.
 */
export function number(
  name: string,
  value: unknown,
  fallback: number,
  min = 0,
  max: number = Number.POSITIVE_INFINITY,
): number {
  if (value === undefined) return fallback;
  if (typeof value !== 'number' || Number.isNaN(value) || value < min || value > max) {
    throw wrongOption(name, `a number ${range(min, max)}`, value);
  }
  return value;
}

/**
 * Like {@link number}, whole numbers only; `Infinity` passes where `max` is.
 * @throws {@link CrawlError} `CRAWL_OPTION_INVALID`
 */
export function integer(
  name: string,
  value: unknown,
  fallback: number,
  min = 0,
  max: number = Number.POSITIVE_INFINITY,
): number {
  const checked = number(name, value, fallback, min, max);
  if (Number.isInteger(checked) || checked === Number.POSITIVE_INFINITY) return checked;
  throw wrongOption(name, `a whole number ${range(min, max)}`, value);
}

/** @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where the value is neither `undefined` nor a boolean. */
export function boolean(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value === 'boolean') return value;
  throw wrongOption(name, 'true or false', value);
}

/** @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where the value is not one of `choices`. */
export function oneOf<T extends string>(name: string, value: unknown, fallback: T, choices: readonly T[]): T {
  if (value === undefined) return fallback;
  if (choices.includes(value as T)) return value as T;
  throw wrongOption(name, choices.map((c) => `'${c}'`).join(', '), value);
}

/**
 * `CRAWL_OPTION_INVALID` for an option with a wrong value.
 * @param takes - What the option takes, as in "a number of bytes".
 * @param hint - What else there is to say, with a space before it.
 */
export function wrongOption(name: string, takes: string, value: unknown, hint = ''): CrawlError {
  return new CrawlError('CRAWL_OPTION_INVALID', `Option "${name}" takes ${takes}, not ${show(value)}.${hint}`);
}

/**
 * Refuses a wrong argument, and says what to pass in its place.
 * @param takes - What `call` takes, as in "a string with the URL".
 * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where `isRight` is `false`.
 */
export function mustTake(call: string, takes: string, isRight: boolean, given: unknown): void {
  if (!isRight) throw new CrawlError('CRAWL_OPTION_INVALID', `${call} takes ${takes}, not ${show(given)}.`);
}

const STORE_VERBS = [
  ...['offer', 'lease', 'settle', 'renew', 'claimAddress', 'setHost', 'getHost', 'nextDueAt', 'stats', 'has'],
  ...['record', 'note', 'getMeta', 'setMeta', 'flush', 'close'],
] as const satisfies readonly (keyof CrawlStore)[];

/** The methods of a {@link CrawlStore} that a value lacks; all of them where it is no object. */
function missingVerbs(value: unknown): readonly (keyof CrawlStore)[] {
  return STORE_VERBS.filter((verb) => typeof (value as Partial<CrawlStore> | null | undefined)?.[verb] !== 'function');
}

/**
 * Refuses what is no whole store, and says what it lacks.
 * @param what - What needs one, as in "Frontier needs a CrawlStore".
 * @throws {@link CrawlError} `CRAWL_OPTION_INVALID`
 */
export function mustBeStore(what: string, value: unknown): void {
  const missing = missingVerbs(value);
  if (missing.length === 0) return;
  if (value instanceof Promise)
    throw new CrawlError('CRAWL_OPTION_INVALID', `${what}, not a promise of one: await it.`);
  const isPart = !missing.includes('offer') || !missing.includes('lease');
  const lacks = isPart ? `; this one lacks ${missing.join(', ')}` : `, not ${show(value)}`;
  throw new CrawlError('CRAWL_OPTION_INVALID', `${what}${lacks}.`);
}

/** The longest that a timer can wait, in milliseconds; a longer one fires at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

/** A value as it may stand in a message: short, and never throwing. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 77)}...` : value);
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'an array';
  if (value !== null && typeof value === 'object') return kindOf(value);
  return String(value);
}

/** What may stand for something else: to say that it is an object would not tell what is wrong with it. */
function kindOf(value: object): string {
  try {
    if (Buffer.isBuffer(value)) return 'a Buffer';
    const kind = KINDS.find(([type]) => value instanceof type);
    if (kind !== undefined) return kind[1];
  } catch {
    // A proxy may throw when it is looked at.
  }
  return 'an object';
}

const KINDS = [
  [RegExp, 'a regular expression'],
  [URL, 'a URL object'],
  [Promise, 'a promise'],
  [Uint8Array, 'a Uint8Array'],
  [Date, 'a Date'],
  [Map, 'a Map'],
  [Set, 'a Set'],
  [Error, 'an Error'],
] as const;

function range(min: number, max: number): string {
  return max === Number.POSITIVE_INFINITY ? `of at least ${min}` : `from ${min} to ${max}`;
}

/** The known name nearest to what was written, if near enough to be a slip. */
export function closest(name: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of names) {
    const distance = leven(name.toLowerCase(), candidate.toLowerCase(), { maxDistance: bestDistance });
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}
