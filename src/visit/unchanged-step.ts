import { CrawlError } from '../errors.ts';
import type { FetchResult } from '../fetcher/index.ts';
import type { Observation } from '../politeness.ts';
import type { Lease } from '../ports.ts';
import type { VisitContext } from './context.ts';
import type { Ending } from './ending.ts';
import { failed } from './failure.ts';
import type { KnownVersion } from './versions.ts';

/**
 * An answer of 304 (RFC 9110, section 15.4.5): the page is as it was delivered, and so are its links. Where nothing was
 * asked that it could answer, the page is asked for once more.
 */
export function notModified(
  context: VisitContext,
  lease: Lease,
  { headers, status }: FetchResult,
  observation: Observation,
  known: KnownVersion | undefined,
): Ending {
  const { request } = lease;
  if (known === undefined) {
    const message = `${request.url} answered 304, which nobody asked for`;
    return failed(
      context,
      lease,
      new CrawlError('CRAWL_HTTP_STATUS', message, { url: request.url, status, retryable: true }),
      observation,
    );
  }
  const { etag, lastModified, at } = known;
  const url = request.redirects?.[0]?.url ?? request.url;
  const entry = context.versions.held(request, known, headers);
  context.stats.unchanged();
  return {
    outcome: {
      outcome: 'done',
      observation,
      record: { status, ms: observation.durationMs },
      ...(entry === undefined ? {} : { meta: [entry] }),
    },
    announce: () =>
      void context.events.emit('unchanged', url, {
        ...(etag === undefined ? {} : { etag }),
        ...(lastModified === undefined ? {} : { lastModified }),
        fetchedAt: new Date(at),
      }),
  };
}
