import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { CrawlError, type Crawler, type Page } from '../index.ts';
import type { Output } from './arguments.ts';
import { mustBeWritable, tryFile } from './writable.ts';

/**
 * Writes one JSON object per page: to a file, or with `-` to standard output.
 * @param more - Whether the file goes on: that of a crawl that is resumed.
 * @throws {@link CrawlError} `CRAWL_SINK_FAILED` where the file can't be written.
 */
export function writePages(
  crawler: Crawler,
  target: string,
  more: boolean,
  output: Output,
): { close(): Promise<void> } {
  if (target === '-') {
    crawler.on('page', (page) => output.out(pageLine(page)));
    return { close: () => Promise.resolve() };
  }
  mustBeWritable('--output', target, tryFile);
  let failure: Error | undefined;
  const file = createWriteStream(target, { flags: more ? 'a' : 'w' });
  // Without a listener the fault would end the process; it is told when the file is closed.
  file.on('error', (error) => {
    if (failure !== undefined) return;
    failure = error;
    void crawler.stop({ now: true });
  });
  crawler.on('page', (page) => write(file, pageLine(page)));
  let closing: Promise<void> | undefined;
  return {
    close: () => {
      closing ??= end(file, target, () => failure);
      return closing;
    },
  };
}

async function write(file: WriteStream, line: string): Promise<void> {
  if (file.destroyed) return;
  // A reader that can't keep up slows the crawl down instead of filling the memory.
  if (!file.write(line)) await Promise.race([once(file, 'drain'), once(file, 'close')]);
}

async function end(file: WriteStream, target: string, failure: () => Error | undefined): Promise<void> {
  if (failure() === undefined) {
    file.end();
    await finished(file).catch(() => {});
  }
  const error = failure();
  if (error === undefined) return;
  throw new CrawlError('CRAWL_SINK_FAILED', `${target} can't be written: ${error.message}`, { cause: error });
}

function pageLine(page: Page): string {
  return `${JSON.stringify({
    url: page.url,
    finalUrl: page.finalUrl,
    status: page.status,
    contentType: page.contentType,
    title: page.title,
    depth: page.depth,
    referrer: page.referrer,
    redirects: page.redirects,
    // Of a stream it is known when all is read.
    bytes: page.stream === undefined ? page.bytes : undefined,
    links: page.links.length,
    fingerprint: page.fingerprint,
    fetchedAt: page.fetchedAt,
    ms: Math.round(page.timings.total),
  })}\n`;
}
