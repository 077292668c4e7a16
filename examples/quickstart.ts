// The first pages of a site: node dist-examples/quickstart.js https://example.org/
import { Crawler } from 'polite-crawler';

const [url = 'https://example.org/'] = process.argv.slice(2);
const { CONTACT = '' } = process.env; // your mail address, so that who is asked knows whom to talk to
if (CONTACT === '') {
  console.error('usage: CONTACT=you@example.org quickstart [url]');
  process.exit(2);
}

const crawler = new Crawler({ userAgent: `quickstart/1.0 (+mailto:${CONTACT})`, maxPages: 5 });
crawler.on('page', (page) => console.log(page.status, page.url, page.title));
crawler.on('error', (error) => console.error(error.code, error.url, error.message));
const stats = await crawler.run(url);
console.log(`${stats.pages} pages, ${stats.queued} URLs still queued`);
