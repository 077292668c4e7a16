import { expect, test } from 'vitest';
import { LinkExtractor } from '../src/link-extractor/index.ts';
import { KNOWN_NAMES } from '../src/link-extractor/tree/elements.ts';
import { cpuTime } from './helpers/cpu.ts';

/** Leads the scan to the tree builder. */
const TREE = '<template><col></template>';
const SIZE = 60_000;
const GROWTH = 6;

const repeated = (text: string) => (length: number) => text.repeat(Math.ceil(length / text.length));
const numbered = (make: (n: number) => string) => (length: number) => {
  let text = '';
  for (let n = 0; text.length < length; n++) text += make(n);
  return text;
};
const within =
  (before: string, middle: (length: number) => string, after = '') =>
  (length: number) =>
    before + middle(length) + after;

const HOSTILE: Record<string, (length: number) => string> = {
  'nested elements': repeated('<b>'),
  'nested elements, for the tree builder': within(TREE, repeated('<div>')),
  'formatting elements that all differ': within(
    TREE,
    numbered((n) => `<b id=${n}><p>`),
  ),
  'links that are never closed': within(
    TREE,
    numbered((n) => `<a href=/${n}>`),
  ),
  links: numbered((n) => `<a href=/${n}>t</a>`),
  'misnested links': within(TREE, (length) => '<a><div>'.repeat(length / 20) + '</a>'.repeat(length / 10)),
  'end tags of nothing': within(TREE, (length) => '<div>'.repeat(length / 10) + '</y>'.repeat(length / 8)),
  'end tags of nothing in SVG': within('<svg>', (length) => '<g>'.repeat(length / 6) + '</y>'.repeat(length / 8)),
  'paragraphs out of scope': within(
    `${TREE}<p><table><td>`,
    (length) => '<div>'.repeat(length / 10) + '</p>'.repeat(length / 8),
  ),
  items: within(TREE, repeated('<dl><dd><div>')),
  'tables in cells': within(TREE, repeated('<table><tr><td>')),
  templates: repeated('<template>'),
  'lists of options': within(TREE, repeated('<select><option>')),
  'SVG left and entered': repeated('<svg><p>'),
  'element names that all differ': within(
    TREE,
    numbered((n) => `<x${n}>`),
  ),
  'one long attribute': within('<a href="', repeated('x'), '">'),
  'one open attribute': within('<a href="', repeated('x')),
  'attributes that all differ': within(
    `${TREE}<b `,
    numbered((n) => `b${n}=c `),
    '>',
  ),
  'signs that might be attributes': within('<a ', repeated('=/'), '>'),
  'tags that do not end': repeated('<a href="'),
  comments: repeated('<!--x--!>'),
  'comments that do not end': repeated('<!--'),
  'scripts within scripts': repeated('<script><!--<script>'),
  'comments in a script': within('<script>', repeated('<!-- -->'), '</script>'),
  NUL: repeated('\0'),
  'NUL in tags': repeated('<\0a\0>'),
  'text with no end': repeated('<'),
  'references to characters': within('<a href="', repeated('&'), '">'),
  'dot segments': within('<a href="', repeated('../'), '">'),
  'candidates of images': within('<img srcset="', repeated('a 1x,'), '">'),
  'descriptors of images': within('<img srcset="a ', repeated('1x ('), '">'),
  'a style sheet': within('<style>', repeated('url(')),
  'strings in a style sheet': within('<style>', repeated('"\n')),
  'style attributes': repeated('<p style="background:url(x)">'),
  'documents in attributes': repeated('<iframe srcdoc="<a href=x>"></iframe>'),
  'canonical links': numbered((n) => `<link rel=canonical href=${n}>`),
  relations: within(
    '<a href=x rel="',
    numbered((n) => `${n},`),
    '">',
  ),
  'text of a link': within('<a href=x>', repeated('a  b')),
};

test('no element takes longer deep down than elsewhere', { timeout: 120_000 }, () => {
  const extractor = new LinkExtractor();
  const scan = (html: string): void => void extractor.scan({ url: 'http://a.example.test/', html });
  const isSlow = (outer: string, unit: string): boolean => {
    const [deep, units] = [outer.repeat(8000), repeated(unit)(20_000)];
    const before = process.cpuUsage();
    scan(TREE + deep + units);
    const { user, system } = process.cpuUsage(before);
    // Most are quick, which shows at once.
    if (user + system < 24_000) return false;
    return (
      cpuTime(() => scan(TREE + deep + units)) >
      Math.max(
        cpuTime(() => scan(TREE + units + deep)),
        4000,
      ) *
        6
    );
  };
  const slow: string[] = [];
  for (const name of KNOWN_NAMES) {
    const units = [`<${name}>`, `<${name}></${name}>`, `<table><${name}></table>`, `<select><${name}></select>`];
    for (const unit of units) if (isSlow('<div>', unit)) slow.push(unit);
    if (isSlow('<svg>', `<${name}></${name}>`)) slow.push(`<svg> ${name}`);
  }
  expect(slow).toEqual([]);
});

test.each(Object.keys(HOSTILE))('time grows no faster than the text: %s', { retry: 2 }, (name) => {
  const make = HOSTILE[name] as (length: number) => string;
  const extractor = new LinkExtractor({ profile: 'exhaustive', maxLinks: Number.POSITIVE_INFINITY });
  const cost = (length: number): number => {
    const html = make(length);
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 2; round++) {
      const before = process.cpuUsage();
      extractor.scan({ url: 'http://a.example.test/a/b', html });
      const { user, system } = process.cpuUsage(before);
      best = Math.min(best, user + system);
    }
    return best;
  };
  cost(SIZE);
  // What grows with the square would take 36 times as long. Below 2 ms nothing can be told.
  expect(cost(SIZE * GROWTH) / Math.max(cost(SIZE), 2000)).toBeLessThan(GROWTH * 2.5);
});
