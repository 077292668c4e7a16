import { DefaultDeserializer, serialize } from 'node:v8';
import { describeThrown } from '../errors.ts';
import type { LinkProfile } from '../link-extractor/index.ts';
import type { FetchedPage, PageParts } from '../page.ts';
import type { Link } from '../types.ts';

/** What a thread is told when it starts. */
export interface ThreadData {
  /** The module's URL. */
  readonly module: string;
  readonly userAgent: string;
  readonly profile: LinkProfile;
  readonly maxLinks: number;
}

/** Bytes in front of the body, where the thread writes when it began with the page. */
const HEAD_BYTES = 8;

/** A page as it is sent to a thread. */
export interface PageTask {
  readonly parts: Omit<PageParts, 'body' | 'stream'>;
  /** When the thread began, then the body. Shared, so that the page keeps its body whatever becomes of the thread. */
  readonly memory: SharedArrayBuffer;
  /** Links that an extractor of the user's own found, or why it found none; absent where the thread can find them. */
  readonly links?: { readonly found: readonly Link[] } | { readonly failure: string };
}

/** Loads the module, and says whether it can be used. */
export type ThreadTask = PageTask | 'load';

/** An error on its way between threads, where its class and own fields would be lost. */
export interface Fault {
  readonly name: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly code?: string | undefined;
}

export type ThreadAnswer =
  | { readonly data: Uint8Array }
  | { readonly failed: 'load' | 'handler' | 'result'; readonly fault: Fault };

/** What a thread is to be sent of a page. Copies the body once, into memory that both sides see. */
export function taskOf(page: FetchedPage, hasOwnExtractor: boolean): PageTask {
  const { url, finalUrl, redirects, status, headers, contentType, depth, referrer, fetchedAt, timings, body } = page;
  const memory = new SharedArrayBuffer(HEAD_BYTES + body.length);
  bodyIn(memory).set(body);
  const size = { bytes: page.bytes, truncated: page.truncated };
  const parts = { url, finalUrl, redirects, status, headers, contentType, depth, referrer, fetchedAt, timings, size };
  return hasOwnExtractor ? { parts, memory, links: linksOf(page) } : { parts, memory };
}

/** The body, not copied. */
export function bodyIn(memory: SharedArrayBuffer): Buffer {
  return Buffer.from(memory, HEAD_BYTES);
}

/** In place of the time at which a thread began, once it is done. */
export const HAS_ENDED = -1n;

/** Notes in the thread that the handler is called now. */
export function begin({ memory }: PageTask): void {
  Atomics.store(new BigInt64Array(memory, 0, 1), 0, process.hrtime.bigint());
}

/** Notes in the thread that it has an answer. */
export function end({ memory }: PageTask): void {
  Atomics.store(new BigInt64Array(memory, 0, 1), 0, HAS_ENDED);
}

/** When a thread began, in nanoseconds of the clock that all of a process share; 0 before, {@link HAS_ENDED} after. */
export function begunAt({ memory }: PageTask): bigint {
  return Atomics.load(new BigInt64Array(memory, 0, 1), 0);
}

/** @throws what `structuredClone` would throw for what can't be copied: functions and what holds them, above all. */
export function pack(data: unknown): ThreadAnswer {
  return { data: serialize(data) };
}

export function unpack(data: Uint8Array): unknown {
  const reader = new Reader(data);
  reader.readHeader();
  return reader.readValue();
}

/** Gives each view memory of its own, where Node's gives it the whole message to look at. */
class Reader extends DefaultDeserializer {
  /** Called by V8 for what Node has written in its own way, which is views alone. */
  _readHostObject(): ArrayBufferView {
    const view = readView.call(this);
    const { buffer } = new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
    if (Buffer.isBuffer(view)) return Buffer.from(buffer);
    return new (view.constructor as new (memory: ArrayBufferLike) => ArrayBufferView)(buffer);
  }
}

const readView = (DefaultDeserializer.prototype as unknown as { _readHostObject(): ArrayBufferView })._readHostObject;

/** Never throws. */
export function faultOf(thrown: unknown): Fault {
  try {
    if (thrown instanceof Error) {
      const { name, message, stack, code } = thrown as { [Key in keyof Fault]: unknown };
      return { name: String(name), message: String(message), stack: textOf(stack), code: textOf(code) };
    }
  } catch {
    // What was thrown throws in its turn when it is looked at.
  }
  return { name: 'Error', message: describeThrown(thrown) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The error again, for `cause`. */
export function errorOf({ name, message, stack, code }: Fault): Error {
  const error = new Error(message);
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  if (stack !== undefined) error.stack = stack;
  return code === undefined ? error : Object.assign(error, { code });
}

function linksOf(page: FetchedPage): NonNullable<PageTask['links']> {
  try {
    const found = Array.from(page.links, ({ url, source, rel, nofollow, text }) => ({
      ...{ url, source, nofollow, rel: [...rel] },
      ...(text === undefined ? {} : { text }),
    }));
    return { found };
  } catch (thrown) {
    return { failure: describeThrown(thrown) };
  }
}
