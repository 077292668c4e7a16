import { decodeAttribute } from '../entities.ts';
import { ENDS_NAME, EQUALS, GT, isSpace, nameOf, SLASH } from '../names.ts';

/** Attributes of one element that are compared with those of others, and characters up to which references are decoded for it. */
const MOST_COMPARED = 1000;
const LONGEST_COMPARED = 1000;

/** The attributes of a tag, the first of each name, sorted: equal for equal ones. */
export function signatureOf(html: string, attributes: number): string {
  if (attributes === 0) return '';
  // Most have one.
  let first: [name: string, value: string] | undefined;
  let found: Map<string, string> | undefined;
  for (let at = attributes, count = 0; count < MOST_COMPARED; count++) {
    let code = html.charCodeAt(at);
    while (code === SLASH || isSpace(code)) code = html.charCodeAt(++at);
    if (code === GT) break;
    const start = at;
    code = html.charCodeAt(++at);
    while (code > GT || ENDS_NAME[code] === 0) code = html.charCodeAt(++at);
    const name = nameOf(html.slice(start, at));
    while (isSpace(code)) code = html.charCodeAt(++at);
    let value = '';
    if (code === EQUALS) {
      code = html.charCodeAt(++at);
      while (isSpace(code)) code = html.charCodeAt(++at);
      const quoted = code === 34 || code === 39;
      const from = quoted ? at + 1 : at;
      if (quoted) at = html.indexOf(html[at] as string, from);
      else while (code !== GT && !isSpace(code)) code = html.charCodeAt(++at);
      value = html.slice(from, at);
      if (value.length <= LONGEST_COMPARED) value = decodeAttribute(value);
      if (value.includes('\r')) value = value.replace(/\r\n?/g, '\n');
      if (quoted) at++;
    }
    if (first === undefined) first = [name, value];
    else {
      found ??= new Map([first]);
      if (!found.has(name)) found.set(name, value);
    }
  }
  if (first === undefined) return '';
  if (found === undefined) return first.join('\0');
  return [...found]
    .map(([name, value]) => `${name}\0${value}`)
    .sort()
    .join('\0\0');
}
