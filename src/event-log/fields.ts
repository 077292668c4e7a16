import { type CrawlError, describeThrown } from '../errors.ts';
import type { CrawlerEvents, CrawlStats } from '../types.ts';

/** Name of an event. */
export type EventName = keyof CrawlerEvents;

/** What one line says besides time, crawler and event. `undefined` is left out. */
export type Fields = Readonly<Record<string, unknown>>;

/** Event arguments to the fields of a line. The names are API: `docs/event-log.md` lists them. */
export const FIELDS: { readonly [E in EventName]: (...args: CrawlerEvents[E]) => Fields } = {
  start: () => ({}),
  offer: (link) => ({
    url: link.url,
    source: link.source,
    rel: link.rel.length > 0 ? link.rel : undefined,
    nofollow: link.nofollow || undefined,
    text: link.text,
  }),
  skip: (url, reason, from) => ({ url, reason, from }),
  request: (url) => ({ url }),
  redirect: (url, to, status) => ({ url, status, to }),
  retry: (url, error, afterMs) => ({ url, code: error.code, message: error.message, status: error.status, afterMs }),
  page: (page) => ({
    url: page.url,
    finalUrl: page.finalUrl === page.url ? undefined : page.finalUrl,
    status: page.status,
    contentType: page.contentType,
    bytes: page.bytes,
    truncated: page.truncated || undefined,
    ms: Math.round(page.timings.total),
    depth: page.depth,
    referrer: page.referrer,
  }),
  duplicate: (page, firstUrl) => ({ url: page.url, firstUrl }),
  unchanged: (url, { etag, lastModified, fetchedAt }) => ({
    url,
    etag,
    lastModified,
    fetchedAt: fetchedAt.toISOString(),
  }),
  warning: ({ code, message }, url) => ({ url, code, message }),
  error: (error, url) => errorFields(error, url),
  host: (host, state) => ({
    host,
    state: state.status,
    delayMs: state.delayMs,
    nextAt: isoOrUndefined(state.nextAt),
  }),
  stats: (stats) => statsFields(stats),
  checkpoint: () => ({}),
  pause: () => ({}),
  resume: () => ({}),
  end: (stats) => statsFields(stats),
};

function errorFields(error: CrawlError, url: string | undefined): Fields {
  return {
    url: url ?? error.url,
    code: error.code,
    message: error.message,
    retryable: error.retryable,
    status: error.status,
    cause: error.cause === undefined ? undefined : describeThrown(error.cause),
  };
}

/** All but the hosts one by one: a thousand of them would make every such line some 100 kB long. */
function statsFields({ perHost: _, ...stats }: CrawlStats): Fields {
  const { bytesPerSecond, elapsedMs, pagesPerSecond } = stats;
  return {
    ...stats,
    elapsedMs: Math.round(elapsedMs),
    pagesPerSecond: Math.round(pagesPerSecond * 1000) / 1000,
    bytesPerSecond: Math.round(bytesPerSecond),
  };
}

function isoOrUndefined(at: number): string | undefined {
  const date = new Date(at);
  return at > 0 && !Number.isNaN(date.getTime()) ? date.toISOString() : undefined;
}
