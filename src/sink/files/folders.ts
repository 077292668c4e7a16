import { lstat, mkdir, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { CrawlError } from '../../errors.ts';
import { makeFolder } from '../../make-folder.ts';

/** Folders remembered as made and checked. */
const MAX_REMEMBERED = 10_000;

/** Makes folders below one root, and sees to it that no symbolic link leads out of it. */
export class Folders {
  readonly #root: string;
  #realRoot: string | undefined;
  readonly #ready = new Set<string>();

  constructor(root: string) {
    this.#root = root;
  }

  /**
   * The folder, made where it is missing.
   * @throws {@link CrawlError} `CRAWL_SINK_FAILED` where a link leads out of the root or a file stands in the way;
   * else what the file system throws.
   */
  async make(names: readonly string[]): Promise<string> {
    let path = this.#root;
    if (this.#realRoot === undefined) {
      makeFolder(path);
      this.#realRoot = await realpath(path);
    }
    for (const name of names) {
      path = join(path, name);
      if (!this.#ready.has(path)) await this.#makeOne(path, this.#realRoot);
    }
    return path;
  }

  /** Forgets what was made: somebody took it away. */
  forget(): void {
    this.#ready.clear();
    this.#realRoot = undefined;
  }

  async #makeOne(path: string, realRoot: string): Promise<void> {
    try {
      await mkdir(path);
    } catch (thrown) {
      if (!hasCode(thrown, 'EEXIST')) throw thrown;
      await requireInside(path, realRoot);
    }
    if (this.#ready.size >= MAX_REMEMBERED) this.#ready.clear();
    this.#ready.add(path);
  }
}

async function requireInside(path: string, realRoot: string): Promise<void> {
  const entry = await lstat(path);
  if (entry.isDirectory()) return;
  if (entry.isSymbolicLink()) {
    const real = await realpath(path);
    if (real === realRoot || real.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep)) return;
    throw new CrawlError('CRAWL_SINK_FAILED', `"${path}" is a link that leads out of the folder: remove it.`);
  }
  throw new CrawlError('CRAWL_SINK_FAILED', `"${path}" is a file where a folder is needed: move it away.`);
}

/** Whether a thrown value is a system error with this code. */
export function hasCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === code;
}
