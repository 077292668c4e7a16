import type * as Lmdb from 'lmdb';
import { CrawlError } from '../../errors.ts';
import { Checkpoints } from './checkpoint.ts';
import { Core } from './core.ts';
import { loadLmdb } from './dependency.ts';
import { Environment } from './environment.ts';
import { GroupCommit } from './group-commit.ts';
import { DirectoryLock } from './lock.ts';
import { isUnfinished, makeStore, removeUnfinished } from './making.ts';
import { mend, mustBeWhole, mustNotNeedMending } from './mend.ts';
import { mustHaveRoom } from './room.ts';
import { StoreState } from './state.ts';

export interface WritingOptions {
  readonly mapSize: number | undefined;
  readonly commitEveryMs: number;
  readonly checkpointEveryMs: number;
}

/** What an open store is made of. */
export interface OpenParts {
  readonly core: Core;
  /** Absent where nothing is to be written. */
  readonly commits: ((onFailure: (thrown: unknown) => void) => GroupCommit) | undefined;
  /** Lets go of everything. */
  readonly release: () => Promise<void>;
}

export async function openForWriting(directory: string, options: WritingOptions): Promise<OpenParts> {
  const lmdb = await loadLmdb();
  const lock = await DirectoryLock.acquire(directory);
  let environment: Environment | undefined;
  let checkpoints: Checkpoints | undefined;
  try {
    mustHaveRoom(directory);
    const head = mustBeWhole(directory);
    mend(directory);
    if (head === undefined) await makeStore(lmdb, directory, options.mapSize);
    await mustBeOurs(lmdb, directory);
    removeUnfinished(directory);
    environment = Environment.open(lmdb, directory, { readOnly: false, mapSize: options.mapSize });
    const core = new Core(environment);
    await core.load();
    // Before the first commit: it could overwrite what the last checkpoint needs.
    checkpoints = Checkpoints.open(environment, directory);
    environment.begin();
    core.begin();
    core.save();
    environment.commit();
    return parts(environment, core, checkpoints, lock, options);
  } catch (thrown) {
    checkpoints?.close();
    await environment?.close();
    lock.release();
    throw thrown;
  }
}

export async function openForReading(directory: string, mapSize: number | undefined): Promise<OpenParts> {
  const lmdb = await loadLmdb();
  if (mustBeWhole(directory) === undefined) throw noStore(directory);
  mustNotNeedMending(directory);
  const environment = Environment.open(lmdb, directory, { readOnly: true, mapSize });
  try {
    if (isUnfinished(environment)) throw noStore(directory);
    StoreState.check(environment.table('state'), directory);
    const core = new Core(environment);
    await core.load();
    return { core, commits: undefined, release: () => environment.close() };
  } catch (thrown) {
    await environment.close();
    throw thrown;
  }
}

function parts(
  environment: Environment,
  core: Core,
  checkpoints: Checkpoints,
  lock: DirectoryLock,
  { commitEveryMs, checkpointEveryMs }: WritingOptions,
): OpenParts {
  return {
    core,
    commits: (onFailure) =>
      new GroupCommit({ environment, core, checkpoints, commitEveryMs, checkpointEveryMs, onFailure }),
    release: async () => {
      try {
        checkpoints.close();
        await environment.close();
      } finally {
        lock.release();
      }
    },
  };
}

/** Looks into a database without changing it: another program's is left alone. */
async function mustBeOurs(lmdb: typeof Lmdb, directory: string): Promise<void> {
  const environment = Environment.open(lmdb, directory, { readOnly: true, mapSize: undefined });
  try {
    if (!isUnfinished(environment)) StoreState.check(environment.table('state'), directory);
  } finally {
    await environment.close();
  }
}

function noStore(directory: string): CrawlError {
  return new CrawlError('CRAWL_STORE_FORMAT', `There is no crawl store in ${directory}.`);
}
