import http2, { type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2';
import { Readable } from 'node:stream';
import { CrawlError, isCrawlError } from '../errors.ts';
import type { TransportResponse } from '../ports.ts';
import type { Headers } from '../types.ts';
import { closedEarly } from './body.ts';
import { pathOf } from './connections.ts';
import { headTooLarge, lateError, tooManyFields } from './exchange.ts';
import { toFetchError } from './failure.ts';
import { toHeaders } from './headers.ts';
import type { Hop } from './hop.ts';
import type { Http2Wire } from './http2-wire.ts';
import { TurnShare } from './turn-share.ts';

const {
  NGHTTP2_CANCEL,
  NGHTTP2_ENHANCE_YOUR_CALM,
  NGHTTP2_HTTP_1_1_REQUIRED,
  NGHTTP2_NO_ERROR,
  NGHTTP2_REFUSED_STREAM,
} = http2.constants;

/** Streams end so where nobody is at fault, or where the server has said goodbye. */
const FAULTLESS: ReadonlySet<number | undefined> = new Set([
  undefined,
  NGHTTP2_CANCEL,
  NGHTTP2_NO_ERROR,
  NGHTTP2_REFUSED_STREAM,
]);

/** HTTP/2 has no such fields (RFC 9113, 8.2.2). */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'te']);

/** Pieces of a body that are a turn's work: what waits may be as many as it has bytes. */
const PIECES_IN_A_TURN = 2_000;

/** A connection, and the requests on it. */
export interface Http2Line {
  readonly session: ClientHttp2Session;
  readonly wire: Http2Wire;
  /** Of the target; none behind a proxy. */
  readonly remoteAddress?: string;
  active: number;
  /** Whether a request was sent on it. */
  used: boolean;
}

export interface Http2Limits {
  readonly maxHeaderBytes: number;
  readonly maxHeaderFields: number;
}

/** One request and the head of its answer over HTTP/2. */
export class Http2Exchange {
  readonly answer: Promise<TransportResponse>;
  readonly #hop: Hop;
  readonly #line: Http2Line;
  readonly #limits: Http2Limits;
  readonly #startedAt = performance.now();
  #resolve!: (response: TransportResponse) => void;
  #reject!: (error: Error) => void;
  #failed = false;
  #lost = false;
  #wantsHttp1 = false;

  constructor(hop: Hop, line: Http2Line, limits: Http2Limits) {
    this.#hop = hop;
    this.#line = line;
    this.#limits = limits;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    try {
      if (line.remoteAddress !== undefined) hop.checkAddress(line.remoteAddress);
      this.#send(line.session);
    } catch (error) {
      // A connection that was closed a moment ago takes no request.
      this.#failLost(error as Error);
    }
  }

  /** Whether no answer came because the connection, or its stream, was given up by the server. */
  get wasLost(): boolean {
    return this.#lost;
  }

  /** Whether the server asks for HTTP/1.1 (RFC 9113, 7). */
  get wantsHttp1(): boolean {
    return this.#wantsHttp1;
  }

  #send(session: ClientHttp2Session): void {
    const { deadline, headersTimeoutMs } = this.#hop;
    const { wire } = this.#line;
    const { bytesIn } = wire;
    const stream = session.request(headersOf(this.#hop), { endStream: true });
    this.#occupy(session, stream);
    let answered = false;
    const giveUp = (error: Error) => {
      this.#fail(error);
      stream.close(NGHTTP2_CANCEL);
    };
    deadline.watch(giveUp);
    deadline.beginPhase(headersTimeoutMs, () => {
      giveUp(lateError('headers', this.#hop));
      // Not a word in all that time: the next request is better off on another connection.
      if (wire.bytesIn === bytesIn) session.close();
    });
    stream.on('response', (fields, _flags, raw?: string[]) => {
      answered = true;
      this.#answered(stream, Number(fields[':status']), raw);
    });
    stream.on('error', (error) => {
      if (answered) return;
      this.#wantsHttp1 = stream.rstCode === NGHTTP2_HTTP_1_1_REQUIRED;
      this.#failLost(this.#refused(stream) ?? error);
    });
    stream.on('close', () => {
      if (!answered) this.#failLost(this.#refused(stream) ?? closedEarly());
    });
  }

  /** A connection that is in use keeps the process alive; one that waits does not. */
  #occupy(session: ClientHttp2Session, stream: ClientHttp2Stream): void {
    const line = this.#line;
    line.used = true;
    const isAlone = line.active++ === 0;
    line.wire.asked(isAlone);
    if (isAlone) line.wire.ref();
    stream.once('close', () => {
      line.wire.answered();
      if (--line.active === 0 && !session.destroyed) line.wire.unref();
    });
  }

  /** What is wrong with an answer that Node's HTTP/2 gave up, not the server. */
  #refused(stream: ClientHttp2Stream): CrawlError | undefined {
    const { rstCode } = stream;
    const { session, wire } = this.#line;
    if (FAULTLESS.has(rstCode) || session.destroyed || wire.wasResetByServer(stream.id)) return undefined;
    const { url } = this.#hop;
    if (rstCode === NGHTTP2_ENHANCE_YOUR_CALM) return headTooLarge(url);
    return new CrawlError('CRAWL_PROTOCOL_INVALID', `The answer is no valid HTTP: its head breaks the rules (${url})`, {
      url,
    });
  }

  #answered(stream: ClientHttp2Stream, status: number, raw: readonly string[] = []): void {
    const { maxHeaderBytes, maxHeaderFields } = this.#limits;
    const { deadline, url } = this.#hop;
    deadline.endPhase();
    const lines = withoutPseudo(raw);
    const bytes = lines.reduce((sum, text) => sum + text.length + 2, 0);
    const tooLarge =
      lines.length / 2 > maxHeaderFields
        ? tooManyFields(url, lines.length / 2, maxHeaderFields)
        : bytes > maxHeaderBytes
          ? headTooLarge(url)
          : undefined;
    if (tooLarge !== undefined) {
      this.#reject(tooLarge);
      stream.close(NGHTTP2_CANCEL);
      return;
    }
    const headers = toHeaders(lines);
    const body = new Http2Body(stream, headers);
    deadline.watch((reason) => void body.destroy(reason));
    const { remoteAddress } = this.#line;
    this.#resolve({
      status,
      headers,
      body,
      timings: { firstByte: performance.now() - this.#startedAt },
      ...(remoteAddress === undefined ? {} : { remoteAddress }),
    });
  }

  /** Fails; without an answer, unless it was one that is wrong. */
  #failLost(error: Error): void {
    // The end of a stream is told twice: why, and that.
    if (this.#failed) return;
    this.#lost = !isCrawlError(error);
    this.#fail(error);
  }

  #fail(error: Error): void {
    this.#failed = true;
    this.#hop.deadline.endPhase();
    this.#reject(toFetchError(error, this.#hop.url, 'headers'));
  }
}

/** The body of one stream. Ends with an error where the stream was cut, which Node's own does not always tell. */
class Http2Body extends Readable {
  readonly #stream: ClientHttp2Stream;
  readonly #share: TurnShare;
  readonly #length: number | undefined;
  #bytes = 0;
  #ended = false;

  constructor(stream: ClientHttp2Stream, headers: Headers) {
    super();
    this.#stream = stream;
    this.#share = new TurnShare(stream, PIECES_IN_A_TURN);
    const length = Number(headers['content-length']);
    this.#length = Number.isSafeInteger(length) ? length : undefined;
    stream.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      this.#share.took();
      if (!this.push(chunk)) this.#share.stop();
    });
    stream.on('end', () => this.#finish());
    stream.on('error', (error) => {
      if (!this.#ended) this.destroy(error);
    });
    stream.on('close', () => {
      if (!this.#ended) this.destroy(closedEarly());
    });
    stream.pause();
  }

  override _read(): void {
    this.#share.want();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#stream.closed) this.#stream.close(NGHTTP2_CANCEL);
    // What nobody waits for is not an error of the process.
    callback(this.listenerCount('error') === 0 ? null : error);
  }

  #finish(): void {
    const { rstCode } = this.#stream;
    const isCut =
      (rstCode !== undefined && rstCode !== NGHTTP2_NO_ERROR) || (this.#length ?? this.#bytes) !== this.#bytes;
    if (isCut) {
      this.destroy(closedEarly());
      return;
    }
    this.#ended = true;
    this.push(null);
  }
}

function headersOf({ headers, target }: Hop): OutgoingHttpHeaders {
  const sent: OutgoingHttpHeaders = {
    ':method': 'GET',
    ':scheme': target.protocol.slice(0, -1),
    ':authority': target.host,
    ':path': pathOf(target),
  };
  for (const name in headers) if (!CONNECTION_FIELDS.has(name)) sent[name] = headers[name];
  return sent;
}

/** `:status` is no header field. */
function withoutPseudo(raw: readonly string[]): string[] {
  const lines: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (!(raw[at] as string).startsWith(':')) lines.push(raw[at] as string, raw[at + 1] as string);
  }
  return lines;
}
