import { forgetOldest } from '../bounded.ts';
import type { MetaStorage } from '../ports.ts';

/** Bodies remembered in memory; a durable store remembers all. */
export const CONTENT_SEEN_DEFAULTS = { maxBodies: 100_000 } as const;

/**
 * Mercator's content-seen test: which URL showed this body first? Exact, by SHA-256; near-duplicates are not its job.
 */
export class ContentSeen {
  readonly #recent = new Map<string, string>();
  readonly #storage: MetaStorage | undefined;
  readonly #maxBodies: number;

  /** @param storage - Asked where memory doesn't know; without one the oldest bodies are forgotten past `maxBodies`. */
  constructor(storage?: MetaStorage, maxBodies: number = CONTENT_SEEN_DEFAULTS.maxBodies) {
    this.#storage = storage;
    this.#maxBodies = maxBodies;
  }

  /**
   * The URL that showed this body before, if it was another one; else the body is remembered as `url`'s.
   * Two fetches of one body that overlap are told apart by which came here first.
   */
  async check(fingerprint: string, url: string): Promise<string | undefined> {
    const known = this.#recent.get(fingerprint);
    if (known !== undefined) return known === url ? undefined : known;
    this.#remember(fingerprint, url);
    const stored = await this.#storage?.getMeta(metaName(fingerprint));
    if (stored === undefined) return undefined;
    const first = Buffer.from(stored).toString('utf8');
    this.#recent.set(fingerprint, first);
    return first === url ? undefined : first;
  }

  /** What to write with the settlement of a page whose body was new. */
  entry(fingerprint: string, url: string): readonly [name: string, value: Uint8Array] | undefined {
    return this.#storage === undefined ? undefined : [metaName(fingerprint), Buffer.from(url, 'utf8')];
  }

  #remember(fingerprint: string, url: string): void {
    this.#recent.set(fingerprint, url);
    forgetOldest(this.#recent, this.#maxBodies);
  }
}

function metaName(fingerprint: string): string {
  return `body:${fingerprint.slice(0, 32)}`;
}
