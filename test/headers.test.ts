import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  headerLines,
  parseAnyDate,
  parseCacheLifetime,
  parseContentType,
  parseHttpDate,
  parseLinkHeader,
  parseRefresh,
  parseRetryAfter,
  parseW3cDate,
  productToken,
} from '../src/headers.ts';
import { growth } from './helpers/cpu.ts';

const NOW = Date.UTC(2026, 10, 30, 12, 0, 0);
const at = (iso: string) => Date.parse(iso);

describe('parseHttpDate()', () => {
  test.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', '1994-11-06T08:49:37Z', 'the preferred form'],
    ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37Z', 'RFC 850'],
    ['Sun Nov  6 08:49:37 1994', '1994-11-06T08:49:37Z', 'asctime, which is GMT and not local time'],
    ['Monday, 06-Nov-76 08:49:37 GMT', '2076-11-06T08:49:37Z', 'two digits up to 50 years ahead'],
    ['Saturday, 06-Nov-77 08:49:37 GMT', '1977-11-06T08:49:37Z', 'two digits further ahead are of the last century'],
    ['sun, 6 nov 1994 08:49:37 gmt', '1994-11-06T08:49:37Z', 'any case, one digit for the day'],
    ['Tue, 29 Feb 2028 23:59:60 GMT', '2028-03-01T00:00:00Z', 'a leap second'],
    ['Sun, 06 Nov 1994 08:49:37 -0130', '1994-11-06T10:19:37Z', 'another zone'],
    ['Sun, 06 Nov 1994 08:49:37 PST', '1994-11-06T16:49:37Z', 'a named zone'],
  ])('reads %s as %s: %s', (value, iso) => expect(parseHttpDate(value, NOW)).toBe(at(iso)));

  test.each([
    ['120', 'a number is no date'],
    ['Sun, 06 Nov 1994', 'no time'],
    ['Sun, 06 Nov 1994 08:49:37', 'no zone'],
    ['Sun, 06 Nov 1994 08:49:37 XYZ', 'a zone nobody knows'],
    ['Sun, 31 Feb 1994 08:49:37 GMT', 'a day that is in no calendar'],
    ['Sun, 06 Foo 1994 08:49:37 GMT', 'no month'],
    ['Sun, 06 Nov 1994 24:49:37 GMT', 'no hour'],
    ['Sun, 06 Nov 0094 08:49:37 GMT', 'too early'],
    ['1994-11-06T08:49:37Z', 'ISO 8601 is no HTTP date'],
    ['', 'nothing'],
  ])('does not read %j: %s', (value) => expect(parseHttpDate(value, NOW)).toBeUndefined());

  test('reads back what Date writes', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('1000-01-01'), max: new Date('9999-01-01'), noInvalidDate: true }),
        (date) => {
          expect(parseHttpDate(date.toUTCString())).toBe(Math.floor(date.getTime() / 1000) * 1000);
          expect(parseW3cDate(date.toISOString())).toBe(date.getTime());
          expect(parseAnyDate(date.toISOString())).toBe(date.getTime());
        },
      ),
    );
  });
});

describe('parseW3cDate()', () => {
  test.each([
    ['2024', '2024-01-01T00:00:00Z'],
    ['2024-05', '2024-05-01T00:00:00Z'],
    ['2024-05-01', '2024-05-01T00:00:00Z'],
    ['2024-05-01T10:30Z', '2024-05-01T10:30:00Z'],
    ['2024-05-01T10:30:00+02:00', '2024-05-01T08:30:00Z'],
    [' 2024-05-01T10:30:00.25-05:30 ', '2024-05-01T16:00:00.250Z'],
  ])('reads %s as %s', (value, iso) => expect(parseW3cDate(value)).toBe(at(iso)));

  test.each([
    '2024-05-01T10:30',
    '2024-05-01T10:30:00',
    '2024-05-01 10:30Z',
    '2024-02-30',
    '2024-13',
    '24',
    '2024-05-01T25:00Z',
    '2024-05-01T10:30+99:00',
  ])('does not read %s', (value) => expect(parseW3cDate(value)).toBeUndefined());
});

describe('parseAnyDate()', () => {
  test.each([
    ['25 Jun 2027 15:00:00 PST', '2027-06-25T23:00:00Z'],
    ['Friday, 25-Jun-27 15:00:00 EST', '2027-06-25T20:00:00Z'],
    ['Fri, 25 Jun 2027 15:00:00', '2027-06-25T15:00:00Z'],
    ['25 June 2027', '2027-06-25T00:00:00Z'],
    ['2027-06-25', '2027-06-25T00:00:00Z'],
    ['2027-06-25 15:00:00', '2027-06-25T15:00:00Z'],
    ['2027-06-25T15:00:00+0200', '2027-06-25T13:00:00Z'],
    ['2027-06-25T15:00', '2027-06-25T15:00:00Z'],
  ])('reads %s as %s', (value, iso) => expect(parseAnyDate(value, NOW)).toBe(at(iso)));

  test.each(['tomorrow', '', '99', 'x'.repeat(1000)])('does not read %j', (value) =>
    expect(parseAnyDate(value)).toBeUndefined(),
  );
});

describe('parseRetryAfter()', () => {
  test.each<[string | string[] | undefined, number | undefined, string]>([
    ['120', 120_000, 'seconds'],
    [' 120 ', 120_000, 'white space around'],
    ['0', 0, 'now'],
    ['99999', 86_400_000, 'clamped to a day'],
    ['9'.repeat(400), 86_400_000, 'a number beyond all numbers'],
    ['Mon, 30 Nov 2026 12:00:03 GMT', 3000, 'a date'],
    ['Monday, 30-Nov-26 12:00:03 GMT', 3000, 'a date as in RFC 850'],
    ['Mon Nov 30 12:00:03 2026', 3000, 'a date as asctime writes it'],
    ['Mon, 30 Nov 2026 11:59:00 GMT', 0, 'a date past'],
    ['Fri, 01 Jan 2027 00:00:00 GMT', 86_400_000, 'a date too far away'],
    ['-5', undefined, 'negative'],
    ['1.5', undefined, 'a fraction'],
    ['1, 2', undefined, 'a list'],
    ['soon', undefined, 'a word'],
    ['', undefined, 'nothing'],
    [undefined, undefined, 'no header'],
    [['10', 'soon', '20'], 20_000, 'several lines: the longest wait'],
    [[], undefined, 'no lines'],
  ])('gives for %j %j: %s', (value, wait) => expect(parseRetryAfter(value, { now: NOW })).toBe(wait));

  test('counts a date from the Date of the answer, whatever the clock here says', () => {
    const value = 'Mon, 30 Nov 2026 12:00:03 GMT';
    expect(parseRetryAfter(value, { now: NOW + 9e6, date: 'Mon, 30 Nov 2026 12:00:01 GMT' })).toBe(2000);
    expect(parseRetryAfter(value, { now: NOW, date: 'nonsense' })).toBe(3000);
  });
});

describe('parseCacheLifetime()', () => {
  const date = 'Mon, 30 Nov 2026 12:00:00 GMT';
  test.each<[Record<string, string | string[]>, number | undefined, string]>([
    [{}, undefined, 'nothing said'],
    [{ 'cache-control': 'public' }, undefined, 'nothing about time'],
    [{ 'Cache-Control': 'public, Max-Age=60' }, 60_000, 'max-age, any case'],
    [{ 'cache-control': 'max-age="60"' }, 60_000, 'quoted'],
    [{ 'cache-control': ['public', 'max-age=60'] }, 60_000, 'several lines'],
    [{ 'cache-control': 'max-age=0' }, 0, 'stale at once'],
    [{ 'cache-control': 'no-store' }, 0, 'no-store'],
    [{ 'cache-control': 'max-age=60, no-cache' }, 0, 'no-cache wins'],
    [{ 'cache-control': 'no-cache="set-cookie"' }, 0, 'no-cache of a field'],
    [{ 'cache-control': 'max-age=60, max-age=70' }, 0, 'a contradiction is stale'],
    [{ 'cache-control': 'max-age=-1' }, 0, 'a value that cannot be read is stale'],
    [{ 'cache-control': 'max-age=99999999999' }, 2 ** 31 * 1000, 'more than can be counted'],
    [{ 'cache-control': 'ext="max-age=9, no-store", max-age=5' }, 5000, 'a quoted comma separates nothing'],
    [{ 'cache-control': 's-maxage=9' }, undefined, 'for shared caches only'],
    [{ expires: 'Mon, 30 Nov 2026 12:01:00 GMT', date }, 60_000, 'Expires less Date'],
    [{ expires: 'Mon, 30 Nov 2026 12:01:00 GMT' }, 60_000, 'Expires less now'],
    [{ expires: 'Mon, 30 Nov 2026 11:01:00 GMT', date }, 0, 'a past Expires'],
    [{ expires: '0', date }, 0, 'an invalid Expires is past'],
    [{ expires: 'Mon, 30 Nov 2026 12:01:00 GMT', 'cache-control': 'max-age=5' }, 5000, 'max-age before Expires'],
  ])('of %j is %j: %s', (headers, lifetime) => expect(parseCacheLifetime(headers, NOW)).toBe(lifetime));
});

describe('parseContentType()', () => {
  test.each([
    ['text/html', 'text/html', undefined],
    ['Text/HTML; Charset=UTF-8', 'text/html', 'utf-8'],
    ['text/html;charset="utf-8"', 'text/html', 'utf-8'],
    ['text/html;charset="ut\\f-8"', 'text/html', 'utf-8'],
    ["text/html; charset='utf-8'", 'text/html', 'utf-8'],
    ['text/html; a="; charset=x"; charset=y; charset=z', 'text/html', 'y'],
    ['text/html charset=utf-8', 'text/html', 'utf-8'],
    ['text/html;; charset = utf-8 ;', 'text/html', 'utf-8'],
    ['text/html; charset', 'text/html', undefined],
    ['text/html; charset=', 'text/html', undefined],
    ['text/html; charset=utf-8, text/plain', 'text/plain', undefined],
    ['text/html; charset=utf-8, text/html', 'text/html', 'utf-8'],
    ['text/html; charset=utf-8, junk', 'text/html', 'utf-8'],
    ['application/xhtml+xml', 'application/xhtml+xml', undefined],
    ['html', '', undefined],
    ['*/*', '', undefined],
    ['; charset=utf-8', '', undefined],
    ['', '', undefined],
    [undefined, '', undefined],
    [['text/html; charset=a', 'text/html; charset=b'], 'text/html', 'b'],
  ])('reads %j as %j and %j', (value, type, charset) => expect(parseContentType(value)).toEqual({ type, charset }));
});

describe('parseLinkHeader()', () => {
  const link = (url: string, params: Record<string, string>, rel: string[] = []) => ({ url, params, rel });
  test.each([
    [
      '<?p=2>; rel="next", <?p=0>; rel=prev',
      [link('?p=2', { rel: 'next' }, ['next']), link('?p=0', { rel: 'prev' }, ['prev'])],
    ],
    [
      '</a>; title="one, two; <three>"; REL="Next  Last"',
      [link('/a', { title: 'one, two; <three>', rel: 'Next  Last' }, ['next', 'last'])],
    ],
    ['</a,b;c>;rel=x', [link('/a,b;c', { rel: 'x' }, ['x'])]],
    ['</a>; rel=x; rel=y', [link('/a', { rel: 'x' }, ['x'])]],
    ['</a>; title="a \\"b\\" c"', [link('/a', { title: 'a "b" c' })]],
    ['</a>; crossorigin ; rel = x', [link('/a', { crossorigin: '', rel: 'x' }, ['x'])]],
    ['</a> junk ; rel=x, junk, </b>', [link('/a', { rel: 'x' }, ['x']), link('/b', {})]],
    [', ,</a>,, </b>,', [link('/a', {}), link('/b', {})]],
    ['</a>; title="never closed, </b>; rel=x', [link('/a', { title: 'never closed, </b>; rel=x' })]],
    ['</a', []],
    ['/a; rel=x', []],
    ['', []],
    [undefined, []],
    [
      ['</a>', '</b>'],
      [link('/a', {}), link('/b', {})],
    ],
  ])('reads %j', (value, links) => expect(parseLinkHeader(value)).toEqual(links));

  test('keeps a parameter named __proto__ as a parameter', () => {
    const [found] = parseLinkHeader('</a>; __proto__=x; constructor=y; rel=z');
    expect(Object.entries(found?.params ?? {})).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
      ['rel', 'z'],
    ]);
  });
});

describe('parseRefresh()', () => {
  test.each([
    ['0; URL=\n/a', { seconds: 0, url: '/a' }],
    ["0;url='/b'", { seconds: 0, url: '/b' }],
    ['5,url="/c" rest', { seconds: 5, url: '/c' }],
    ['0; /d', { seconds: 0, url: '/d' }],
    ['0 url=/e', { seconds: 0, url: '/e' }],
    ['3', { seconds: 3, url: undefined }],
    ['  3 ; ', { seconds: 3, url: undefined }],
    ['; url=/f', undefined],
    ['url=/f', undefined],
    ['.5; url=/g', { seconds: 0, url: '/g' }],
    ['5.9.1;/h', { seconds: 5, url: '/h' }],
    ['1;url', { seconds: 1, url: 'url' }],
    ['1;url /x', { seconds: 1, url: 'url /x' }],
    ['1;upper', { seconds: 1, url: 'upper' }],
    ['1;"/i', { seconds: 1, url: '/i' }],
    ['1; uRl = "/j"', { seconds: 1, url: '/j' }],
    ['1;url=', { seconds: 1, url: undefined }],
    ['5x; url=/k', undefined],
    ['-1; url=/k', undefined],
    ['', undefined],
  ])('reads %j as %j', (value, expected) => expect(parseRefresh(value)).toEqual(expected));
});

describe('headerLines()', () => {
  test('finds a name in any case, and never joins lines', () => {
    expect(headerLines({ 'X-Robots-Tag': ['a, b', 'c'], 'x-robots-tag': 'd' }, 'x-ROBOTS-tag')).toEqual([
      'a, b',
      'c',
      'd',
    ]);
    expect(headerLines({ link: undefined, other: 'x' }, 'link')).toEqual([]);
  });
});

describe('productToken()', () => {
  test.each([
    ['MossBot', 'MossBot'],
    ['MossBot/1.4 (+https://bots.example.org/moss)', 'MossBot'],
    ['Mozilla/5.0 (compatible; OurBot/1.2; +http://info.example.test/)', 'OurBot'],
    [
      'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Our-Bot/2.0; +http://a.example.test/) Chrome/103.0 Safari/537.36',
      'Our-Bot',
    ],
    ['Mozilla/5.0 (X11; Linux x86_64) Chrome/103.0 Safari/537.36 Our_Bot/1.0 (+mailto:a@example.test)', 'Our_Bot'],
    ['Foo Bar', 'Foo'],
    ['Foo2/1', 'Foo'],
    ['Mozilla/4.0 (compatible; MSIE 7.0)', undefined],
    ['Mozilla/5.0', undefined],
    ['/1.0', undefined],
    ['', undefined],
  ])('of %j is %j', (header, token) => expect(productToken(header)).toBe(token));
});

describe('every reader', () => {
  const readers: [string, (text: string) => unknown][] = [
    ['parseHttpDate', (text) => parseHttpDate(text)],
    ['parseW3cDate', parseW3cDate],
    ['parseAnyDate', (text) => parseAnyDate(text)],
    ['parseRetryAfter', (text) => parseRetryAfter([text, text], { now: 0, date: text })],
    [
      'parseCacheLifetime',
      (text) => parseCacheLifetime({ 'cache-control': text, expires: [text, text], date: text }, 0),
    ],
    ['parseContentType', parseContentType],
    ['parseLinkHeader', parseLinkHeader],
    ['parseRefresh', parseRefresh],
    ['productToken', productToken],
  ];
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .array(
        fc.constantFrom(
          '<',
          '>',
          ';',
          ',',
          '=',
          '"',
          '\\',
          ' ',
          'rel',
          'charset',
          'a/b',
          '1',
          'url',
          'max-age',
          '(',
          ')',
          'compatible;',
        ),
      )
      .map((parts) => parts.join('')),
  );

  test.each(readers)('%s never throws', (_, read) => {
    fc.assert(
      fc.property(text, (value) => void read(value)),
      { numRuns: 500 },
    );
    expect(() => read(undefined as unknown as string)).not.toThrow();
  });

  test.each(readers)('%s takes time in proportion to the length', (_, read) => {
    for (const piece of ['<a>;x="', 'a/b;charset=,', ' ', '1', '\\"', ';', ',<', 'max-age=1,', '(', 'x/1 ']) {
      expect(
        growth(piece, (text) => void read(text)),
        piece,
      ).toBeLessThan(8);
    }
  });
});
