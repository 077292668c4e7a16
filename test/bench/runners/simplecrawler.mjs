import Crawler from 'simplecrawler';
import { concurrency, report, result, seed } from './job.mjs';

const crawler = new Crawler(seed);
crawler.maxConcurrency = concurrency;
crawler.interval = 1;
crawler.filterByDomain = false;
crawler.downloadUnsupported = false;
crawler.respectRobotsTxt = true;
crawler.addFetchCondition((item, _from, done) => done(null, item.host.startsWith('127.1.')));
crawler.on('fetchcomplete', (_item, body) => {
  result.pages++;
  if (/<title>[^<]/.test(body.toString('utf8'))) result.titles++;
});
crawler.on('fetcherror', () => result.errors++);
crawler.on('complete', () => {
  report();
  process.exit(0);
});
crawler.start();
