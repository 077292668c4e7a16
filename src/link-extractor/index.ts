import { applyDirectives } from '../directives.ts';
import { CrawlError } from '../errors.ts';
import { type Complete, integer, mustTake, oneOf, onlyKnown } from '../options.ts';
import type { Headers, Link } from '../types.ts';
import { codesOf, OWN_MEMORY } from './codes.ts';
import { Collector } from './collector.ts';
import { NEEDS_TREE } from './contexts.ts';
import { decodeText, detached, foldSpace } from './entities.ts';
import { FastScan } from './fast-scan.ts';
import { addHeaderLinks, canonicalOf } from './header-links.ts';
import { LinkList } from './links.ts';
import { MarkupReader } from './reader.ts';
import { type NamedMeta, References } from './references.ts';
import { documentBase, Resolver } from './resolver.ts';
import { type LinkProfile, type ProfileRules, rulesOf } from './rules.ts';
import { TOO_MANY_TAGS, TreeScan } from './tree-scan.ts';

export type { LinkProfile, NamedMeta };

/** Options of {@link LinkExtractor}. */
export interface LinkExtractorOptions {
  /**
   * How much of a page counts as a link: `'navigation'`, what leads a person to another page; `'resources'`, also what
   * the page is made of; `'exhaustive'`, also GET forms, `srcdoc` and old and rare attributes.
   * `docs/link-extraction.md` lists them all. @defaultValue `'navigation'`
   */
  readonly profile?: LinkProfile | undefined;
  /** Most links of one document; `Infinity` for no limit. @defaultValue 6000 */
  readonly maxLinks?: number | undefined;
}

/** Every default of {@link LinkExtractorOptions}, written once. */
export const LINK_EXTRACTOR_DEFAULTS: Complete<LinkExtractorOptions> = {
  profile: 'navigation',
  maxLinks: 6000,
};

/** A document to look for links in. */
export interface LinkDocument {
  /**
   * Where it was found, after redirects: what relative links are relative to. Where it is not absolute, and no `<base>` is,
   * these lead nowhere and are left out.
   */
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
  /** Different references beyond `maxLinks`, as they are written; where there are more than 65,536, some may count twice. */
  readonly capped: number;
  /** References of more than 65,536 characters, which are left out. */
  readonly tooLong: number;
}

/** The work on a document step by step, each a small part of it; the last one gives the result. */
export type ScanSteps = Generator<void, ScanResult, undefined>;

/** How much is done in one step. */
export interface StepSize {
  readonly characters: number;
  readonly references: number;
}

const ALL_AT_ONCE: StepSize = { characters: Number.POSITIVE_INFINITY, references: Number.POSITIVE_INFINITY };
/** Some milliseconds, whatever the document is. */
const SMALL_STEPS: StepSize = { characters: 32_768, references: 512 };

let stepsOf: (extractor: LinkExtractor, document: LinkDocument, size: StepSize) => ScanSteps;

/**
 * {@link LinkExtractor.scan} in steps, between which other work may be done, other scans too. Only a long tag or a long
 * text without tags is one step for itself.
 */
export function scanInSteps(extractor: LinkExtractor, document: LinkDocument, size: StepSize = SMALL_STEPS): ScanSteps {
  return stepsOf(extractor, document, size);
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
  static {
    stepsOf = (extractor, document, size) => extractor.#steps(document, size, OWN_MEMORY);
  }

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

  /**
   * The links of a document, whatever it holds.
   * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where it is given otherwise than as text and an address.
   */
  extract(document: LinkDocument): Link[] {
    return this.scan(document).links;
  }

  /**
   * The links of a document, with what else the same pass finds.
   * @throws {@link CrawlError} as {@link LinkExtractor.extract} does.
   */
  scan(document: LinkDocument): ScanResult {
    return finish(this.#steps(document, ALL_AT_ONCE, 0));
  }

  *#steps(document: LinkDocument, size: StepSize, depth: number): ScanSteps {
    const { html, headers = {}, userAgent = '' } = checked(document);
    const reader = new MarkupReader(html, codesOf(html, depth));
    const found = yield* findReferences(reader, this.#rules, depth, size.characters);
    const ofDocument = new Resolver(document.url);
    const base = documentBase(found.base, ofDocument.base);
    const ofBase = base === ofDocument.base ? ofDocument : new Resolver(base);
    const list = new LinkList(this.#maxLinks, depth);
    const canonicals = addHeaderLinks(list, headers, ofDocument, this.#rules.level);
    yield* list.addAll(reader, found, ofBase, (inner) => this.#addDocument(inner, list, ofBase), size.references);
    const { follow } = applyDirectives({ meta: found.metas, headers }, userAgent);
    if (!follow) list.forbidAll();
    return {
      links: list.links,
      title: titleOf(html, found),
      canonical: canonicalOf(found.canonicals, ofBase, canonicals, ofDocument),
      base: base ?? document.url,
      metas: found.metas,
      capped: list.capped,
      tooLong: list.tooLong,
    };
  }

  /** A document in a `srcdoc` attribute; what is in such attributes of its own is left alone. */
  #addDocument(html: string, list: LinkList, outer: Resolver): void {
    const reader = new MarkupReader(html, codesOf(html, 1));
    const found = finish(findReferences(reader, this.#rules, 1, ALL_AT_ONCE.characters));
    const base = documentBase(found.base, outer.base);
    const resolver = base === outer.base ? outer : new Resolver(base);
    finish(list.addAll(reader, found, resolver, undefined, ALL_AT_ONCE.references));
  }
}

/** @param characters - How many are looked at in one step. */
function* findReferences(
  reader: MarkupReader,
  rules: ProfileRules,
  depth: number,
  characters: number,
): Generator<void, References, undefined> {
  const references = new References(depth);
  const fast = new FastScan(reader, new Collector(rules, reader, references));
  if ((yield* runToEnd(fast, characters)) !== NEEDS_TREE) return references;
  const again = new References(depth);
  const collector = new Collector(rules, reader, again);
  const tree = new TreeScan(reader, collector);
  if ((yield* runToEnd(tree, characters)) === TOO_MANY_TAGS) {
    yield* runToEnd(new FastScan(reader, collector, tree.position), characters);
  }
  return again;
}

/** @returns What the scan said at its end. */
function* runToEnd(scan: FastScan | TreeScan, characters: number): Generator<void, number, undefined> {
  for (;;) {
    const at = scan.run(scan.position + characters);
    if (at < 0) return at;
    yield;
  }
}

function finish<T>(steps: Generator<void, T, undefined>): T {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

function titleOf(html: string, found: References): string | undefined {
  if (found.titleStart < 0) return undefined;
  return detached(foldSpace(decodeText(html.slice(found.titleStart, found.titleEnd))));
}

/** @throws {@link CrawlError} `CRAWL_OPTION_INVALID` */
function checked(document: LinkDocument): LinkDocument {
  const call = 'LinkExtractor';
  mustTake(
    call,
    'a document: an object with url and html',
    document !== null && typeof document === 'object',
    document,
  );
  mustTake(
    call,
    'the text of a document as its html (decodeText makes it of bytes)',
    typeof document.html === 'string',
    document.html,
  );
  mustTake(call, 'the address of a document as its url', typeof document.url === 'string', document.url);
  const { headers } = document;
  mustTake(
    call,
    'headers as an object',
    headers === undefined || (headers !== null && typeof headers === 'object'),
    headers,
  );
  return document;
}

/** Whether an extractor finds links in the library's own way, and not in that of a subclass of the user's. */
export function isBuiltIn(extractor: LinkExtractor): boolean {
  return givesScanned(extractor) && extractor.scan === LinkExtractor.prototype.scan;
}

/** Whether the links that an extractor gives are those of its scan, be that one of the user's. */
export function givesScanned(extractor: LinkExtractor): boolean {
  return extractor.extract === LinkExtractor.prototype.extract;
}
