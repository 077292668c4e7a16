import http2 from 'node:http2';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { CrawlError } from '../errors.ts';
import { FrameBudget } from './frame-budget.ts';
import { FRAME, type Frame, FrameReader } from './http2-frames.ts';
import { TurnShare } from './turn-share.ts';

const { NGHTTP2_NO_ERROR } = http2.constants;

/** `PRI * HTTP/2.0` and so on (RFC 9113, 3.4). */
const PREFACE_BYTES = 24;
const READ_AHEAD_BYTES = 65_536;
/** So many frames are a turn's work: of the smallest two megabytes are read at a time. */
const FRAMES_IN_A_TURN = 1_000;

/** What a server did that ends its connection. */
type Offence = 'flood' | 'heads' | 'push' | 'broken';

/**
 * A secure connection between its socket and Node's HTTP/2, which tells too little of what goes by: it reads frames that
 * say nothing for as long as they come, and where it gives up a connection by itself (a head that can't be decompressed,
 * a frame too long) it says so to the server alone, stops reading, and lets every request wait for its time to be over.
 */
export class Http2Wire extends Duplex {
  readonly #socket: Socket;
  readonly #share: TurnShare;
  readonly #budget: FrameBudget;
  readonly #incoming = new FrameReader((frame) => this.#received(frame));
  readonly #outgoing = new FrameReader((frame) => this.#sent(frame), PREFACE_BYTES);
  readonly #resetStreams = new Set<number>();
  #offence: Offence | undefined;
  #bytesIn = 0;
  #onOffence: ((error: CrawlError) => void) | undefined;

  /** @param headBytes - What all heads of one answer may take. */
  constructor(socket: Socket, headBytes: number) {
    super({ readableHighWaterMark: READ_AHEAD_BYTES });
    this.#socket = socket;
    this.#share = new TurnShare(socket, FRAMES_IN_A_TURN);
    this.#budget = new FrameBudget(headBytes);
    // For what the server says first.
    this.#budget.earn();
    // Node does so where it has the socket itself: small frames would wait for each other's receipt.
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    socket.pause();
  }

  /** Bytes that came so far. */
  get bytesIn(): number {
    return this.#bytesIn;
  }

  /** Says who ends the connection where the server breaks its rules. */
  onOffence(listener: (error: CrawlError) => void): void {
    this.#onOffence = listener;
  }

  /**
   * A request is on its way.
   * @param isAlone - Whether no other is.
   */
  asked(isAlone: boolean): void {
    this.#budget.ask();
    if (isAlone) this.#resetStreams.clear();
  }

  /** A request has come to its end. */
  answered(): void {
    this.#budget.end();
  }

  /** Whether it was the server that reset a stream. */
  wasResetByServer(stream: number | undefined): boolean {
    return stream !== undefined && this.#resetStreams.has(stream);
  }

  ref(): void {
    this.#socket.ref();
  }

  unref(): void {
    this.#socket.unref();
  }

  override _read(): void {
    this.#share.want();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#outgoing.read(chunk);
    this.#socket.write(chunk, callback);
  }

  override _writev(chunks: { readonly chunk: Buffer }[], callback: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'binary', callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    // Whoever is at the other end may never close it.
    this.#socket.destroySoon();
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }

  #read(chunk: Buffer): void {
    if (this.#offence !== undefined) return;
    this.#bytesIn += chunk.length;
    this.#incoming.read(chunk);
    // What is too much is not handed on at all.
    if (this.#offence !== undefined) return;
    if (!this.push(chunk)) this.#share.stop();
  }

  #received({ type, stream, bytes, bodyBytes }: Frame): void {
    this.#share.took();
    // Pushing was refused with the first frame of all (RFC 9113, 8.4).
    if (type === FRAME.push) this.#offend('push');
    if (type === FRAME.reset) this.#resetStreams.add(stream);
    if (this.#budget.spend(bytes, bodyBytes)) return;
    this.#offend(type === FRAME.headers || type === FRAME.continuation ? 'heads' : 'flood');
  }

  #sent({ errorCode }: Frame): void {
    if (errorCode !== NGHTTP2_NO_ERROR) this.#offend('broken');
  }

  #offend(offence: Offence): void {
    if (this.#offence !== undefined) return;
    this.#offence = offence;
    this.#socket.pause();
    // Not in the middle of what Node's HTTP/2 is about.
    setImmediate(() => {
      if (!this.destroyed) this.#onOffence?.(offenceError(offence));
    });
  }
}

function offenceError(offence: Offence): CrawlError {
  if (offence === 'heads') {
    return new CrawlError('CRAWL_HEADERS_TOO_LARGE', 'The server sends heads of HTTP/2 without end, and no answer');
  }
  const why =
    offence === 'flood'
      ? 'the server sends frames of HTTP/2 without end that say nothing'
      : offence === 'push'
        ? 'the server pushes what nobody asked for'
        : 'the server broke the rules of HTTP/2';
  return new CrawlError('CRAWL_PROTOCOL_INVALID', `The answer is no valid HTTP: ${why}`);
}
