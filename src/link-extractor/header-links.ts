import { type HeaderSource, headerLines, parseLinkHeader, parseRefresh } from '../headers.ts';
import type { LinkList } from './links.ts';
import { levelOfLink, NO_REL, relOf } from './relations.ts';
import type { Resolver } from './resolver.ts';

/**
 * Takes up the links of the headers `Link` (RFC 8288), `Refresh` (HTML Standard) and `Content-Location` (RFC 9110, 8.7);
 * all are relative to the URL of the answer, not to the base of the document.
 * @returns The references that are called canonical.
 */
export function addHeaderLinks(list: LinkList, headers: HeaderSource, resolver: Resolver, level: number): string[] {
  const canonicals: string[] = [];
  if (Object.keys(headers).length === 0) return canonicals;
  for (const { url, params } of parseLinkHeader(headerLines(headers, 'link'))) {
    if (params.anchor !== undefined && !isSelf(params.anchor, resolver)) continue;
    const relations = relOf(params.rel ?? '');
    if (levelOfLink(relations, params.type ?? '') > level) continue;
    list.add(url, 'header/link', relations.tokens, resolver);
    if (relations.tokens.includes('canonical') && !('hreflang' in params || 'media' in params || 'type' in params))
      canonicals.push(url);
  }
  for (const line of headerLines(headers, 'refresh')) {
    const refresh = parseRefresh(line);
    if (refresh?.url !== undefined) list.add(refresh.url, 'header/refresh', NO_REL, resolver);
  }
  for (const line of headerLines(headers, 'content-location')) {
    if (line.trim() !== '') list.add(line, 'header/content-location', NO_REL, resolver);
  }
  return canonicals;
}

/** Whether a link speaks of this document, and not of another one. */
function isSelf(anchor: string, resolver: Resolver): boolean {
  return resolver.resolve(anchor) === resolver.resolve('');
}

/**
 * The canonical URL, where the document and its headers name one and only one. A reference that differs from the
 * document's URL in nothing but a fragment says nothing.
 */
export function canonicalOf(
  inHead: readonly string[],
  ofBase: Resolver,
  inHeaders: readonly string[],
  ofDocument: Resolver,
): string | undefined {
  const self = ofDocument.resolve('');
  const urls = new Set<string>();
  const take = (reference: string, resolver: Resolver): void => {
    const url = resolver.resolve(reference);
    if (url !== null && !(url === self && reference.includes('#'))) urls.add(url);
  };
  for (const reference of inHead) {
    take(reference, ofBase);
    if (urls.size > 1) return undefined;
  }
  for (const reference of inHeaders) take(reference, ofDocument);
  return urls.size === 1 ? [...urls][0] : undefined;
}
