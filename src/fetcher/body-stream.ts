import { Readable } from 'node:stream';
import { closedEarly, lostBefore, type Meter, openBody } from './body.ts';
import { toFetchError } from './failure.ts';

/**
 * A decompressed body as it arrives, under the same limits as one that is kept. Ends with a `CrawlError` where
 * something fails; ends early, and in order, at the limit of bytes. Destroying it frees the connection.
 */
export class BodyStream extends Readable {
  readonly #source: Readable;
  readonly #meter: Meter;
  readonly #onClose: () => void;
  #rest: Readable | undefined;
  #ended = false;

  constructor(source: Readable, codings: readonly string[], meter: Meter, onClose: () => void) {
    super();
    this.#source = source;
    this.#meter = meter;
    this.#onClose = onClose;
    // An error nobody waits for must not end the process; whoever reads the stream gets it all the same.
    this.on('error', () => {});
    openBody(source, codings, meter).then(
      ({ first, rest, wireBytes }) => this.#read(first, rest, wireBytes),
      (error) => this.#fail(error),
    );
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
    if (!this.#finished) this.destroy(toFetchError(error, this.#meter.url, 'body'));
  }
}
