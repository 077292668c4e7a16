import type { CrawlerOptions } from '../index.ts';
import { startDemoWeb } from './demo-web/index.ts';

/** The demo web and how it is crawled: briskly, since it is served for nobody else. */
export async function startDemo(): Promise<
  AsyncDisposable & { readonly url: string; readonly hosts: number; readonly options: Partial<CrawlerOptions> }
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
    [Symbol.asyncDispose]: () => web.close(),
  };
}
