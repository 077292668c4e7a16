import type { CrawlerOptions } from '../index.ts';
import { startDemoWeb } from './demo-web/index.ts';

/** The demo web and how it is crawled: briskly, since it is served for nobody else. */
export async function startDemo(): Promise<
  AsyncDisposable & {
    readonly url: string;
    readonly hosts: number;
    readonly options: Partial<CrawlerOptions>;
    /** What to say of its errors, which look like failures of the crawl. */
    readonly lastWord: string;
  }
> {
  const web = await startDemoWeb();
  const allowed = new Set(web.urls.map((url) => new URL(url).hostname));
  return {
    url: web.url,
    hosts: allowed.size,
    options: {
      scope: 'any',
      minDelayMs: 100,
      delayFactor: 1,
      sitemaps: 'robots',
      maxDepth: 8,
      network: (_address, host) => allowed.has(host),
    },
    lastWord: 'This web misbehaves on purpose: 404, 429, 500 and a loop of redirects belong to it.',
    [Symbol.asyncDispose]: () => web.close(),
  };
}
