import { headerLines } from '../headers.ts';
import type { RobotsTxt } from '../robots-txt.ts';
import type { Headers } from '../types.ts';
import { lifetimeMs, type Outcome } from './answer.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** When an unreachable robots.txt is asked for again; the last wait repeats. */
const RETRY_MS: readonly number[] = [5, 10, 20, 40, 60].map((minutes) => minutes * MINUTE_MS);
/** After this long unreachable, a copy from better days is used (as Google does; RFC 9309, section 2.4, permits it). */
const COPY_AFTER_MS = 12 * HOUR_MS;
/** The "reasonably long period" of RFC 9309, section 2.3.1.4. */
const GIVE_UP_AFTER_MS = 30 * DAY_MS;
/** How often in a row a server's own Retry-After may be shorter than the wait it would get without. */
const SHORT_WAITS = 3;

/** A robots.txt that was had once. */
export interface Copy {
  readonly robots: RobotsTxt;
  /** The bytes it came from; only kept where there is a storage to write them to. */
  readonly body: Uint8Array | undefined;
  readonly bytes: number;
  /** Where it was found, after redirects: its validators are good for this URL. */
  readonly url: string;
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
  readonly lifetimeMs: number;
}

/** What is known of one origin's robots.txt. Never changed, only replaced. */
export interface Entry {
  readonly origin: string;
  readonly policy: 'rules' | 'open' | 'closed' | 'unreachable';
  /** The file in force, or for `unreachable` the last one that was. */
  readonly copy?: Copy | undefined;
  /** Times are milliseconds since the epoch. */
  readonly checkedAt: number;
  /** When it must be asked for again; for `unreachable`, when it may be. */
  readonly expiresAt: number;
  /** For `unreachable`: when the first of the failures in a row happened, and how many there were. */
  readonly failingSince?: number | undefined;
  readonly failures: number;
  /** For `closed`. */
  readonly reason?: 'robots' | 'robots-unreachable' | undefined;
  /** What happened, for people: `HTTP 503`, or the message of an error. */
  readonly detail: string;
}

/** What may be done with a URL, and why. */
export interface RobotsVerdict {
  readonly allowed: boolean;
  /** Where not allowed: `'robots'` for a rule or a refusal, `'robots-unreachable'` where the rules cannot be had, `'url-invalid'`. */
  readonly reason?: 'robots' | 'robots-unreachable' | 'url-invalid';
  /** The rule that decided, as `Disallow: /x`, and its line. */
  readonly rule?: string;
  readonly line?: number;
  /** What was met instead of a file: `HTTP 404`, `HTTP 503`, the message of an error. */
  readonly detail?: string;
  /** Seconds that the origin asks to be left alone between requests; not capped. */
  readonly crawlDelay?: number;
  /** Absolute URLs of sitemaps. */
  readonly sitemaps: string[];
  /** Milliseconds since the epoch: when asking again can give another verdict. Absent where waiting changes nothing. */
  readonly retryAt?: number;
}

export function isFresh(entry: Entry, now: number): boolean {
  return now < entry.expiresAt;
}

export function judge(
  entry: Entry,
  url: string,
  userAgent: string,
  { now, after30Days }: { readonly now: number; readonly after30Days: 'disallow' | 'allow' },
): RobotsVerdict {
  const { policy, copy, detail, reason = 'robots' } = entry;
  if (policy === 'rules' && copy !== undefined) return byRules(copy.robots, url, userAgent);
  if (policy === 'open' || isRobotsTxt(url)) return { allowed: true, detail, sitemaps: [] };
  if (policy === 'closed') return { allowed: false, reason, detail, sitemaps: [] };
  const failingMs = now - (entry.failingSince ?? now);
  if (failingMs > GIVE_UP_AFTER_MS) {
    if (after30Days === 'allow') return { allowed: true, detail, sitemaps: [] };
  } else if (failingMs >= COPY_AFTER_MS && copy !== undefined) {
    return byRules(copy.robots, url, userAgent);
  }
  return { allowed: false, reason: 'robots-unreachable', detail, sitemaps: [], retryAt: entry.expiresAt };
}

function byRules(robots: RobotsTxt, url: string, userAgent: string): RobotsVerdict {
  const match = robots.matches(url, userAgent);
  const crawlDelay = robots.crawlDelay(userAgent);
  return {
    ...match,
    ...(match.allowed ? {} : { reason: 'robots' }),
    ...(crawlDelay === undefined ? {} : { crawlDelay }),
    sitemaps: robots.sitemaps,
  };
}

/** The file itself may always be fetched (RFC 9309, section 2.2.2). */
function isRobotsTxt(url: string): boolean {
  const { pathname, search } = new URL(url);
  return pathname === '/robots.txt' && search === '';
}

/** The entry that takes the place of `before` after a final outcome. */
export function nextEntry(
  origin: string,
  outcome: Exclude<Outcome, { kind: 'next' | 'rules' }>,
  before: Entry | undefined,
  now: number,
): Entry {
  const base = { origin, checkedAt: now, failures: 0 };
  switch (outcome.kind) {
    case 'unchanged':
      return { ...base, ...renewed(before?.copy, outcome.headers, now) };
    case 'open':
      return { ...base, policy: 'open', expiresAt: now + lifetimeMs(outcome.headers, now), detail: outcome.detail };
    case 'closed': {
      const { detail, reason } = outcome;
      return { ...base, policy: 'closed', expiresAt: now + DAY_MS, detail, reason };
    }
    case 'unreachable': {
      const failures = before?.policy === 'unreachable' ? before.failures + 1 : 1;
      const failingSince = (before?.policy === 'unreachable' ? before.failingSince : undefined) ?? now;
      const expiresAt = now + waitMs(failures, outcome.retryAfterMs);
      const { detail } = outcome;
      return { ...base, policy: 'unreachable', copy: before?.copy, expiresAt, failures, failingSince, detail };
    }
  }
}

/** A server that says when to come back is believed, but not for ever if that was never true. */
function waitMs(failures: number, retryAfterMs: number | undefined): number {
  const usual = RETRY_MS[Math.min(failures, RETRY_MS.length) - 1] as number;
  if (retryAfterMs === undefined) return usual;
  return failures <= SHORT_WAITS ? retryAfterMs : Math.max(usual, retryAfterMs);
}

function renewed(
  copy: Copy | undefined,
  headers: Headers,
  now: number,
): Pick<Entry, 'policy' | 'copy' | 'expiresAt' | 'detail'> {
  const lifetime = lifetimeMs(headers, now, copy?.lifetimeMs);
  const renewal = copy && { ...copy, ...validators(headers, copy), lifetimeMs: lifetime };
  return { policy: 'rules', copy: renewal, expiresAt: now + lifetime, detail: 'HTTP 304' };
}

/** What a conditional request may later be made with; a 304 may bring new ones. */
export function validators(headers: Headers, before?: Copy): Pick<Copy, 'etag' | 'lastModified'> {
  return {
    etag: headerLines(headers, 'etag')[0] ?? before?.etag,
    lastModified: headerLines(headers, 'last-modified')[0] ?? before?.lastModified,
  };
}
