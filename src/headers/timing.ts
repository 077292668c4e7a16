import { parseHttpDate } from './dates.ts';
import { type HeaderSource, headerLines, splitUnquoted, toLines, unquote } from './lines.ts';

/** The longest wait that a `Retry-After` is believed, in milliseconds: 24 hours. */
export const MAX_RETRY_AFTER_MS = 86_400_000;

/** The longest lifetime of RFC 9111, 1.2.2, in seconds: what is longer than a cache can count. */
const MAX_AGE_SECONDS = 2 ** 31;

/**
 * How long a server asks to be left alone (`Retry-After`, RFC 9110, 10.2.3), in milliseconds from the receipt of the
 * answer: seconds, or a date in any of the three HTTP forms, counted from the answer's own `Date` where that is known.
 * A moment past gives 0, one further away than {@link MAX_RETRY_AFTER_MS} gives that; of several lines the longest wait.
 *
 * @param context - `now` in milliseconds since the epoch; `date` is the answer's `Date` header.
 * @returns `undefined` where nothing was said, or nothing that can be read (negative, fractions, lists). Never throws.
 */
export function parseRetryAfter(
  value: string | readonly string[] | undefined,
  context: { readonly now: number; readonly date?: string | undefined },
): number | undefined {
  let longest: number | undefined;
  for (const line of toLines(value)) {
    const wait = retryWait(String(line).trim(), context);
    if (wait === undefined) continue;
    longest = Math.max(longest ?? 0, Math.min(wait, MAX_RETRY_AFTER_MS));
  }
  return longest;
}

/**
 * {@link parseRetryAfter} of an answer's headers, its own `Date` included.
 *
 * @returns `undefined` also where the wait is 0 or the date is over: that is no wish that could be met. Never throws.
 */
export function retryAfterOf(headers: HeaderSource, now: number): number | undefined {
  const lines = headerLines(headers, 'retry-after');
  if (lines.length === 0) return undefined;
  return parseRetryAfter(lines, { now, date: headerLines(headers, 'date')[0] }) || undefined;
}

function retryWait(
  text: string,
  { now, date }: { readonly now: number; readonly date?: string | undefined },
): number | undefined {
  // Digits first: a lenient date parser would take 120 for a year.
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const until = parseHttpDate(text, now);
  if (until === undefined) return undefined;
  const from = date === undefined ? undefined : parseHttpDate(date, now);
  return Math.max(0, until - (from ?? now));
}

/**
 * How long an answer stays fresh (RFC 9111, 4.2.1), in milliseconds: `max-age`, else `Expires` less `Date`.
 * `no-store`, `no-cache`, and values that cannot be read or contradict each other give 0, which means stale.
 *
 * @param now - Milliseconds since the epoch, for answers without `Date`.
 * @returns `undefined` where the answer says nothing about it. Never throws.
 */
export function parseCacheLifetime(headers: HeaderSource, now: number): number | undefined {
  const control = cacheControl(headerLines(headers, 'cache-control'));
  if (control !== undefined) return control;
  const [expires, ...others] = headerLines(headers, 'expires');
  if (expires === undefined) return undefined;
  const until = parseHttpDate(expires, now);
  if (until === undefined || others.some((other) => other !== expires)) return 0;
  const [date = ''] = headerLines(headers, 'date');
  return Math.max(0, until - (parseHttpDate(date, now) ?? now));
}

function cacheControl(lines: readonly string[]): number | undefined {
  let seconds: number | undefined;
  for (const part of lines.flatMap((line) => splitUnquoted(line, ','))) {
    const equals = part.indexOf('=');
    const name = (equals < 0 ? part : part.slice(0, equals)).trim().toLowerCase();
    if (name === 'no-store' || name === 'no-cache') return 0;
    if (name !== 'max-age') continue;
    const digits = equals < 0 ? '' : unquote(part.slice(equals + 1).trim());
    const age = /^\d+$/.test(digits) ? Math.min(Number(digits), MAX_AGE_SECONDS) : 0;
    seconds = seconds === undefined || seconds === age ? age : 0;
  }
  return seconds === undefined ? undefined : seconds * 1000;
}
