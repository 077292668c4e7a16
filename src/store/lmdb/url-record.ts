import { LEVELS } from '../../request.ts';
import type { CrawlRequest } from '../../types.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';

/** Where a URL's record lies: the number of its site, and its slot among those of the site. */
export interface UrlRef {
  readonly site: number;
  readonly slot: number;
}

/** What a record says has become of its URL. `noted`: it was refused, and is not seen. */
const STATES = ['noted', 'queued', 'done', 'failed', 'skipped', 'redirected'] as const;
export type State = (typeof STATES)[number];

/** A canonical URL cut into its site, which has a number, and the rest. */
export interface SplitKey {
  /** Number of the scheme; 0 where the rest is the whole key. */
  readonly scheme: number;
  readonly site: string;
  readonly rest: string;
}

const SCHEMES = ['', 'http://', 'https://'] as const;

export function splitKey(key: string, maxSite: number): SplitKey {
  const scheme = key.startsWith('https://') ? 2 : key.startsWith('http://') ? 1 : 0;
  const start = SCHEMES[scheme]!.length;
  const slash = key.indexOf('/', start);
  const end = slash < 0 ? key.length : slash;
  if (scheme === 0 || end - start > maxSite) return { scheme: 0, site: '', rest: key };
  return { scheme, site: key.slice(start, end), rest: key.slice(end) };
}

export function joinKey(scheme: number, site: string, rest: string): string {
  return `${SCHEMES[scheme]}${scheme === 0 ? '' : site}${rest}`;
}

// The first byte of a record.
const SCHEME = 0b11;
const SITEMAP = 1 << 2;
const OWN_URL = 1 << 3;
const RARE = 1 << 4;
const SOURCE = 1 << 5;
const REFERRER_SHIFT = 6;
/** How the page a link was found on is written. */
const REFERRER = { none: 0, text: 1, sameSite: 2, otherSite: 3 } as const;

/** What is written of a URL when it is offered or noted; it stays as it is for good. */
export interface Fixed {
  readonly scheme: number;
  readonly rest: string;
  readonly state: State;
  readonly level: number;
  readonly depth: number;
  readonly isSitemap: boolean;
  /** Where it is not the key. */
  readonly url?: string | undefined;
  /** Fields that hardly any request has, as JSON. */
  readonly rare?: string | undefined;
  /** Number of the source, or its text. */
  readonly source?: number | string | undefined;
  readonly referrer?: string | UrlRef | undefined;
}

/** Writes the record of a URL of site `site`; what has happened to it follows behind. */
export function writeFixed(out: ByteWriter, fixed: Fixed, site: number): void {
  const { referrer, source, url, rare } = fixed;
  const form =
    referrer === undefined
      ? REFERRER.none
      : typeof referrer === 'string'
        ? REFERRER.text
        : referrer.site === site
          ? REFERRER.sameSite
          : REFERRER.otherSite;
  out.u8(
    fixed.scheme |
      (fixed.isSitemap ? SITEMAP : 0) |
      (url === undefined ? 0 : OWN_URL) |
      (rare === undefined ? 0 : RARE) |
      (source === undefined ? 0 : SOURCE) |
      (form << REFERRER_SHIFT),
  );
  out.u8(STATES.indexOf(fixed.state) * 16 + fixed.level - LEVELS.lowest);
  out.text(fixed.rest).varint(fixed.depth);
  if (typeof source === 'number') out.u8(source);
  else if (source !== undefined) out.u8(0).text(source);
  if (typeof referrer === 'string') out.text(referrer);
  else if (referrer !== undefined) {
    if (form === REFERRER.otherSite) out.u32(referrer.site);
    out.u48(referrer.slot);
  }
  if (rare !== undefined) out.text(rare);
  if (url !== undefined) out.text(url);
}

/** Reads what {@link writeFixed} wrote; the reader then stands before the history. */
export function readFixed(source: ByteReader, site: number): Fixed {
  const flags = source.u8();
  const byte = source.u8();
  const rest = source.text();
  const depth = source.varint();
  const from = flags & SOURCE ? source.u8() : undefined;
  return {
    scheme: flags & SCHEME,
    isSitemap: (flags & SITEMAP) !== 0,
    state: STATES[byte >> 4]!,
    level: (byte & 15) + LEVELS.lowest,
    rest,
    depth,
    source: from === 0 ? source.text() : from,
    referrer: readReferrer(source, flags >> REFERRER_SHIFT, site),
    rare: flags & RARE ? source.text() : undefined,
    url: flags & OWN_URL ? source.text() : undefined,
  };
}

/** Whether a record is that of this key, of whatever state. */
export function isOf(source: ByteReader, { scheme, rest }: SplitKey): boolean {
  if ((source.u8() & SCHEME) !== scheme) return false;
  source.skip(1);
  return source.text() === rest;
}

/** The state in a record, without reading the rest. */
export function stateOf(record: Buffer): State {
  return STATES[record[1]! >> 4]!;
}

/** Sets the state in a record. */
export function setState(record: Buffer, state: State): void {
  record[1] = (record[1]! & 15) | (STATES.indexOf(state) << 4);
}

/** Stands the reader before the history. */
export function skipFixed(source: ByteReader): void {
  const flags = source.u8();
  source.skip(1).skipText().varint();
  if (flags & SOURCE && source.u8() === 0) source.skipText();
  const form = flags >> REFERRER_SHIFT;
  if (form === REFERRER.text) source.skipText();
  else if (form !== REFERRER.none) source.skip(form === REFERRER.otherSite ? 10 : 6);
  if (flags & RARE) source.skipText();
  if (flags & OWN_URL) source.skipText();
}

function readReferrer(source: ByteReader, form: number, site: number): string | UrlRef | undefined {
  if (form === REFERRER.none) return undefined;
  if (form === REFERRER.text) return source.text();
  return { site: form === REFERRER.otherSite ? source.u32() : site, slot: source.u48() };
}

/** The fields of a request that have no place of their own in a record. */
export type RareFields = Partial<
  Pick<CrawlRequest, 'attempts' | 'redirects' | 'origin' | 'depth' | 'revisit' | 'delivered'>
>;

/** What a request has of {@link RareFields}, as JSON; `undefined` for most. */
export function rareFields(request: CrawlRequest): string | undefined {
  const { attempts, redirects, origin, depth, revisit, delivered } = request;
  const isPlain = isPlainDepth(depth);
  const isUsual = redirects === undefined && origin === undefined && revisit === undefined && delivered === undefined;
  if (isPlain && attempts === 0 && isUsual) return undefined;
  const rare: RareFields = { attempts, redirects, origin, revisit, delivered, ...(isPlain ? undefined : { depth }) };
  return JSON.stringify(rare);
}

export function isPlainDepth(depth: number): boolean {
  return Number.isInteger(depth) && depth >= 0 && depth < 2 ** 50;
}

/** A request as `JSON.stringify` has written it, with the fields in the order in which all requests have them. */
export function parseRequest(json: string): CrawlRequest {
  const parsed = JSON.parse(json) as CrawlRequest;
  return {
    url: parsed.url,
    key: parsed.key,
    host: parsed.host,
    kind: parsed.kind,
    depth: parsed.depth,
    level: parsed.level,
    referrer: parsed.referrer,
    source: parsed.source,
    redirects: parsed.redirects,
    attempts: parsed.attempts,
    origin: parsed.origin,
    revisit: parsed.revisit,
    delivered: parsed.delivered,
  };
}
