// What the bare loops read a page with. Of its own, so that no other runner loads it.
import { Parser } from 'htmlparser2';
import { result } from './job.mjs';

/** Gives links to `add` as they come, and counts the page when it has ended. */
export function pageParser(url, add) {
  let inTitle = false;
  let title = '';
  return new Parser({
    onopentag(name, attributes) {
      if (name === 'a' && attributes.href !== undefined) add(attributes.href, url);
      else if (name === 'title') inTitle = true;
    },
    ontext(part) {
      if (inTitle) title += part;
    },
    onclosetag(name) {
      if (name === 'title') inTitle = false;
    },
    onend() {
      result.pages++;
      if (title !== '') result.titles++;
    },
  });
}
