import { constants } from 'node:fs';
import { appendFile, type FileHandle, open } from 'node:fs/promises';
import { hasCode } from './folders.ts';

/** To be added to and made where it is missing; a link in its place is not followed, where the system can tell. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);

/** A file of JSON lines that is only added to. Lines that come while it is being written are written together. */
export class IndexFile {
  readonly #path: string;
  #waiting = '';
  #writing: Promise<void> | undefined;
  #checked = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Resolves when the line is written. */
  add(entry: object): Promise<void> {
    const isFirst = this.#waiting === '';
    this.#waiting += `${JSON.stringify(entry)}\n`;
    // Those behind the first of a batch share its promise.
    if (isFirst) this.#writing = (this.#writing ?? Promise.resolve()).catch(() => {}).then(() => this.#write());
    return this.#writing!;
  }

  async #write(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = '';
    const start = this.#checked || !(await endsInMidLine(this.#path)) ? '' : '\n';
    this.#checked = false;
    await appendFile(this.#path, start + lines, { flag: FLAGS });
    this.#checked = true;
  }
}

/** Whether the last line was cut short, as by a crash: then the next one must not go on in it. */
async function endsInMidLine(path: string): Promise<boolean> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'r');
    const { size } = await file.stat();
    if (size === 0) return false;
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer[0] !== 0x0a;
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return false;
    throw thrown;
  } finally {
    // Without `using`, whose helper every import of the package would have to load.
    await file?.close();
  }
}
