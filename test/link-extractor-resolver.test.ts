import fc from 'fast-check';
import { expect, test } from 'vitest';
import { documentBase, Resolver } from '../src/link-extractor/resolver.ts';
import { resolveUrl } from '../src/url.ts';

const BASES = [
  'http://a.example.test/dir/sub/page.html?x=1#f',
  'https://a.example.test',
  'http://u:p@a.example.test:8080/a//b/',
  'http://a.example.test/a/b;c/d?e/f/../g',
  'http://[::1]/x/y',
  'mailto:someone',
  'file:///a/b',
];
const PIECES = [
  ...[
    '/',
    '//',
    '..',
    '.',
    '../',
    './',
    '?',
    '#',
    ':',
    'http://',
    'https://',
    'http:/',
    'HTTP://',
    'mailto:',
    '\\',
    '%',
    '%2e',
    '%2E',
    '%20',
  ],
  ...[
    'a',
    'b.html',
    'A-Z_~',
    'x=1',
    '&',
    ' ',
    '\t',
    '\n',
    '\u00e9',
    '\0',
    '"',
    "'",
    '<',
    '>',
    '^',
    '`',
    '{',
    '|',
    '}',
    '@',
    '$!*(),;+',
  ],
  ...[
    'a.example.test',
    'xn--a',
    '1.2',
    '0x1',
    'localhost',
    'EXAMPLE.test',
    'a--b.test',
    'a..b',
    '.test',
    ':80',
    ':443',
    '[::1]',
  ],
];

test('gives what the URL parser gives, put together or parsed', () => {
  const reference = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(fc.constantFrom(...BASES), fc.oneof(reference, fc.string(), fc.webUrl()), (base, text) => {
      expect(new Resolver(base).resolve(text)).toBe(resolveUrl(text, base));
    }),
    { numRuns: Number(process.env.FUZZ_REFERENCES ?? 5000) },
  );
});

test('without a base only absolute references lead anywhere', () => {
  for (const base of [undefined, 'nonsense']) {
    expect(new Resolver(base).resolve('/x')).toBe(null);
    expect(new Resolver(base).resolve('')).toBe(null);
    expect(new Resolver(base).resolve('http://a.example.test/x')).toBe('http://a.example.test/x');
  }
});

test('a base that cannot be one leaves the URL of the document', () => {
  const page = 'http://a.example.test/p';
  for (const href of ['data:,x', 'JavaScript:1', 'http://[']) expect(documentBase(href, page)).toBe(page);
  expect(documentBase('x/', page)).toBe('http://a.example.test/x/');
  const longest = `/${'x'.repeat(4095)}`;
  expect(documentBase(longest, page)).toBe(`http://a.example.test${longest}`);
  expect(documentBase(`${longest}x`, page)).toBe(page);
  expect(documentBase('x/', undefined)).toBe(undefined);
  expect(documentBase(undefined, page)).toBe(page);
});

test('leaves what needs the parser alone behind 100,000 references that are no URL', () => {
  const resolver = new Resolver('http://a.example.test/');
  const beyondAscii = 'http://a.example.test/%C3%A9';
  for (let n = 1; n < 100_000; n++) resolver.resolve(`//h${n}:999999/`);
  expect(resolver.resolve('/é')).toBe(beyondAscii);
  expect(resolver.resolve('//last:999999/')).toBeNull();
  expect([resolver.resolve('/é'), resolver.resolve('/plain'), resolver.resolve('')]).toEqual([
    null,
    'http://a.example.test/plain',
    'http://a.example.test/',
  ]);
});
