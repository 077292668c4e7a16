import type { CrawlRequest } from '../../types.ts';
import { type Arena, ByteQueue } from './arena.ts';
import type { CodecContext, RequestCodec } from './request-codec.ts';

/** What the queues of a store share. */
export interface QueueMemory {
  readonly arena: Arena;
  readonly codec: RequestCodec;
}

const LENGTH_BYTES = Buffer.alloc(8);

/** The waiting requests of one host and level, first in, first out, as bytes in the store's arena. */
export class UrlQueue {
  readonly level: number;
  readonly #host: string;
  readonly #bytes = new ByteQueue();
  readonly #written: CodecContext = { referrer: undefined, source: undefined };
  readonly #read: CodecContext = { referrer: undefined, source: undefined };
  #size = 0;

  constructor(host: string, level: number) {
    this.#host = host;
    this.level = level;
  }

  get size(): number {
    return this.#size;
  }

  push({ arena, codec }: QueueMemory, request: CrawlRequest): void {
    const { bytes, length } = codec.encode(request, this.#host, this.#written);
    this.#bytes.write(arena, LENGTH_BYTES, lengthBytes(length));
    this.#bytes.write(arena, bytes, length);
    this.#size++;
  }

  /** The request that has waited longest; its memory is given back. */
  shift({ arena, codec }: QueueMemory): CrawlRequest | undefined {
    if (this.#size === 0) return undefined;
    const length = this.#length(arena);
    this.#bytes.read(arena, length);
    const start = arena.viewStart;
    const request = codec.decode(arena.view, start, start + length, this.#host, this.level, this.#read);
    if (--this.#size === 0) this.#bytes.release(arena);
    return request;
  }

  #length(arena: Arena): number {
    let value = 0;
    let unit = 1;
    for (;;) {
      this.#bytes.read(arena, 1);
      const byte = arena.view[arena.viewStart]!;
      if (byte < 128) return value + byte * unit;
      value += (byte - 128) * unit;
      unit *= 128;
    }
  }
}

/** Writes a length to {@link LENGTH_BYTES}, seven bits a byte; returns how many bytes it took. */
function lengthBytes(value: number): number {
  let at = 0;
  while (value > 127) {
    LENGTH_BYTES[at++] = (value % 128) + 128;
    value = Math.floor(value / 128);
  }
  LENGTH_BYTES[at++] = value;
  return at;
}
