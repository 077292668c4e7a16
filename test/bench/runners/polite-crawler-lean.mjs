// The same over Node's own client in place of got.
process.env.CRAWLER_OPTIONS = JSON.stringify({ transport: 'lean' });
await import('./polite-crawler.mjs');
