import { type AdmittedSeeds, admitSeeds, admitSitemaps, type SeedBatch, usualSitemap } from '../seeding.ts';
import { nextTurn, turnIsOver, turnIsOverAt } from '../turns.ts';
import type { CrawlRequest } from '../types.ts';
import { originOf } from '../url.ts';
import type { VisitHooks } from '../visit/context.ts';
import { prioritized } from '../visit/links-step.ts';
import { refuse } from '../visit/refusal.ts';
import type { UserHooks } from './hooks.ts';
import type { SitemapMode } from './options.ts';
import type { Session } from './session.ts';

/** Brings into the frontier what comes from the user: seeds, URLs added later, and the sitemaps to start from. */
export class Offering {
  readonly #session: Session;
  readonly #sitemaps: SitemapMode;
  readonly #user: Pick<UserHooks, 'emit' | 'wants'>;
  readonly #prioritize: VisitHooks['prioritize'];

  constructor(
    session: Session,
    sitemaps: SitemapMode,
    user: Pick<UserHooks, 'emit' | 'wants'>,
    prioritize: VisitHooks['prioritize'],
  ) {
    this.#session = session;
    this.#sitemaps = sitemaps;
    this.#user = user;
    this.#prioritize = prioritize;
  }

  /** Queues the seeds of a run, whose scope knows them. Rejects with what the store throws. */
  async seed(batches: readonly SeedBatch[]): Promise<void> {
    const { admission, frontier, robots, stats } = this.#session;
    const origins = new Set<string>();
    for (const batch of batches) {
      const admitted = await admitSeeds(batch, admission, 'seed');
      await this.#offer(admitted);
      // Nobody will read robots.txt and find sitemaps there, so the usual place is all there is to try.
      if (robots === undefined) for (const { url } of admitted.requests) origins.add(originOf(url));
    }
    const sitemaps: CrawlRequest[] = [];
    for (const origin of origins) {
      if (turnIsOver()) await nextTurn();
      for (const sitemap of await this.sitemapsOf(origin, [])) sitemaps.push(sitemap);
    }
    stats.offered(await frontier.offer(sitemaps));
  }

  /** Queues what the user adds to a crawl; how many were new. Rejects with what the store throws. */
  async add(batch: SeedBatch): Promise<number> {
    return this.#offer(await admitSeeds(batch, this.#session.admission, 'added'));
  }

  /** The sitemaps to read for an origin whose robots.txt names these. */
  async sitemapsOf(origin: string, named: readonly string[]): Promise<readonly CrawlRequest[]> {
    if (this.#sitemaps === 'off') return [];
    const urls = named.length > 0 || this.#sitemaps === 'robots' ? named : [usualSitemap(origin)];
    const { admission, sitemapFiles } = this.#session;
    const known = sitemapFiles.counts(origin) ? await this.#seenOf(urls) : undefined;
    const admitted = await admitSitemaps(urls, admission, origin, { files: sitemapFiles, known });
    await this.#tellRefused(admitted);
    return admitted.requests;
  }

  /** Those that were seen before: rules are had anew again and again, and name the same files. */
  async #seenOf(urls: readonly string[]): Promise<ReadonlySet<string>> {
    const seen = new Set<string>();
    for (const url of urls) {
      if (turnIsOver()) await nextTurn();
      if (await this.#session.frontier.has(url)) seen.add(url);
    }
    return seen;
  }

  async #tellRefused({ refused }: AdmittedSeeds): Promise<void> {
    const { stats } = this.#session;
    for (const [index, refusal] of refused.entries()) {
      if (turnIsOverAt(index)) await nextTurn();
      refuse({ events: this.#user, stats, note: undefined }, refusal.url, refusal, undefined);
    }
  }

  async #offer(admitted: AdmittedSeeds): Promise<number> {
    const { frontier, stats } = this.#session;
    await this.#tellRefused(admitted);
    const requests: CrawlRequest[] = [];
    for (const request of admitted.requests) {
      if (turnIsOverAt(requests.length)) await nextTurn();
      requests.push(await prioritized(this.#prioritize, request, admitted));
    }
    const known = new Set<number>();
    const fresh = await frontier.offer(requests, (index) => known.add(index));
    stats.offered(fresh);
    if (known.size > 0) stats.skipped('seen', known.size);
    for (const [index, request] of requests.entries()) {
      if (turnIsOverAt(index)) await nextTurn();
      const link = { url: request.url, source: request.source ?? 'seed', rel: [], nofollow: false };
      if (known.has(index)) this.#user.emit('skip', request.url, 'seen', undefined);
      else this.#user.emit('offer', link);
    }
    return fresh;
  }
}
