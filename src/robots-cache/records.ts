import { type CrawlError, toCrawlError } from '../errors.ts';
import type { MetaStorage } from '../ports.ts';
import type { Entry } from './entry.ts';
import { decodeEntry, encodeEntry, recordName } from './record.ts';

/** Entries in a storage. It is a help and no condition: where it fails that is told, and nothing is thrown. */
export class Records {
  readonly #storage: MetaStorage;
  readonly #onError: (error: CrawlError) => void;
  /** The last write of each origin that is not done yet. */
  readonly #writes = new Map<string, Promise<void>>();

  constructor(storage: MetaStorage, onError: (error: CrawlError) => void) {
    this.#storage = storage;
    this.#onError = onError;
  }

  async read(origin: string, now: number): Promise<Entry | undefined> {
    try {
      await this.#writes.get(origin);
      const record = await this.#storage.getMeta(recordName(origin));
      return record === undefined ? undefined : decodeEntry(origin, record, now);
    } catch (error) {
      this.#failed(error, origin, 'read');
      return undefined;
    }
  }

  /** Writes in the background, those of one origin in order. */
  write(entry: Entry): void {
    const { origin } = entry;
    const before = this.#writes.get(origin) ?? Promise.resolve();
    const write = before
      .then(() => this.#storage.setMeta(recordName(origin), encodeEntry(entry)))
      .catch((error: unknown) => this.#failed(error, origin, 'written'))
      .finally(() => {
        if (this.#writes.get(origin) === write) this.#writes.delete(origin);
      });
    this.#writes.set(origin, write);
  }

  async flush(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes.values());
  }

  #failed(error: unknown, origin: string, what: 'read' | 'written'): void {
    const message = `The robots.txt of ${origin} could not be ${what}`;
    try {
      this.#onError(toCrawlError(error, 'CRAWL_STORE_FAILED', message, { url: `${origin}/robots.txt` }));
    } catch {
      // Whoever is told of failures has no one to be told of his own.
    }
  }
}
