import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CrawlError } from '../../errors.ts';
import { type Checkpoint, lastCheckpoint, openCheckpoints, writeCheckpoint } from './checkpoint-file.ts';
import { DATA_FILE, extendTo } from './data-file.ts';
import type { Environment, Pin } from './environment.ts';
import { bootId, sameBoot } from './machine.ts';

const syncFile = promisify(fdatasync);

/**
 * What outlives the machine. Commits go to the operating system and reach the disk when it likes, in any order; a
 * checkpoint is a commit that is on the disk whole. Its pages are pinned, so that later commits leave them alone, and
 * its meta pages are kept beside the data: after a power cut they are put back, and the store is as it was then.
 */
export class Checkpoints {
  readonly #environment: Environment;
  readonly #directory: string;
  readonly #data: number;
  readonly #file: number;
  readonly #boot = bootId();
  #pin: Pin | undefined;
  #last = -1;
  #slot = 0;

  private constructor(environment: Environment, directory: string, data: number, file: number) {
    this.#environment = environment;
    this.#directory = directory;
    this.#data = data;
    this.#file = file;
  }

  /** Begins with what is there: the first checkpoint is made before anything can be overwritten. */
  static open(environment: Environment, directory: string): Checkpoints {
    const data = openSync(join(directory, DATA_FILE), 'r+');
    const checkpoints = new Checkpoints(environment, directory, data, openCheckpoints(directory));
    try {
      checkpoints.#begin();
      return checkpoints;
    } catch (thrown) {
      checkpoints.close();
      throw thrown;
    }
  }

  #begin(): void {
    const last = lastCheckpoint(this.#directory);
    if (last !== undefined) this.#slot = 1 - last.slot;
    const { pin, checkpoint } = this.#take();
    this.#pin = pin;
    this.#last = checkpoint.commit;
    if (last?.commit === checkpoint.commit && sameBoot(last.boot, this.#boot)) return;
    fdatasyncSync(this.#data);
    this.#write(checkpoint);
    fdatasyncSync(this.#file);
  }

  /** Whether there is a commit that the last checkpoint does not have. */
  get isBehind(): boolean {
    return this.#environment.info().commit !== this.#last;
  }

  /** Why nothing that is written will be found again; `undefined` where it will. */
  get loss(): CrawlError | undefined {
    // A file that is deleted while it is open goes on working, and is gone with the process.
    if (fstatSync(this.#data).nlink > 0) return undefined;
    return new CrawlError(
      'CRAWL_STORE_FAILED',
      `The store in ${this.#directory} was deleted while it was open, and all that was in it is lost. Begin the crawl anew, and leave its directory alone until it has ended.`,
    );
  }

  /** Makes the last commit outlive the machine. */
  async make(): Promise<void> {
    const { pin, checkpoint } = this.#take();
    try {
      await syncFile(this.#data);
      this.#write(checkpoint);
      await syncFile(this.#file);
    } catch (thrown) {
      pin.release();
      throw thrown;
    }
    this.#pin?.release();
    this.#pin = pin;
    this.#last = checkpoint.commit;
  }

  /** Lets go of the pages; to be called before the environment is closed. */
  close(): void {
    this.#pin?.release();
    this.#pin = undefined;
    closeSync(this.#data);
    closeSync(this.#file);
  }

  #take(): { pin: Pin; checkpoint: Checkpoint } {
    const pin = this.#environment.pin();
    const { commit, pages, pageSize } = this.#environment.info();
    const fileBytes = pages * pageSize;
    extendTo(this.#data, fileBytes);
    const metas = Buffer.alloc(2 * pageSize);
    readSync(this.#data, metas, 0, metas.length, 0);
    return { pin, checkpoint: { commit, boot: this.#boot, fileBytes, metas } };
  }

  #write(checkpoint: Checkpoint): void {
    writeCheckpoint(this.#file, this.#slot, checkpoint);
    this.#slot = 1 - this.#slot;
  }
}
