/**
 * Hosts that wait because their robots.txt can't be had. While other hosts have work their URLs wait for the next try;
 * when nothing else is left, the crawl gives them up rather than sleep for minutes.
 */
export class UnreachableHosts {
  readonly #waiting = new Map<string, number>();
  readonly #givenUp = new Set<string>();
  readonly #tries = new Map<string, number>();

  wait(host: string, until: number): void {
    this.#waiting.set(host, until);
  }

  /** Another try in a row for a host; how many there were before. */
  tryAgain(host: string): number {
    const before = this.#tries.get(host) ?? 0;
    this.#tries.set(host, before + 1);
    return before;
  }

  /** The rules were had after all. */
  recovered(host: string): void {
    this.#tries.delete(host);
    this.#waiting.delete(host);
    this.#givenUp.delete(host);
  }

  isGivenUp(host: string): boolean {
    return this.#givenUp.has(host);
  }

  /**
   * Gives up the hosts that come due no earlier than `at`, the moment at which any work is due at all.
   * @returns their names.
   */
  giveUpFrom(at: number): string[] {
    const hosts = [...this.#waiting].filter(([, until]) => until >= at).map(([host]) => host);
    for (const host of hosts) {
      this.#waiting.delete(host);
      this.#givenUp.add(host);
    }
    return hosts;
  }

  /** Whether the work due at `at` is that of a waiting host. */
  isWaitingAt(at: number): boolean {
    for (const until of this.#waiting.values()) if (until === at) return true;
    return false;
  }
}
