import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { CrawlError } from '../index.ts';
import { makeFolder } from '../make-folder.ts';

/**
 * Tries whether a path given with an option can be written: better known now than when all is crawled.
 * @throws {@link CrawlError} `CRAWL_SINK_FAILED`, which names the option.
 */
export function mustBeWritable(option: string, path: string, attempt: (path: string) => void): void {
  try {
    attempt(path);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new CrawlError('CRAWL_SINK_FAILED', `${option} ${path} can't be written: ${why}`, { cause: thrown });
  }
}

/** Makes the file and missing folders above it. */
export function tryFile(path: string): void {
  makeFolder(dirname(path));
  // To open a pipe would be to wait for its reader.
  if (statSync(path, { throwIfNoEntry: false })?.isFIFO() !== true) closeSync(openSync(path, 'a'));
}

/** Makes the folder and those missing above it. */
export function tryFolder(path: string): void {
  makeFolder(path);
  accessSync(path, constants.W_OK | constants.X_OK);
}
