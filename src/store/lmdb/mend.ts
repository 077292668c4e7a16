import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { CrawlError } from '../../errors.ts';
import { type Checkpoint, lastCheckpoint } from './checkpoint-file.ts';
import { DATA_FILE, type DataHead, extendTo, readHead } from './data-file.ts';
import { bootId, sameBoot } from './machine.ts';

/**
 * Looks at the files of a store before they are opened: mapped memory that ends too early kills the process.
 * @returns the head of the data file; `undefined` where nothing is there yet.
 * @throws {@link CrawlError} `CRAWL_STORE_FORMAT` where the data file is no store's, or was cut.
 */
export function mustBeWhole(directory: string): DataHead | undefined {
  const last = lastCheckpoint(directory);
  const head = readHead(directory);
  const least = last?.fileBytes ?? (head === undefined ? 0 : head.pages * head.pageSize);
  if ((head?.fileBytes ?? 0) >= least) return head;
  throw new CrawlError(
    'CRAWL_STORE_FORMAT',
    `The store in ${directory} was cut: ${DATA_FILE} has ${head?.fileBytes ?? 0} of ${least} bytes. Nothing was changed: bring the file back from a copy, or crawl into another directory.`,
  );
}

/** Mends what a power cut, or a crash, has left. To be called when the files are whole, and nobody has them open. */
export function mend(directory: string): void {
  const last = lastCheckpoint(directory);
  // What has no checkpoint may be another program's.
  if (last === undefined || readHead(directory) === undefined) return;
  const file = openSync(join(directory, DATA_FILE), 'r+');
  try {
    if (lostPower(directory, last)) restore(file, last);
    const head = readHead(directory);
    if (head !== undefined) extendTo(file, head.pages * head.pageSize);
  } finally {
    closeSync(file);
  }
}

/** @throws {@link CrawlError} `CRAWL_STORE_FORMAT` where the store can't be looked at before it is mended. */
export function mustNotNeedMending(directory: string): void {
  const last = lastCheckpoint(directory);
  if (last === undefined || !lostPower(directory, last)) return;
  throw new CrawlError(
    'CRAWL_STORE_FORMAT',
    `The store in ${directory} was left by a machine that lost power. Open it once without readOnly: that mends it.`,
  );
}

/** Whether there are commits since the checkpoint that the machine may not have brought to the disk. */
function lostPower(directory: string, last: Checkpoint): boolean {
  return (readHead(directory)?.commit ?? 0) > last.commit && !sameBoot(last.boot, bootId());
}

function restore(file: number, { metas }: Checkpoint): void {
  writeSync(file, metas, 0, metas.length, 0);
  fdatasyncSync(file);
}
