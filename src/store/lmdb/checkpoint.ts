import { createHash } from 'node:crypto';
import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CrawlError } from '../../errors.ts';
import { DATA_FILE, extend, readHead } from './data-file.ts';
import type { Environment, Pin } from './environment.ts';
import { bootId, sameBoot } from './machine.ts';

const CHECKPOINT_FILE = 'crawl.checkpoint';
/** Two slots that are written in turn, so that one is whole whenever the power fails. */
const SLOT_BYTES = 262_144;
const DIGEST_BYTES = 32;
const syncFile = promisify(fdatasync);

interface Checkpoint {
  /** Number of the commit. */
  readonly commit: number;
  readonly boot: string;
  /** Bytes of the data file. */
  readonly fileBytes: number;
  /** The two meta pages as they were then. */
  readonly metas: Buffer;
}

/**
 * What outlives the machine. Commits go to the operating system and reach the disk when it likes, in any order; a
 * checkpoint is a commit that is on the disk whole. Its pages are pinned, so that later commits leave them alone, and
 * its meta pages are kept beside the data: after a power cut they are put back, and the store is as it was then.
 */
export class Checkpoints {
  readonly #environment: Environment;
  readonly #data: number;
  readonly #file: number;
  readonly #boot = bootId();
  #pin: Pin | undefined;
  #last = -1;
  #slot = 0;

  private constructor(environment: Environment, data: number, file: number) {
    this.#environment = environment;
    this.#data = data;
    this.#file = file;
  }

  /**
   * Mends what a power cut has left, before the data file is opened.
   * @throws {@link CrawlError} `CRAWL_STORE_FORMAT` where the data file is no store's, or was cut.
   */
  static mend(directory: string): void {
    const last = newest(directory);
    const head = readHead(directory);
    if (last !== undefined && (head === undefined || head.fileBytes < last.fileBytes)) {
      throw new CrawlError(
        'CRAWL_STORE_FORMAT',
        `The store in ${directory} was cut: ${DATA_FILE} has ${head?.fileBytes ?? 0} of at least ${last.fileBytes} bytes. Nothing was changed: bring the file back from a copy, or crawl into another directory.`,
      );
    }
    if (head === undefined) return;
    if (last !== undefined && head.commit > last.commit && !sameBoot(last.boot, bootId())) restore(directory, last);
    const { pages, pageSize, fileBytes } = readHead(directory) ?? head;
    if (fileBytes < pages * pageSize) extend(directory, pages * pageSize);
  }

  /** Begins with what is there: the first checkpoint is made before anything can be overwritten. */
  static open(environment: Environment, directory: string): Checkpoints {
    const data = openSync(join(directory, DATA_FILE), 'r+');
    const file = openFile(join(directory, CHECKPOINT_FILE));
    const checkpoints = new Checkpoints(environment, data, file);
    const last = newest(directory);
    if (last !== undefined) checkpoints.#slot = 1 - slotOf(last.commit, directory);
    checkpoints.#begin(last);
    return checkpoints;
  }

  #begin(last: Checkpoint | undefined): void {
    const { pin, checkpoint } = this.#take();
    if (last?.commit !== checkpoint.commit || !sameBoot(last.boot, this.#boot)) {
      fdatasyncSync(this.#data);
      this.#write(checkpoint);
      fdatasyncSync(this.#file);
    }
    this.#keep(pin, checkpoint);
  }

  /** Whether there is a commit that the last checkpoint does not have. */
  get isBehind(): boolean {
    return this.#environment.info().commit !== this.#last;
  }

  /** Makes the last commit outlive the machine. No transaction may be open when it is called. */
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
    this.#keep(pin, checkpoint);
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
    const fileBytes = fstatSync(this.#data).size;
    const metas = Buffer.alloc(2 * pageSize);
    readSync(this.#data, metas, 0, metas.length, 0);
    return { pin, checkpoint: { commit, boot: this.#boot, fileBytes: Math.min(fileBytes, pages * pageSize), metas } };
  }

  #write(checkpoint: Checkpoint): void {
    const slot = encode(checkpoint);
    writeSync(this.#file, slot, 0, slot.length, this.#slot * SLOT_BYTES);
    this.#slot = 1 - this.#slot;
  }

  #keep(pin: Pin, checkpoint: Checkpoint): void {
    this.#pin?.release();
    this.#pin = pin;
    this.#last = checkpoint.commit;
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, 'r+');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
    return openSync(path, 'wx+');
  }
}

function restore(directory: string, { metas }: Checkpoint): void {
  const file = openSync(join(directory, DATA_FILE), 'r+');
  try {
    writeSync(file, metas, 0, metas.length, 0);
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
}

function encode({ metas, ...head }: Checkpoint): Buffer {
  const text = Buffer.from(JSON.stringify({ ...head, metaBytes: metas.length }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  const body = Buffer.concat([length, text, metas]);
  return Buffer.concat([createHash('sha256').update(body).digest(), body]);
}

function decode(slot: Buffer): Checkpoint | undefined {
  if (slot.length < DIGEST_BYTES + 4) return undefined;
  const textLength = slot.readUInt32BE(DIGEST_BYTES);
  const textAt = DIGEST_BYTES + 4;
  if (textLength === 0 || textAt + textLength > slot.length) return undefined;
  try {
    const head = JSON.parse(slot.toString('utf8', textAt, textAt + textLength)) as Omit<Checkpoint, 'metas'> & {
      metaBytes: number;
    };
    const end = textAt + textLength + head.metaBytes;
    const digest = createHash('sha256').update(slot.subarray(DIGEST_BYTES, end)).digest();
    if (!digest.equals(slot.subarray(0, DIGEST_BYTES))) return undefined;
    const { commit, boot, fileBytes } = head;
    return { commit, boot, fileBytes, metas: slot.subarray(textAt + textLength, end) };
  } catch {
    return undefined;
  }
}

function slots(directory: string): (Checkpoint | undefined)[] {
  let file: number;
  try {
    file = openSync(join(directory, CHECKPOINT_FILE), 'r');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw thrown;
  }
  try {
    return [0, 1].map((slot) => {
      const bytes = Buffer.alloc(SLOT_BYTES);
      const read = readSync(file, bytes, 0, SLOT_BYTES, slot * SLOT_BYTES);
      return decode(bytes.subarray(0, read));
    });
  } finally {
    closeSync(file);
  }
}

function newest(directory: string): Checkpoint | undefined {
  return slots(directory).reduce(
    (best, one) => (one !== undefined && one.commit >= (best?.commit ?? -1) ? one : best),
    undefined,
  );
}

function slotOf(commit: number, directory: string): number {
  return Math.max(
    0,
    slots(directory).findIndex((slot) => slot?.commit === commit),
  );
}
