import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import { KEY, RIGHT } from './certificates.ts';

/** How a server does the handshake of TLS. */
export interface SecureOptions {
  /** PEM, with those behind it that lead to an authority. @defaultValue one that is right */
  readonly certificate?: string;
  readonly minVersion?: 'TLSv1' | 'TLSv1.2';
  readonly maxVersion?: 'TLSv1.1' | 'TLSv1.2';
  readonly ciphers?: string;
  readonly protocols?: readonly string[];
  /** Whether the client is to show who it is. */
  readonly asksBack?: boolean;
  /** Time between the bytes that are sent, in milliseconds. @defaultValue all at once */
  readonly dripMs?: number;
}

/** What is under TLS where its bytes are sent one at a time. */
class Drip extends Duplex {
  readonly #socket: Socket;
  readonly #ms: number;

  constructor(socket: Socket, ms: number) {
    super();
    this.#socket = socket;
    this.#ms = ms;
    socket.on('data', (data: Buffer) => {
      if (!this.push(data)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('close', () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    let at = 0;
    const timer = setInterval(() => {
      if (at < chunk.length && !this.#socket.destroyed) {
        this.#socket.write(chunk.subarray(at, ++at));
        return;
      }
      clearInterval(timer);
      callback();
    }, this.#ms);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#socket.end();
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}

const contexts = new Map<string, SecureContext>();

/** Does the handshake as a server; `then` has the connection once that is done. */
export function secure(socket: Socket, options: SecureOptions, then: (socket: TLSSocket) => void): void {
  const { asksBack = false, dripMs, protocols } = options;
  const secured = new TLSSocket(dripMs === undefined ? socket : new Drip(socket, dripMs), {
    isServer: true,
    secureContext: contextOf(options),
    requestCert: asksBack,
    rejectUnauthorized: asksBack,
    ...(protocols === undefined ? {} : { ALPNProtocols: [...protocols] }),
  });
  secured.on('error', () => {});
  // Each handshake more is an event of the same name.
  secured.once('secure', () => {
    then(secured);
    // Who doesn't read doesn't see that the client is gone, either.
    if (secured.listenerCount('data') === 0) secured.resume();
  });
}

/** Wants to do the handshake again, and when that is done again. */
export function renegotiate(socket: TLSSocket): void {
  socket.renegotiate({}, (error) => {
    if (error === null && !socket.destroyed) renegotiate(socket);
  });
}

function contextOf({ certificate: cert = RIGHT, ciphers, maxVersion, minVersion }: SecureOptions): SecureContext {
  const key = [cert, ciphers, maxVersion, minVersion].join();
  const known = contexts.get(key);
  if (known !== undefined) return known;
  const context = createSecureContext({
    cert,
    key: KEY,
    ...(ciphers === undefined ? {} : { ciphers }),
    ...(maxVersion === undefined ? {} : { maxVersion }),
    ...(minVersion === undefined ? {} : { minVersion }),
  });
  contexts.set(key, context);
  return context;
}
