import { forgetOldest } from '../bounded.ts';

/** Origins and hosts remembered of each kind. */
const MOST = 10_000;

/**
 * Hosts that wait because a robots.txt can't be had. While other hosts have work their URLs wait for the next try; when
 * nothing else is left, the crawl gives them up rather than sleep for minutes.
 */
export class UnreachableHosts {
  readonly #waiting = new Map<string, { readonly until: number; readonly before: number }>();
  readonly #givenUp = new Set<string>();
  readonly #tries = new Map<string, number>();
  readonly #met = new Set<string>();
  readonly #up = new Set<string>();

  /** @param before - Until when the host is blocked for other reasons. */
  wait(host: string, until: number, before: number): void {
    this.#waiting.delete(host);
    this.#waiting.set(host, { until, before });
    // One that is forgotten is met again when it comes due.
    forgetOldest(this.#waiting, MOST);
  }

  /** Another try in a row for an origin; how many there were before. */
  tryAgain(origin: string): number {
    const before = this.#tries.get(origin) ?? 0;
    this.#tries.set(origin, before + 1);
    forgetOldest(this.#tries, MOST);
    return before;
  }

  /** Whether an origin is met unreachable for the first time. */
  isNews(origin: string): boolean {
    if (this.#met.has(origin)) return false;
    this.#met.add(origin);
    forgetOldest(this.#met, MOST);
    return true;
  }

  /** The rules of an origin were had: its host is up, whatever becomes of the host's other origins. */
  had(origin: string, host: string): void {
    if (this.#tries.size > 0) this.#tries.delete(origin);
    if (this.#met.size > 0) this.#met.delete(origin);
    if (this.#waiting.size > 0) this.#waiting.delete(host);
    if (this.#up.has(host)) return;
    this.#up.add(host);
    forgetOldest(this.#up, MOST);
  }

  /** Whether the URLs of an unreachable origin of this host are not to be waited for. */
  isHopeless(host: string): boolean {
    return this.#up.has(host) || this.#givenUp.has(host);
  }

  /**
   * Gives up the hosts that come due no earlier than `at`, the moment at which any work is due at all.
   * @returns their names, until when each is blocked because of this, and until when it was for other reasons.
   */
  giveUpFrom(at: number): { readonly host: string; readonly until: number; readonly before: number }[] {
    const hosts = [...this.#waiting].filter(([, { until }]) => until >= at);
    for (const [host] of hosts) {
      this.#waiting.delete(host);
      this.#givenUp.add(host);
      forgetOldest(this.#givenUp, MOST);
    }
    return hosts.map(([host, waiting]) => ({ host, ...waiting }));
  }

  /** Whether the work due at `at` is that of a waiting host. */
  isWaitingAt(at: number): boolean {
    for (const { until } of this.#waiting.values()) if (until === at) return true;
    return false;
  }
}
