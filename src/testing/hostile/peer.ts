import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Random } from '../random.ts';
import { type SecureOptions, secure } from './secure.ts';

/** More than any client should read, and still an end. */
const FLOOD_BYTES = 100 * 2 ** 20;

/** Written at once in a flood. */
const PIECE_BYTES = 65_536;

/** What is written: bytes, or text whose characters are bytes. */
export type Bytes = string | Uint8Array;

/** Where a misbehaviour is met. */
export interface PeerContext {
  readonly random: Random;
  /** The number in the path. */
  readonly n: number;
  /** What stands behind the question mark of the URL, empty for nothing. */
  readonly query: string;
  /** The origin that was asked, without a slash at its end. */
  readonly origin: string;
  /** The path that leads to the same misbehaviour, without the number. */
  readonly base: string;
  readonly dripMs: number;
}

/** Who is misbehaved to: one connection, and means to write on it what no server should. */
export class Peer implements PeerContext {
  readonly random: Random;
  readonly n: number;
  readonly query: string;
  readonly origin: string;
  readonly base: string;
  readonly dripMs: number;
  /** Whether it is not to be read from. */
  isDeaf = false;
  readonly #socket: Socket;
  readonly #under: Socket;

  /** @param under - The connection under TLS. */
  constructor(socket: Socket, { random, n, query, origin, base, dripMs }: PeerContext, under: Socket = socket) {
    this.#socket = socket;
    this.#under = under;
    this.random = random;
    this.n = n;
    this.query = query;
    this.origin = origin;
    this.base = base;
    this.dripMs = dripMs;
  }

  /** Writes; the connection stays as it is. */
  send(...parts: readonly Bytes[]): this {
    if (this.#socket.writable) this.#socket.write(toBytes(parts));
    return this;
  }

  /** Writes, and ends this side of the connection. */
  end(...parts: readonly Bytes[]): void {
    if (this.#socket.writable) this.#socket.end(toBytes(parts));
  }

  /** Writes, and once that is sent breaks the connection off by a reset. */
  reset(...parts: readonly Bytes[]): void {
    if (parts.length === 0) this.#under.resetAndDestroy();
    else if (this.#socket.writable) {
      // The client must have read it: a reset throws away what it hasn't.
      this.#socket.write(toBytes(parts), () => this.later(this.dripMs, () => this.#under.resetAndDestroy()));
    }
  }

  /** Writes and closes, as soon as the client may have sent what will never be read. */
  abandon(...parts: readonly Bytes[]): void {
    this.isDeaf = true;
    this.later(this.dripMs, () => this.#abandon(parts));
  }

  #abandon(parts: readonly Bytes[]): void {
    this.#socket.write(toBytes(parts), () => this.#socket.destroy());
  }

  /** Calls with all that comes, as it comes. */
  hear(listener: (data: Buffer) => void): void {
    this.#socket.on('data', listener).resume();
  }

  /** Calls once, with what comes first. */
  heard(listener: (data: Buffer) => void): void {
    this.#socket.once('data', listener);
  }

  /** Lets what was heard be heard again, by who listens next. */
  putBack(data: Buffer): void {
    this.#socket.pause();
    this.#socket.unshift(data);
  }

  /**
   * Does the handshake of TLS; `then` has a peer whose bytes are encrypted. What this one writes goes by in between, as it
   * is.
   */
  secure(options: SecureOptions, then: (peer: Peer, socket: TLSSocket) => void): void {
    secure(this.#socket, options, (socket) => then(new Peer(socket, this, this.#under), socket));
  }

  /** Does something after a while, unless the connection is closed by then. */
  later(ms: number, work: () => void): void {
    const timer = setTimeout(work, ms);
    this.#socket.once('close', () => clearTimeout(timer));
  }

  /** Writes a few bytes at a time, `dripMs` apart; when all are out, `then`. */
  drip(bytes: Bytes, then: () => void = () => {}, pieceBytes = 1): void {
    const all = toBytes([bytes]);
    let at = 0;
    const timer = setInterval(() => {
      this.send(all.subarray(at, at + pieceBytes));
      at += pieceBytes;
      if (at < all.length) return;
      clearInterval(timer);
      then();
    }, this.dripMs);
    this.#socket.once('close', () => clearInterval(timer));
  }

  /** Writes as fast as the client reads: what `make` gives for 0, 1, 2 and so on, up to so many bytes. */
  flood(make: (index: number) => Bytes, mostBytes: number = FLOOD_BYTES): void {
    let index = 0;
    let sent = 0;
    const next = (): Buffer => {
      const parts: Buffer[] = [];
      for (let bytes = 0; bytes < PIECE_BYTES && sent < mostBytes; ) {
        const part = toBytes([make(index++)]);
        parts.push(part);
        bytes += part.length;
        sent += part.length;
      }
      return Buffer.concat(parts);
    };
    const go = (): void => {
      while (sent < mostBytes && this.#socket.writable) if (!this.#socket.write(next())) return;
      if (sent >= mostBytes) this.#socket.off('drain', go).end();
    };
    this.#socket.on('drain', go);
    go();
  }
}

/** A head: status line and fields, with the empty line behind it. */
export function head(status: string, ...fields: readonly string[]): string {
  return `HTTP/1.1 ${[status, ...fields].join('\r\n')}\r\n\r\n`;
}

/** An answer without fault, but for what is in its fields or its body. */
export function answer(body: Bytes, ...fields: readonly string[]): Buffer {
  const named = (name: string): boolean => fields.some((field) => field.toLowerCase().startsWith(`${name}:`));
  const own = named('content-type') ? [] : ['Content-Type: text/html; charset=utf-8'];
  return toBytes([head('200 OK', ...fields, ...own, `Content-Length: ${toBytes([body]).length}`), body]);
}

/** The head of an answer in chunks. */
export function chunkedHead(...fields: readonly string[]): string {
  return head('200 OK', 'Content-Type: text/html', 'Transfer-Encoding: chunked', ...fields);
}

/** One chunk, as it should be. */
export function chunk(data: Bytes): Buffer {
  const bytes = toBytes([data]);
  return toBytes([`${bytes.length.toString(16)}\r\n`, bytes, '\r\n']);
}

/** A small page that differs from any other, with no links. */
export function page(title: string, text = ''): string {
  return `<!doctype html><html><head><title>${title}</title></head><body><p>${title}</p>${text}</body></html>`;
}

/** Bytes without meaning. */
export function noise(random: Random, length: number): Buffer {
  const bytes = Buffer.alloc(Math.ceil(length / 4) * 4);
  for (let at = 0; at < length; at += 4) bytes.writeUInt32LE(random.below(2 ** 32), at);
  return bytes.subarray(0, length);
}

/** The same few KiB without meaning over and over, for floods: chance is slower than a network. */
export function noiseFlood(random: Random): () => Buffer {
  const bytes = noise(random, 4096);
  return () => bytes;
}

/** What takes a while to make is made when it is first asked for, and kept. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

export function toBytes(parts: readonly Bytes[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
}
