import { describeThrown } from '../errors.ts';
import { headerLines, parseCacheLifetime, retryAfterOf } from '../headers.ts';
import type { Headers } from '../types.ts';
import { resolveUrl } from '../url.ts';
import type { Settings } from './options.ts';

/** Redirects that are followed from robots.txt (RFC 9309, section 2.3.1.2: at least five). */
const MAX_REDIRECTS = 5;
/** Times that a 408 or 425 is asked again at once. */
const MAX_REPEATS = 2;

/** What came of one request: an answer of whatever status, or the error that there was instead of one. */
export type RobotsAnswer =
  | {
      /** The URL that was asked. */
      readonly url: string;
      readonly status: number;
      readonly headers: Headers;
      /** Content-decoded. */
      readonly body: Uint8Array;
    }
  | { readonly error: unknown };

/** Requests on the way to one robots.txt. */
export interface Chain {
  /** The one whose answer is awaited. */
  readonly url: string;
  readonly redirects: number;
  readonly repeats: number;
  /** Whether validators are left out, since a 304 came that nothing is known to. */
  readonly isUnconditional: boolean;
  readonly touchedAt: number;
}

/** What an answer means (RFC 9309, section 2.3.1). */
export type Outcome =
  | { readonly kind: 'next'; readonly chain: Chain }
  | { readonly kind: 'rules'; readonly detail: string; readonly body: Uint8Array; readonly headers: Headers }
  | { readonly kind: 'unchanged'; readonly headers: Headers }
  /** No file: anything may be fetched. */
  | { readonly kind: 'open'; readonly detail: string; readonly headers: Headers }
  /** Nothing may be fetched, and waiting changes nothing. */
  | { readonly kind: 'closed'; readonly detail: string; readonly reason: 'robots' | 'robots-unreachable' }
  /** Nothing may be fetched for now. */
  | { readonly kind: 'unreachable'; readonly detail: string; readonly retryAfterMs?: number | undefined };

/**
 * @param hasCopy - Whether the request carried validators of a copy that is kept.
 */
export function readAnswer(
  answer: RobotsAnswer,
  chain: Chain,
  { settings, hasCopy, now }: { readonly settings: Settings; readonly hasCopy: boolean; readonly now: number },
): Outcome {
  if ('error' in answer) return { kind: 'unreachable', detail: describeThrown(answer.error) };
  const { status, headers, body } = answer;
  const detail = `HTTP ${status}`;
  const unreachable: Outcome = { kind: 'unreachable', detail, retryAfterMs: retryAfterOf(headers, now) };
  if (status >= 200 && status <= 299) return { kind: 'rules', detail, body, headers };
  if (status === 304) {
    if (hasCopy) return { kind: 'unchanged', headers };
    return chain.isUnconditional ? unreachable : next(chain, now, { isUnconditional: true });
  }
  if (status >= 300 && status <= 399) return redirect(answer, chain, settings, now);
  if (status === 408 || status === 425) {
    return chain.repeats < MAX_REPEATS ? next(chain, now, { repeats: chain.repeats + 1 }) : unreachable;
  }
  // By its letter, RFC 9309 takes 429 for a missing file; as for Google, "too many requests" is no permission to go on.
  if (status < 400 || status > 499 || status === 429) return unreachable;
  const isRefused = (status === 401 || status === 403) && settings.robots401403 === 'disallow';
  return isRefused ? { kind: 'closed', detail, reason: 'robots' } : { kind: 'open', detail, headers };
}

function redirect(
  { url, status, headers }: { readonly url: string; readonly status: number; readonly headers: Headers },
  chain: Chain,
  settings: Settings,
  now: number,
): Outcome {
  const [location = ''] = headerLines(headers, 'location');
  const to = location === '' || status === 305 || status === 306 ? undefined : (resolveUrl(location, url) ?? undefined);
  if (to === undefined) return { kind: 'unreachable', detail: `HTTP ${status} without a usable Location` };
  if (chain.redirects < MAX_REDIRECTS) return next(chain, now, { url: to, redirects: chain.redirects + 1 });
  const detail = `More than ${MAX_REDIRECTS} redirects`;
  return settings.tooManyRedirects === 'allow'
    ? { kind: 'open', detail, headers: {} }
    : { kind: 'closed', detail, reason: 'robots-unreachable' };
}

function next(chain: Chain, now: number, change: Partial<Chain>): Outcome {
  return { kind: 'next', chain: { ...chain, ...change, touchedAt: now } };
}

const MIN_LIFETIME_MS = 600_000;
const MAX_LIFETIME_MS = 86_400_000;

/**
 * How long an answer may be used: what its headers say, but at least ten minutes, and at most the day of RFC 9309,
 * section 2.4, which is also for answers that say nothing.
 */
export function lifetimeMs(headers: Headers, now: number, unsaid: number = MAX_LIFETIME_MS): number {
  const said = parseCacheLifetime(headers, now) ?? unsaid;
  return Math.min(Math.max(said, MIN_LIFETIME_MS), MAX_LIFETIME_MS);
}
