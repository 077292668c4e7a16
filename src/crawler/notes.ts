import type { Frontier } from '../frontier.ts';

/** URLs remembered as noted; links that stand on every page of a site are refused on every page. */
const MOST = 50_000;

/** Keeps in the store why URLs were refused, each once, for `explain`. */
export class Notes {
  readonly #frontier: Frontier;
  readonly #lost: (thrown: unknown) => void;
  readonly #noted = new Set<string>();

  /** @param lost - Told when the store can't be written any more. */
  constructor(frontier: Frontier, lost: (thrown: unknown) => void) {
    this.#frontier = frontier;
    this.#lost = lost;
  }

  /** Never throws; does not wait. */
  readonly note = (url: string, reason: string, foundOn: string | undefined): void => {
    if (this.#noted.has(url)) return;
    if (this.#noted.size >= MOST) this.#noted.clear();
    this.#noted.add(url);
    this.#frontier.note(url, { reason, foundOn }).catch(this.#lost);
  };
}
