import { forgetOldest } from '../bounded.ts';
import { type Fetcher, type FetchResult, validatorsOf } from '../fetcher/index.ts';
import { fingerprint } from '../fingerprint.ts';
import { headerLines } from '../headers.ts';
import type { CrawlStore } from '../ports.ts';
import type { CrawlRequest, Headers } from '../types.ts';

/** What a visit keeps of the version of a page that was delivered, to ask by it later (RFC 9110, sections 8.8 and 13). */
export interface KnownVersion {
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
  /** When it was fetched, in milliseconds since the epoch. */
  readonly at: number;
  /** What was asked for, where that is another spelling than the key. */
  readonly url?: string | undefined;
  /** Digest of the request headers that the answer depends on (`Vary`). */
  readonly varies?: string | undefined;
  /** How often in a row the server has said that it still holds. */
  readonly held?: number | undefined;
}

type MetaEntry = readonly [name: string, value: Uint8Array | undefined];

/** So many answers of 304 in a row are believed; some servers say so for ever. */
const BELIEVED = 9;
/** An entity tag longer than this is not worth keeping. */
const LONGEST_VALIDATOR = 1000;
/** A server that varies by more headers than this is asked for the whole page. */
const MOST_VARYING = 20;
/** Versions remembered for a store in memory. */
const MOST_IN_MEMORY = 10_000;
/** Revisits of this run that are remembered, so that what many of them lead to is asked for once. */
const MOST_REVISITS = 100_000;

/** Those of stores that end with the process; a store on disk has its own in its meta entries. */
const inMemory = new WeakMap<CrawlStore, Map<string, KnownVersion>>();

/** The versions of pages that were delivered, by which a later visit asks whether they have changed. */
export class Versions {
  readonly #store: CrawlStore;
  readonly #fetcher: Pick<Fetcher, 'headersFor'>;
  readonly #keepsCookies: boolean;
  readonly #revisits = new Set<string>();

  constructor(store: CrawlStore, fetcher: Pick<Fetcher, 'headersFor'>, keepsCookies: boolean) {
    this.#store = store;
    this.#fetcher = fetcher;
    this.#keepsCookies = keepsCookies;
  }

  /** The version to ask by; `undefined` where the page is to be had whole. Rejects with what the store throws. */
  async find(request: CrawlRequest): Promise<KnownVersion | undefined> {
    const { key, url } = request;
    const known =
      this.#store.durable === true ? read(await this.#store.getMeta(nameOf(key))) : inMemory.get(this.#store)?.get(key);
    if (known === undefined || (known.url ?? key) !== url || (known.held ?? 0) >= BELIEVED) return undefined;
    // Where the question is another one by now, the old answer says nothing.
    return known.varies === undefined || known.varies === this.#digest(url, known.varies.split(' ').slice(1))
      ? known
      : undefined;
  }

  /** Remembers the version of a page that was delivered; what a store on disk is to write in the same commit. */
  delivered(
    request: CrawlRequest,
    { headers, status }: Pick<FetchResult, 'headers' | 'status'>,
    at: number,
  ): MetaEntry | undefined {
    const { etag, lastModified } = validatorsOf(headers) ?? {};
    const isKept = status >= 200 && status < 300 && (isShort(etag) || isShort(lastModified));
    const varies = isKept ? this.#varies(request.url, headers) : undefined;
    if (!isKept || varies === null) return request.revisit === true ? this.#forget(request.key) : undefined;
    return this.#keep(request, {
      ...(isShort(etag) ? { etag } : {}),
      ...(isShort(lastModified) ? { lastModified } : {}),
      at,
      ...(request.url === request.key ? {} : { url: request.url }),
      ...(varies === undefined ? {} : { varies }),
    });
  }

  /** Remembers that a version still holds, with what the answer of 304 says anew. */
  held(request: CrawlRequest, known: KnownVersion, headers: Headers): MetaEntry | undefined {
    return this.#keep(request, { ...known, ...validatorsOf(headers), held: (known.held ?? 0) + 1 });
  }

  /** Notes that a URL is visited again in this run. */
  revisiting(key: string): void {
    if (this.#revisits.size < MOST_REVISITS) this.#revisits.add(key);
  }

  /** Whether a URL was visited again in this run. */
  wasRevisited(key: string): boolean {
    return this.#revisits.has(key);
  }

  #keep({ key }: CrawlRequest, version: KnownVersion): MetaEntry | undefined {
    if (this.#store.durable === true) return [nameOf(key), Buffer.from(JSON.stringify(version))];
    const versions = inMemory.get(this.#store) ?? new Map<string, KnownVersion>();
    inMemory.set(this.#store, versions);
    versions.delete(key);
    versions.set(key, version);
    forgetOldest(versions, MOST_IN_MEMORY);
    return undefined;
  }

  /** The page has changed into one that can't be asked for so. */
  #forget(key: string): MetaEntry | undefined {
    inMemory.get(this.#store)?.delete(key);
    return this.#store.durable === true ? [nameOf(key), undefined] : undefined;
  }

  /** What the answer depends on; `undefined` for nothing but the URL, `null` for what can't be told. */
  #varies(url: string, headers: Headers): string | undefined | null {
    if (headers.vary === undefined) return undefined;
    const names = headerLines(headers, 'vary').flatMap((line) => line.toLowerCase().split(/[\t ,]+/));
    const named = [...new Set(names.filter((name) => name !== ''))].sort();
    if (named.length > MOST_VARYING || named.includes('*') || (this.#keepsCookies && named.includes('cookie')))
      return null;
    return named.length === 0 ? undefined : (this.#digest(url, named) ?? null);
  }

  /** The values that a request has for some headers, as one short text that begins with a digest and names them. */
  #digest(url: string, names: readonly string[]): string | undefined {
    let sent: Readonly<Record<string, string>>;
    try {
      sent = this.#fetcher.headersFor(url);
    } catch {
      // A `headers` function of the user's failed; the request itself will tell.
      return undefined;
    }
    const values = names.map((name) => [name, sent[name]]);
    return [fingerprint(Buffer.from(JSON.stringify(values))).slice(0, 16), ...names].join(' ');
  }
}

function nameOf(key: string): string {
  return `validators:${fingerprint(Buffer.from(key)).slice(0, 32)}`;
}

function read(bytes: Uint8Array | undefined): KnownVersion | undefined {
  if (bytes === undefined) return undefined;
  const known = JSON.parse(Buffer.from(bytes).toString('utf8')) as KnownVersion;
  return typeof known.at === 'number' ? known : undefined;
}

function isShort(value: string | undefined): value is string {
  return value !== undefined && value.length <= LONGEST_VALIDATOR;
}
