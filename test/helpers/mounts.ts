import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A small file system of its own, whose size and rights can be changed. */
export interface Mount {
  readonly path: string;
  remount(options: string): void;
  [Symbol.dispose](): void;
}

/**
 * A file system in memory, which only root can make; `undefined` where that is not possible.
 * @throws where it is not possible, and `REQUIRE_SERVICES=1` says that it must be.
 */
export function mountMemory(bytes: number): Mount | undefined {
  const path = mkdtempSync(join(tmpdir(), 'mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path], { stdio: 'pipe' });
  } catch (thrown) {
    rmdirSync(path);
    if (process.env.REQUIRE_SERVICES === '1') throw thrown;
    console.log('Skipped: a file system can be mounted by root only.');
    return undefined;
  }
  return {
    path,
    remount: (options) => void execFileSync('mount', ['-o', `remount,${options}`, path], { stdio: 'pipe' }),
    [Symbol.dispose]: () => {
      execFileSync('umount', ['-l', path], { stdio: 'pipe' });
      rmdirSync(path);
    },
  };
}
