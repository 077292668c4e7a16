import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalForm, canonicalizeUrl, hostOf, resolveUrl } from '../src/url.ts';
import { growth } from './helpers/cpu.ts';

interface Case {
  id: string;
  input: string;
  base?: string;
  options: { stripTracking?: boolean; sortQuery?: boolean };
  expected: string | null;
  why: string;
}
const cases: Case[] = JSON.parse(readFileSync(new URL('corpus/urls.json', import.meta.url), 'utf8'));

const OPTIONS = [undefined, {}, { stripTracking: true }, { sortQuery: true }, { stripTracking: true, sortQuery: true }];

describe('canonicalizeUrl()', () => {
  test.each(cases)('$id: $why', ({ input, base, options, expected }) => {
    expect(canonicalizeUrl(input, base, options)).toBe(expected);
    if (base !== undefined) expect(canonicalizeUrl(input, new URL(base), options)).toBe(expected);
    if (expected !== null) expect(canonicalizeUrl(expected, undefined, options)).toBe(expected);
  });

  test.each(['/a%23b', '/a%25b', '/a%2Fb', '/a%3Fb', '/s?q=1%2B2+3', '/s?q=a%26b=c', '/%zz', '/x?', '/x'])(
    'leaves %s as it is: it would name another resource',
    (path) => expect(canonicalizeUrl(`http://a.example.test${path}`)).toBe(`http://a.example.test${path}`),
  );

  test('gives the tilde and its escape one form', () => {
    expect(canonicalizeUrl('http://a.example.test/%7Eu')).toBe(canonicalizeUrl('http://a.example.test/~u'));
    expect(canonicalizeUrl('http://a.example.test/%7eu')).toBe('http://a.example.test/~u');
  });

  test.each([
    ['http://A.EXAMPLE.test/x'],
    ['http://a.exampl%65.test/x'],
    ['http://a.example.test:80/x'],
    ['http://a.example.test./x'],
    ['http://a.example.test.:80/x'],
    ['http://ada:secret@a.example.test/x'],
    ['http://ada@a.example.test/x#@/'],
    ['http://a.example.test/x#d'],
  ])('knows %s as a spelling of http://a.example.test/x', (spelling) =>
    expect(canonicalizeUrl(spelling)).toBe('http://a.example.test/x'),
  );

  test.each([
    ['http://a.example.test.:8080/x', 'http://a.example.test:8080/x', 'the dot before a port goes'],
    ['http://a.example.test../x', 'http://a.example.test../x', 'an empty label makes another, invalid name'],
    ['http://./x', 'http://./x', 'the root alone is all there is'],
    ['http://[::1]:8080/a.', 'http://[::1]:8080/a.', 'an IPv6 address has no final dot'],
    ['http://127.1./x', 'http://127.0.0.1/x', 'an IPv4 address loses it in parsing'],
    ['http://a.example.test/x@y.', 'http://a.example.test/x@y.', 'an @ in a path is path'],
    ['http://a.example.test/?u=x@y.', 'http://a.example.test/?u=x@y.', 'an @ in a query is query'],
  ])('turns %s into %s: %s', (input, expected) => expect(canonicalizeUrl(input)).toBe(expected));

  test.each([
    ['/%%34%31', '/%%341'],
    ['/%4%31', '/%4%31'],
    ['/%%41', '/%%41'],
    ['/%%47%31', '/%G1'],
    ['/a%2541', '/a%2541'],
  ])('turns %s into %s, making no new escape', (path, expected) => {
    expect(canonicalizeUrl(`http://a.example.test${path}`)).toBe(`http://a.example.test${expected}`);
    expect(canonicalizeUrl(`http://a.example.test${expected}`)).toBe(`http://a.example.test${expected}`);
  });

  test.each([
    ['/p;JSESSIONID=1;v=2/q;jsessionid=3?x', '/p;v=2/q?x', 'in every segment, other parameters stay'],
    ['/p;v=2;jsessionid=1', '/p;v=2', 'also behind another one'],
    ['/..;jsessionid=1/x', '/..;jsessionid=1/x', 'not where a dot segment would be left'],
    ['/p;jsessionidx=1;xjsessionid=2', '/p;jsessionidx=1;xjsessionid=2', 'whole names only'],
    ['/p?%75tm_source=1&a', '/p?a', 'an escaped name is that name'],
    ['/p?utm_source=1&', '/p', 'nothing is left but a separator'],
    ['/p?', '/p?', 'nothing was stripped'],
    ['/p?a&&b', '/p?a&&b', 'empty parts stay'],
  ])('with stripTracking turns %s into %s: %s', (path, expected) =>
    expect(canonicalizeUrl(`http://a.example.test${path}`, undefined, { stripTracking: true })).toBe(
      `http://a.example.test${expected}`,
    ),
  );

  test('never throws, and gives a fixed point', () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom(
          '%',
          '%4',
          '%41',
          '%2f',
          '%7e',
          '%%34',
          '/',
          '..',
          '.',
          ';jsessionid=',
          '?',
          '&',
          '=',
          '#',
          '@',
        ),
        fc.constantFrom('utm_a', 'sid', ':', ':80', '[', '\\', ' ', '\n', '\u3002', 'é', '\ud800'),
        fc.string({ maxLength: 4 }),
      ),
    );
    const input = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      pieces.map((parts) => `http://a.example.test/${parts.join('')}`),
      pieces.map((parts) => `https://${parts.join('')}`),
    );
    fc.assert(
      fc.property(input, fc.constantFrom(...OPTIONS), (url, options) => {
        const once = canonicalizeUrl(url, undefined, options);
        if (once === null) return;
        expect(canonicalizeUrl(once, undefined, options)).toBe(once);
        expect(resolveUrl(once)).toBe(once);
      }),
      { numRuns: 3000 },
    );
  });

  test('gives null for what is no string, without throwing', () => {
    for (const value of [undefined, null, 7, Symbol('x'), {}, Object.create(null)]) {
      expect(canonicalizeUrl(value as string)).toBeNull();
      expect(resolveUrl('/x', value as string)).toBeNull();
    }
  });

  test('takes time in proportion to the length', () => {
    for (const piece of ['%41%', ';jsessionid=1/', '../', '?', '&utm_a=1&b']) {
      const work = (text: string) =>
        void canonicalizeUrl(`http://a.example.test/${text}?${text}`, undefined, {
          stripTracking: true,
          sortQuery: true,
        });
      expect(growth(piece, work), piece).toBeLessThan(8);
    }
  });
});

describe('resolveUrl()', () => {
  test('resolves like the WHATWG parser, less fragment and userinfo', () => {
    const reference = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      fc.stringMatching(/^[a-z./?#@:%\\;&= ]*$/),
      fc.constantFrom('//cdn.example.test/x', '?q', '#f', '', 'https:rel', 'HTTP:/x', '//u:p@h/', 'mailto:a@b'),
    );
    const base = fc.constantFrom('https://u:p@a.example.test/d/e?f#g', 'http://b.example.test./', 'data:x', 'nonsense');
    fc.assert(
      fc.property(reference, base, (input, from) => {
        let expected: string | null = null;
        if (URL.canParse(input, from)) {
          const url = new URL(input, from);
          url.hash = '';
          url.username = '';
          url.password = '';
          if (/^https?:$/.test(url.protocol)) expected = url.href;
        }
        expect(resolveUrl(input, from)).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });

  test('leaves escapes, the final dot and an empty query as they were written', () => {
    expect(resolveUrl('HTTP://U:P@A.example.test.:80/%7e/%c3?#x')).toBe('http://a.example.test./%7e/%c3?');
  });
});

describe('hostOf()', () => {
  test.each([
    ['http://a.example.test./x', 'a.example.test'],
    ['https://a.example.test.:8443/x', 'a.example.test'],
    ['https://a.example.test:8443/x:1/', 'a.example.test'],
    ['http://[::1]:8080/', '[::1]'],
    ['http://[::1]/', '[::1]'],
    ['http://10.0.0.1/', '10.0.0.1'],
  ])('of %s is %s', (url, host) => expect(hostOf(url)).toBe(host));

  test('agrees with the WHATWG parser on any URL', () => {
    fc.assert(
      fc.property(fc.webUrl({ validSchemes: ['http', 'https'], authoritySettings: { withPort: true } }), (input) => {
        const url = resolveUrl(input);
        if (url !== null) expect(hostOf(url)).toBe(new URL(url).hostname.replace(/\.$/, ''));
      }),
    );
  });
});

test('canonicalForm() of a resolved URL is the canonical form of that URL', () => {
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true }), fc.constantFrom(...OPTIONS), (input, options) => {
      const url = resolveUrl(input);
      if (url !== null) expect(canonicalForm(url, options)).toBe(canonicalizeUrl(input, undefined, options));
    }),
  );
});
