import { CrawlError, toCrawlError } from '../errors.ts';
import { show } from '../options.ts';
import { type CanonicalOptions, createRequest, type RequestInit, toLevel } from '../request.ts';
import type { CrawlRequest } from '../types.ts';

/** What a URL may be offered as. */
export type Offer = string | URL | RequestInit | CrawlRequest;

/** Makes requests of what is offered. */
export class OfferReader {
  readonly #canonical: CanonicalOptions | undefined;
  readonly #prioritize: ((request: CrawlRequest) => number) | undefined;

  constructor(canonical: CanonicalOptions | undefined, prioritize: ((request: CrawlRequest) => number) | undefined) {
    this.#canonical = canonical;
    this.#prioritize = prioritize;
  }

  /** @throws {@link CrawlError} `CRAWL_URL_INVALID`, `CRAWL_HOOK_FAILED` */
  requests(offers: Iterable<Offer>): CrawlRequest[] {
    return Array.from(offers, (offer) => this.#request(offer));
  }

  #request(offer: Offer): CrawlRequest {
    if (isRequest(offer)) return offer;
    const init = typeof offer === 'string' || offer instanceof URL ? { url: offer } : offer;
    const url = init?.url;
    const request = typeof url === 'string' || url instanceof URL ? createRequest(init, this.#canonical) : null;
    if (request === null) {
      const message = `Only absolute http and https URLs can be crawled, not ${show(url instanceof URL ? url.href : url)}.`;
      throw new CrawlError('CRAWL_URL_INVALID', message, { url: url === undefined ? undefined : String(url) });
    }
    return init.level === undefined && this.#prioritize !== undefined ? this.#levelled(request) : request;
  }

  #levelled(request: CrawlRequest): CrawlRequest {
    try {
      return { ...request, level: toLevel(this.#prioritize?.(request)) };
    } catch (thrown) {
      throw toCrawlError(thrown, 'CRAWL_HOOK_FAILED', 'prioritize threw', { url: request.url });
    }
  }
}

function isRequest(offer: Offer): offer is CrawlRequest {
  return (
    typeof offer === 'object' && offer !== null && 'key' in offer && 'host' in offer && typeof offer.url === 'string'
  );
}
