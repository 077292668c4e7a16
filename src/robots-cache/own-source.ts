import type { Fetcher } from '../fetcher/index.ts';
import type { RobotsSource } from '../ports.ts';

/**
 * Fetches robots.txt for a cache that was given no source: with a `Fetcher` per user agent, made at the first request.
 * Only addresses that a `Fetcher` alone may connect to are connected to.
 */
export class OwnSource implements RobotsSource {
  readonly #fetchers = new Map<string, Promise<Fetcher>>();

  /** Rejects with {@link CrawlError} `CRAWL_CONTACT_MISSING` where the user agent has no contact, or as `Fetcher` does. */
  async getOnce(...[url, options]: Parameters<RobotsSource['getOnce']>): ReturnType<RobotsSource['getOnce']> {
    const { userAgent } = options;
    let fetcher = this.#fetchers.get(userAgent);
    if (fetcher === undefined) {
      fetcher = import('../fetcher/index.ts').then(({ Fetcher }) => new Fetcher({ userAgent }));
      this.#fetchers.set(userAgent, fetcher);
    }
    return (await fetcher).getOnce(url, options);
  }
}
