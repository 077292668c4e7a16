import { show } from '../options.ts';
import type { Link, Page } from '../types.ts';
import { resolveUrl } from '../url.ts';

/** More than any page has; what gives more has no end. */
const MOST_LINKS = 1_000_000;

/** Told what is no link and left out. */
export interface LeftOut {
  /** For each text that is no http or https URL. */
  readonly onNoUrl: (text: string) => void;
  /** Once for all items that are neither a link nor a URL, of which there may be many. */
  readonly onWrong: (message: string) => void;
}

/**
 * What the user's code gave as the links of a page: links, or bare URLs, relative to the page; what is neither is told
 * and left out.
 * @throws what going through it throws, and a `TypeError` where it is no list, or one without an end.
 */
export function toLinks(given: unknown, page: Page, { onNoUrl, onWrong }: LeftOut): readonly Link[] {
  if (
    typeof given === 'string' ||
    typeof (given as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] !== 'function'
  ) {
    throw new TypeError(`it must give a list of links, not ${show(given)}`);
  }
  const links: Link[] = [];
  let count = 0;
  let wrong = 0;
  let firstWrong: unknown;
  for (const one of given as Iterable<unknown>) {
    if (++count > MOST_LINKS) throw new RangeError(`it gave more than ${MOST_LINKS} links`);
    const link = asLink(one);
    if (link === undefined) {
      if (wrong++ === 0) firstWrong = one;
      continue;
    }
    const url = resolveUrl(link.url, page.finalUrl);
    if (url === null) onNoUrl(link.url);
    else links.push(toLink(link, url));
  }
  if (wrong > 0) {
    const items = wrong === 1 ? 'an item that is no link' : `${wrong} items that are no links`;
    const first = wrong === 1 ? '' : ', the first of them';
    onWrong(`gave ${items}${first} ${show(firstWrong)}; give strings, URLs, or links: { url: 'https://...' }`);
  }
  return links;
}

type GivenLink = Partial<Link> & Pick<Link, 'url'>;

function asLink(item: unknown): GivenLink | undefined {
  if (typeof item === 'string' || item instanceof URL) return { url: String(item) };
  return typeof (item as Partial<Link> | null | undefined)?.url === 'string' ? (item as GivenLink) : undefined;
}

function toLink({ source, rel, nofollow, text }: GivenLink, url: string): Link {
  return {
    url,
    source: typeof source === 'string' ? source : 'expand',
    rel: Array.isArray(rel) ? rel.map(String) : [],
    nofollow: nofollow === true,
    ...(typeof text === 'string' ? { text } : {}),
  };
}
