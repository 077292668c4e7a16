import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { CrawlError, EventLog } from '../index.ts';
import { makeFolder } from '../make-folder.ts';
import type { Arguments } from './arguments.ts';

/**
 * The log that was asked for, if one was.
 * @throws {@link CrawlError} `CRAWL_SINK_FAILED` where it can't be written: better known now than when all is crawled.
 */
export function openLog({ log, logFormat, statsDirectory }: Arguments): EventLog | undefined {
  if (log === undefined && statsDirectory === undefined) return undefined;
  if (log !== undefined && log !== '-') mustBeWritable('--log', log, tryFile);
  if (statsDirectory !== undefined) mustBeWritable('--stats-directory', statsDirectory, tryFolder);
  return new EventLog({
    ...(log === undefined || log === '-' ? {} : { path: log }),
    // Statistics files alone: no lines.
    ...(log === undefined ? { events: [] } : {}),
    ...(logFormat === undefined ? {} : { format: logFormat }),
    ...(statsDirectory === undefined ? {} : { statsDirectory }),
  });
}

function mustBeWritable(option: string, path: string, attempt: (path: string) => void): void {
  try {
    attempt(path);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new CrawlError('CRAWL_SINK_FAILED', `${option} ${path} can't be written: ${why}`, { cause: thrown });
  }
}

function tryFile(path: string): void {
  makeFolder(dirname(path));
  // To open a pipe would be to wait for its reader.
  if (statSync(path, { throwIfNoEntry: false })?.isFIFO() !== true) closeSync(openSync(path, 'a'));
}

function tryFolder(path: string): void {
  makeFolder(path);
  accessSync(path, constants.W_OK | constants.X_OK);
}
