import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream';
import { CrawlError } from '../errors.ts';
import { type Coding, decodeAtOnce, decoder, decodingSteps, SNIFF_BYTES } from './codings.ts';
import { toFetchError } from './failure.ts';
import { ChunkJoiner, Chunks } from './small-chunks.ts';

/** A compressed body up to this size is gathered first and decompressed in one go, which is cheaper than a stream. */
const SMALL_BYTES = 65_536;

/** Decompression beyond this is only done by streams, and is where the ratio begins to count. */
const RATIO_FROM_BYTES = 1_048_576;

/** Of what is larger than this, decompressed, many at once fill the memory of a process. */
export const LARGE_BODY_BYTES = 2_097_152;

/** So much of one body is read in a turn of the event loop: of each socket two megabytes would be, however many there are. */
const BYTES_IN_A_TURN = 262_144;

/** What a body may be. */
export interface BodyLimits {
  readonly maxBytes: number;
  readonly maxRatio: number;
  /** Waited for before more of a body is kept that has become large. */
  readonly beforeLarge?: (() => Promise<void>) | undefined;
}

/** Counts a body as it comes out of the decompressor. */
export class Meter {
  readonly url: string;
  readonly limits: BodyLimits;
  bytes = 0;
  truncated = false;
  mislabelled = false;

  constructor(url: string, limits: BodyLimits) {
    this.url = url;
    this.limits = limits;
  }

  /**
   * What is kept of a chunk; `truncated` says that the rest is not wanted.
   * @param wireBytes - Compressed bytes so far; `undefined` where nothing was compressed.
   */
  take(chunk: Buffer, wireBytes: number | undefined): Buffer {
    const total = this.bytes + chunk.length;
    this.checkRatio(total, wireBytes);
    const room = this.limits.maxBytes - this.bytes;
    if (chunk.length <= room) {
      this.bytes = total;
      return chunk;
    }
    this.truncated = true;
    this.bytes = this.limits.maxBytes;
    return chunk.subarray(0, room);
  }

  /**
   * Ends a body of which there is more before decompression than there may be behind it: it holds next to nothing, and
   * would be read for as long as it is sent.
   */
  watch(source: Readable): void {
    const most = this.limits.maxBytes + RATIO_FROM_BYTES;
    let bytes = 0;
    source.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= most) return;
      const message = `The body is larger before decompression than it may be behind it (maxBodyBytes): ${this.url}`;
      source.destroy(new CrawlError('CRAWL_BODY_BOMB', message, { url: this.url }));
    });
  }

  /** @throws {@link CrawlError} `CRAWL_BODY_BOMB` */
  checkRatio(bytes: number, wireBytes: number | undefined): void {
    const { maxRatio } = this.limits;
    if (wireBytes === undefined || bytes <= RATIO_FROM_BYTES || bytes <= wireBytes * maxRatio) return;
    throw new CrawlError(
      'CRAWL_BODY_BOMB',
      `The body grows more than ${maxRatio} times in decompression (maxDecompressionRatio): ${this.url}`,
      { url: this.url },
    );
  }
}

/** A body as it is to be read: what was seen of it already, and the stream of the rest, if there is more. */
interface Decoded {
  readonly first: Buffer;
  readonly rest: Readable | undefined;
  /** Compressed bytes that were used so far. */
  readonly wireBytes: () => number | undefined;
}

/** The whole body, decompressed, or as much of it as the meter lets pass. Rejects with a `CrawlError`. */
export async function readBody(source: Readable, codings: readonly string[], meter: Meter): Promise<Buffer> {
  try {
    if (codings.length === 0) return await collect(source, new Chunks(), meter, NOTHING_COMPRESSED);
    const head = await gather(source, SMALL_BYTES);
    const steps = stepsFor(codings, head.data, meter);
    const small = head.ended ? decodeSmall(steps, head.data, meter) : undefined;
    if (small !== undefined) return small;
    const { first, rest, wireBytes } = decode(source, head, steps, meter);
    const kept = new Chunks();
    if (first.length > 0) kept.add(meter.take(first, undefined));
    if (rest === undefined || meter.truncated) {
      source.destroy();
      return kept.whole();
    }
    return await collect(rest, kept, meter, wireBytes);
  } catch (error) {
    source.destroy();
    throw toFetchError(error, meter.url, 'body');
  }
}

/** Starts the decompression of a body that is to be read as a stream. Rejects with what came in the way. */
export async function openBody(source: Readable, codings: readonly string[], meter: Meter): Promise<Decoded> {
  if (codings.length === 0) return { first: Buffer.alloc(0), rest: source, wireBytes: NOTHING_COMPRESSED };
  const head = await gather(source, SNIFF_BYTES);
  return decode(source, head, stepsFor(codings, head.data, meter), meter);
}

const NOTHING_COMPRESSED = (): undefined => undefined;

function stepsFor(codings: readonly string[], first: Buffer, meter: Meter): readonly Coding[] {
  if (first.length === 0) return [];
  const steps = decodingSteps(codings, first.subarray(0, SNIFF_BYTES), meter.url);
  meter.mislabelled = steps.length === 0;
  return steps;
}

/** `undefined` where it turns out to be too large for this. */
function decodeSmall(steps: readonly Coding[], data: Buffer, meter: Meter): Buffer | undefined {
  if (steps.length === 0) return meter.take(data, undefined);
  const most = Math.min(meter.limits.maxBytes, RATIO_FROM_BYTES);
  if (most === 0) return undefined;
  try {
    let decoded = data;
    for (const step of steps) decoded = decodeAtOnce(step, decoded, most);
    return meter.take(decoded, data.length);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
    throw error;
  }
}

function decode(source: Readable, head: Head, steps: readonly Coding[], meter: Meter): Decoded {
  const decoders = steps.map(decoder);
  const [outer] = decoders;
  const last = decoders.at(-1);
  if (outer === undefined || last === undefined) {
    return { first: head.data, rest: head.ended ? undefined : source, wireBytes: NOTHING_COMPRESSED };
  }
  // Errors come out of the last stream, where they are listened to.
  const ignore = () => {};
  last.on('error', ignore);
  if (head.ended) {
    outer.end(head.data);
    if (decoders.length > 1) pipeline(decoders, ignore);
  } else {
    outer.write(head.data);
    meter.watch(source);
    pipeline([source, new ChunkJoiner(), ...decoders], ignore);
  }
  return { first: Buffer.alloc(0), rest: last, wireBytes: () => outer.bytesWritten };
}

interface Head {
  readonly data: Buffer;
  /** Whether that was all. */
  readonly ended: boolean;
}

/** Reads until there are `most` bytes or more, or no more to come, and leaves the stream paused. */
function gather(source: Readable, most: number): Promise<Head> {
  return new Promise((resolve, reject) => {
    const chunks = new Chunks();
    let bytes = 0;
    const done = (ended: boolean) => {
      source.off('data', onData).off('end', onEnd).off('error', reject).off('close', onClose);
      resolve({ data: chunks.whole(), ended });
    };
    const onData = (chunk: Buffer) => {
      chunks.add(chunk);
      bytes += chunk.length;
      if (bytes < most) return;
      source.pause();
      done(false);
    };
    const onEnd = () => done(true);
    const onClose = () => reject(closedEarly());
    source.on('data', onData).on('end', onEnd).on('error', reject).on('close', onClose);
    if (source.readableEnded) done(true);
    else if (source.destroyed) reject(lostBefore(source));
  });
}

/** Reads a stream to its end, or to where the meter cuts it. */
function collect(stream: Readable, kept: Chunks, meter: Meter, wireBytes: () => number | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let finished = false;
    const onClose = () => {
      if (!finished) reject(closedEarly());
    };
    const finish = () => {
      finished = true;
      resolve(kept.whole());
    };
    const fail = (error: unknown) => {
      reject(error);
      stream.destroy();
    };
    let beforeLarge = meter.limits.beforeLarge;
    let inTurn = 0;
    const onData = (chunk: Buffer) => {
      if (meter.truncated) return;
      let isMuch = false;
      inTurn += chunk.length;
      try {
        isMuch = kept.add(meter.take(chunk, wireBytes())) || inTurn >= BYTES_IN_A_TURN;
      } catch (error) {
        fail(error);
        return;
      }
      if (meter.truncated) {
        finish();
        stream.destroy();
      } else if (beforeLarge !== undefined && meter.bytes > LARGE_BODY_BYTES) {
        stream.pause();
        beforeLarge().then(() => stream.resume(), fail);
        beforeLarge = undefined;
      } else if (isMuch) {
        inTurn = 0;
        stream.pause();
        setImmediate(() => stream.resume());
      }
    };
    stream.on('data', onData).on('end', finish).on('error', reject).on('close', onClose);
    if (stream.readableEnded) finish();
    else if (stream.destroyed) reject(lostBefore(stream));
    else stream.resume();
  });
}

/** Why a stream was lost before anybody listened. */
export function lostBefore(stream: Readable): Error {
  return stream.errored ?? closedEarly();
}

/** For streams that are closed without saying why. */
export function closedEarly(): Error {
  return Object.assign(new Error('the stream was closed'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });
}
