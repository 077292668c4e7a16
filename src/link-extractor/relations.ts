import { decodeAttribute, detached } from './entities.ts';

/** Relations that lead to another page, rather than to what this one is made of or to data. */
const PAGE_RELATIONS: ReadonlySet<string> = new Set([
  // HTML
  ...['alternate', 'author', 'bookmark', 'canonical', 'help', 'license', 'next', 'prev', 'privacy-policy', 'search'],
  ...['tag', 'terms-of-service', 'prerender'],
  // HTML 4 and its habits
  ...['appendix', 'begin', 'chapter', 'contents', 'copyright', 'end', 'first', 'glossary', 'home', 'index', 'last'],
  ...['previous', 'section', 'start', 'subsection', 'toc', 'top', 'up'],
  // The registry of RFC 8288, where it means documents
  ...['about', 'archives', 'collection', 'current', 'item', 'latest-version', 'me', 'original'],
  ...['predecessor-version', 'prev-archive', 'next-archive', 'related', 'shortlink', 'successor-version', 'via'],
  ...['working-copy', 'working-copy-of', 'version-history', 'amphtml', 'translation'],
]);

/** Relations to what a page is made of. */
const RESOURCE_RELATIONS: ReadonlySet<string> = new Set([
  ...['apple-touch-icon', 'apple-touch-icon-precomposed', 'apple-touch-startup-image', 'fluid-icon', 'icon'],
  ...['image_src', 'manifest', 'mask-icon', 'modulepreload', 'prefetch', 'preload', 'stylesheet', 'subresource'],
]);

/** Relations to what is never fetched with GET as a document: names of hosts, and targets of POST. */
const NEVER_RELATIONS: ReadonlySet<string> = new Set([
  ...['dns-prefetch', 'pingback', 'preconnect', 'trackback', 'webmention'],
]);

/** What the tokens of a `rel` attribute say. */
export interface Relations {
  readonly tokens: readonly string[];
  /** Which profile takes a link with them to a page: the number of the profile, or 3 for none. */
  readonly level: number;
}

export const NO_REL: readonly string[] = Object.freeze([]);

const KEPT = 500;
const LONGEST_KEPT = 100;
/** Characters of a `rel` attribute that are read. */
const LONGEST_REL = 4096;
const kept = new Map<string, Relations>();

/** Reads a `rel` attribute as written. Pages use few different ones, so that they are remembered. */
export function relOf(raw: string): Relations {
  const known = raw.length <= LONGEST_KEPT ? kept.get(raw) : undefined;
  if (known !== undefined) return known;
  const tokens = relTokens(decodeAttribute(raw.length > LONGEST_REL ? raw.slice(0, LONGEST_REL) : raw));
  const relations: Relations = { tokens: tokens.length === 0 ? NO_REL : Object.freeze(tokens), level: levelOf(tokens) };
  if (raw.length <= LONGEST_KEPT) {
    if (kept.size >= KEPT) kept.clear();
    kept.set(detached(raw), relations);
  }
  return relations;
}

function levelOf(tokens: readonly string[]): number {
  if (tokens.some((token) => NEVER_RELATIONS.has(token))) return 3;
  // `alternate stylesheet`, `shortcut icon`: the more exact token says what it is.
  if (tokens.some((token) => RESOURCE_RELATIONS.has(token))) return 1;
  return tokens.some((token) => PAGE_RELATIONS.has(token)) ? 0 : 2;
}

/**
 * Which profile takes a link with these relations and this media type. Alternates in the form of feeds or data, and
 * descriptions of a search, are no pages.
 */
export function levelOfLink(relations: Relations, type: string): number {
  return relations.level === 0 && type !== '' && !isPageType(type) ? 2 : relations.level;
}

function isPageType(type: string): boolean {
  const essence = (type.split(';', 1)[0] as string).trim().toLowerCase();
  return essence === '' || essence === 'text/html' || essence === 'application/xhtml+xml';
}

/** Tokens separated by white space or commas, in lower case, each once. */
function relTokens(value: string): string[] {
  const tokens = value
    .toLowerCase()
    .split(/[\t\n\f\r ,]+/)
    .filter((token) => token !== '')
    .map(detached);
  return tokens.length < 2 ? tokens : [...new Set(tokens)];
}
