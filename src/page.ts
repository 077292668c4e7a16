import { createRequire } from 'node:module';
import type { CheerioAPI } from 'cheerio';
import { applyDirectives } from './directives.ts';
import { toCrawlError } from './errors.ts';
import { fingerprint } from './fingerprint.ts';
import { givesScanned, LinkExtractor, type ScanResult, scanInSteps } from './link-extractor/index.ts';
import { type DecodedText, decodeInSteps, decodeText } from './text.ts';
import type { Headers, Link, Page, RedirectHop, RobotsDirectives, Timings } from './types.ts';

/** What a page is made from: the answer to a request, and how the URL was come by. */
export interface PageParts {
  readonly url: string;
  readonly finalUrl: string;
  readonly redirects: readonly RedirectHop[];
  readonly status: number;
  readonly headers: Headers;
  readonly contentType: string;
  readonly body: Buffer;
  readonly stream?: NodeJS.ReadableStream | undefined;
  readonly depth: number;
  readonly referrer?: string | undefined;
  readonly fetchedAt: Date;
  readonly timings: Timings;
  /** Of a stream: what has come so far, and whether it was cut. */
  readonly size: { readonly bytes: number; readonly truncated: boolean };
}

/** Bodies longer than this are long; shorter ones take a few milliseconds whatever they hold. */
const LONG_BYTES = 131_072;

const MARKUP = new Set(['text/html', 'application/xhtml+xml', '']);

/** Whether links are looked for in bodies of this media type; an unnamed type is taken for HTML. */
export function isMarkup(contentType: string): boolean {
  return MARKUP.has(contentType);
}

/**
 * A {@link Page} whose costly parts (text, links, digest, document) are made when first asked for, and once.
 */
export class FetchedPage implements Page {
  readonly url: string;
  readonly finalUrl: string;
  readonly redirects: readonly RedirectHop[];
  readonly status: number;
  readonly headers: Headers;
  readonly contentType: string;
  readonly body: Buffer;
  readonly stream: NodeJS.ReadableStream | undefined;
  readonly depth: number;
  readonly referrer: string | undefined;
  readonly fetchedAt: Date;
  readonly timings: Timings;
  data: unknown = undefined;

  /** What the parts are made from, whatever becomes of `body`. */
  readonly #body: Buffer;
  readonly #size: PageParts['size'];
  readonly #extractor: LinkExtractor;
  readonly #userAgent: string;
  #decoded: DecodedText | undefined;
  #scanned: ScanResult | undefined;
  #links: readonly Link[] | undefined;
  #document: CheerioAPI | undefined;
  #fingerprint: string | undefined;
  #directives: RobotsDirectives | undefined;

  constructor(parts: PageParts, extractor: LinkExtractor, userAgent: string) {
    this.url = parts.url;
    this.finalUrl = parts.finalUrl;
    this.redirects = parts.redirects;
    this.status = parts.status;
    this.headers = parts.headers;
    this.contentType = parts.contentType;
    this.body = parts.body;
    this.stream = parts.stream;
    this.depth = parts.depth;
    this.referrer = parts.referrer;
    this.fetchedAt = parts.fetchedAt;
    this.timings = parts.timings;
    this.#body = parts.body;
    this.#size = parts.size;
    this.#extractor = extractor;
    this.#userAgent = userAgent;
  }

  get bytes(): number {
    return this.#size.bytes;
  }

  get truncated(): boolean {
    return this.#size.truncated;
  }

  /** Never throws: bytes that don't decode are replaced. */
  get text(): string {
    return this.#decode().text;
  }

  get encoding(): string {
    return this.#decode().encoding;
  }

  /** A label of an encoding that is none, where the text was decoded and one was met. */
  get unknownCharset(): string | undefined {
    return this.#decoded?.unknownLabel;
  }

  /**
   * The document as cheerio (parse5) builds it. Loading cheerio and building the tree happen here, at the first touch.
   * @throws {@link CrawlError} `CRAWL_PARSE_FAILED` where the tree can't be built.
   */
  get $(): CheerioAPI {
    this.#document ??= this.#build();
    return this.#document;
  }

  /** Whether its text and links are worth being made in steps. */
  get isLong(): boolean {
    return this.#body.length > LONG_BYTES && isMarkup(this.contentType);
  }

  /** Makes text and links beforehand, in steps of some milliseconds. Throws nothing. */
  *prepare(): Generator<void, void, undefined> {
    this.#decoded ??= yield* decodeInSteps(this.#body, firstLine(this.headers['content-type']));
    // An extractor of the user's own is asked when its results are.
    if (this.#extractor.scan === LinkExtractor.prototype.scan)
      this.#scanned ??= yield* scanInSteps(this.#extractor, this.#input());
  }

  get title(): string | undefined {
    return this.#scan().title;
  }

  get canonical(): string | undefined {
    return this.#scan().canonical;
  }

  /** @throws what an extractor of the user's own throws; the built-in one never does. */
  get links(): readonly Link[] {
    // They come with the scan that title and directives need anyway, unless the user's code says otherwise.
    this.#links ??= givesScanned(this.#extractor) ? this.#scan().links : this.#extractor.extract(this.#input());
    return this.#links;
  }

  /** Links that the extractor left out because the page has too many, and those too long to be links. */
  get linksLeftOut(): number {
    if (!givesScanned(this.#extractor)) return 0;
    const { capped, tooLong } = this.#scan();
    return capped + tooLong;
  }

  get directives(): RobotsDirectives {
    this.#directives ??= applyDirectives({ meta: this.#scan().metas, headers: this.headers }, this.#userAgent);
    return this.#directives;
  }

  get fingerprint(): string | undefined {
    if (this.stream === undefined) this.#fingerprint ??= fingerprint(this.#body);
    return this.#fingerprint;
  }

  /**
   * Takes the document out of `$`, which can't be used any more then. Cheerio makes a class for each document, which V8
   * keeps with the code that used it, so that without this every document lives until the next collection of all memory.
   */
  release(): void {
    const root = this.#document?.root()[0];
    if (root !== undefined) root.children = [];
  }

  #decode(): DecodedText {
    this.#decoded ??= decodeText(this.#body, firstLine(this.headers['content-type']));
    return this.#decoded;
  }

  #markup(): string {
    return isMarkup(this.contentType) ? this.text : '';
  }

  #scan(): ScanResult {
    this.#scanned ??= this.#extractor.scan(this.#input());
    return this.#scanned;
  }

  #input(): { url: string; html: string; headers: Record<string, string | string[]>; userAgent: string } {
    return { url: this.finalUrl, html: this.#markup(), headers: this.headers, userAgent: this.#userAgent };
  }

  #build(): CheerioAPI {
    try {
      return loadCheerio().load(this.text, { baseURI: this.finalUrl });
    } catch (thrown) {
      throw toCrawlError(thrown, 'CRAWL_PARSE_FAILED', `The document of ${this.finalUrl} can't be built`, {
        url: this.url,
      });
    }
  }
}

/** What `page.$` is built with; loading it takes some hundred milliseconds the first time. */
export function loadCheerio(): typeof import('cheerio') {
  return createRequire(import.meta.url)('cheerio') as typeof import('cheerio');
}

function firstLine(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
