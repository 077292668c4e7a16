import { createRequire } from 'node:module';
import type { Parser } from 'htmlparser2';
import { CrawlError } from '../errors.ts';

/**
 * Takes the elements of a document. Names come without prefix where they belong to the vocabulary of the root, whatever
 * that calls itself, and as `image:loc`, `news:title`, `video:tag`, `xhtml:link`, `dc:date` where they belong to one of
 * those; other vocabularies are `other:`.
 */
export interface XmlVisitor {
  open(name: string, attribute: (name: string) => string | undefined, depth: number): void;
  /** `text` is what stands in the element itself, not in elements within it. */
  close(name: string, parent: string, text: string, depth: number): void;
  /** Whether no more is wanted. */
  readonly full: boolean;
}

interface OpenElement {
  readonly name: string;
  /** Namespace declarations that end with this element. */
  readonly scopes: number;
  text: string;
}

/** Extensions by what their namespace contains; versions and schemes vary. */
const VOCABULARIES = [
  ['/sitemap-image/', 'image'],
  ['/sitemap-news/', 'news'],
  ['/sitemap-video/', 'video'],
  ['www.w3.org/1999/xhtml', 'xhtml'],
  ['purl.org/dc/', 'dc'],
] as const;
const VOCABULARY_NAMES: ReadonlySet<string> = new Set(VOCABULARIES.map(([, name]) => name));

const MAX_DEPTH = 64;
const MAX_SCOPES = 64;

/**
 * Reads an XML document part by part, once and without recursion. Entities are the five of XML and numbers; a document that
 * declares its own is refused, and nothing is ever fetched. Errors that leave no doubt about what is meant, such as a
 * bare `&`, are passed over.
 *
 */
export class XmlReader {
  readonly #url: string;
  readonly #walk: XmlWalk;
  readonly #parser: Parser;

  /** @param begin - Called with the root's name without prefix; gives what takes the elements. */
  constructor(url: string, begin: (root: string) => XmlVisitor) {
    // Loaded at first use: most crawls read pages only.
    const htmlparser2 = createRequire(import.meta.url)('htmlparser2') as typeof import('htmlparser2');
    this.#url = url;
    const walk = new XmlWalk(url, begin, () => this.#parser.pause());
    this.#walk = walk;
    this.#parser = new htmlparser2.Parser(
      {
        onopentag: (name, attributes) => walk.open(name, attributes),
        onclosetag: () => walk.close(),
        ontext: (text) => walk.text(text),
        onprocessinginstruction: (name, text) => walk.declaration(name, text),
      },
      { xmlMode: true },
    );
  }

  /** Whether the root was closed, or no more was wanted: what follows is not read. */
  get done(): boolean {
    return this.#walk.done;
  }

  /** @throws {@link CrawlError} `CRAWL_SITEMAP_INVALID`, and what `begin` throws. */
  write(part: string): void {
    this.#parser.write(part);
  }

  /**
   * @returns whether the document is whole.
   * @throws {@link CrawlError} `CRAWL_SITEMAP_INVALID` where nothing has begun.
   */
  end(): boolean {
    if (!this.#walk.begun) throw invalid(this.#url, 'holds no element');
    return this.done;
  }
}

export function invalid(url: string, what: string): CrawlError {
  return new CrawlError('CRAWL_SITEMAP_INVALID', `${url} is no sitemap: it ${what}.`, { url });
}

class XmlWalk {
  readonly #url: string;
  readonly #begin: (root: string) => XmlVisitor;
  readonly #stop: () => void;
  readonly #stack: OpenElement[] = [];
  readonly #scopes: { readonly prefix: string; readonly namespace: string }[] = [];
  #visitor: XmlVisitor | undefined;
  #rootPrefix = '';
  #rootNamespace: string | undefined;
  #done = false;

  constructor(url: string, begin: (root: string) => XmlVisitor, stop: () => void) {
    this.#url = url;
    this.#begin = begin;
    this.#stop = stop;
  }

  get begun(): boolean {
    return this.#visitor !== undefined;
  }

  get done(): boolean {
    return this.#done;
  }

  declaration(name: string, text: string): void {
    if (!name.startsWith('!')) return;
    if (name.toLowerCase() !== '!doctype' || text.includes('[')) {
      throw invalid(this.#url, 'declares entities of its own, which are never read');
    }
  }

  text(text: string): void {
    const top = this.#stack.at(-1);
    if (top !== undefined) top.text += text;
  }

  open(qualified: string, attributes: Readonly<Record<string, string>>): void {
    if (this.#done) return;
    const depth = this.#stack.length;
    if (depth >= MAX_DEPTH) throw invalid(this.#url, `nests more than ${MAX_DEPTH} elements`);
    const scopes = this.#declare(attributes);
    const colon = qualified.indexOf(':');
    const local = qualified.slice(colon + 1);
    const prefix = colon < 0 ? '' : qualified.slice(0, colon);
    if (this.#visitor === undefined) {
      this.#visitor = this.#begin(local);
      this.#rootPrefix = prefix;
      this.#rootNamespace = this.#namespaceOf(prefix);
    }
    const vocabulary = depth === 0 ? '' : this.#vocabulary(prefix);
    const name = vocabulary === '' ? local : `${vocabulary}:${local}`;
    this.#stack.push({ name, scopes, text: '' });
    this.#visitor.open(name, (key) => (Object.hasOwn(attributes, key) ? attributes[key] : undefined), depth);
  }

  close(): void {
    const element = this.#stack.pop();
    if (element === undefined || this.#visitor === undefined) return;
    this.#scopes.length -= element.scopes;
    const depth = this.#stack.length;
    this.#visitor.close(element.name, this.#stack.at(-1)?.name ?? '', element.text, depth);
    if (depth > 0 && !this.#visitor.full) return;
    this.#done = true;
    this.#stop();
  }

  #declare(attributes: Readonly<Record<string, string>>): number {
    const before = this.#scopes.length;
    for (const key in attributes) {
      if (!key.startsWith('xmlns') || (key.length > 5 && key[5] !== ':')) continue;
      if (this.#scopes.length < MAX_SCOPES) {
        this.#scopes.push({ prefix: key.slice(6), namespace: (attributes[key] as string).trim() });
      }
    }
    return this.#scopes.length - before;
  }

  #namespaceOf(prefix: string): string | undefined {
    return this.#scopes.findLast((scope) => scope.prefix === prefix)?.namespace;
  }

  #vocabulary(prefix: string): string {
    const namespace = this.#namespaceOf(prefix);
    if (namespace === this.#rootNamespace && (prefix === this.#rootPrefix || namespace !== undefined)) return '';
    const known = VOCABULARIES.find(([part]) => namespace?.includes(part));
    if (known !== undefined) return known[1];
    if (prefix === '') return '';
    // Some sitemaps use the usual prefixes without saying what they stand for.
    return namespace === undefined && VOCABULARY_NAMES.has(prefix) ? prefix : 'other';
  }
}
