import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CrawlError } from '../../errors.ts';
import { makeFolder } from '../../make-folder.ts';
import { type System, sameBoot, startOf, thisSystem } from './machine.ts';

const LOCK_FILE = 'crawl.lock';
/** The owner shows that it lives this often. */
const SIGN_OF_LIFE_MS = 5_000;
/** An owner whose process can't be seen from here, and that gave no sign for so long, is dead. */
const DEAD_AFTER_MS = 20_000;
/** A file that was made but not yet written belongs to someone for so long. */
const WRITING_MS = 2_000;
const WAIT_MS = 20;

interface Owner {
  readonly pid: number;
  /** When its process was started: process ids are used again. */
  readonly started: string;
  readonly system: System;
  /** Tells apart two stores that one process opened one after the other. */
  readonly token: string;
}

/**
 * Keeps a directory for one process. A file names the owner; an owner that has died, however suddenly, is seen to be
 * dead and makes way.
 */
export class DirectoryLock {
  readonly #path: string;
  readonly #token: string;
  readonly #timer: NodeJS.Timeout;

  private constructor(path: string, token: string) {
    this.#path = path;
    this.#token = token;
    this.#timer = setInterval(() => this.#showLife(), SIGN_OF_LIFE_MS);
    this.#timer.unref();
  }

  /** Rejects with {@link CrawlError} `CRAWL_STORE_LOCKED`, or with what the file system says. */
  static async acquire(directory: string): Promise<DirectoryLock> {
    makeFolder(directory);
    const path = join(directory, LOCK_FILE);
    const owner: Owner = {
      pid: process.pid,
      started: startOf(process.pid)?.at ?? String(Math.round(Date.now() / 1000 - process.uptime())),
      system: thisSystem(),
      token: randomUUID(),
    };
    const text = JSON.stringify(owner);
    while (!create(path, text)) {
      const other = readOwner(path);
      if (other === undefined) await pause();
      else if (lives(other, owner, path)) throw locked(directory, path, other);
      else await takeOver(path, text, owner);
    }
    return new DirectoryLock(path, owner.token);
  }

  /** Never throws. */
  release(): void {
    clearInterval(this.#timer);
    try {
      if (readOwner(this.#path)?.token === this.#token) unlinkSync(this.#path);
    } catch {
      // Whoever comes next sees that this process is gone.
    }
  }

  #showLife(): void {
    try {
      const now = new Date();
      utimesSync(this.#path, now, now);
    } catch {
      // A directory that was taken away is noticed elsewhere.
    }
  }
}

/** Makes the file if there is none. */
function create(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' });
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw thrown;
  }
}

/** The owner as the file names it; `undefined` where the file is gone or is being written. */
function readOwner(path: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Owner;
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw thrown;
    }
    return age(path) < WRITING_MS ? undefined : DEAD;
  }
}

/** Who wrote half a file and died. */
const DEAD: Owner = { pid: 0, started: '', system: { host: '', boot: '', ids: '' }, token: '' };

function lives(other: Owner, own: Owner, path: string): boolean {
  if (other.token === DEAD.token) return false;
  const { host, boot, ids } = other.system;
  if (host === own.system.host && !sameBoot(boot, own.system.boot)) return false;
  const visible = sameBoot(boot, own.system.boot) && ids === own.system.ids && (ids !== '' || host === own.system.host);
  if (!visible) return age(path) < DEAD_AFTER_MS;
  const seen = startOf(other.pid);
  if (seen !== undefined) return seen.at === other.started && !seen.ended;
  if (other.pid === own.pid) return other.started === own.started;
  return exists(other.pid);
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Replaces the file of a dead owner. Of several who try, one at a time looks again and does. */
async function takeOver(path: string, text: string, own: Owner): Promise<void> {
  const mutex = `${path}.takeover`;
  if (!create(mutex, text)) {
    if (age(mutex) > WRITING_MS) rmSync(mutex, { force: true });
    return pause();
  }
  try {
    const other = readOwner(path);
    if (other !== undefined && !lives(other, own, path)) {
      const gone = `${path}.${own.token}`;
      renameSync(path, gone);
      rmSync(gone, { force: true });
    }
  } finally {
    rmSync(mutex, { force: true });
  }
}

function age(path: string): number {
  const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return changed === undefined ? 0 : Date.now() - changed;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, WAIT_MS));
}

function locked(directory: string, path: string, { pid, system }: Owner): CrawlError {
  const where = pid === process.pid ? 'this process' : 'another process';
  const far = system.host === thisSystem().host ? '' : ` on ${system.host}`;
  const advice =
    pid === process.pid && far === ''
      ? 'Another crawler or LmdbStore here has it open: await the end of its run, or its close(), or hand the one store to both.'
      : `Wait until it is closed, or end that process; where it is gone for good, delete ${path}.`;
  return new CrawlError(
    'CRAWL_STORE_LOCKED',
    `The store in ${directory} is in use by ${where}${far} (pid ${pid}). ${advice}`,
    { retryable: true },
  );
}
