import { applyDirectives } from '../directives.ts';
import { CrawlError } from '../errors.ts';
import { type Complete, integer, oneOf, onlyKnown } from '../options.ts';
import type { Headers, Link } from '../types.ts';
import { codesOf } from './codes.ts';
import { Collector } from './collector.ts';
import { decodeText, detached, foldSpace } from './entities.ts';
import { FastScan } from './fast-scan.ts';
import { addHeaderLinks, canonicalOf } from './header-links.ts';
import { LinkList } from './links.ts';
import { MarkupReader } from './reader.ts';
import { type NamedMeta, References } from './references.ts';
import { documentBase, Resolver } from './resolver.ts';
import { type LinkProfile, type ProfileRules, rulesOf } from './rules.ts';
import { TreeScan } from './tree-scan.ts';

export type { LinkProfile, NamedMeta };

/** Options of {@link LinkExtractor}. */
export interface LinkExtractorOptions {
  /**
   * How much of a page counts as a link: `'navigation'`, what leads a person to another page; `'resources'`, also what
   * the page is made of; `'exhaustive'`, also GET forms, `srcdoc` and old and rare attributes.
   * `docs/link-extraction.md` lists them all. @defaultValue `'navigation'`
   */
  readonly profile?: LinkProfile | undefined;
  /** Most links of one document; `Infinity` for no limit. @defaultValue 50 000 */
  readonly maxLinks?: number | undefined;
}

/** Every default of {@link LinkExtractorOptions}, written once. */
export const LINK_EXTRACTOR_DEFAULTS: Complete<LinkExtractorOptions> = {
  profile: 'navigation',
  maxLinks: 50_000,
};

/** A document to look for links in. */
export interface LinkDocument {
  /** Where it was found, after redirects: what relative links are relative to. */
  readonly url: string;
  /** Its text; empty where only the headers count. */
  readonly html: string;
  /** Names in any case; several lines of one name are an array. */
  readonly headers?: Headers | Record<string, string | string[]>;
  /** A product token or a whole `User-Agent` header: whose rules count besides those for all. */
  readonly userAgent?: string;
}

/** Everything one pass over a document gives. */
export interface ScanResult {
  /** Those in headers first, then in document order; each pair of URL and source once. */
  readonly links: Link[];
  /** What `document.title` would say: `undefined` without a `<title>`, empty where that is. */
  readonly title: string | undefined;
  /** What the document calls its canonical URL (RFC 6596), in its head or in a header; `undefined` where it says several. */
  readonly canonical: string | undefined;
  /** What relative links were resolved against. */
  readonly base: string;
  /** `<meta name content>` elements whose name may be `robots` or a product token; names in lower case. */
  readonly metas: NamedMeta[];
  /** Links beyond `maxLinks`. */
  readonly capped: number;
}

/**
 * Finds the links of HTML documents and of the headers they came with, in one pass over the text and without building a
 * document. What it finds is what the parser of the HTML Standard finds without scripting: `noscript` is markup,
 * the contents of `template` are left out, and a base counts for all links wherever it stands.
 * The time it takes grows in proportion to the text, whatever the text is.
 *
 * Not links: `ping`, targets of POST, and what robots.txt names. Whether a link may be followed is for others to say.
 */
export class LinkExtractor {
  /** The options it was made with, defaults filled in. */
  readonly options: Complete<LinkExtractorOptions>;
  readonly #rules: ProfileRules;
  readonly #maxLinks: number;

  /** @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`. */
  constructor(options: LinkExtractorOptions = {}) {
    onlyKnown('LinkExtractor', options, Object.keys(LINK_EXTRACTOR_DEFAULTS));
    const { profile, maxLinks } = options as { profile?: string; maxLinks?: number };
    if (profile === 'deep') {
      throw new CrawlError(
        'CRAWL_OPTION_INVALID',
        'The profile "deep" is for a later release. Use \'exhaustive\', the widest there is so far.',
      );
    }
    const known = ['navigation', 'resources', 'exhaustive'] as const;
    this.options = {
      profile: oneOf('profile', profile, LINK_EXTRACTOR_DEFAULTS.profile, known),
      maxLinks: integer('maxLinks', maxLinks, LINK_EXTRACTOR_DEFAULTS.maxLinks),
    };
    this.#rules = rulesOf(this.options.profile);
    this.#maxLinks = this.options.maxLinks;
  }

  /** The links of a document. Never throws. */
  extract(document: LinkDocument): Link[] {
    return this.scan(document).links;
  }

  /** The links of a document, with what else the same pass finds. Never throws. */
  scan(document: LinkDocument): ScanResult {
    const { html, headers = {}, userAgent = '' } = document;
    const reader = new MarkupReader(html, codesOf(html, 0));
    const found = findReferences(reader, this.#rules, 0);
    const ofDocument = new Resolver(document.url);
    const base = documentBase(found.base, ofDocument.base);
    const ofBase = base === ofDocument.base ? ofDocument : new Resolver(base);
    const list = new LinkList(this.#maxLinks);
    const canonicals = addHeaderLinks(list, headers, ofDocument, this.#rules.level);
    list.addAll(reader, found, ofBase, (inner) => this.#addDocument(inner, list, ofBase));
    const { follow } = applyDirectives({ meta: found.metas, headers }, userAgent);
    if (!follow) list.forbidAll();
    return {
      links: list.links,
      title: titleOf(html, found),
      canonical: canonicalOf(found.canonicals, ofBase, canonicals, ofDocument),
      base: base ?? document.url,
      metas: found.metas,
      capped: list.capped,
    };
  }

  /** A document in a `srcdoc` attribute; what is in such attributes of its own is left alone. */
  #addDocument(html: string, list: LinkList, outer: Resolver): void {
    const reader = new MarkupReader(html, codesOf(html, 1));
    const found = findReferences(reader, this.#rules, 1);
    const base = documentBase(found.base, outer.base);
    list.addAll(reader, found, base === outer.base ? outer : new Resolver(base), undefined);
  }
}

function findReferences(reader: MarkupReader, rules: ProfileRules, depth: number): References {
  const references = new References(depth);
  if (new FastScan(reader, new Collector(rules, reader, references)).run()) return references;
  const again = new References(depth);
  new TreeScan(reader, new Collector(rules, reader, again)).run();
  return again;
}

function titleOf(html: string, found: References): string | undefined {
  if (found.titleStart < 0) return undefined;
  return detached(foldSpace(decodeText(html.slice(found.titleStart, found.titleEnd))));
}
