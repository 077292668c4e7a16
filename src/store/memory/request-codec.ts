import type { CrawlRequest } from '../../types.ts';

/** What a record may leave out because the one before it in the queue had the same. */
export interface CodecContext {
  referrer: string | undefined;
  source: string | undefined;
}

/** Where an encoded record lies. */
export interface Encoded {
  readonly bytes: Buffer;
  readonly length: number;
}

// The flags of a record. The URL is written whole, or without `https://host` or `http://host`.
const HTTPS = 1 << 0;
const HTTP = 1 << 1;
const OWN_KEY = 1 << 2;
const SITEMAP = 1 << 3;
const SAME_REFERRER = 1 << 4;
const OWN_REFERRER = 1 << 5;
const SAME_SOURCE = 1 << 6;
const OWN_SOURCE = 1 << 7;

const MAX_PLAIN_DEPTH = 2 ** 50;

/**
 * Requests as bytes and back. Host and level are known from the queue, the key is written only where it differs from
 * the URL, referrer and source only where they are not those of the record before, because the links of one page
 * follow each other; what is rare travels as JSON. What is left of most requests is flags, depth and path.
 */
export class RequestCodec {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  /** The bytes are good until the next call. */
  encode(request: CrawlRequest, host: string, context: CodecContext): Encoded {
    const { url, key, referrer, source } = request;
    const rare = rareFields(request);
    const scheme = schemeOf(url, host);
    let flags = scheme | (key === url ? 0 : OWN_KEY) | (request.kind === 'sitemap' ? SITEMAP : 0);
    if (referrer !== undefined) flags |= referrer === context.referrer ? SAME_REFERRER : OWN_REFERRER;
    if (source !== undefined) flags |= source === context.source ? SAME_SOURCE : OWN_SOURCE;
    this.#at = 0;
    this.#reserve(16);
    this.#bytes[this.#at++] = flags;
    this.#putNumber(rare === undefined ? request.depth * 2 : 1);
    if (rare !== undefined) this.#putText(rare);
    if (flags & OWN_KEY) this.#putText(key);
    if (flags & OWN_REFERRER) this.#putText(referrer!);
    if (flags & OWN_SOURCE) this.#putText(source!);
    this.#putRest(scheme === 0 ? url : url.slice(prefixLength(scheme, host)));
    if (referrer !== undefined) context.referrer = referrer;
    if (source !== undefined) context.source = source;
    return { bytes: this.#bytes, length: this.#at };
  }

  /** The request in `bytes` from `start` to `end`, with the context that the records before it have left. */
  decode(bytes: Buffer, start: number, end: number, host: string, level: number, context: CodecContext): CrawlRequest {
    this.#at = start;
    const flags = bytes[this.#at++]!;
    const depth = this.#number(bytes);
    const rare = depth % 2 === 1 ? (JSON.parse(this.#text(bytes)) as Partial<CrawlRequest>) : undefined;
    const ownKey = flags & OWN_KEY ? this.#text(bytes) : undefined;
    if (flags & OWN_REFERRER) context.referrer = this.#text(bytes);
    if (flags & OWN_SOURCE) context.source = this.#text(bytes);
    const rest = bytes.toString('utf8', this.#at, end);
    const scheme = flags & (HTTPS | HTTP);
    const url = scheme === 0 ? rest : `${scheme === HTTPS ? 'https://' : 'http://'}${host}${rest}`;
    return {
      url,
      key: ownKey ?? url,
      host,
      kind: flags & SITEMAP ? 'sitemap' : 'page',
      depth: depth / 2,
      level,
      ...(flags & (SAME_REFERRER | OWN_REFERRER) ? { referrer: context.referrer } : undefined),
      ...(flags & (SAME_SOURCE | OWN_SOURCE) ? { source: context.source } : undefined),
      attempts: 0,
      ...rare,
    };
  }

  #putNumber(value: number): void {
    while (value > 127) {
      this.#bytes[this.#at++] = (value % 128) + 128;
      value = Math.floor(value / 128);
    }
    this.#bytes[this.#at++] = value;
  }

  #number(bytes: Buffer): number {
    let value = 0;
    let unit = 1;
    for (;;) {
      const byte = bytes[this.#at++]!;
      if (byte < 128) return value + byte * unit;
      value += (byte - 128) * unit;
      unit *= 128;
    }
  }

  #putText(text: string): void {
    const length = Buffer.byteLength(text);
    this.#reserve(length + 16);
    this.#putNumber(length);
    this.#at += this.#bytes.write(text, this.#at, length, 'utf8');
  }

  #text(bytes: Buffer): string {
    const length = this.#number(bytes);
    const start = this.#at;
    this.#at += length;
    return bytes.toString('utf8', start, this.#at);
  }

  #putRest(text: string): void {
    this.#reserve(text.length * 3);
    this.#at += this.#bytes.write(text, this.#at, 'utf8');
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(1024, (this.#at + length) * 2));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

function schemeOf(url: string, host: string): number {
  const scheme = url.startsWith('https://') ? HTTPS : url.startsWith('http://') ? HTTP : 0;
  return scheme !== 0 && url.startsWith(host, scheme === HTTPS ? 8 : 7) ? scheme : 0;
}

function prefixLength(scheme: number, host: string): number {
  return (scheme === HTTPS ? 8 : 7) + host.length;
}

/** What has no place of its own in a record, as JSON; `undefined` for most requests. */
function rareFields(request: CrawlRequest): string | undefined {
  if (isPlain(request)) return undefined;
  const { url, key, host, kind, level, referrer, source, ...rare } = request;
  return JSON.stringify(rare);
}

function isPlain(request: CrawlRequest): boolean {
  for (const name in request) {
    switch (name) {
      case 'url':
      case 'key':
      case 'host':
      case 'kind':
      case 'level':
      case 'referrer':
      case 'source':
        break;
      case 'depth':
        if (!Number.isInteger(request.depth) || request.depth < 0 || request.depth > MAX_PLAIN_DEPTH) return false;
        break;
      case 'attempts':
        if (request.attempts !== 0) return false;
        break;
      default:
        if (request[name as keyof CrawlRequest] !== undefined) return false;
    }
  }
  return true;
}
