import { closeSync, createWriteStream, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeThrown } from '../errors.ts';
import { makeFolder } from '../make-folder.ts';

/** Where lines go. */
export interface LineTarget {
  /** What it is called in a warning. */
  readonly name: string;
  /** Called at the first line. May throw. */
  open(): NodeJS.WritableStream;
  /** Whether the stream is ended on close; one that was passed in is not. */
  readonly owned: boolean;
}

/** Beyond this many times `maxBufferBytes`, lines are lost rather than kept. */
const HARD_LIMIT_FACTOR = 16;

/**
 * Writes lines to a stream it opens with the first one. Nothing here throws: the first error is reported as a process
 * warning, and the lines that could not be written are counted.
 */
export class LineWriter {
  readonly #target: LineTarget;
  readonly #maxBufferBytes: number;
  #stream: NodeJS.WritableStream | undefined;
  #failed = false;
  #reported = false;
  #closed = false;
  #buffered = 0;
  #lost = 0;
  #waiting: (() => void)[] = [];

  constructor(target: LineTarget, maxBufferBytes: number) {
    this.#target = target;
    this.#maxBufferBytes = maxBufferBytes;
  }

  /** Lines that were not written. */
  get lost(): number {
    return this.#lost;
  }

  /** Counts something else that could not be written, and says `what` it was. */
  lose(what: string, error: unknown): void {
    this.#lost++;
    this.#report(what, error);
  }

  write(line: string): void {
    if (this.#closed || this.#failed || this.#buffered >= HARD_LIMIT_FACTOR * this.#maxBufferBytes) {
      this.#lost++;
      return;
    }
    const text = `${line}\n`;
    const bytes = Buffer.byteLength(text);
    this.#buffered += bytes;
    try {
      this.#stream ??= this.#open();
      this.#stream.write(text, (error) => this.#written(bytes, error));
    } catch (thrown) {
      this.#written(bytes, thrown);
    }
  }

  /** `undefined` where more may be written at once; else resolves when the stream has caught up, or is lost. */
  ready(): Promise<void> | undefined {
    if (this.#failed || this.#closed || this.#buffered < this.#maxBufferBytes) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Resolves when all lines are written or lost. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const stream = this.#stream;
    if (stream === undefined) return;
    if (this.#buffered > 0 && !this.#failed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    // A stream that failed may tell so once more, and with no listener left that would end the process.
    if (this.#failed) return;
    if (!this.#target.owned) {
      stream.removeListener('error', this.#onError);
      stream.removeListener('close', this.#onClose);
      return;
    }
    await new Promise<void>((resolve) => {
      stream.once('close', () => resolve());
      stream.end();
    });
  }

  #open(): NodeJS.WritableStream {
    const stream = this.#target.open();
    stream.on('error', this.#onError);
    stream.on('close', this.#onClose);
    return stream;
  }

  readonly #onError = (error: unknown): void => this.#fail(error);

  readonly #onClose = (): void => {
    if (!this.#closed) this.#fail(new Error('the stream was closed'));
    else this.#release();
  };

  #written(bytes: number, error: unknown): void {
    this.#buffered -= bytes;
    if (error !== undefined && error !== null) {
      this.#lost++;
      this.#fail(error);
    } else if (this.#buffered <= (this.#closed ? 0 : this.#maxBufferBytes / 2)) {
      this.#release();
    }
  }

  #fail(error: unknown): void {
    this.#failed = true;
    this.#report(`cannot write to ${this.#target.name}`, error);
    this.#release();
  }

  #report(what: string, error: unknown): void {
    if (this.#reported) return;
    this.#reported = true;
    process.emitWarning(`The event log ${what}: ${describeThrown(error)}`, {
      type: 'CrawlWarning',
      detail: 'The crawl goes on. Lines that could not be written are counted in EventLog.lost.',
    });
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** A file that lines are added to; its folders are made where they are missing. */
export function fileTarget(path: string): LineTarget {
  return {
    name: path,
    owned: true,
    open() {
      makeFolder(dirname(path));
      const torn = endsInMidLine(path);
      const stream = createWriteStream(path, { flags: 'a' });
      if (torn) stream.write('\n');
      return stream;
    },
  };
}

/** Whether the last line of a file was cut short, as by a crash: then the next one must not go on in it. */
function endsInMidLine(path: string): boolean {
  if (!existsSync(path) || !statSync(path).isFile()) return false;
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1);
    return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
  } finally {
    closeSync(file);
  }
}
