import { statfsSync } from 'node:fs';
import { CrawlError } from '../../errors.ts';

/** With less than this a store is not opened: memory that is mapped over a full disk kills the process. */
const LEAST_BYTES = 2 ** 20;

/** @throws {@link CrawlError} `CRAWL_STORE_FULL` */
export function mustHaveRoom(directory: string): void {
  if (hasRoom(directory)) return;
  throw new CrawlError(
    'CRAWL_STORE_FULL',
    `There is less than 1 MiB left for the store in ${directory}. Nothing was changed: make room and open it again.`,
  );
}

/** Whether the disk has room left; where that can't be told, it has. */
export function hasRoom(directory: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize >= LEAST_BYTES;
  } catch {
    return true;
  }
}
