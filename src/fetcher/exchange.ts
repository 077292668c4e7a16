import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { CrawlError, isCrawlError } from '../errors.ts';
import type { TransportResponse } from '../ports.ts';
import type { IdleSockets } from './agents.ts';
import { type Phase, RESETS, toFetchError } from './failure.ts';
import { toHeaders } from './headers.ts';
import type { Hop } from './hop.ts';
import { boundHandshakes } from './tls.ts';

/** A kept-alive socket may be closed by the server just when it is used again; then the request was most likely never read. */
const STALE_SOCKET_TRIES = 2;

/** Heads of answers before the answer (1xx) that a request may get, each as long as the limit. */
export const MAX_HEADS = 4;

const MISDIRECTED = 421;

/** What exchanges of one transport have in common. */
export interface ExchangeContext {
  readonly maxHeaderBytes: number;
  readonly maxHeaderFields: number;
  readonly idle: IdleSockets;
}

/** Sends, and where the hop allows it, once more what a kept-alive connection has lost. */
export async function exchangeUntilSent(hop: Hop, send: () => Exchange): Promise<TransportResponse> {
  for (let tries = 0; ; tries++) {
    hop.deadline.throwIfAborted();
    const exchange = send();
    try {
      return await exchange.answer;
    } catch (error) {
      if (!exchange.wasStale || hop.deadline.reason !== undefined) throw error;
      if (!hop.resend || tries === STALE_SOCKET_TRIES) throw asLost(error, hop.url);
    }
  }
}

/**
 * One request and the head of its answer, whatever client sends it: its phases and their time, the address it goes to,
 * its failure. The body is Node's own stream, which from then on answers for itself.
 */
export class Exchange {
  readonly answer: Promise<TransportResponse>;
  readonly #hop: Hop;
  readonly #context: ExchangeContext;
  readonly #destroy: (error: Error) => void;
  readonly #startedAt = performance.now();
  #resolve!: (response: TransportResponse) => void;
  #reject!: (error: CrawlError) => void;
  #phase: Phase = 'connect';
  #fresh = true;
  #stale = false;
  #response: IncomingMessage | undefined;
  #socket: Socket | undefined;
  #wireBytes = 0;
  #headIsIn = false;
  #lookedUpAt = 0;
  #connectedAt = 0;
  #readyAt = 0;

  /** @param destroy - Ends the request, and with it the connection; its error comes back by {@link failed}. */
  constructor(hop: Hop, context: ExchangeContext, destroy: (error: Error) => void) {
    this.#hop = hop;
    this.#context = context;
    this.#destroy = destroy;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    hop.deadline.beginPhase(hop.connectTimeoutMs, () => this.#giveUp(lateError('connect', hop)));
    hop.deadline.watch((reason) => this.#giveUp(reason));
  }

  /** Whether it failed on a kept-alive connection that the server had given up. */
  get wasStale(): boolean {
    return this.#stale;
  }

  /** Checks where the socket leads, and starts the clock of the headers once it is connected. */
  onSocket(socket: Socket, reused: boolean): void {
    if (reused) {
      this.#fresh = false;
      this.#hop.takePrepared()?.destroy();
    }
    if (!socket.connecting) {
      this.#connected(socket);
      return;
    }
    socket.once('lookup', () => {
      this.#lookedUpAt = performance.now();
    });
    socket.once('connect', () => {
      this.#connectedAt = performance.now();
    });
    const isSecure = this.#hop.target.protocol === 'https:';
    if (isSecure) boundHandshakes(socket);
    socket.once(isSecure ? 'secureConnect' : 'connect', () => this.#connected(socket));
  }

  /** Unasked, so nobody could make use of it; without this the socket would stay open for ever. */
  onUpgrade(socket: { destroy(): void }): void {
    socket.destroy();
    this.#giveUp(protocolError(this.#hop.url, 'the server changed to another protocol'));
  }

  /** The parser has all of the head, also where the client tells only later. */
  onHead(): void {
    this.#headIsIn = true;
  }

  onResponse(response: IncomingMessage): void {
    const { deadline, url } = this.#hop;
    this.onHead();
    const { idle, maxHeaderFields } = this.#context;
    deadline.endPhase();
    this.#phase = 'body';
    const fields = response.rawHeaders.length / 2;
    if (fields > maxHeaderFields) {
      this.#giveUp(tooManyFields(url, fields, maxHeaderFields));
      return;
    }
    this.#response = response;
    deadline.watch((reason) => void response.destroy(reason));
    const headers = toHeaders(response.rawHeaders);
    this.#keepCounting(response, headers['transfer-encoding'] !== undefined);
    const keepAlive = headers['keep-alive'];
    if (keepAlive !== undefined) idle.hint(response.socket, keepAlive);
    // "Not on this connection" (RFC 9110, 15.5.20): the next try is to be on another.
    if (response.statusCode === MISDIRECTED) idle.spoil(response.socket);
    this.#resolve({
      status: response.statusCode ?? 0,
      headers,
      body: response,
      timings: this.#timings(),
      remoteAddress: response.socket.remoteAddress,
    });
  }

  /** What came in the way; after the head of the answer it is the body's to tell, unless that is complete. */
  failed(error: Error): void {
    if (this.#response !== undefined) {
      if (!this.#response.complete) this.#response.destroy(error);
      return;
    }
    this.#hop.deadline.endPhase();
    this.#stale = this.#phase === 'headers' && !this.#fresh && isLeftOver(error);
    this.#reject(toFetchError(error, this.#hop.url, this.#phase));
  }

  #connected(socket: Socket): void {
    const hop = this.#hop;
    try {
      // The far end of any other is the proxy, whom the user named.
      if (hop.route === undefined && socket.remoteAddress !== undefined) hop.checkAddress(socket.remoteAddress);
    } catch (error) {
      socket.destroy();
      this.#giveUp(error as Error);
      return;
    }
    this.#readyAt = performance.now();
    if (this.#phase !== 'connect') return;
    this.#phase = 'headers';
    this.#socket = socket;
    socket.on('data', this.#count);
    hop.deadline.beginPhase(hop.headersTimeoutMs, () => this.#giveUp(lateError('headers', hop)));
  }

  /**
   * Node's parser has limits for the fields of a head, but reads empty lines and heads of 1xx before it, and zeros in the
   * size of a chunk, for as long as they are sent.
   */
  readonly #count = (data: Buffer): void => {
    this.#wireBytes += data.length;
    const { maxWireBytes, url } = this.#hop;
    if (!this.#headIsIn) {
      if (this.#wireBytes > MAX_HEADS * this.#context.maxHeaderBytes + data.length) this.#giveUp(headTooLarge(url));
    } else if (this.#wireBytes > maxWireBytes) {
      this.#response?.destroy(protocolError(url, 'its chunks are many times larger than what they hold'));
    }
  };

  #keepCounting(response: IncomingMessage, inChunks: boolean): void {
    const stop = (): void => void this.#socket?.off('data', this.#count);
    if (inChunks) response.once('close', stop);
    else stop();
  }

  /** Not every client tells why a request ended that was destroyed. */
  #giveUp(error: Error): void {
    this.#hop.deadline.endPhase();
    this.#reject(toFetchError(error, this.#hop.url, this.#phase));
    this.#destroy(error);
    this.#hop.giveUp();
  }

  #timings(): TransportResponse['timings'] {
    const firstByte = performance.now() - this.#readyAt;
    if (!this.#fresh) return { firstByte };
    if (this.#connectedAt === 0) return { connect: this.#readyAt - this.#startedAt, firstByte };
    const foundAt = this.#lookedUpAt === 0 ? this.#startedAt : this.#lookedUpAt;
    return {
      dns: foundAt - this.#startedAt,
      connect: this.#connectedAt - foundAt,
      ...(this.#hop.target.protocol === 'https:' ? { tls: this.#readyAt - this.#connectedAt } : {}),
      firstByte,
    };
  }
}

/** What goes wrong on a kept connection because of what came before: it was closed, or has bytes nobody asked for. */
function isLeftOver(error: Error): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return RESETS.has(code) || code.startsWith('HPE_');
}

/** What was left over on a connection says nothing about the request that found it there. */
function asLost(error: unknown, url: string): unknown {
  if (isCrawlError(error, 'CRAWL_CONNECTION_LOST')) return error;
  const message = `The connection was lost before an answer came: it had bytes left over (${url})`;
  return new CrawlError('CRAWL_CONNECTION_LOST', message, { cause: error, url, retryable: true });
}

export function lateError(phase: 'connect' | 'headers', { connectTimeoutMs, headersTimeoutMs, url }: Hop): CrawlError {
  return phase === 'connect'
    ? new CrawlError(
        'CRAWL_CONNECT_TIMEOUT',
        `No connection within ${connectTimeoutMs} ms (timeouts.connect): ${url}`,
        {
          url,
          retryable: true,
        },
      )
    : new CrawlError('CRAWL_HEADERS_TIMEOUT', `No answer within ${headersTimeoutMs} ms (timeouts.headers): ${url}`, {
        url,
        retryable: true,
      });
}

export function tooManyFields(url: string, fields: number, most: number): CrawlError {
  const message = `The answer has ${fields} header fields, more than ${most} (maxHeaderFields): ${url}`;
  return new CrawlError('CRAWL_HEADERS_TOO_LARGE', message, { url });
}

export function headTooLarge(url: string): CrawlError {
  const message = `The head of the answer is larger than "maxHeaderBytes": ${url}`;
  return new CrawlError('CRAWL_HEADERS_TOO_LARGE', message, { url });
}

function protocolError(url: string, why: string): CrawlError {
  return new CrawlError('CRAWL_PROTOCOL_INVALID', `The answer is no valid HTTP: ${why} (${url})`, { url });
}
