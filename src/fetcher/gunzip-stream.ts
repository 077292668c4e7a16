import { Transform, type TransformCallback } from 'node:stream';
import zlib from 'node:zlib';
import { endOfHeader, isMember, TRAILER_BYTES } from './gzip.ts';

/** Name and comment of a file have no limit of their own. */
const MAX_HEADER_BYTES = 65_536;

/** To begin a member costs more than to undo a short one: of more than a few they must hold as much as this on average. */
const FEW_MEMBERS = 1000;
const MEMBER_BYTES = 256;

const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Undoes gzip as it arrives, in the way that `gunzip` does with what is there as a whole: all members, and what follows
 * the last is ignored. Ends with an error of zlib's where a member is broken or cut.
 */
export class GunzipStream extends Transform {
  /** Compressed bytes so far. */
  bytesWritten = 0;
  #state: 'header' | 'data' | 'trailer' | 'junk' = 'header';
  #held: Buffer = NOTHING;
  #members = 0;
  #total = 0;
  #inflater: zlib.InflateRaw | undefined;
  #given = 0;
  #checksum = 0;
  #bytes = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.bytesWritten += chunk.length;
    this.#step(chunk, callback);
  }

  override _read(size: number): void {
    this.#inflater?.resume();
    super._read(size);
  }

  override _flush(callback: TransformCallback): void {
    const isWhole =
      this.#state === 'junk' || (this.#state === 'header' && this.#members > 0 && !isMember(this.#held, 0));
    callback(isWhole ? null : zlibError('Z_BUF_ERROR', 'unexpected end of file'));
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#inflater?.destroy();
    callback(error);
  }

  #step(input: Buffer, callback: TransformCallback): void {
    let rest: Buffer | undefined = input;
    try {
      while (rest !== undefined && rest.length > 0 && this.#state !== 'data') rest = this.#readBetween(rest);
    } catch (error) {
      callback(error as Error);
      return;
    }
    if (rest === undefined || rest.length === 0) callback();
    else this.#inflate(rest, callback);
  }

  /** Header and trailer of a member; gives what is left behind it, or `undefined` where more must come. */
  #readBetween(input: Buffer): Buffer | undefined {
    if (this.#state === 'junk') return undefined;
    const held = this.#held.length === 0 ? input : Buffer.concat([this.#held, input]);
    this.#held = held;
    return this.#state === 'trailer' ? this.#readTrailer(held) : this.#readHeader(held);
  }

  #readHeader(held: Buffer): Buffer | undefined {
    if (held.length < 3) return undefined;
    if (!isMember(held, 0)) {
      if (this.#members === 0) throw zlibError('Z_DATA_ERROR', 'incorrect header check');
      this.#state = 'junk';
      this.#held = NOTHING;
      return undefined;
    }
    const end = endOfHeader(held, 0);
    if (end === undefined) {
      if (held.length > MAX_HEADER_BYTES) throw zlibError('Z_DATA_ERROR', 'the header is too long');
      return undefined;
    }
    this.#held = NOTHING;
    this.#state = 'data';
    this.#begin();
    return held.subarray(end);
  }

  #readTrailer(held: Buffer): Buffer | undefined {
    if (held.length < TRAILER_BYTES) return undefined;
    if (held.readUInt32LE(0) !== this.#checksum) throw zlibError('Z_DATA_ERROR', 'incorrect data check');
    if (held.readUInt32LE(4) !== this.#bytes % 2 ** 32) throw zlibError('Z_DATA_ERROR', 'incorrect length check');
    this.#members++;
    this.#total += this.#bytes;
    if (this.#members > FEW_MEMBERS && this.#total < this.#members * MEMBER_BYTES) {
      throw zlibError('Z_DATA_ERROR', `more than ${FEW_MEMBERS} members of gzip that hold next to nothing`);
    }
    this.#held = NOTHING;
    this.#state = 'header';
    return held.subarray(TRAILER_BYTES);
  }

  #begin(): void {
    this.#given = 0;
    this.#checksum = 0;
    this.#bytes = 0;
    const inflater = zlib.createInflateRaw();
    this.#inflater = inflater;
    inflater.on('error', (error) => this.destroy(error));
    inflater.on('data', (data: Buffer) => {
      this.#checksum = zlib.crc32(data, this.#checksum);
      this.#bytes += data.length;
      if (!this.push(data)) inflater.pause();
    });
  }

  #inflate(input: Buffer, callback: TransformCallback): void {
    const inflater = this.#inflater as zlib.InflateRaw;
    this.#given += input.length;
    inflater.write(input, (error) => {
      // Its error event tells.
      if (error != null || this.destroyed) return;
      const left = this.#given - inflater.bytesWritten;
      if (left === 0) {
        // It may have ended just here; that shows with the next bytes.
        callback();
        return;
      }
      const ended = (): void => {
        this.#inflater = undefined;
        inflater.destroy();
        this.#state = 'trailer';
        this.#step(input.subarray(input.length - left), callback);
      };
      if (inflater.readableEnded) ended();
      else inflater.once('end', ended);
    });
  }
}

function zlibError(code: 'Z_BUF_ERROR' | 'Z_DATA_ERROR', message: string): Error {
  return Object.assign(new Error(message), { code });
}
