// What headings.ts has done in threads: the outline of a page, by the document that page.$ builds.
import type { Page } from 'polite-crawler';

export interface Outline {
  readonly headings: readonly string[];
  readonly words: number;
}

export default function outline(page: Page): Outline {
  const { $ } = page;
  const headings = $('h1, h2, h3')
    .map((_, heading) => `${heading.tagName} ${$(heading).text().trim()}`)
    .get();
  return { headings, words: $('body').text().split(/\s+/).filter(Boolean).length };
}
