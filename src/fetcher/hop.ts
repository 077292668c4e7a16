import type { LookupFunction } from 'node:net';
import type { AddressGuard } from '../address-guard.ts';
import type { TransportRequest } from '../ports.ts';
import type { Deadline } from './deadline.ts';
import type { FetcherSettings } from './options.ts';

/** One request of a chain, as the transports of this library and those of its users get it. */
export class Hop implements TransportRequest {
  readonly target: URL;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly deadline: Deadline;
  readonly guard: AddressGuard;
  readonly resend: boolean;
  readonly #settings: FetcherSettings;

  constructor(
    target: URL,
    headers: Readonly<Record<string, string>>,
    resend: boolean,
    context: { readonly deadline: Deadline; readonly guard: AddressGuard; readonly settings: FetcherSettings },
  ) {
    this.target = target;
    this.url = target.href;
    this.headers = headers;
    this.resend = resend;
    this.deadline = context.deadline;
    this.guard = context.guard;
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
}
