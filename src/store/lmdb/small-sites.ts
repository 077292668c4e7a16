/** Records of a site, written since the store was opened, that lie on few enough pages. */
const MOST_OF_A_SITE = 1_000;
/** Sites that are remembered. */
const MOST_SITES = 65_536;

/**
 * Tells records that lie together: those of a site that has few of them, coming one after another as links of a page do.
 * The page of the first is written anyway, and most others lie on it.
 */
export class SmallSites {
  readonly #written = new Map<number, number>();
  #last = -1;

  /** Whether the record to be written for a key lies where one was written just before. */
  follows(key: Buffer): boolean {
    const site = key.readUInt32BE(0);
    const isSame = site === this.#last;
    this.#last = site;
    const written = (this.#written.get(site) ?? 0) + 1;
    if (written > MOST_OF_A_SITE) return false;
    if (this.#written.size >= MOST_SITES) this.#written.clear();
    this.#written.set(site, written);
    return isSame;
  }
}
