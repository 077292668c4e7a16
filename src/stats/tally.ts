/** The name under which is counted what found no place of its own. */
export const OTHERS = '(others)';

/** Longest name kept, in characters. */
const MAX_NAME_LENGTH = 100;

/**
 * Counts by name. The names come from the network, so their number and length are bounded: once `maxNames` are known,
 * new ones are counted together as {@link OTHERS}.
 */
export class Tally {
  readonly #counts = new Map<string | number, number>();
  readonly #maxNames: number;

  constructor(maxNames: number) {
    this.#maxNames = maxNames;
  }

  add(name: string | number, n: number): void {
    const short = shorten(name);
    const known = this.#counts.get(short);
    const key = known !== undefined || this.#counts.size < this.#maxNames ? short : OTHERS;
    this.#counts.set(key, (known ?? this.#counts.get(key) ?? 0) + n);
  }

  /** Counts by name, highest first; without a prototype, so that a name such as `__proto__` is one like any other. */
  toRecord(): Record<string, number> {
    const record: Record<string, number> = Object.create(null);
    for (const [name, count] of [...this.#counts].sort((a, b) => b[1] - a[1])) record[name] = count;
    return record;
  }

  toJSON(): [string | number, number][] {
    return [...this.#counts];
  }

  /** Takes what {@link Tally.toJSON} gave in place of the present counts; entries that are none are left out. */
  restore(entries: unknown): void {
    this.#counts.clear();
    if (!Array.isArray(entries)) return;
    for (const entry of entries) {
      if (!Array.isArray(entry)) continue;
      const [name, count] = entry;
      if ((typeof name === 'string' || typeof name === 'number') && isCount(count)) this.add(name, count);
    }
  }
}

/** Whether a value read back can be a count or a sum. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function shorten(name: string | number): string | number {
  return typeof name === 'string' && name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH - 3)}...` : name;
}
