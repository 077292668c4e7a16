import type { DnsCache, ResolvedAddress } from '../dns.ts';

/** How long a visit waits for an address; a name that takes longer is waited for in the frontier, and by no worker. */
const PATIENCE_MS = 500;
/** Names waited for. What comes on top is not even asked for: a resolver that answers nobody must not be asked everything. */
const MOST_OPEN = 256;

/** Who looks a host's name up: this machine, or a proxy that is told the name; `unsure` where a function chooses the proxy. */
export type WhoFinds = 'here' | 'proxy' | 'unsure';

interface Open {
  readonly answer: Promise<readonly ResolvedAddress[]>;
  hasFailed: boolean;
}

/** Finds the addresses of hosts for visits, so that a name whose servers are slow keeps no other host waiting. */
export class HostFinder {
  readonly #dns: DnsCache;
  readonly #whoFinds: (hostname: string) => WhoFinds;
  readonly #open = new Map<string, Open>();

  constructor(dns: DnsCache, whoFinds: (hostname: string) => WhoFinds = () => 'here') {
    this.#dns = dns;
    this.#whoFinds = whoFinds;
  }

  /** Never throws. */
  whoFinds(hostname: string): WhoFinds {
    return this.#whoFinds(hostname);
  }

  /** What is known of a host at this moment. */
  known(host: string): readonly ResolvedAddress[] | undefined {
    return this.#dns.known(host);
  }

  /**
   * The addresses of a host, or `undefined` where they are still being looked for: the answer, or the failure, is there
   * when the host is asked for again later.
   *
   * @param anew - Whether a failure that is remembered is not to be believed.
   * @param signal - Ends the wait, as if patience were at its end.
   * @throws what `DnsCache.resolve` rejects with.
   */
  async find(host: string, anew: boolean, signal?: AbortSignal): Promise<readonly ResolvedAddress[] | undefined> {
    const open = this.#open.get(host);
    if (open !== undefined) {
      if (!open.hasFailed) return undefined;
      this.#open.delete(host);
      return open.answer;
    }
    if (this.#open.size >= MOST_OPEN) return undefined;
    if (anew) this.#dns.forgetFailure(host);
    const answer = this.#dns.resolve(host);
    const patience = PATIENCE_MS - this.#dns.waitedMs(host);
    if (await settlesWithin(answer, patience, signal)) return answer;
    const waiting: Open = { answer, hasFailed: false };
    this.#open.set(host, waiting);
    answer.then(
      () => this.#open.delete(host),
      () => {
        waiting.hasFailed = true;
      },
    );
    return undefined;
  }

  /** Begins to look for hosts that will soon be asked. */
  prefetch(hosts: readonly string[]): void {
    for (const host of hosts) if (this.#whoFinds(host) === 'here') this.#dns.prefetch(host);
  }

  /** Waits for no answer any more. */
  close(): void {
    this.#dns.close();
  }
}

async function settlesWithin(promise: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted === true) return false;
  let timer: NodeJS.Timeout | undefined;
  let giveUp = (): void => {};
  const late = new Promise<boolean>((resolve) => {
    giveUp = () => resolve(false);
    timer = setTimeout(giveUp, Math.max(0, ms));
  });
  signal?.addEventListener('abort', giveUp);
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
  }
}
