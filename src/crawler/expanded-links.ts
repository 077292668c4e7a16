import { show } from '../options.ts';
import type { Link, Page } from '../types.ts';
import { resolveUrl } from '../url.ts';

/** More than any page has; what gives more has no end. */
const MOST_LINKS = 1_000_000;

/**
 * What the user's code gave as the links of a page: links, or bare URLs, relative to the page; what is neither is left
 * out.
 * @throws what going through it throws, and a `TypeError` where it is no list, or one without an end.
 */
export function toLinks(given: unknown, page: Page): readonly Link[] {
  if (
    typeof given === 'string' ||
    typeof (given as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] !== 'function'
  ) {
    throw new TypeError(`it must give a list of links, not ${show(given)}`);
  }
  const links: Link[] = [];
  let count = 0;
  for (const one of given as Iterable<unknown>) {
    if (++count > MOST_LINKS) throw new RangeError(`it gave more than ${MOST_LINKS} links`);
    const link = toLink(one, page);
    if (link !== undefined) links.push(link);
  }
  return links;
}

function toLink(link: unknown, page: Page): Link | undefined {
  const given =
    typeof link === 'string' || link instanceof URL
      ? { url: String(link) }
      : (link as Partial<Link> | null | undefined);
  const url = typeof given?.url === 'string' ? resolveUrl(given.url, page.finalUrl) : null;
  if (given === null || given === undefined || url === null) return undefined;
  const { source, rel, nofollow, text } = given;
  return {
    url,
    source: typeof source === 'string' ? source : 'expand',
    rel: Array.isArray(rel) ? rel.map(String) : [],
    nofollow: nofollow === true,
    ...(typeof text === 'string' ? { text } : {}),
  };
}
