import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeText, encodingOf } from '../src/text.ts';
import { LABELS } from './helpers/encoding-labels.ts';

const HTML = 'text/html';
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

const RUSSIAN = [0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2];
const CHINESE_GBK = [0xd6, 0xd0, 0xce, 0xc4];

describe('decodeText()', () => {
  test('takes a byte order mark before the header (a)', () => {
    expect(decodeText(bytes([0xef, 0xbb, 0xbf], 'Привет'), 'text/html; charset=windows-1251')).toEqual({
      text: 'Привет',
      encoding: 'utf-8',
    });
  });

  test('finds a meta whose attributes are the other way round (b)', () => {
    const page = bytes('<meta content="text/html; charset=gbk" http-equiv="Content-Type"><title>', CHINESE_GBK);
    expect(decodeText(page, HTML)).toMatchObject({ encoding: 'gbk', text: expect.stringMatching(/中文$/) });
  });

  test('takes undeclared bytes for UTF-8 where they are valid as such (c), else for windows-1252', () => {
    expect(decodeText(bytes('<p>déjà vu'), HTML)).toEqual({ text: '<p>déjà vu', encoding: 'utf-8' });
    expect(decodeText(bytes('<p>', [0xe9, 0x20, 0x80, 0x99]), HTML)).toEqual({
      text: '<p>é €™',
      encoding: 'windows-1252',
    });
    expect(decodeText(bytes('plain'), undefined)).toEqual({ text: 'plain', encoding: 'utf-8' });
    expect(decodeText(new Uint8Array(), HTML)).toEqual({ text: '', encoding: 'utf-8' });
  });

  test('takes the header before the meta (d)', () => {
    const page = bytes('<meta charset="windows-1251"><p>Привет');
    expect(decodeText(page, 'text/html; charset=utf-8')).toMatchObject({
      encoding: 'utf-8',
      text: expect.stringMatching(/Привет$/),
    });
  });

  test.each([
    'text/html; charset="utf-8"',
    'text/html; charset=utf8;',
    "text/html; charset='utf-8'",
    'text/html;charset= UTF-8 ',
    'text/html; CHARSET=Utf-8; x=y',
    'text/html; x="charset=koi8-r"; charset=utf-8',
  ])('reads the label out of "%s" (e)', (contentType) => {
    expect(decodeText(bytes('é <meta charset=koi8-r>'), contentType)).toMatchObject({
      encoding: 'utf-8',
      text: expect.stringMatching(/^é/),
    });
  });

  test('passes over labels nobody knows, and says which was first', () => {
    expect(decodeText(bytes('<p>é'), 'text/html; charset=ISO-88509-1')).toEqual({
      text: '<p>é',
      encoding: 'utf-8',
      unknownLabel: 'iso-88509-1',
    });
    expect(decodeText(bytes('<meta charset="x-nope"><p>é'), HTML)).toMatchObject({
      encoding: 'utf-8',
      unknownLabel: 'x-nope',
    });
    expect(decodeText(bytes('<meta charset=windows-1251>', RUSSIAN), 'text/html; charset=nope')).toMatchObject({
      encoding: 'windows-1251',
      text: expect.stringMatching(/Привет$/),
      unknownLabel: 'nope',
    });
    expect(decodeText(bytes('<meta charset=nope><meta charset=windows-1251>', RUSSIAN), HTML).encoding).toBe(
      'windows-1251',
    );
  });

  test.each([
    ['<meta charset=koi8-r>', 'koi8-r'],
    ['<META  CHARSET = "KOI8-R" >', 'koi8-r'],
    ["<meta/charset='koi8-r'/>", 'koi8-r'],
    ['<meta http-equiv=content-type content="text/html;charset=koi8-r">', 'koi8-r'],
    ['<meta http-equiv="Content-Type" content="text/html; charset = \'koi8-r\'">', 'koi8-r'],
    ['<meta http-equiv="Content-Type" content="charset charset=koi8-r;x">', 'koi8-r'],
    ['<meta content="charset=koi8-r">', undefined],
    ['<meta http-equiv=refresh content="charset=koi8-r">', undefined],
    ['<meta http-equiv="Content-Type" content="text/html; charset=\'koi8-r">', undefined],
    ['<metacharset=koi8-r>', undefined],
    ['<metadata charset=koi8-r>', undefined],
    ['<!-- <meta charset=koi8-r> -->', undefined],
    ['<!--><meta charset=koi8-r>', 'koi8-r'],
    ['<!-- a -- > <meta charset=koi8-r>', undefined],
    ['<!DOCTYPE html><meta charset=koi8-r>', 'koi8-r'],
    ['<a title="<meta charset=koi8-r>">', undefined],
    ['<a title=x><meta charset=koi8-r>', 'koi8-r'],
    ['</a title="<meta charset=koi8-r>">', undefined],
    ['<? <meta charset=koi8-r> ', undefined],
    ['< <meta charset=koi8-r>', 'koi8-r'],
    ['<meta charset=koi8-r charset=gbk>', 'koi8-r'],
    ['<meta http-equiv=content-type content="charset=gbk" charset=koi8-r>', 'koi8-r'],
    ['<meta charset="utf-16le">', 'utf-8'],
    ['<meta charset="utf-16">', 'utf-8'],
    ['<meta charset="x-user-defined">', 'windows-1252'],
    ['<meta charset="koi8-r', undefined],
    ['<meta charset', undefined],
    ['<?xml version="1.0" encoding="koi8-r"?>', 'koi8-r'],
    ["<?xml version='1.0' encoding = 'koi8-r'?>", 'koi8-r'],
    ['<?xml encoding=koi8-r?>', undefined],
    [' <?xml encoding="koi8-r"?>', undefined],
    ['<?xml encoding="gbk"?><meta charset=koi8-r>', 'koi8-r'],
    [`${' '.repeat(1003)}<meta charset=koi8-r>`, 'koi8-r'],
    [`${' '.repeat(1024)}<meta charset=koi8-r>`, undefined],
  ])('finds in %s the encoding %s', (markup, expected) => {
    expect(decodeText(bytes(markup, [0xff, 0xfe]), HTML).encoding).toBe(expected ?? 'windows-1252');
  });

  test.each([
    ['application/xml', 'gbk'],
    ['application/rss+xml', 'gbk'],
    ['application/xhtml+xml', 'gbk'],
    ['text/html', 'koi8-r'],
    ['', 'koi8-r'],
    ['text/plain', 'windows-1252'],
    ['application/json', 'windows-1252'],
  ])('weighs the declarations of a document of type "%s": %s', (type, expected) => {
    const page = bytes('<?xml encoding="gbk"?><meta charset=koi8-r>', [0xff, 0xfe]);
    expect(decodeText(page, type).encoding).toBe(expected);
  });

  test.each([
    ['utf-16le', Buffer.from('\ufeff<p>é', 'utf16le'), undefined],
    ['utf-16be', Buffer.from('\ufeff<p>é', 'utf16le').swap16(), undefined],
    ['utf-16le', Buffer.from('<p>é', 'utf16le'), 'text/html; charset=utf-16'],
    ['utf-16be', Buffer.from('<p>é', 'utf16le').swap16(), 'text/html; charset=utf-16be'],
  ])('reads %s by its mark or by the header', (encoding, page, type) => {
    expect(decodeText(page, type)).toEqual({ text: '<p>é', encoding });
  });

  test('sees an XML declaration of two bytes a character', () => {
    const page = Buffer.from('<?xml version="1.0"?><p>é', 'utf16le');
    expect(decodeText(page, 'application/xml')).toMatchObject({ encoding: 'utf-16le' });
    expect(decodeText(Buffer.from(page).swap16(), 'application/xml').text).toMatch(/é$/);
  });

  test('decodes the bytes from 0x80 to 0x9f of windows-1252 as the standard says', () => {
    const { text } = decodeText(Buffer.from([0x80, 0x81, 0x8d, 0x92, 0x9f]), 'text/plain; charset=iso-8859-1');
    expect(text).toBe('€\u0081\u008d’Ÿ');
  });

  test('lets nothing come of encodings that were used for attacks', () => {
    expect(decodeText(bytes('<script>'), 'text/html; charset=iso-2022-kr')).toEqual({
      text: '\uFFFD',
      encoding: 'replacement',
    });
    expect(decodeText(new Uint8Array(), 'text/html; charset=hz-gb-2312').text).toBe('');
  });

  test('replaces what can not be decoded, a cut character at the end too', () => {
    expect(decodeText(bytes('a', [0xff], 'b', [0xe4, 0xb8]), 'text/plain; charset=utf-8').text).toBe('a\uFFFDb\uFFFD');
    expect(decodeText(bytes('ab', [0x81]), 'text/plain; charset=shift_jis').text).toBe('ab\uFFFD');
  });

  test.each([
    ['shift_jis', [0x93, 0xfa, 0x96, 0x7b], '日本'],
    ['euc-jp', [0xc6, 0xfc, 0xcb, 0xdc], '日本'],
    ['iso-2022-jp', [0x1b, 0x24, 0x42, 0x46, 0x7c, 0x4b, 0x5c, 0x1b, 0x28, 0x42], '日本'],
    ['euc-kr', [0xc7, 0xd1, 0xb1, 0xb9], '한국'],
    ['big5', [0xa4, 0xa4, 0xa4, 0xe5], '中文'],
    ['gb18030', CHINESE_GBK, '中文'],
    ['gb2312', CHINESE_GBK, '中文'],
    ['windows-1251', RUSSIAN, 'Привет'],
    ['koi8-r', [0xf0, 0xd2, 0xc9, 0xd7, 0xc5, 0xd4], 'Привет'],
    ['iso-8859-2', [0xb3, 0xf3, 0x64, 0xbc], 'łódź'],
    ['windows-1253', [0xe1, 0xe2, 0xe3], 'αβγ'],
    ['iso-8859-8-i', [0xf9, 0xec, 0xe5, 0xed], 'שלום'],
    ['windows-1256', [0xe3, 0xd1, 0xcd, 0xc8, 0xc7], 'مرحبا'],
    ['windows-874', [0xca, 0xc7, 0xd1, 0xca], 'สวัส'],
    ['macintosh', [0x8e], 'é'],
    ['ibm866', [0x8f, 0xe0], 'Пр'],
  ])('decodes %s', (label, body, text) => {
    expect(decodeText(Buffer.from(body), `text/html; charset=${label}`).text).toBe(text);
  });

  test('reads bytes in the middle of a larger buffer', () => {
    const whole = bytes('xxé');
    expect(decodeText(new Uint8Array(whole.buffer, whole.byteOffset + 2, 2), HTML).text).toBe('é');
  });

  test('never throws, whatever bytes and header it is given', () => {
    const type = fc.oneof(
      fc.constantFrom(HTML, 'text/xml', undefined),
      fc.string().map((label) => `text/html; charset=${label}`),
      fc.constantFrom(...Object.keys(LABELS)).map((label) => `text/html; charset=${label}`),
    );
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc
        .array(
          fc.constantFrom('<meta ', 'charset', '=', '"', "'", '<!--', '-->', '<?xml', ' encoding', '>', '/', 'gbk'),
        )
        .map((parts) => new Uint8Array(Buffer.from(parts.join('')))),
    );
    fc.assert(
      fc.property(body, type, (given, contentType) => {
        const { text, encoding } = decodeText(given, contentType);
        expect(text.length).toBeLessThanOrEqual(given.length);
        expect(encodingOf(encoding) ?? encoding).toBe(encoding);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('encodingOf()', () => {
  test.each(Object.entries(LABELS))('%s is %s', (label, encoding) => {
    expect(encodingOf(label)).toBe(encoding);
    expect(encodingOf(` ${label.toUpperCase()}\n`)).toBe(encoding);
  });

  test.each(['', 'utf-9', 'iso-88509-1', 'none', 'utf 8', 'windows1252', '\0'])('"%s" is none', (label) => {
    expect(encodingOf(label)).toBeUndefined();
  });
});
