import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { parse } from 'parse5';
import { describe, expect, test } from 'vitest';
import { applyDirectives, robotsDirectives } from '../src/directives.ts';
import { growth } from './helpers/cpu.ts';

interface Case {
  id: string;
  headers: Record<string, string | string[]>;
  html: string;
  agent: string;
  expected: { index: boolean; follow: boolean; archive: boolean };
  why: string;
}
const cases: Case[] = JSON.parse(readFileSync(new URL('corpus/metarobots.json', import.meta.url), 'utf8'));

const AGENT = 'Mozilla/5.0 (compatible; MossBot/1.2; +https://bots.example.test/)';
const FREE = { index: true, follow: true, archive: true };
const NOINDEX = { ...FREE, index: false };
const NONE = { ...FREE, index: false, follow: false };

const ofHtml = (html: string) => robotsDirectives({ html }, AGENT);
const ofLines = (...lines: string[]) => robotsDirectives({ headers: { 'X-Robots-Tag': lines } }, AGENT);

describe('robotsDirectives()', () => {
  test.each(cases)('$id: $why', ({ headers, html, agent, expected }) => {
    expect(robotsDirectives({ headers, html }, agent)).toEqual(expected);
    expect(robotsDirectives({ headers, html }, `${agent}/1.0 (+mailto:ada@example.test)`)).toEqual(expected);
  });

  test('finds nothing forbidden where there is nothing', () => expect(robotsDirectives({}, AGENT)).toEqual(FREE));

  test.each([
    ['<meta content=noindex name=robots>', NOINDEX, 'any order, no quotation marks'],
    ["<meta name='robots' content='noindex'/>", NOINDEX, 'apostrophes, closed by itself'],
    ['<meta name=robots/content=noindex>', FREE, 'a slash in an unquoted value is part of it'],
    ['<meta name="&#114;obots" content="no&#x69;ndex">', NOINDEX, 'character references in values'],
    ['<meta name=robots name=x content=noindex content=all>', NOINDEX, 'of a repeated attribute the first counts'],
    ['<meta name=x name=robots content=noindex>', FREE, 'and not the second'],
    ['<meta name=robots content="noindex nofollow">', NONE, 'the commas forgotten'],
    ['<meta name=robots content="noindex; nofollow">', NONE, 'semicolons in their place'],
    ['<meta name=robots>', FREE, 'no content'],
    ['<meta name=robots content="max-snippet: 0, max-image-preview : none">', FREE, 'values are no rules'],
    ['<meta name=robots content="nocache">', { ...FREE, archive: false }, 'another word for noarchive'],
    ['<meta property=robots content=noindex>', FREE, 'another attribute'],
    ['<meta name=robots content=noindex', FREE, 'a tag that never ends is none'],
    ['<!--><meta name=robots content=noindex>', NOINDEX, 'a comment that ends at once'],
    ['<!-- --!><meta name=robots content=noindex>', NOINDEX, 'a comment that ends oddly'],
    ['<!-- <meta name=robots content=noindex>', FREE, 'a comment that never ends'],
    ['<script>"<meta name=robots content=noindex>"</script>', FREE, 'a script'],
    ['<style><meta name=robots content=noindex></style>', FREE, 'a style'],
    ['<title><meta name=robots content=noindex></title>', FREE, 'a title'],
    ['<textarea><meta name=robots content=noindex></textarea>', FREE, 'a text area'],
    ['<iframe><meta name=robots content=noindex></iframe>', FREE, 'an iframe'],
    ['<noscript><meta name=robots content=noindex></noscript>', NOINDEX, 'noscript is markup without scripting'],
    ['<template><template></template><meta name=robots content=noindex></template>', FREE, 'a template'],
    ['<template></template><meta name=robots content=noindex>', NOINDEX, 'behind a template'],
    ['<p title="<meta name=robots content=noindex>">', FREE, 'an attribute'],
    ['<svg><title/><style/></svg><meta name=robots content=noindex>', NOINDEX, 'behind a drawing'],
    ['<svg><p><title></title><meta name=robots content=noindex>', NOINDEX, 'behind a drawing that never ends'],
    ['</template><meta name=robots content=noindex>', NOINDEX, 'behind an end tag without a beginning'],
  ])('of %s gives %j: %s', (html, expected) => expect(ofHtml(html)).toEqual(expected));

  test.each<[string[], object, string]>([
    [['otherbot: noindex, nofollow', 'noarchive'], { ...FREE, archive: false }, 'a name holds for its line only'],
    [['otherbot: noindex, mossbot: nofollow'], { ...FREE, follow: false }, 'or until the next name'],
    [['mossbot: none', 'otherbot: noarchive'], NONE, 'our own name, in any case'],
    [['MossBot/2.0: noindex'], NOINDEX, 'our own name with a version'],
    [['MossBotNews: noindex'], FREE, 'a longer name is not ours'],
    [['Moss: noindex'], FREE, 'nor is a shorter one'],
    [['*: noindex', 'robots: nofollow'], NONE, 'everybody'],
    [['max-image-preview:none, max-snippet: -1, max-video-preview:0'], FREE, 'directives with values are no names'],
    [['noindex, unknown, nofollow'], NONE, 'unknown words are passed over'],
    [['NoIndex,,NONE ,'], NONE, 'any case, empty parts'],
    [['noindex: nofollow'], NOINDEX, 'a directive is no name either'],
  ])('of X-Robots-Tag %j gives %j: %s', (lines, expected) => expect(ofLines(...lines)).toEqual(expected));

  test.each<[string, string | undefined, object, string]>([
    ['unavailable_after: Fri, 25 Jun 2027 15:00:00 GMT', '2027-06-25T15:00:00Z', FREE, 'a date with a comma'],
    [
      'unavailable_after: Fri, 25 Jun 2027 15:00:00 GMT, noindex',
      '2027-06-25T15:00:00Z',
      NOINDEX,
      'and a rule behind it',
    ],
    [
      'nofollow, Unavailable_After:25 Jun 2027 15:00:00 PST',
      '2027-06-25T23:00:00Z',
      { ...FREE, follow: false },
      'RFC 822',
    ],
    ['unavailable_after: Friday, 25-Jun-27 15:00:00 GMT', '2027-06-25T15:00:00Z', FREE, 'RFC 850'],
    ['unavailable_after: 2027-06-25T15:00:00+02:00', '2027-06-25T13:00:00Z', FREE, 'ISO 8601'],
    ['unavailable_after: 2027-06-25, what, noindex', '2027-06-25T00:00:00Z', NOINDEX, 'junk behind the date'],
    [
      'unavailable_after: Fri, 25 Jun 2027 15:00:00 GMT, otherbot: noindex',
      '2027-06-25T15:00:00Z',
      FREE,
      'a name behind it',
    ],
    [
      'unavailable_after: 2027-06-25, unavailable_after: 2026-06-25',
      '2026-06-25T00:00:00Z',
      FREE,
      'the earlier of two',
    ],
    ['unavailable_after: someday, noindex', undefined, NOINDEX, 'no date: only this directive is ignored'],
    ['otherbot: unavailable_after: 2027-06-25', undefined, FREE, 'for another crawler'],
    ['mossbot: unavailable_after: Fri, 25 Jun 2027 15:00:00 GMT', '2027-06-25T15:00:00Z', FREE, 'for this one'],
  ])('of %s takes the date %s: %s', (line, iso, rest) => {
    const expected = iso === undefined ? rest : { ...rest, unavailableAfter: new Date(iso) };
    expect(ofLines(line)).toEqual(expected);
    if (!line.includes('bot:')) expect(ofHtml(`<meta name="robots" content="${line}">`)).toEqual(expected);
  });

  test.each<[string, object, string]>([
    ['*=noindex, nosnippet; ExampleBot=', NOINDEX, 'for all'],
    ['*=noindex; MossBot=', FREE, 'a name takes its own rules, as in robots.txt'],
    ['MossBot=noindex; *=', NOINDEX, 'in any order'],
    ['noindex', NOINDEX, 'without a name: for all'],
    ['=noindex', NOINDEX, 'an empty name: for all'],
    ['ExampleBot=noindex, nosnippet', FREE, 'for another'],
  ])('of Robots-Tag %s gives %j: %s', (value, expected) =>
    expect(robotsDirectives({ headers: { 'robots-tag': value } }, AGENT)).toEqual(expected),
  );

  test.each(['Mozilla/5.0', ''])('takes only what is for all where the crawler has no token: %j', (agent) => {
    const headers = { 'x-robots-tag': ['noarchive', 'mozilla: noindex'] };
    expect(robotsDirectives({ headers, html: '<meta name="" content=nofollow>' }, agent)).toEqual({
      ...FREE,
      archive: false,
    });
  });

  test.each([
    [`</b title="<meta name=robots content=noindex>">`, true],
    [`</b title='>'><meta name=robots content=noindex>`, false],
    [`</b title=">`, true],
    [`</b ="><meta name=robots content=noindex>`, false],
    [`</b x = y"><meta name=robots content=noindex>`, false],
  ])('reads attributes of end tags as browsers do: %s', (html, index) => {
    expect(ofHtml(html).index).toBe(index);
  });

  test('sees the metas that a browser without scripting sees', () => {
    const piece = fc.constantFrom(
      '<meta name=robots content=noindex>',
      '<meta name="robots" content="nofollow"/>',
      '<META CONTENT=noarchive NAME=ROBOTS>',
      ...[
        '<title>',
        '</title>',
        '<script>',
        '</script>',
        '<textarea>',
        '</textarea>',
        '<style>',
        '</style>',
        '<noscript>',
      ],
      ...[
        '</noscript>',
        '<template>',
        '</template>',
        '<!--',
        '-->',
        '--!>',
        '<p>',
        '</p>',
        '<b title="',
        '">',
        "'",
        '<',
        '>',
      ],
      ...['x', ' ', '<a href=x>', '<?pi>', '<!doctype html>', '</', '<!x>', '<div>', '</div>'],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const html = `<!doctype html><body>${pieces.join('')}`;
        const meta: { name: string; content: string }[] = [];
        collect(parse(html, { scriptingEnabled: false }) as Node, meta);
        expect(robotsDirectives({ html }, AGENT)).toEqual(applyDirectives({ meta, headers: {} }, AGENT));
      }),
      { numRuns: 3000 },
    );
  });

  test('never throws', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .array(
          fc.constantFrom(
            '<meta ',
            'name=robots ',
            'content="',
            'unavailable_after:',
            ',',
            ':',
            ';',
            '=',
            '"',
            '>',
            '&#x110000;',
          ),
        )
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, text, text, (html, line, agent) => {
        robotsDirectives({ html, headers: { 'x-robots-tag': [line, html], 'robots-tag': line } }, agent);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    '<meta name=robots content="noindex, ',
    '<b>',
    '<!--',
    '<template>',
    '</svg><svg>',
    '&amp',
    '<script>',
    'a=b ',
    '</b x=">">',
    '</b x=" ',
  ])('takes time in proportion to the length of many %s', (piece) =>
    expect(growth(piece, (html) => void ofHtml(html))).toBeLessThan(8),
  );

  test.each(['unavailable_after: 1,', 'otherbot: noindex,', ':', 'x,', 'a=b;', ' '])(
    'takes time in proportion to the length of a header of many %s',
    (piece) =>
      expect(
        growth(
          piece,
          (line) => void robotsDirectives({ headers: { 'x-robots-tag': line, 'robots-tag': line } }, AGENT),
        ),
      ).toBeLessThan(8),
  );
});

interface Node {
  nodeName: string;
  attrs?: { name: string; value: string }[];
  childNodes?: Node[];
}

/** The named metas of a tree, template contents left out. */
function collect(node: Node, into: { name: string; content: string }[]): void {
  const value = (name: string) => node.attrs?.find((attribute) => attribute.name === name)?.value;
  const name = value('name');
  if (node.nodeName === 'meta' && name !== undefined) into.push({ name, content: value('content') ?? '' });
  for (const child of node.childNodes ?? []) collect(child, into);
}
