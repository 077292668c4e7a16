// Saves the pictures and videos of a site, known by their extensions.
// node dist-examples/psucker.js url filenamePrefix [maxLevel [maxDoc [maxThreads]]]
import { CRAWLER_DEFAULTS, Crawler, FileSink, type Page, UrlFilter } from 'polite-crawler';

const [url, prefix, maxLevel, maxDoc, maxThreads] = process.argv.slice(2);
const { CONTACT = '', DELAY_MS } = process.env;
if (url === undefined || prefix === undefined || CONTACT === '') {
  console.error('usage: CONTACT=you@example.org psucker url filenamePrefix [maxLevel [maxDoc [maxThreads]]]');
  process.exit(2);
}

const pictures = ['jpg', 'jpeg', 'png', 'gif', 'webp', 'avif', 'bmp', 'tif', 'tiff', 'svg'];
const videos = ['mp4', 'm4v', 'webm', 'ogv', 'mov', 'avi', 'mpg', 'mpeg', 'mkv', 'wmv'];
const media = UrlFilter.extensions({ allow: [...pictures, ...videos] });
const parts = UrlFilter.extensions({ deny: ['css', 'js', 'mjs', 'json', 'ico', 'woff', 'woff2', 'ttf'] });
const files = new FileSink({ prefix });

class PSucker extends Crawler {
  override async visit(page: Page): Promise<void> {
    if (page.stream === undefined) return;
    await files.write(page);
    console.log(files.pathFor(page.url, page.contentType));
  }
}

const crawler = new PSucker({
  userAgent: `psucker/1.0 (+mailto:${CONTACT})`,
  maxDepth: Number(maxLevel ?? CRAWLER_DEFAULTS.maxDepth),
  maxPages: Number(maxDoc ?? CRAWLER_DEFAULTS.maxPages),
  concurrency: Number(maxThreads ?? CRAWLER_DEFAULTS.concurrency),
  minDelayMs: Number(DELAY_MS ?? CRAWLER_DEFAULTS.minDelayMs),
  extract: 'resources', // what pages show, not only what they link to
  filter: parts,
  accept: ({ url, contentType }) => {
    if (contentType === 'text/html') return 'buffer'; // a page about a picture may be called like one
    return media.check(new URL(url), { depth: 0 }) === undefined ? 'stream' : 'skip';
  },
  maxBodyBytes: { other: Number.POSITIVE_INFINITY }, // videos are long, and are written as they come
  timeouts: { page: 3_600_000 },
});
await crawler.run(url);
await files.close();
