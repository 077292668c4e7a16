import http2, { type ClientHttp2Session } from 'node:http2';
import { CrawlError } from '../errors.ts';
import type { TransportResponse } from '../ports.ts';
import type { Connections } from './connections.ts';
import { discard } from './discard.ts';
import { lateError, MAX_HEADS } from './exchange.ts';
import { toFetchError } from './failure.ts';
import type { Hop } from './hop.ts';
import { Http2Exchange, type Http2Limits, type Http2Line } from './http2-exchange.ts';
import { Http2Wire } from './http2-wire.ts';

const IDLE_MS = 29_000;
const MAX_SESSIONS = 256;
const MAX_HTTP1_ORIGINS = 10_000;
const TRIES = 3;
const MOST_FIELDS = 10_000;

/** A field counts for so much more than its bytes (RFC 9113, 10.5.1). */
const FIELD_BYTES = 32;
/** Fields like `:status`, which nobody counts. */
const PSEUDO_FIELDS = 4;
/** A setting is a number of 32 bits (RFC 9113, 6.5.1). */
const LARGEST_SETTING = 2 ** 32 - 1;

const { NGHTTP2_ENHANCE_YOUR_CALM } = http2.constants;

/** A server may send this much of a body before it hears that more is wanted. */
const WINDOW_BYTES = 1_048_576;

/** A connection to one origin that many requests share, or the attempt to make one. */
interface Entry {
  /** `undefined` where the server chose HTTP/1.1. */
  readonly opening: Promise<Http2Line | undefined>;
  line: Http2Line | undefined;
}

/** Sends requests over HTTP/2 where the server chooses it by ALPN (RFC 7301), and says so where it does not. */
export class Http2 {
  readonly #connections: Connections;
  readonly #limits: Http2Limits;
  /** In the order of last use. */
  readonly #entries = new Map<string, Entry>();
  readonly #http1 = new Set<string>();
  /** Also those that are in no entry any more, and not closed yet. */
  readonly #wires = new Set<Http2Wire>();

  constructor(connections: Connections, limits: Http2Limits) {
    this.#connections = connections;
    this.#limits = limits;
  }

  /** The answer; `undefined` where the request is to be sent over HTTP/1.1. */
  async request(hop: Hop): Promise<TransportResponse | undefined> {
    const key = keyOf(hop);
    for (let tries = 1; ; tries++) {
      if (this.#http1.has(key)) return undefined;
      hop.deadline.throwIfAborted();
      const line = await this.#lineFor(hop, key);
      if (line === undefined) return undefined;
      const reused = line.used;
      const exchange = new Http2Exchange(hop, line, this.#limits);
      try {
        const response = await exchange.answer;
        if (response.status !== 421) return response;
        await discard(response);
      } catch (error) {
        if (!exchange.wantsHttp1) {
          if (!reused || !exchange.wasLost || !hop.resend || tries === TRIES) throw error;
          continue;
        }
      }
      this.#useHttp1(key);
      if (!hop.resend) throw misdirected(hop.url);
    }
  }

  close(): void {
    for (const { line } of this.#entries.values()) line?.session.destroy();
    for (const wire of this.#wires) wire.destroy();
    this.#entries.clear();
  }

  /** The connection that is there or being made, else a new one. */
  async #lineFor(hop: Hop, key: string): Promise<Http2Line | undefined> {
    const known = this.#entries.get(key);
    if (known !== undefined && (known.line === undefined || isOpen(known.line.session))) {
      this.#entries.delete(key);
      this.#entries.set(key, known);
      try {
        return await waitFor(hop, known.opening);
      } catch (error) {
        // Whoever opened it may have had less patience.
        if (hop.deadline.reason !== undefined || known.line !== undefined) throw error;
      }
    }
    const current = this.#entries.get(key);
    if (current !== undefined && current !== known) return waitFor(hop, current.opening);
    const entry: Entry = { opening: this.#open(hop, key), line: undefined };
    this.#entries.set(key, entry);
    entry.opening.then(
      (line) => this.#opened(key, entry, line),
      () => this.#forget(key, entry),
    );
    return waitFor(hop, entry.opening);
  }

  async #open(hop: Hop, key: string): Promise<Http2Line | undefined> {
    const socket = await this.#connections.connectSecurely(hop, ['h2', 'http/1.1']);
    if (socket.alpnProtocol !== 'h2') {
      this.#useHttp1(key);
      hop.prepare(socket);
      return undefined;
    }
    const { remoteAddress } = socket;
    const wire = new Http2Wire(socket, MAX_HEADS * this.#limits.maxHeaderBytes);
    this.#wires.add(wire);
    wire.once('close', () => this.#wires.delete(wire));
    const session = this.#sessionOver(wire, hop);
    // Each request is told by its own stream.
    session.on('error', () => {});
    wire.onOffence((error) => {
      session.destroy(error, NGHTTP2_ENHANCE_YOUR_CALM);
      wire.destroy();
    });
    wire.unref();
    return {
      session,
      wire,
      active: 0,
      used: false,
      ...(hop.route === undefined && remoteAddress !== undefined ? { remoteAddress } : {}),
    };
  }

  #sessionOver(wire: Http2Wire, hop: Hop): ClientHttp2Session {
    const { maxHeaderBytes, maxHeaderFields } = this.#limits;
    const maxHeaderListSize = maxHeaderBytes + FIELD_BYTES * (maxHeaderFields + PSEUDO_FIELDS);
    try {
      const session = http2.connect(hop.target.origin, {
        createConnection: () => wire,
        settings: {
          enablePush: false,
          initialWindowSize: WINDOW_BYTES,
          maxHeaderListSize: Math.min(LARGEST_SETTING, maxHeaderListSize),
        },
        // Else Node resets the stream of a head with more than 128, and nobody learns why.
        maxHeaderListPairs: MOST_FIELDS,
      });
      // Of the whole connection it is else 64 KiB, whatever is said of its streams (RFC 9113, 6.9.2).
      session.setLocalWindowSize(WINDOW_BYTES);
      return session;
    } catch (error) {
      wire.destroy();
      throw error;
    }
  }

  #opened(key: string, entry: Entry, line: Http2Line | undefined): void {
    if (line === undefined) {
      this.#forget(key, entry);
      return;
    }
    entry.line = line;
    const { session } = line;
    session.on('goaway', () => this.#forget(key, entry));
    session.on('close', () => this.#forget(key, entry));
    session.setTimeout(IDLE_MS, () => {
      if (line.active === 0) session.close();
    });
    if (!isOpen(session)) this.#forget(key, entry);
    if (this.#entries.size > MAX_SESSIONS) this.#closeOne();
  }

  #closeOne(): void {
    for (const [key, entry] of this.#entries) {
      if (entry.line === undefined || entry.line.active > 0) continue;
      this.#entries.delete(key);
      entry.line.session.close();
      return;
    }
  }

  #forget(key: string, entry: Entry): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }

  #useHttp1(key: string): void {
    if (this.#http1.size >= MAX_HTTP1_ORIGINS) this.#http1.clear();
    this.#http1.add(key);
  }
}

/** What connections must not be shared across. */
function keyOf({ route, target, trusted }: Hop): string {
  return `${target.host} ${trusted} ${route?.key ?? ''}`;
}

function isOpen(session: ClientHttp2Session): boolean {
  return !session.closed && !session.destroyed;
}

/** Waits within the hop's own time for a connection. */
function waitFor<T>(hop: Hop, opening: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (error: CrawlError) => {
      reject(error);
      hop.giveUp();
    };
    hop.deadline.watch(giveUp);
    hop.deadline.beginPhase(hop.connectTimeoutMs, () => giveUp(lateError('connect', hop)));
    opening.then(
      (value) => {
        hop.deadline.endPhase();
        resolve(value);
      },
      (error) => {
        hop.deadline.endPhase();
        reject(toFetchError(error, hop.url, 'connect'));
      },
    );
  });
}

function misdirected(url: string): CrawlError {
  const message = `The server does not answer this over HTTP/2; the next request will use HTTP/1.1: ${url}`;
  return new CrawlError('CRAWL_CONNECTION_LOST', message, { url, retryable: true });
}
