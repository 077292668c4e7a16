import cliProgress from 'cli-progress';
import type { Crawler, CrawlStats } from '../index.ts';
import type { Output } from './arguments.ts';

const REDRAW_MS = 200;
const FORMAT = '{bar} {value}/{total} pages | {perSecond}/s | {queued} queued | {errors} errors | {url}';

/** A progress bar on a terminal, a line per `stats` event elsewhere. */
export function showProgress(crawler: Crawler, output: Output): { stop(): void } {
  if (process.stderr.isTTY === true) return bar(crawler);
  crawler.on('stats', (stats) => output.err(line(stats)));
  return { stop: () => {} };
}

function bar(crawler: Crawler): { stop(): void } {
  const progress = new cliProgress.SingleBar({ format: FORMAT, hideCursor: true }, cliProgress.Presets.shades_classic);
  let url = '';
  progress.start(1, 0, { perSecond: '0.0', queued: 0, errors: 0, url });
  crawler.on('request', (asked) => {
    url = shorten(asked);
  });
  const redraw = (): void => {
    const stats = crawler.stats();
    if (stats === undefined) return;
    const { pages, queued, inFlight, errors } = stats;
    // What is queued is all that is known of what is to come.
    progress.setTotal(Math.max(1, pages + queued + inFlight));
    progress.update(pages, { perSecond: stats.pagesPerSecond.toFixed(1), queued, errors, url });
  };
  const timer = setInterval(redraw, REDRAW_MS);
  return {
    stop: () => {
      clearInterval(timer);
      redraw();
      progress.stop();
    },
  };
}

function line(stats: CrawlStats): string {
  const { pages, queued, inFlight, errors, skipped, pagesPerSecond } = stats;
  return `${pages} pages, ${queued} queued, ${inFlight} in flight, ${errors} errors, ${skipped} skipped, ${pagesPerSecond.toFixed(1)} pages/s\n`;
}

function shorten(url: string): string {
  const width = Math.max(20, (process.stderr.columns ?? 100) - 75);
  return url.length <= width ? url : `${url.slice(0, width - 1)}…`;
}
