import { Writable } from 'node:stream';
import { EventLog } from '../index.ts';
import type { Arguments } from './arguments.ts';
import { mustBeWritable, tryFile, tryFolder } from './writable.ts';

/**
 * The log that was asked for, if one was.
 * @throws {@link CrawlError} `CRAWL_SINK_FAILED` where it can't be written: better known now than when all is crawled.
 */
export function openLog({ log, logFormat, statsDirectory }: Arguments): EventLog | undefined {
  if (log === undefined && statsDirectory === undefined) return undefined;
  if (log !== undefined && log !== '-') mustBeWritable('--log', log, tryFile);
  if (statsDirectory !== undefined) mustBeWritable('--stats-directory', statsDirectory, tryFolder);
  return new EventLog({
    ...(log === undefined ? {} : log === '-' ? { stream: standardOutput() } : { path: log }),
    // Statistics files alone: no lines.
    ...(log === undefined ? { events: [] } : {}),
    ...(logFormat === undefined ? {} : { format: logFormat }),
    ...(statsDirectory === undefined ? {} : { statsDirectory }),
  });
}

/** Hears no fault of standard output: whoever stops the crawl for it tells it, too, or knows that it is none. */
function standardOutput(): Writable {
  return new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      if (process.stdout.destroyed) done();
      else process.stdout.write(text, () => done());
    },
  });
}
