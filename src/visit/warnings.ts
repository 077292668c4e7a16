import type { FetchResult } from '../fetcher/index.ts';
import { MAX_RETRY_AFTER_MS, parseRetryAfter, retryAfterOf } from '../headers.ts';
import type { FetchedPage } from '../page.ts';
import { ROBOTS_MAX_BYTES, RobotsTxt } from '../robots-txt.ts';
import type { Headers, WarningCode } from '../types.ts';
import type { VisitContext } from './context.ts';

/** How much of what a server wrote stands in a warning, in characters. */
const LONGEST_QUOTE = 60;

/** Tells of a decision that an answer left to the crawl. Texts are made only where somebody listens. */
export function warn(
  { events }: Pick<VisitContext, 'events'>,
  code: WarningCode,
  url: string,
  message: () => string,
): void {
  if (events.wants('warning')) events.emit('warning', { code, message: message() }, url);
}

/** How long an answer asks to be left alone, in milliseconds; tells where it can't be read, or is cut. */
export function heedRetryAfter(
  context: Pick<VisitContext, 'events'>,
  url: string,
  { headers, status }: { readonly headers: Headers; readonly status: number },
  now: number,
): number | undefined {
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  const ms = retryAfterOf(headers, now);
  if (status < 300) return ms;
  const asked = (): string => quote(String(value));
  if (parseRetryAfter(value, { now }) === undefined) {
    warn(context, 'retry-after-ignored', url, () => `Retry-After: ${asked()} says no time, and is left aside`);
  } else if (ms !== undefined && ms >= MAX_RETRY_AFTER_MS) {
    warn(context, 'retry-after-cut', url, () => `Retry-After: ${asked()} is a day or more, and counts as a day`);
  }
  return ms;
}

/** Tells what a robots.txt says that does not count as it stands. */
export function warnOfRules(
  context: Pick<VisitContext, 'events' | 'userAgent' | 'maxCrawlDelayMs'>,
  origin: string,
  url: string,
  body: Uint8Array,
): void {
  if (!context.events.wants('warning')) return;
  const { maxCrawlDelayMs, userAgent } = context;
  if (body.length >= ROBOTS_MAX_BYTES) {
    warn(
      context,
      'robots-cut',
      url,
      () => `Of a robots.txt ${ROBOTS_MAX_BYTES} bytes are read; what follows is left out`,
    );
  }
  const robots = RobotsTxt.parse(body, `${origin}/robots.txt`);
  for (const text of robots.ignoredDelays(userAgent)) {
    warn(context, 'crawl-delay-ignored', url, () => `"${quote(text)}" is no time to wait, and is left aside`);
  }
  const seconds = robots.crawlDelay(userAgent) ?? 0;
  if (seconds * 1000 > maxCrawlDelayMs) {
    const cut = `counts as ${maxCrawlDelayMs / 1000} s (maxCrawlDelayMs)`;
    warn(context, 'crawl-delay-cut', url, () => `A delay of ${seconds} s between requests is asked for, and ${cut}`);
  }
}

/** Tells what a page says of its own body that is not so. */
export function warnOfBody(context: Pick<VisitContext, 'events'>, page: FetchedPage, result: FetchResult): void {
  if (!context.events.wants('warning')) return;
  const { url } = page;
  if (result.mislabelled) {
    const named = quote(String(result.headers['content-encoding']));
    warn(context, 'coding-mislabelled', url, () => `The body is not in the coding "${named}", and was taken as it is`);
  }
  const label = page.unknownCharset;
  if (label !== undefined) {
    const taken = `the text was read as ${page.encoding}`;
    warn(context, 'charset-unknown', url, () => `"${quote(label)}" is the name of no encoding; ${taken}`);
  }
}

function quote(text: string): string {
  return text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}...` : text;
}
