import { Readable } from 'node:stream';
import type { CrawlError } from '../errors.ts';
import { closedEarly, lostBefore, type Meter, openBody } from './body.ts';
import { toFetchError } from './failure.ts';

/** How deep an error may lie within those that wrap it. */
const MOST_WRAPPERS = 5;

/**
 * A decompressed body as it arrives, under the same limits as one that is kept. Ends with a `CrawlError` where
 * something fails; ends early, and in order, at the limit of bytes. Destroying it frees the connection.
 *
 * It knows whose fault it is that a body was not read to its end: that of the other side, or of a reader.
 */
export class BodyStream extends Readable {
  readonly #source: Readable;
  readonly #meter: Meter;
  readonly #onClose: () => void;
  #rest: Readable | undefined;
  #ended = false;
  #failure: CrawlError | undefined;
  #isWanted = false;
  #isMissed = false;
  #isGivenUp = false;
  #isClosed = false;

  constructor(source: Readable, codings: readonly string[], meter: Meter, onClose: () => void) {
    super();
    this.#source = source;
    this.#meter = meter;
    this.#onClose = onClose;
    // An error nobody waits for must not end the process; whoever reads the stream gets it all the same.
    this.on('error', () => {});
    // Nothing else tells a reader that has begun from none, if not a byte has come yet.
    this.on('newListener', (event) => {
      if (event === 'data' || event === 'readable') this.#isWanted = true;
    });
    openBody(source, codings, meter).then(
      ({ first, rest, wireBytes }) => this.#read(first, rest, wireBytes),
      (error) => this.#fail(error),
    );
  }

  /**
   * What broke the body while it was read; `undefined` where nothing did, where nobody asked for it, so that nobody
   * looked, and where its readers had given it up for reasons of their own.
   */
  get broken(): CrawlError | undefined {
    if (this.#isMissed) return this.#failure;
    const isRead = this.#isWanted || this.readableDidRead || this.readableFlowing === true;
    return isRead && !this.#isGivenUp ? this.#failure : undefined;
  }

  /** Ends it from the crawl's side, whoever reads it. */
  close(): void {
    this.#isClosed = !this.readableEnded && !this.destroyed;
    this.destroy();
  }

  /** See {@link readerFailed}. */
  readerFailed(thrown: unknown): boolean {
    // That its time was up has been told.
    if (this.#isClosed && isPremature(thrown)) return true;
    const isPassedOn = this.#failure !== undefined && isWithin(thrown, this.#failure);
    if (isPassedOn) this.#isMissed = true;
    // Only before it broke: what broke under a reader is not complete, whatever the reader says.
    else if (this.#failure === undefined) this.#isGivenUp = true;
    return isPassedOn;
  }

  override _read(): void {
    this.#rest?.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#ended) {
      this.#source.destroy();
      this.#rest?.destroy();
    }
    this.#onClose();
    callback(error);
  }

  #read(first: Buffer, rest: Readable | undefined, wireBytes: () => number | undefined): void {
    if (this.destroyed) {
      rest?.destroy();
      return;
    }
    this.#rest = rest;
    if (rest === undefined || rest.readableEnded) {
      this.#ended = true;
      this.#pass(first, undefined);
      this.#end();
      return;
    }
    if (first.length > 0) this.#pass(first, undefined);
    rest.on('data', (chunk: Buffer) => {
      if (!this.#pass(chunk, wireBytes())) rest.pause();
    });
    rest.on('end', () => {
      this.#ended = this.#source.readableEnded;
      this.#end();
    });
    rest.on('error', (error) => this.#fail(error));
    rest.on('close', () => {
      if (!this.readableEnded && !this.#finished) this.#fail(closedEarly());
    });
    if (rest.destroyed) this.#fail(lostBefore(rest));
    else rest.resume();
  }

  #finished = false;

  #end(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.push(null);
  }

  #pass(chunk: Buffer, wireBytes: number | undefined): boolean {
    if (this.#finished || this.destroyed) return true;
    let more = true;
    try {
      const kept = this.#meter.take(chunk, wireBytes);
      if (kept.length > 0) more = this.push(kept);
    } catch (error) {
      this.#fail(error);
      return true;
    }
    if (this.#meter.truncated) {
      this.#end();
      this.#source.destroy();
      this.#rest?.destroy();
    }
    return more;
  }

  #fail(error: unknown): void {
    // What its reader destroyed has not failed by itself.
    if (this.#finished || this.destroyed) return;
    this.#failure = toFetchError(error, this.#meter.url, 'body');
    this.destroy(this.#failure);
  }
}

/**
 * Notes that a reader of a page's stream failed.
 * @returns whether it only passed on what broke the body, so that this is no fault of its own.
 */
export function readerFailed(stream: unknown, thrown: unknown): boolean {
  return stream instanceof BodyStream && stream.readerFailed(thrown);
}

/** Closes a page's stream, once nobody is waited for any more. */
export function closeBody(stream: Readable | undefined): void {
  if (stream instanceof BodyStream) stream.close();
  else stream?.destroy();
}

/** What broke a page's stream while it was read, see {@link BodyStream.broken}. */
export function brokenBody(stream: unknown): CrawlError | undefined {
  return stream instanceof BodyStream ? stream.broken : undefined;
}

function isWithin(thrown: unknown, failure: CrawlError): boolean {
  let at = thrown;
  for (let depth = 0; at instanceof Error && depth < MOST_WRAPPERS; depth++) {
    if (at === failure || isPremature(at)) return true;
    at = at.cause;
  }
  return false;
}

function isPremature(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
}
