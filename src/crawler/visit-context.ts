import { CrawlError, describeThrown } from '../errors.ts';
import { show } from '../options.ts';
import { ignore } from '../promises.ts';
import { sitemapLinks } from '../seeding.ts';
import type { VisitContext, VisitHooks } from '../visit/context.ts';
import { KnownUrls } from '../visit/known-urls.ts';
import { LargeBodies } from '../visit/large-bodies.ts';
import { Versions } from '../visit/versions.ts';
import type { UserHooks } from './hooks.ts';
import { Notes } from './notes.ts';
import type { Session } from './session.ts';
import type { Settings } from './settings.ts';

/** What a run brings to its visits besides session and settings. */
export interface VisitParts {
  readonly user: UserHooks;
  /** The user's part of a visit. */
  readonly hooks: Pick<VisitHooks, 'deliver' | 'expand' | 'shouldVisit' | 'prioritize' | 'sitemapsOf'>;
  readonly signal: AbortSignal;
  /** Told where the store can't be written any more. */
  readonly lost: (thrown: unknown) => void;
}

/** What all visits of a run share. */
export function visitContext(session: Session, settings: Settings, parts: VisitParts): VisitContext {
  const { frontier, fetcher, robots, finder, guard, admission, stats, contentSeen, unreachable, sitemapFiles, store } =
    session;
  const { clock, extractor, politeness, retries, maxRedirects, maxPages, maxPagesPerHost, maxCrawlDelayMs } = settings;
  const { user, lost } = parts;
  const sharesAddresses = Math.min(politeness.ipDelayMs ?? 0, politeness.minDelayMs ?? 0) > 0;
  return {
    userAgent: settings.userAgent,
    frontier,
    knownUrls: new KnownUrls(),
    fetcher,
    robots,
    finder,
    guard,
    sharesAddresses,
    admission,
    extractor,
    stats,
    clock,
    contentSeen,
    unreachable,
    sitemapFiles,
    largePages: LargeBodies.ofPages(),
    largeSitemaps: LargeBodies.ofSitemaps(),
    events: user,
    hooks: {
      ...parts.hooks,
      seedMoved: (to) => void session.widenScope(to).catch(lost),
      sitemapEntries: sitemapLinks,
    },
    accept: guardedAccept(settings.accept, user),
    retries,
    maxRedirects,
    keepsCookies: settings.keepsCookies,
    maxPages,
    brokenBodies: new Map(),
    maxPagesPerHost,
    maxCrawlDelayMs,
    signal: parts.signal,
    versions: new Versions(store, fetcher, settings.keepsCookies),
    note: store.durable === true ? new Notes(frontier, lost).note : undefined,
    checkpoint: store.durable === true ? () => session.statsEntry(clock.now()) : undefined,
  };
}

function guardedAccept(accept: Settings['accept'], user: UserHooks): VisitContext['accept'] {
  return (head) => {
    try {
      const verdict: unknown = accept(head);
      if (verdict === 'buffer' || verdict === 'stream' || verdict === 'skip') return verdict;
      ignore(verdict);
      throw new TypeError(`accept() must give 'buffer', 'stream' or 'skip', not ${show(verdict)}`);
    } catch (thrown) {
      const message = `The option accept failed, so the body is not downloaded: ${describeThrown(thrown)}`;
      user.emit('error', new CrawlError('CRAWL_HOOK_FAILED', message, { cause: thrown, url: head.url }), head.url);
      return 'skip';
    }
  };
}
