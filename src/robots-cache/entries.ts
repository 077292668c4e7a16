import type { Entry } from './entry.ts';

/** Rules made ready take several times the room of the lines they stand in. */
const MEMORY_FACTOR = 16;
const ENTRY_BYTES = 1024;

/** Entries by origin, bounded in number and size; what was used longest ago is left first. */
export class Entries {
  readonly #maxOrigins: number;
  readonly #maxBytes: number;
  /** In order of use. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(maxOrigins: number, maxBytes: number) {
    this.#maxOrigins = maxOrigins;
    this.#maxBytes = maxBytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(origin: string): Entry | undefined {
    const entry = this.#entries.get(origin);
    if (entry === undefined) return undefined;
    this.#entries.delete(origin);
    this.#entries.set(origin, entry);
    return entry;
  }

  /** The new entry itself stays, however large. */
  set(entry: Entry): void {
    this.#drop(entry.origin);
    this.#entries.set(entry.origin, entry);
    this.#bytes += weight(entry);
    for (const origin of this.#entries.keys()) {
      if (this.#entries.size <= 1) return;
      if (this.#entries.size <= this.#maxOrigins && this.#bytes <= this.#maxBytes) return;
      this.#drop(origin);
    }
  }

  #drop(origin: string): void {
    const entry = this.#entries.get(origin);
    if (entry === undefined) return;
    this.#entries.delete(origin);
    this.#bytes -= weight(entry);
  }
}

function weight({ copy }: Entry): number {
  return ENTRY_BYTES + (copy?.bytes ?? 0) * MEMORY_FACTOR;
}
