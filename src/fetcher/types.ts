import type { Readable } from 'node:stream';
import type { Acceptance, Headers, RedirectHop, ResponseHead, Timings } from '../types.ts';
import type { Validators } from './headers.ts';

/** What is to be fetched. */
export interface FetchRequest {
  /** Absolute, http or https. User name, password and fragment are left out of the request. */
  readonly url: string | URL;
  /** Sent besides those of the fetcher, and in place of those with the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Of the copy that is there already: an answer of 304 then means that it still holds. Sent as they are, and not to
   * where the URL redirects to. @defaultValue none
   */
  readonly validators?: Validators | undefined;
  /** Whether redirects are followed here, or their target is handed back as `location`. @defaultValue `'follow'` */
  readonly redirect?: 'follow' | 'manual' | undefined;
  /** Decides on the head of the answer what becomes of its body; not asked about redirects. @defaultValue `'buffer'` */
  readonly accept?: ((head: ResponseHead) => Acceptance) | undefined;
  /** Where the body is cut, in bytes after decompression. @defaultValue that of the fetcher */
  readonly maxBodyBytes?: number | undefined;
  /**
   * Whether a request that is lost with a kept-alive connection, before any answer came, is sent again at once. Most
   * likely the server had closed the connection without having read it; but where it did read it, it is asked twice
   * without a pause. Where not, the fetch ends with `CRAWL_CONNECTION_LOST`, and trying again is for the caller, whose
   * clock it is. @defaultValue `true` where redirects are followed here, else `false`
   */
  readonly resend?: boolean | undefined;
  /** The page that led here, for the `Referer` header. Not sent from https to http. @defaultValue none */
  readonly referer?: string | undefined;
  /**
   * Waited for once a body that is kept has grown past 2 MiB, before more of it is read: the place to see to it that not
   * too many large ones are kept at once. It may take as long as `timeouts.page`, which stands still meanwhile; a rejection
   * ends the fetch.
   * @defaultValue none
   */
  readonly beforeLargeBody?: (() => Promise<void>) | undefined;
  /**
   * Called before every request of the chain, the first one too, when scheme, port and host name have passed. What it
   * throws ends the fetch: a `CrawlError` as it is, anything else as `CRAWL_REDIRECT_REFUSED`. Its time counts towards
   * `timeouts.page`.
   */
  readonly beforeHop?: ((url: string, hops: readonly RedirectHop[]) => void | Promise<void>) | undefined;
}

/** An answer, whatever its status. */
export interface FetchResult {
  /** What was asked for. */
  readonly url: string;
  /** What answered. */
  readonly finalUrl: string;
  /** The hops in between. */
  readonly redirects: readonly RedirectHop[];
  readonly status: number;
  readonly headers: Headers;
  /** Media type in lower case without parameters; empty where none was sent. */
  readonly contentType: string;
  /** The decompressed body; empty unless `acceptance` is `'buffer'`. */
  readonly body: Buffer;
  /** With `acceptance` = `'stream'` the decompressed body as it arrives. Ends with a `CrawlError`; destroying it frees the connection. */
  readonly stream?: Readable | undefined;
  readonly acceptance: Acceptance;
  /** Whether the body was cut at `maxBodyBytes`. For a stream: so far. */
  readonly truncated: boolean;
  /** Bytes of the body after decompression, as far as they were kept. For a stream: so far. */
  readonly bytes: number;
  /** Whether the body was not in the content coding its header named, and was taken as it is. For a stream: once it has begun. */
  readonly mislabelled: boolean;
  /** Of the last request of the chain. */
  readonly timings: Timings;
  /** With `redirect: 'manual'`: where a redirect leads, absolute, of whatever scheme. */
  readonly location?: string | undefined;
  /** The address that answered. */
  readonly remoteAddress?: string | undefined;
}
