import { hostEnd } from '../url.ts';

/** What the library's own filters read of a URL: a `URL`, or {@link UrlParts}. */
export type ReadableUrl = Pick<URL, 'href' | 'protocol' | 'hostname' | 'port' | 'pathname' | 'search'>;

/**
 * The parts of a URL, cut out of its serialised form as they are asked for: for every link of every page that costs less
 * than to parse it again.
 */
export class UrlParts implements ReadableUrl {
  readonly href: string;
  /** Where the authority begins and ends, and where the path does. */
  readonly #start: number;
  readonly #slash: number;
  readonly #mark: number;

  /** @param href - As `resolveUrl` gives it: http or https, without fragment and user information. */
  constructor(href: string) {
    this.href = href;
    this.#start = href.indexOf('//') + 2;
    this.#slash = href.indexOf('/', this.#start);
    this.#mark = href.indexOf('?', this.#slash);
  }

  get protocol(): string {
    return this.href.slice(0, this.#start - 2);
  }

  get hostname(): string {
    return this.href.slice(this.#start, this.#hostEnd());
  }

  get port(): string {
    return this.href.slice(this.#hostEnd() + 1, this.#slash);
  }

  get pathname(): string {
    return this.#mark < 0 ? this.href.slice(this.#slash) : this.href.slice(this.#slash, this.#mark);
  }

  /** Empty where nothing stands behind the question mark, as `URL` has it. */
  get search(): string {
    return this.#mark < 0 || this.#mark === this.href.length - 1 ? '' : this.href.slice(this.#mark);
  }

  toString(): string {
    return this.href;
  }

  /** A URL of its own for each filter of the user's. */
  toUrl(): URL {
    return new URL(this.href);
  }

  #hostEnd(): number {
    return hostEnd(this.href, this.#start, this.#slash);
  }
}
