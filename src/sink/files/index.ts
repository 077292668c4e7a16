import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CrawlError, toCrawlError } from '../../errors.ts';
import { boolean, type Complete, mustTake, number, oneOf, onlyKnown, show, wrongOption } from '../../options.ts';
import type { Sink } from '../../ports.ts';
import type { Page } from '../../types.ts';
import { canonicalizeUrl } from '../../url.ts';
import { type FileLayout, fileNameFor, INDEX_NAME, MAX_NAME_BYTES, PARTIAL_SUFFIX } from './file-name.ts';
import { Folders, hasCode } from './folders.ts';
import { IndexFile } from './index-file.ts';

/** Options of {@link FileSink}: `directory` or `prefix` must be given. */
export interface FileSinkOptions {
  /** The folder for the files; made where it is missing. */
  readonly directory?: string | undefined;
  /** What every file name begins with, a folder in front of it or not: `'pictures/holiday-'`. Layout is flat. */
  readonly prefix?: string | undefined;
  /** `'tree'`: a folder for each host and path segment; `'flat'`: all in one. @defaultValue `'tree'`, `'flat'` with `prefix` */
  readonly layout?: FileLayout | undefined;
  /** Largest file, in bytes; what is larger is refused. @defaultValue `Infinity` */
  readonly maxBytes?: number | undefined;
  /** Whether `urls.jsonl` says which URL is in which file. @defaultValue `true` */
  readonly index?: boolean | undefined;
  /** Whether pages with a status other than 2xx are written, too. @defaultValue `false` */
  readonly errorPages?: boolean | undefined;
}

/** Every default of {@link FileSinkOptions}, written once. */
export const FILE_SINK_DEFAULTS: Complete<Pick<FileSinkOptions, 'layout' | 'maxBytes' | 'index' | 'errorPages'>> = {
  layout: 'tree',
  maxBytes: Number.POSITIVE_INFINITY,
  index: true,
  errorPages: false,
};

/** What is left of the 255 bytes that file systems take for a name. */
const MAX_PREFIX_BYTES = 255 - MAX_NAME_BYTES - PARTIAL_SUFFIX.length;

/**
 * Writes each page into a file of its own, named after its URL; see {@link fileNameFor}. A page of the same URL and
 * media type replaces the file. Files appear whole: they are written under another name first and renamed when complete,
 * so that a crash of the process leaves no half file under a final name.
 */
export class FileSink implements Sink {
  readonly #directory: string;
  readonly #prefix: string;
  readonly #layout: FileLayout;
  readonly #maxBytes: number;
  readonly #errorPages: boolean;
  readonly #index: IndexFile | undefined;
  readonly #folders: Folders;
  /** Writes under way by path: two of one URL come one after the other. */
  readonly #writing = new Map<string, Promise<unknown>>();
  readonly #begun = new Set<Promise<void>>();
  #closed = false;

  /**
   * Opens nothing: folders and files are made with the first page.
   * @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN`, `CRAWL_OPTION_INVALID`, or `CRAWL_OPTION_CONFLICT` where
   * `directory` and `prefix` are both or neither given, or `prefix` is to be a tree.
   */
  constructor(options: FileSinkOptions) {
    onlyKnown('FileSink', options, ['directory', 'prefix', ...Object.keys(FILE_SINK_DEFAULTS)]);
    const place = placeOf(options);
    this.#directory = place.directory;
    this.#prefix = place.prefix;
    this.#layout = oneOf('layout', options.layout, place.layout, ['tree', 'flat']);
    this.#maxBytes = number('maxBytes', options.maxBytes, FILE_SINK_DEFAULTS.maxBytes, 1);
    this.#errorPages = boolean('errorPages', options.errorPages, FILE_SINK_DEFAULTS.errorPages);
    this.#folders = new Folders(this.#directory);
    if (boolean('index', options.index, FILE_SINK_DEFAULTS.index)) {
      this.#index = new IndexFile(join(this.#directory, `${this.#prefix}${INDEX_NAME}`));
    }
  }

  /**
   * Where the page of a URL is written, as a path below the working directory or an absolute one.
   * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where one of them is none.
   */
  pathFor(url: string, contentType: string): string {
    mustTake('FileSink.pathFor', 'an absolute URL', typeof url === 'string' && URL.canParse(url), url);
    mustTake('FileSink.pathFor', 'a media type as its second argument', typeof contentType === 'string', contentType);
    return join(this.#directory, this.#relative(url, contentType));
  }

  /**
   * Writes the page's stream if it has one, else its body. Resolves when the file has its name and the index its line; at
   * once, with nothing written, for a status other than 2xx without `errorPages`.
   * @throws {@link CrawlError} `CRAWL_BODY_TOO_LARGE` past `maxBytes`, `CRAWL_CLOSED` after `close`,
   * `CRAWL_SINK_FAILED` with what the file system threw in `cause`, or what the page's stream failed with. No file is
   * left behind then; one that was there stays.
   */
  async write(page: Page): Promise<void> {
    mustTake('FileSink.write', 'a page', page !== null && typeof page === 'object', page);
    const writing = this.#write(page);
    this.#begun.add(writing);
    try {
      await writing;
    } finally {
      this.#begun.delete(writing);
    }
  }

  async #write(page: Page): Promise<void> {
    if (!this.#errorPages && (page.status < 200 || page.status > 299)) return;
    try {
      if (page.stream !== undefined && 'destroyed' in page.stream && page.stream.destroyed === true) {
        if ('errored' in page.stream && page.stream.errored instanceof Error) throw page.stream.errored;
        const message = `The stream of ${page.url} is closed: write a page while it is being delivered`;
        throw new CrawlError('CRAWL_SINK_FAILED', message, { url: page.url });
      }
      if (this.#closed)
        throw new CrawlError('CRAWL_CLOSED', 'This FileSink is closed: make a new one.', { url: page.url });
      const file = this.#relative(page.url, page.contentType);
      const bytes = await this.#inTurn(file, () => this.#writeFile(file, page));
      await this.#index?.add(indexEntry(page, file, bytes));
    } catch (thrown) {
      // Nobody else reads it: left open, it would hold its connection.
      if (page.stream !== undefined && 'destroy' in page.stream) (page.stream as { destroy(): void }).destroy();
      throw toCrawlError(thrown, 'CRAWL_SINK_FAILED', `The file for ${page.url} cannot be written`, { url: page.url });
    }
  }

  /** Resolves when all that was begun is written or has failed. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#begun);
  }

  #relative(url: string, contentType: string): string {
    return this.#prefix + fileNameFor(canonicalizeUrl(url) ?? url, contentType, this.#layout);
  }

  async #inTurn<T>(file: string, work: () => Promise<T>): Promise<T> {
    const before = this.#writing.get(file);
    const turn = before === undefined ? work() : before.then(work, work);
    this.#writing.set(file, turn);
    try {
      return await turn;
    } finally {
      if (this.#writing.get(file) === turn) this.#writing.delete(file);
    }
  }

  async #writeFile(file: string, page: Page): Promise<number> {
    const names = file.split('/');
    const name = names.pop()!;
    const { handle, folder } = await this.#openPartial(names, name);
    const partial = join(folder, name + PARTIAL_SUFFIX);
    try {
      const bytes = await this.#fill(handle, page);
      await rename(partial, join(folder, name));
      return bytes;
    } catch (thrown) {
      await rm(partial, { force: true }).catch(() => {});
      throw thrown;
    }
  }

  /** A new file to write into; a leftover of an earlier run is removed, a link in its place not followed. */
  async #openPartial(names: readonly string[], name: string): Promise<{ handle: FileHandle; folder: string }> {
    for (let attempt = 0; ; attempt++) {
      const folder = await this.#folders.make(names);
      const partial = join(folder, name + PARTIAL_SUFFIX);
      await rm(partial, { force: true });
      try {
        const handle = await open(partial, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
        return { handle, folder };
      } catch (thrown) {
        if (attempt > 0 || !hasCode(thrown, 'ENOENT')) throw thrown;
        // The folder went away behind our back: make it again.
        this.#folders.forget();
      }
    }
  }

  async #fill(handle: FileHandle, page: Page): Promise<number> {
    try {
      if (page.stream !== undefined) return await this.#copy(page.stream, handle, page.url);
      this.#requireSize(page.body.length, page.url);
      await handle.writeFile(page.body);
      return page.body.length;
    } finally {
      // A stream on it closes it too, but does not wait for that.
      await handle.close();
    }
  }

  async #copy(stream: NodeJS.ReadableStream, handle: FileHandle, url: string): Promise<number> {
    let bytes = 0;
    const count = new Transform({
      transform: (chunk: Buffer, _, done) => {
        bytes += chunk.length;
        done(bytes > this.#maxBytes ? this.#tooLarge(url) : null, chunk);
      },
    });
    await pipeline(stream, count, handle.createWriteStream());
    return bytes;
  }

  #requireSize(bytes: number, url: string): void {
    if (bytes > this.#maxBytes) throw this.#tooLarge(url);
  }

  #tooLarge(url: string): CrawlError {
    return new CrawlError('CRAWL_BODY_TOO_LARGE', `The page has more than ${this.#maxBytes} bytes: ${url}`, { url });
  }
}

function placeOf({ directory, prefix, layout }: FileSinkOptions): {
  directory: string;
  prefix: string;
  layout: FileLayout;
} {
  if ((directory === undefined) === (prefix === undefined)) {
    throw new CrawlError('CRAWL_OPTION_CONFLICT', 'FileSink takes "directory" or "prefix", one of the two.');
  }
  const given = directory ?? prefix;
  if (typeof given !== 'string' || given === '' || given.includes('\0')) {
    const option = prefix === undefined ? 'directory' : 'prefix';
    throw wrongOption(option, 'a path', given);
  }
  if (prefix === undefined) return { directory: given, prefix: '', layout: FILE_SINK_DEFAULTS.layout };
  if (layout === 'tree') {
    throw new CrawlError(
      'CRAWL_OPTION_CONFLICT',
      `FileSink lays files with a "prefix" out flat: layout 'tree' needs "directory".`,
    );
  }
  const isFolder = prefix.endsWith('/') || prefix.endsWith(sep);
  const start = isFolder ? '' : basename(prefix);
  if (Buffer.byteLength(start) > MAX_PREFIX_BYTES) {
    const limit = `at most ${MAX_PREFIX_BYTES} bytes behind its folder`;
    throw new CrawlError('CRAWL_OPTION_INVALID', `Option "prefix" takes ${limit}, not ${show(start)}.`);
  }
  return { directory: isFolder ? prefix : dirname(prefix), prefix: start, layout: 'flat' };
}

function indexEntry(page: Page, file: string, bytes: number): object {
  return {
    time: page.fetchedAt.toISOString(),
    url: page.url,
    ...(page.finalUrl === page.url ? {} : { finalUrl: page.finalUrl }),
    file,
    status: page.status,
    contentType: page.contentType,
    bytes,
    ...(page.truncated ? { truncated: true } : {}),
  };
}
