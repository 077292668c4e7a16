import { parseAnyDate, productToken } from '../headers.ts';

/** Rules as they add up: every source can only take away. */
export interface RuleSum {
  index: boolean;
  follow: boolean;
  archive: boolean;
  /** Milliseconds since the epoch. */
  unavailableAfter: number | undefined;
}

/** Directives that take a value behind a colon; any other name before a colon is a crawler's. */
const WITH_VALUE: ReadonlySet<string> = new Set([
  'max-snippet',
  'max-image-preview',
  'max-video-preview',
  'unavailable_after',
]);

const KNOWN: ReadonlySet<string> = new Set([
  ...WITH_VALUE,
  ...(
    'all index follow none noindex nofollow noarchive nocache nosnippet notranslate noimageindex indexifembedded ' +
    'nositelinkssearchbox noai noimageai noodp noydir noyaca'
  ).split(' '),
]);

/** Adds the rules of a meta element's `content`. */
export function addContent(sum: RuleSum, content: string): void {
  const parts = content.split(',');
  for (let at = 0; at < parts.length; at++) at = addPart(sum, parts, at, parts[at] as string);
}

/**
 * Adds the rules of one line of `X-Robots-Tag`. A crawler's name before a colon holds for the rest of the line, or
 * until the next name.
 *
 * @param token - The product token of this crawler, in lower case.
 */
export function addLine(sum: RuleSum, line: string, token: string | undefined): void {
  const parts = line.split(',');
  let forUs = true;
  for (let at = 0; at < parts.length; at++) {
    let part = parts[at] as string;
    const agent = agentBefore(part);
    if (agent !== undefined) {
      forUs = isAddressed(agent, token);
      part = part.slice(part.indexOf(':') + 1);
    }
    at = addPart(forUs ? sum : newSum(), parts, at, part);
  }
}

/**
 * Adds the rules of a `Robots-Tag` field (draft-illyes-repext): `*=noindex, nosnippet; ExampleBot=`. As in robots.txt,
 * a crawler that is named takes the rules under its name and not those for all.
 */
export function addFields(sum: RuleSum, lines: readonly string[], token: string | undefined): void {
  const forAll: string[] = [];
  const forUs: string[] = [];
  let named = false;
  for (const field of lines.flatMap((line) => line.split(';'))) {
    const equals = field.indexOf('=');
    const name = equals < 0 ? '*' : field.slice(0, equals).trim();
    const rules = field.slice(equals + 1);
    if (name === '*' || name === '') forAll.push(rules);
    else if (token !== undefined && isAddressed(name, token)) {
      named = true;
      forUs.push(rules);
    }
  }
  for (const rules of named ? forUs : forAll) addContent(sum, rules);
}

/** No restriction. */
export function newSum(): RuleSum {
  return { index: true, follow: true, archive: true, unavailableAfter: undefined };
}

/** Adds the rule in `part`, the rest of `parts[at]`; returns the index of the last part that belongs to it. */
function addPart(sum: RuleSum, parts: readonly string[], at: number, part: string): number {
  const colon = part.indexOf(':');
  const name = (colon < 0 ? part : part.slice(0, colon)).trim().toLowerCase();
  if (colon >= 0 && name === 'unavailable_after') return addDate(sum, parts, at, part.slice(colon + 1));
  // "max-image-preview:none" must not be read as "none".
  if (WITH_VALUE.has(name)) return at;
  // Some pages forget the comma.
  for (const word of name.split(/[\s;]+/)) addWord(sum, word);
  return at;
}

function addWord(sum: RuleSum, word: string): void {
  if (word === 'noindex' || word === 'none') sum.index = false;
  if (word === 'nofollow' || word === 'none') sum.follow = false;
  if (word === 'noarchive' || word === 'nocache') sum.archive = false;
}

/** A date has commas of its own: it runs to the end, or to a part that begins a rule. */
function addDate(sum: RuleSum, parts: readonly string[], at: number, first: string): number {
  let last = at;
  while (last + 1 < parts.length && !beginsRule(parts[last + 1] as string)) last++;
  const whole = [first, ...parts.slice(at + 1, last + 1)].join(',');
  const time = parseAnyDate(whole.trim()) ?? parseAnyDate(first.trim());
  if (time !== undefined) sum.unavailableAfter = Math.min(time, sum.unavailableAfter ?? time);
  return last;
}

function beginsRule(part: string): boolean {
  const agent = agentBefore(part);
  const rule = agent === undefined ? part : part.slice(part.indexOf(':') + 1);
  const colon = rule.indexOf(':');
  return KNOWN.has((colon < 0 ? rule : rule.slice(0, colon)).trim().toLowerCase());
}

/** The crawler's name that `part` begins with, if it begins with one. */
function agentBefore(part: string): string | undefined {
  const colon = part.indexOf(':');
  if (colon < 0) return undefined;
  const name = part.slice(0, colon).trim();
  return name === '' || KNOWN.has(name.toLowerCase()) ? undefined : name;
}

function isAddressed(name: string, token: string | undefined): boolean {
  const lower = name.toLowerCase();
  return lower === '*' || lower === 'robots' || (token !== undefined && productToken(lower) === token);
}
