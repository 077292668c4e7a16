import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and those above it, where they are missing. As `mkdirSync` with `recursive`, which never comes back
 * where nothing can be made below a folder that is there, as in `/proc`.
 * @throws what the file system throws.
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  let at = resolve(path);
  while (!make(at)) {
    missing.push(at);
    at = dirname(at);
  }
  for (const folder of missing.reverse()) {
    if (!make(folder)) mkdirSync(folder);
  }
}

/** @returns whether the folder is there now; `false` where the one above it is missing. */
function make(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (thrown) {
    // Some systems say otherwise than EEXIST of a folder that is there and can't be made.
    if (isFolder(folder)) return true;
    const { code } = thrown as NodeJS.ErrnoException;
    if (code !== 'ENOENT' || isFolder(dirname(folder))) throw thrown;
    return false;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
