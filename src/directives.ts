import { type NamedMeta, scanMetas } from './directives/meta-scan.ts';
import { addContent, addFields, addLine, newSum } from './directives/rules.ts';
import { type HeaderSource, headerLines, productToken } from './headers.ts';
import { mustTake } from './options.ts';
import type { RobotsDirectives } from './types.ts';

export type { NamedMeta };

/**
 * What the page allows a crawler to do with it, from `<meta name="robots">`, a meta element under the crawler's own
 * name, and the headers `X-Robots-Tag` and `Robots-Tag`. All restrictions of all sources add up; rules for other
 * crawlers are left out. It says nothing about whether the page may be fetched: that is for robots.txt.
 *
 * Lines of a header must not be joined: a crawler's name holds for the rest of its line.
 *
 * @param page - Header names in any case; `html` is read as a browser without scripting does.
 * @param userAgent - A product token, or a whole `User-Agent` header; where it is empty only what is for all counts.
 * @returns `true` for what is not forbidden.
 * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` where `page` is no object, or its `html` no text.
 */
export function robotsDirectives(
  page: { readonly headers?: HeaderSource; readonly html?: string },
  userAgent: string,
): RobotsDirectives {
  mustTake('robotsDirectives', 'an object with headers and html', page !== null && typeof page === 'object', page);
  const isText = page.html === undefined || typeof page.html === 'string';
  mustTake('robotsDirectives', 'the text of a document as html', isText, page.html);
  const meta = page.html === undefined || page.html === '' ? [] : scanMetas(page.html);
  return applyDirectives({ meta, headers: page.headers ?? {} }, userAgent);
}

/**
 * {@link robotsDirectives} of a page whose meta elements are known already; those with other names may be among them.
 * Never throws.
 */
export function applyDirectives(
  values: { readonly meta: readonly NamedMeta[]; readonly headers: HeaderSource },
  userAgent: string,
): RobotsDirectives {
  const token = productToken(userAgent)?.toLowerCase();
  const sum = newSum();
  for (const { name, content } of values.meta) {
    const addressee = name.trim().toLowerCase();
    if (addressee === 'robots' || addressee === token) addContent(sum, content);
  }
  for (const line of headerLines(values.headers, 'x-robots-tag')) addLine(sum, line, token);
  addFields(sum, headerLines(values.headers, 'robots-tag'), token);
  const { index, follow, archive, unavailableAfter } = sum;
  if (unavailableAfter === undefined) return { index, follow, archive };
  return { index, follow, archive, unavailableAfter: new Date(unavailableAfter) };
}
