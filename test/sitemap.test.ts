import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isCrawlError } from '../src/errors.ts';
import { MAX_SITEMAP_BYTES, MAX_SITEMAP_ENTRIES, parseSitemap, type Sitemap } from '../src/sitemap.ts';
import { growth } from './helpers/cpu.ts';

interface ExpectedEntry {
  url: string;
  lastmod?: string;
  changefreq?: string;
  priority?: number;
}
interface Case {
  id: string;
  url: string;
  contentType: string;
  body?: string;
  bodyBase64?: string;
  expected: { type?: string; entries?: ExpectedEntry[]; error?: true; orError?: true };
  why: string;
}
const cases: Case[] = JSON.parse(readFileSync(new URL('corpus/sitemaps.json', import.meta.url), 'utf8'));

const URL_HERE = 'https://farm.example.test/sitemap.xml';
const NS = 'http://www.sitemaps.org/schemas/sitemap/0.9';
const parse = (body: string | Uint8Array, contentType?: string): Sitemap =>
  parseSitemap(body, { url: URL_HERE, ...(contentType === undefined ? {} : { contentType }) });
const urlset = (inner: string, attributes = `xmlns="${NS}"`) =>
  `<?xml version="1.0"?><urlset ${attributes}>${inner}</urlset>`;
const entry = (inner: string, attributes?: string) =>
  parse(urlset(`<url><loc>https://farm.example.test/a</loc>${inner}</url>`, attributes)).entries[0];
const urls = (sitemap: Sitemap) => sitemap.entries.map(({ url }) => url);
const refusal = (body: string | Uint8Array) => {
  try {
    return { sitemap: parse(body) };
  } catch (error) {
    return { error: error as Error & { code: string; url: string } };
  }
};

describe('parseSitemap()', () => {
  test.each(cases)('$id: $why', ({ url, contentType, body, bodyBase64, expected }) => {
    const bytes = Buffer.from(bodyBase64 ?? body ?? '', bodyBase64 === undefined ? 'utf8' : 'base64');
    for (const given of body === undefined ? [bytes] : [bytes, body]) {
      if (expected.error || expected.orError) {
        expect(() => parseSitemap(given, { url, contentType })).toThrow(
          expect.objectContaining({ code: 'CRAWL_SITEMAP_INVALID', url }),
        );
        continue;
      }
      const { type, entries, partial } = parseSitemap(given, { url, contentType });
      expect(partial).toBeUndefined();
      expect(type).toBe(expected.type);
      expect(
        entries.map(({ url, lastmod, changefreq, priority }) => ({
          url,
          lastmod: lastmod?.toISOString(),
          changefreq,
          priority,
        })),
      ).toEqual(expected.entries?.map((entry) => ({ ...entry })));
    }
  });

  const list = urlset(
    '<url><loc>https://farm.example.test/a</loc></url><url><loc>https://farm.example.test/b</loc></url>',
  );
  test.each<[string, Uint8Array]>([
    ['packed', gzipSync(list)],
    ['not packed, whatever its name', Buffer.from(list)],
    ['packed twice', gzipSync(gzipSync(list))],
    ['a packed text', gzipSync('https://farm.example.test/a\nhttps://farm.example.test/b\n')],
    ['UTF-16 with a mark', Buffer.from(`\ufeff${list}`, 'utf16le')],
    ['UTF-16 without', Buffer.from(list, 'utf16le')],
    ['UTF-16 in the other order', Buffer.from(`\ufeff${list}`, 'utf16le').swap16()],
    ['packed UTF-16', gzipSync(Buffer.from(list, 'utf16le'))],
    ['said to be UTF-16 and is not', Buffer.from(list.replace('1.0"', '1.0" encoding="UTF-16"'))],
    ['in an encoding nobody knows', Buffer.from(list.replace('1.0"', '1.0" encoding="x-none"'))],
  ])('reads the same URLs %s', (_, body) =>
    expect(urls(parse(body))).toEqual(['https://farm.example.test/a', 'https://farm.example.test/b']),
  );

  test('takes the encoding from the header before the XML declaration', () => {
    const xml = Buffer.from(
      '<?xml version="1.0" encoding="windows-1251"?><urlset><url><loc>https://farm.example.test/\xe9</loc></url></urlset>',
      'latin1',
    );
    expect(urls(parse(xml))).toEqual(['https://farm.example.test/%D0%B9']);
    expect(urls(parse(xml, 'application/xml; charset=iso-8859-1'))).toEqual(['https://farm.example.test/%C3%A9']);
  });

  test.each<[string, string | Uint8Array, RegExp]>([
    ['a robots.txt', 'User-agent: *\nDisallow: /x\nSitemap: https://farm.example.test/s.xml\n', /neither XML nor/],
    ['an HTML page', '<!doctype html>\n<html><body><a href="https://farm.example.test/">x</a></html>', /HTML page/],
    ['an XHTML page', '<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>', /HTML page/],
    ['prose with a URL', 'See\nhttps://farm.example.test/\nor write\nto us', /only some lines/],
    ['a JSON list', '["https://farm.example.test/"]', /neither XML nor/],
    ['another XML document', '<opml version="2.0"/>', /begins with <opml>/],
    ['white space', ' \n\t', /empty/],
    ['a lone mark', '\ufeff', /empty/],
    ['XML without elements', '<?xml version="1.0"?><!-- x -->', /no element/],
    ['XML that breaks off before its first entry', '<urlset><url><loc>https://farm.example.test/a', /cut off/],
    [
      'entities that grow',
      '<!DOCTYPE urlset [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>',
      /entities/,
    ],
    [
      'entities with markup in them',
      '<!DOCTYPE x [<!ENTITY a "<urlset><url><loc>https://farm.example.test/a</loc></url></urlset>">]><urlset/>',
      /entities/,
    ],
    ['a stray declaration', '<!ENTITY a "b"><urlset/>', /entities/],
    ['elements nested without end', `<urlset>${'<url>'.repeat(100_000)}`, /nests/],
    ['broken gzip', Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff]), /gzip is broken/],
    ['gzip that is packed three times', gzipSync(gzipSync(gzipSync(list))), /packed more than 2 times/],
  ])('refuses %s', (_, body, message) => {
    const { error } = refusal(body);
    expect(error).toMatchObject({ code: 'CRAWL_SITEMAP_INVALID', url: URL_HERE, retryable: false });
    expect(error?.message).toMatch(message);
  });

  test('refuses what unpacks to more than 100 times its size, without unpacking it', () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000, ' '));
    expect(refusal(bomb).error?.message).toMatch(/100 times its packed size/);
    expect(refusal(gzipSync(bomb)).error?.message).toMatch(/100 times its packed size/);
  });

  test('reads a file of exactly the limit of the protocol, and refuses one byte more', () => {
    const small = urlset('<url><loc>https://farm.example.test/a</loc></url>');
    const padded = small + ' '.repeat(MAX_SITEMAP_BYTES - small.length);
    expect(parse(padded).entries).toHaveLength(1);
    expect(refusal(`${padded} `).error?.message).toMatch(/limit of the protocol/);
    expect(refusal(Buffer.from(`${padded} `)).error?.message).toMatch(/limit of the protocol/);
  });

  test.each(['urlset', 'text', 'rss', 'atom'])(
    'gives 50,000 entries of a %s at most, and says where there were more',
    (type) => {
      const build = (count: number) => {
        const each = (make: (url: string) => string) =>
          Array.from({ length: count }, (_, i) => make(`https://farm.example.test/${i}`)).join('');
        if (type === 'text') return each((url) => `${url}\n`);
        if (type === 'rss') return `<rss><channel>${each((url) => `<item><link>${url}</link></item>`)}</channel></rss>`;
        if (type === 'atom') return `<feed>${each((url) => `<entry><link href="${url}"/></entry>`)}</feed>`;
        return urlset(each((url) => `<url><loc>${url}</loc></url>`));
      };
      const full = parse(build(MAX_SITEMAP_ENTRIES));
      expect(full.entries).toHaveLength(50_000);
      expect(full.partial).toBeUndefined();
      const over = parse(build(MAX_SITEMAP_ENTRIES + 1));
      expect(over.entries).toHaveLength(50_000);
      expect(over.partial).toBe(true);
    },
  );

  test('keeps the complete entries of a file that was cut off, and says so', () => {
    const cut = parse(list.slice(0, list.lastIndexOf('</loc>')));
    expect(urls(cut)).toEqual(['https://farm.example.test/a']);
    expect(cut.partial).toBe(true);
    const many = urlset(
      Array.from(
        { length: 2000 },
        (_, i) => `<url><loc>https://farm.example.test/${(i * 7919) % 10_007}</loc></url>`,
      ).join(''),
    );
    const packed = gzipSync(many);
    const half = parse(packed.subarray(0, packed.length / 2));
    expect(half.partial).toBe(true);
    expect(half.entries.length).toBeGreaterThan(500);
    expect(half.entries).toEqual(parse(many).entries.slice(0, half.entries.length));
  });

  test.each([
    [
      'a wrong namespace',
      urlset('<url><loc>https://farm.example.test/a</loc></url>', 'xmlns="http://www.google.com/schemas/sitemap/0.84"'),
    ],
    [
      'namespaces that change on the way',
      '<urlset xmlns="a"><url xmlns="b"><loc>https://farm.example.test/a</loc></url></urlset>',
    ],
    [
      'a prefix that stands for nothing',
      '<s:urlset><s:url><s:loc>https://farm.example.test/a</s:loc></s:url></s:urlset>',
    ],
    [
      'two prefixes for one namespace',
      `<s:urlset xmlns:s="${NS}" xmlns="${NS}"><url><s:loc>https://farm.example.test/a</s:loc></url></s:urlset>`,
    ],
    [
      'a document type without subset',
      '<!DOCTYPE urlset SYSTEM "https://farm.example.test/x.dtd"><urlset><url><loc>https://farm.example.test/a</loc></url></urlset>',
    ],
    ['elements that are not closed', '<urlset><url><loc>https://farm.example.test/a</url></urlset>'],
    [
      'a repeated loc',
      urlset('<url><loc/><loc>https://farm.example.test/a</loc><loc>https://farm.example.test/b</loc></url>'),
    ],
    [
      'loc of other vocabularies',
      urlset(
        '<url><x:loc xmlns:x="y">https://farm.example.test/b</x:loc><loc>https://farm.example.test/a</loc><z><loc>https://farm.example.test/c</loc></z></url>',
      ),
    ],
    [
      'locs that are no absolute URLs',
      urlset(
        '<url><loc>/b</loc></url><url><loc>//farm.example.test/b</loc></url><url><loc>https://farm.example.test/a</loc></url>',
      ),
    ],
    [
      'a loc that is too long',
      urlset(
        `<url><loc>https://farm.example.test/${'b'.repeat(2048)}</loc></url><url><loc>https://farm.example.test/a</loc></url>`,
      ),
    ],
    [
      'text behind the root',
      `${urlset('<url><loc>https://farm.example.test/a</loc></url>')}<url><loc>https://farm.example.test/b</loc></url>`,
    ],
    [
      'sitemaps among pages',
      urlset(
        '<sitemap><loc>https://farm.example.test/s.xml</loc></sitemap><url><loc>https://farm.example.test/a</loc></url>',
      ),
    ],
  ])('reads one URL in spite of %s', (_, xml) => expect(urls(parse(xml))).toEqual(['https://farm.example.test/a']));

  test('reads a bare & as it was meant', () => {
    const xml = urlset('<url><loc>https://farm.example.test/?a=1&b=2&copy=3&amp;d=4&#38;e=5</loc></url>');
    expect(urls(parse(xml))).toEqual(['https://farm.example.test/?a=1&b=2&copy=3&d=4&e=5']);
  });

  test('says what to ask for where that is not the canonical form', () => {
    const xml = urlset(
      '<url><loc>https://farm.example.test/%7ea?#x</loc></url><url><loc>https://farm.example.test/b</loc></url>',
    );
    expect(parse(xml).entries).toEqual([
      { url: 'https://farm.example.test/~a?', requestUrl: 'https://farm.example.test/%7ea?' },
      { url: 'https://farm.example.test/b' },
    ]);
  });

  test('an index that lists itself is read once, like any other', () => {
    const xml = `<sitemapindex><sitemap><loc>${URL_HERE}</loc></sitemap></sitemapindex>`;
    expect(parse(xml)).toEqual({ type: 'index', entries: [{ url: URL_HERE }] });
  });

  test.each([
    ['2024-05-01T10:30:00.5-01:00', '2024-05-01T11:30:00.500Z'],
    ['2024', '2024-01-01T00:00:00.000Z'],
    [' <![CDATA[2024-05-01]]> ', '2024-05-01T00:00:00.000Z'],
    ['1995-01-01', '1995-01-01T00:00:00.000Z'],
    ['1994-12-31', undefined],
    ['2999-01-01', undefined],
    ['2024-05-01T10:30:00', undefined],
    ['2024-02-30', undefined],
    ['01/05/2024', undefined],
    ['', undefined],
  ])('takes lastmod %s as %s', (text, iso) =>
    expect(entry(`<lastmod>${text}</lastmod>`)?.lastmod?.toISOString()).toBe(iso),
  );

  test.each([
    ['1', 1],
    ['.5', 0.5],
    [' 0.30 ', 0.3],
    ['1.01', undefined],
    ['-0.1', undefined],
    ['0,5', undefined],
    ['1e-1', undefined],
    ['', undefined],
  ])('takes priority %j as %s', (text, value) => expect(entry(`<priority>${text}</priority>`)?.priority).toBe(value));

  test('takes changefreq in any case', () => {
    expect(entry('<changefreq> Weekly </changefreq>')?.changefreq).toBe('weekly');
    expect(entry('<changefreq>constructor</changefreq>')).toEqual({ url: 'https://farm.example.test/a' });
  });

  const EXTENSIONS =
    `xmlns="${NS}" xmlns:i="http://www.google.com/schemas/sitemap-image/1.1" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" ` +
    'xmlns:video="https://www.google.com/schemas/sitemap-video/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml"';

  test('hands on images, news, videos and languages', () => {
    const inner = `
      <i:image><i:loc>https://farm.example.test/1.jpg</i:loc><i:title>x</i:title></i:image>
      <i:image><i:loc> https://farm.example.test/2.jpg </i:loc></i:image><i:image><i:loc>3.jpg</i:loc></i:image>
      <news:news><news:publication><news:name>The Hen</news:name><news:language>en</news:language></news:publication>
        <news:publication_date>2024-05-01</news:publication_date><news:title>Eggs &amp; more</news:title></news:news>
      <video:video><video:thumbnail_loc>https://farm.example.test/t.jpg</video:thumbnail_loc><video:title>T</video:title>
        <video:description>D</video:description><video:content_loc>https://farm.example.test/v.mp4</video:content_loc>
        <video:player_loc allow_embed="yes">https://farm.example.test/p</video:player_loc><video:duration>90</video:duration>
        <video:publication_date>2024-05-01T00:00:00Z</video:publication_date><video:expiration_date>2999-01-01</video:expiration_date>
        <video:live>no</video:live><video:tag>hen</video:tag><video:tag>egg</video:tag></video:video>
      <video:video><video:title>U</video:title></video:video>
      <xhtml:link rel="alternate" hreflang="nl" href="https://farm.example.test/nl/a"/>
      <xhtml:link rel="alternate" hreflang="x-default" href="https://farm.example.test/a"/>
      <xhtml:link rel="stylesheet" href="https://farm.example.test/a.css"/><xhtml:link rel="alternate" hreflang="de" href="a"/>`;
    expect(entry(inner, EXTENSIONS)).toEqual({
      url: 'https://farm.example.test/a',
      images: ['https://farm.example.test/1.jpg', 'https://farm.example.test/2.jpg'],
      news: {
        publicationName: 'The Hen',
        publicationLanguage: 'en',
        publicationDate: new Date('2024-05-01'),
        title: 'Eggs & more',
      },
      videos: [
        {
          thumbnailUrl: 'https://farm.example.test/t.jpg',
          title: 'T',
          description: 'D',
          contentUrl: 'https://farm.example.test/v.mp4',
          playerUrl: 'https://farm.example.test/p',
          durationSeconds: 90,
          publicationDate: new Date('2024-05-01'),
          expirationDate: new Date('2999-01-01'),
          live: false,
          tags: ['hen', 'egg'],
        },
        { title: 'U' },
      ],
      alternates: [
        { hreflang: 'nl', url: 'https://farm.example.test/nl/a' },
        { hreflang: 'x-default', url: 'https://farm.example.test/a' },
      ],
    });
  });

  test('gives each entry its own extensions, also under prefixes that nobody declared', () => {
    const image = (n: number) => `<image:image><image:loc>https://farm.example.test/${n}.jpg</image:loc></image:image>`;
    const page = (n: number, inner: string) => `<url>${inner}<loc>https://farm.example.test/${n}</loc></url>`;
    expect(parse(urlset(page(1, image(1)) + page(2, '') + page(3, image(3)))).entries).toEqual([
      { url: 'https://farm.example.test/1', images: ['https://farm.example.test/1.jpg'] },
      { url: 'https://farm.example.test/2' },
      { url: 'https://farm.example.test/3', images: ['https://farm.example.test/3.jpg'] },
    ]);
    expect(entry(Array.from({ length: 1001 }, (_, n) => image(n)).join(''))?.images).toHaveLength(1000);
  });

  test('reads RSS with the links, permanent links and dates of its items alone', () => {
    const xml = `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>
      <link>https://farm.example.test/</link><atom:link href="https://farm.example.test/feed" rel="self"/>
      <image><link>https://farm.example.test/logo</link></image>
      <item><atom:link href="https://farm.example.test/x"/><guid>https://farm.example.test/g</guid><link>/1</link><pubDate>Wed, 01 May 2024 10:00:00 +0200</pubDate></item>
      <item><guid>https://farm.example.test/2</guid><dc:date>2024-05-01</dc:date></item>
      <item><guid isPermaLink="false">https://farm.example.test/3</guid></item>
      <item><description>no link</description></item></channel></rss>`;
    expect(parse(xml)).toEqual({
      type: 'rss',
      entries: [
        { url: 'https://farm.example.test/1', lastmod: new Date('2024-05-01T08:00:00Z') },
        { url: 'https://farm.example.test/2', lastmod: new Date('2024-05-01') },
      ],
    });
  });

  test('reads RSS 1.0, whose items stand beside the channel', () => {
    const xml = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
      <channel><link>https://farm.example.test/</link></channel><item><link>https://farm.example.test/1</link></item></rdf:RDF>`;
    expect(parse(xml)).toEqual({ type: 'rss', entries: [{ url: 'https://farm.example.test/1' }] });
  });

  test('reads Atom with its bases, alternate links and dates', () => {
    const xml = `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/"><link href="https://farm.example.test/"/>
      <entry><link rel="self" href="s"/><link rel="alternate" href="1"/><link href="2"/><published>2024-04-01T00:00:00Z</published><updated>2024-05-01T10:00:00Z</updated></entry>
      <entry xml:base="x/"><link href="3"/><published>2024-04-01T00:00:00Z</published></entry>
      <entry><link rel="enclosure" href="https://farm.example.test/e.mp3"/></entry></feed>`;
    expect(parse(xml)).toEqual({
      type: 'atom',
      entries: [
        { url: 'https://farm.example.test/blog/1', lastmod: new Date('2024-05-01T10:00:00Z') },
        { url: 'https://farm.example.test/blog/x/3', lastmod: new Date('2024-04-01') },
      ],
    });
  });

  test('reads a text list with line ends of all kinds, and passes over a few lines that are no URLs', () => {
    const text =
      '# pages\rhttps://farm.example.test/a\r\n\n  https://farm.example.test/b  \nhttps://farm.example.test/c d';
    expect(parse(text)).toEqual({
      type: 'text',
      entries: [{ url: 'https://farm.example.test/a' }, { url: 'https://farm.example.test/b' }],
    });
  });

  test('throws nothing but CrawlError, for any bytes', () => {
    const piece = fc.constantFrom(
      ...[
        '<urlset>',
        '</urlset>',
        '<url>',
        '</url>',
        '<loc>',
        '</loc>',
        '<rss><channel>',
        '<item>',
        '</item>',
        '<feed>',
        '<entry>',
        '<link href="',
      ],
      ...[
        '">',
        '<![CDATA[',
        ']]>',
        '<!--',
        '-->',
        '<?',
        '?>',
        '<!DOCTYPE ',
        '[',
        ']',
        '&amp;',
        '&#x110000;',
        '&#0;',
        '&',
        'xmlns:a="',
        '"',
        '\ud800',
      ],
      ...[
        'https://farm.example.test/',
        '\n',
        ' ',
        '<a:b',
        '/>',
        '<',
        '>',
        '=',
        '<__proto__ __proto__="x">',
        '<constructor>',
      ],
    );
    const text = fc.array(piece).map((pieces) => pieces.join(''));
    const body = fc.oneof(
      text,
      text.map((xml) => `<urlset><url><loc>https://farm.example.test/a</loc></url>${xml}`),
      fc.uint8Array(),
      text.map((xml) => gzipSync(xml)),
      fc.uint8Array().map((bytes) => Buffer.concat([Buffer.from([0x1f, 0x8b, 8]), bytes])),
    );
    fc.assert(
      fc.property(body, fc.string(), (given, contentType) => {
        try {
          for (const { url } of parseSitemap(given, { url: URL_HERE, contentType }).entries)
            expect(URL.canParse(url)).toBe(true);
        } catch (error) {
          if (!isCrawlError(error, 'CRAWL_SITEMAP_INVALID')) throw error;
        }
      }),
      { numRuns: 3000 },
    );
  });

  test.each([
    '<url><loc>https://farm.example.test/a</loc></url>',
    '<url a="',
    '<!--',
    '<![CDATA[',
    '&amp;',
    '<',
    '</url>',
    '<a xmlns:a="x"/>',
    '<url x:y="&lt;">',
    ' ',
  ])('takes time in proportion to the length of many %s', (piece) => {
    const read = (text: string) => void refusal(`<urlset>${text}`);
    expect(growth(piece, read)).toBeLessThan(8);
    expect(growth(piece, (text) => void refusal(text))).toBeLessThan(8);
  });
});
