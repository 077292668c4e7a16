/** URLs remembered in each of two generations. */
const GENERATION = 8192;

/**
 * URLs that the store is sure to know, since it has taken them or said so: those met last. A site's pages link to the
 * same ones again and again, and to ask the store about each of them would cost more than anything else a link does.
 */
export class KnownUrls {
  #young = new Set<string>();
  #old = new Set<string>();

  has(url: string): boolean {
    if (this.#young.has(url)) return true;
    if (!this.#old.has(url)) return false;
    this.add(url);
    return true;
  }

  add(url: string): void {
    this.#young.add(url);
    if (this.#young.size < GENERATION) return;
    this.#old = this.#young;
    this.#young = new Set();
  }
}
