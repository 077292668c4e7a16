import { forgetOldest } from '../bounded.ts';

/** Most sitemap files read of one host. */
export const MAX_SITEMAP_FILES = 10_000;

/** Hosts whose files are counted; those counted first are forgotten. */
const MOST_HOSTS = 10_000;

/** Counts the sitemap files of hosts, so that an index of indexes does not go on for ever. */
export class SitemapFiles {
  readonly #counts = new Map<string, number>();

  /** Whether any of this host were counted. */
  counts(origin: string): boolean {
    return this.#counts.has(origin);
  }

  /** Whether one more may be read of the host with this origin; counts it if so. */
  take(origin: string): boolean {
    const count = this.#counts.get(origin) ?? 0;
    if (count >= MAX_SITEMAP_FILES) return false;
    this.#counts.set(origin, count + 1);
    forgetOldest(this.#counts, MOST_HOSTS);
    return true;
  }
}
