import type { LookupFunction, Socket } from 'node:net';
import type { AddressGuard } from '../address-guard.ts';
import type { TransportRequest } from '../ports.ts';
import type { Deadline } from './deadline.ts';
import type { FetcherSettings } from './options.ts';
import type { ProxyRoute } from './proxy.ts';

/** What one request of a chain is made with. */
export interface HopContext {
  readonly deadline: Deadline;
  readonly guard: AddressGuard;
  readonly settings: FetcherSettings;
  readonly resend: boolean;
  /** Whether the target may learn who asks: the user named its host, and the chain has not left its origin. */
  readonly trusted: boolean;
}

/** One request of a chain, as the transports of this library get it. */
export class Hop {
  readonly target: URL;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly deadline: Deadline;
  readonly guard: AddressGuard;
  readonly resend: boolean;
  readonly trusted: boolean;
  /** The proxy it goes through. */
  route: ProxyRoute | undefined;
  /** The address that the proxy is told in place of the name. */
  targetAddress: string | undefined;
  /** Most bytes that an answer may take on its connection, with all that frames it. */
  maxWireBytes: number = Number.POSITIVE_INFINITY;
  readonly #settings: FetcherSettings;
  #prepared: Socket | undefined;
  #onGivenUp: (() => void) | undefined;

  constructor(target: URL, headers: Readonly<Record<string, string>>, context: HopContext) {
    this.target = target;
    this.url = target.href;
    this.headers = headers;
    this.deadline = context.deadline;
    this.guard = context.guard;
    this.resend = context.resend;
    this.trusted = context.trusted;
    this.#settings = context.settings;
  }

  get connectTimeoutMs(): number {
    return this.#settings.timeouts.connect;
  }

  get headersTimeoutMs(): number {
    return this.#settings.timeouts.headers;
  }

  /** Made when it is first asked for: the transports of this library watch the deadline itself, which costs less. */
  get signal(): AbortSignal {
    return this.deadline.signal;
  }

  get lookup(): LookupFunction {
    return this.#settings.dns.lookupFor(this.guard);
  }

  readonly checkAddress = (address: string): void => this.guard.check(address, this.target.hostname);

  /** For a transport of the user's: what the port promises, as a plain object, and nothing more. */
  toRequest(): TransportRequest {
    const { checkAddress, connectTimeoutMs, headers, headersTimeoutMs, lookup, resend, signal, url } = this;
    return { url, headers, connectTimeoutMs, headersTimeoutMs, signal, lookup, checkAddress, resend };
  }

  /** Puts by a connection that stands already. */
  prepare(socket: Socket): void {
    this.#prepared = socket;
  }

  takePrepared(): Socket | undefined {
    const socket = this.#prepared;
    this.#prepared = undefined;
    return socket;
  }

  /** Says what is to be done where nobody waits for the connection any longer. */
  onGivenUp(listener: () => void): void {
    this.#onGivenUp = listener;
  }

  giveUp(): void {
    this.#onGivenUp?.();
    this.takePrepared()?.destroy();
  }
}
