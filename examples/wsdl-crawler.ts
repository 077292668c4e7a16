// Saves the descriptions of web services (WSDL), known by their media type and contents, whatever they are called.
// node dist-examples/wsdl-crawler.js url filenamePrefix [maxLevel [maxDoc [maxThreads]]]
import { acceptPages, CRAWLER_DEFAULTS, Crawler, FileSink, type Page } from 'polite-crawler';

const [url, prefix, maxLevel, maxDoc, maxThreads] = process.argv.slice(2);
const { CONTACT = '', DELAY_MS } = process.env;
if (url === undefined || prefix === undefined || CONTACT === '') {
  console.error('usage: CONTACT=you@example.org wsdl-crawler url filenamePrefix [maxLevel [maxDoc [maxThreads]]]');
  process.exit(2);
}

const types = new Set(['application/wsdl+xml', 'application/xml', 'text/xml', 'text/plain']);
const namespaces = /"http:\/\/schemas\.xmlsoap\.org\/wsdl\/"|"http:\/\/www\.w3\.org\/ns\/wsdl"/;
const root = /<(?:[\w.-]+:)?(?:definitions|description)[\s>]/; // WSDL 1.1, WSDL 2.0
const files = new FileSink({ prefix });

class WsdlCrawler extends Crawler {
  override async visit(page: Page): Promise<void> {
    if (page.status !== 200 || !types.has(page.contentType)) return;
    if (!root.test(page.text) || !namespaces.test(page.text)) return;
    await files.write(page);
    console.log(page.url);
  }
}

const crawler = new WsdlCrawler({
  userAgent: `wsdl-crawler/1.0 (+mailto:${CONTACT})`,
  maxDepth: Number(maxLevel ?? CRAWLER_DEFAULTS.maxDepth),
  maxPages: Number(maxDoc ?? CRAWLER_DEFAULTS.maxPages),
  concurrency: Number(maxThreads ?? CRAWLER_DEFAULTS.concurrency),
  minDelayMs: Number(DELAY_MS ?? CRAWLER_DEFAULTS.minDelayMs),
  accept: (head) => (types.has(head.contentType) ? 'buffer' : acceptPages(head)),
});
await crawler.run(url);
await files.close();
