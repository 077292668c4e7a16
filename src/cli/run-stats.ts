import type { Crawler, CrawlStats } from '../index.ts';

/** What one run did, and what all runs on its store did together. */
export interface RunStats {
  readonly run: CrawlStats;
  readonly all: CrawlStats;
  /** Whether there were runs before. */
  readonly resumed: boolean;
}

/** Notes what the store knows when the run begins, so that at its end both can be told apart. */
export function tellApart(crawler: Crawler): (all: CrawlStats) => RunStats {
  let before: CrawlStats | undefined;
  crawler.once('start', () => {
    before = crawler.stats();
  });
  return (all) => {
    const resumed = before !== undefined && before.pages + before.requests + before.offered > 0;
    return { run: before === undefined ? all : since(before, all), all, resumed };
  };
}

/** Response times and gaps are known of all runs together only, and stay. */
function since(before: CrawlStats, all: CrawlStats): CrawlStats {
  return {
    ...all,
    elapsedMs: all.elapsedMs - before.elapsedMs,
    pages: all.pages - before.pages,
    requests: all.requests - before.requests,
    offered: all.offered - before.offered,
    redirects: all.redirects - before.redirects,
    retries: all.retries - before.retries,
    duplicates: all.duplicates - before.duplicates,
    unchanged: all.unchanged - before.unchanged,
    errors: all.errors - before.errors,
    skipped: all.skipped - before.skipped,
    bytes: all.bytes - before.bytes,
    statuses: growth(before.statuses, all.statuses),
    contentTypes: growth(before.contentTypes, all.contentTypes),
    skips: growth(before.skips, all.skips),
    errorCodes: growth(before.errorCodes, all.errorCodes),
    perHost: Object.fromEntries(
      Object.entries(all.perHost).map(([host, now]) => {
        const { pages = 0, requests = 0, errors = 0, bytes = 0 } = before.perHost[host] ?? {};
        return [
          host,
          {
            ...now,
            pages: now.pages - pages,
            requests: now.requests - requests,
            errors: now.errors - errors,
            bytes: now.bytes - bytes,
          },
        ];
      }),
    ),
  };
}

function growth(
  before: Readonly<Record<string, number>>,
  now: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(now).map(([name, count]) => [name, count - (before[name] ?? 0)]));
}
