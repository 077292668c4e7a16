import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { robotsDirectives } from '../src/directives.ts';
import { isCrawlError } from '../src/errors.ts';
import { CookieJars, cookiesFor, takeCookies } from '../src/fetcher/cookies.ts';
import { headerLines, parseContentType, parseLinkHeader, parseRefresh, parseRetryAfter } from '../src/headers.ts';
import { LinkExtractor, type LinkProfile, scanInSteps } from '../src/link-extractor/index.ts';
import { RobotsTxt } from '../src/robots-txt.ts';
import { parseSitemap, sitemapInSteps } from '../src/sitemap.ts';
import { decodeInSteps, decodeText } from '../src/text.ts';
import { canonicalizeUrl, resolveUrl } from '../src/url.ts';
import { nastyDocument, random } from './helpers/nasty-html.ts';

const URL_HERE = 'https://farm.example.test/fields/north.html?a=1';
const AGENT = 'ExampleBot/1.0 (+https://example.test/bot)';

/** Pieces that mean something to a reader, in any order, with anything in between. */
function made(pieces: readonly string[]): fc.Arbitrary<string> {
  const piece = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...pieces) }, fc.string({ unit: 'binary' }));
  return fc.array(piece, { maxLength: 40 }).map((parts) => parts.join(''));
}

/** What all steps together give. */
function finish<T>(steps: Iterator<void, T, undefined>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

const HEADERS = made([
  '<',
  '>',
  ';',
  ',',
  '=',
  '"',
  '\\',
  ' ',
  '\t',
  'rel',
  'url',
  '0',
  'noindex',
  'bot:',
  '-1',
  'GMT',
]);

describe('whatever a server sends', () => {
  test('headers are read without throwing', () => {
    fc.assert(
      fc.property(HEADERS, fc.array(HEADERS, { maxLength: 3 }), (value, lines) => {
        parseLinkHeader(lines);
        parseRefresh(value);
        parseContentType(value);
        parseRetryAfter(value, { now: 0, date: lines[0] });
        headerLines({ link: lines, 'x-robots-tag': value }, 'Link');
        robotsDirectives({ headers: { 'x-robots-tag': lines, 'robots-tag': value } }, AGENT);
        new LinkExtractor().scan({
          url: URL_HERE,
          html: '',
          headers: { link: lines, refresh: value },
          userAgent: value,
        });
      }),
      { numRuns: 1500 },
    );
  });

  test('cookies are taken or left, and the answer stands', async () => {
    const cookie = made([
      'a=b',
      ';',
      '=',
      ' Domain=',
      'farm.example.test',
      '.test',
      ' Path=/',
      ' Max-Age=',
      '1e9',
      ' Expires=',
      'Secure',
      '\0',
      '"',
    ]);
    await fc.assert(
      fc.asyncProperty(fc.array(cookie, { maxLength: 4 }), async (lines) => {
        const jars = new CookieJars();
        await takeCookies(jars, URL_HERE, { 'set-cookie': lines });
        expect(typeof (await cookiesFor(jars, URL_HERE))).toBe('string');
      }),
      { numRuns: 500 },
    );
  });

  test('cookies take time in proportion to their length', { retry: 2 }, async () => {
    const cost = async (cookie: string): Promise<number> => {
      const jars = new CookieJars();
      const before = process.cpuUsage();
      for (let round = 0; round < 150; round++) await jars.setCookie(cookie, URL_HERE);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    for (const piece of ['; a=b', '; Expires=1 ', '=', ' ', '; Domain=a.', '"', '; Path=/', '\t;']) {
      const make = (length: number) => `a=b${piece.repeat(length / piece.length)}`;
      await cost(make(500));
      const small = Math.min(await cost(make(500)), await cost(make(500)));
      const large = Math.min(await cost(make(4000)), await cost(make(4000)));
      // Eight times the length: what grows with the square would take 64 times as long.
      expect(large / Math.max(small, 2000), piece).toBeLessThan(24);
    }
  });

  test('URLs are resolved or are null', () => {
    const url = made([
      'http',
      's',
      ':',
      '/',
      '//',
      '@',
      '?',
      '#',
      '%',
      '%2e',
      '..',
      '[',
      ']',
      'é',
      'xn--',
      '.',
      '\\',
      '\0',
      ' ',
      '127.1',
    ]);
    fc.assert(
      fc.property(url, url, (input, base) => {
        const resolved = resolveUrl(input, base);
        if (resolved !== null) expect(new URL(resolved).href).toBe(resolved);
        canonicalizeUrl(input, base, { stripTracking: true, sortQuery: true });
        // Those behind one that can't be parsed are decided otherwise, with the same result.
        resolveUrl('http://a:x/');
        expect(resolveUrl(input, base)).toBe(resolved);
      }),
      { numRuns: 4000 },
    );
  });

  test('files of rules are read without throwing', () => {
    const file = made([
      'User-agent:',
      'Disallow:',
      'Allow:',
      'Sitemap:',
      'Crawl-delay:',
      ' ',
      '\n',
      '\r',
      '*',
      '$',
      '/a',
      '%',
      '%2F',
      '#',
      '\uFEFF',
      'ExampleBot',
      '1e400',
    ]);
    fc.assert(
      fc.property(fc.oneof(file, fc.uint8Array()), fc.webUrl(), (body, url) => {
        const rules = RobotsTxt.parse(body, url);
        rules.allows(`${rules.origin}/a/b?c`, AGENT);
        rules.crawlDelay(AGENT);
        expect(Array.isArray(rules.sitemaps)).toBe(true);
      }),
      { numRuns: 1500 },
    );
  });
});

describe('a document', () => {
  const PROFILES: readonly LinkProfile[] = ['navigation', 'resources', 'exhaustive'];

  test('that is no document is scanned without throwing', () => {
    const extractors = PROFILES.map((profile) => new LinkExtractor({ profile }));
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (html) => {
        for (const extractor of extractors) extractor.scan({ url: URL_HERE, html });
      }),
      { numRuns: 1500 },
    );
  });

  test('gives the same in steps as at once, also beside others that are scanned', () => {
    for (let seed = 1; seed <= 1500; seed++) {
      const next = random(seed * 7919);
      const documents = [0, 1].map(() => ({ url: URL_HERE, html: nastyDocument(next) }));
      const extractor = new LinkExtractor({ profile: PROFILES[seed % 3], maxLinks: 1 + Math.floor(next() * 40) });
      const expected = documents.map((document) => extractor.scan(document));
      const size = { characters: 1 + Math.floor(next() * 30), references: 1 + Math.floor(next() * 3) };
      const running = documents.map((document) => scanInSteps(extractor, document, size));
      const found: unknown[] = [];
      while (found.filter(Boolean).length < running.length) {
        for (const [index, steps] of running.entries()) {
          const step = found[index] === undefined ? steps.next() : undefined;
          if (step?.done === true) found[index] = step.value;
        }
        extractor.extract({ url: URL_HERE, html: '<a href=/other>x</a><b a=1>' });
      }
      expect(found, `seed ${seed}`).toEqual(expected);
    }
  });

  test('is decoded to the same text in steps as at once', () => {
    const labels = [
      'utf-8',
      'windows-1252',
      'shift_jis',
      'gb18030',
      'iso-2022-jp',
      'euc-kr',
      'utf-16le',
      'big5',
      'replacement',
      'none',
    ];
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.constantFrom(...labels),
        fc.integer({ min: 1, max: 7 }),
        (body, label, step) => {
          const type = `text/html; charset=${label}`;
          expect(finish(decodeInSteps(body, type, step))).toEqual(decodeText(body, type));
        },
      ),
      { numRuns: 3000 },
    );
  });
});

describe('a sitemap', () => {
  const xml = made([
    '<urlset>',
    '</urlset>',
    '<sitemapindex>',
    '<url>',
    '</url>',
    '<loc>',
    '</loc>',
    'https://farm.example.test/a',
    '&amp;',
    '&',
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
    '<?x',
    '?>',
    ' a="b"',
    'é',
    '\n',
    '<rss>',
    '<item>',
    '<link>',
    '</link>',
    '</item>',
  ]);
  const list = made(['https://farm.example.test/', 'a', 'é', '\n', '\r\n', ' ', '\r', '\uFEFF']);
  const whole = xml.map((text) => `<urlset><url><loc>https://farm.example.test/é</loc></url>${text}`);

  test('gives the same in steps as at once, or the same error', () => {
    const outcome = (read: () => unknown): unknown => {
      try {
        return read();
      } catch (error) {
        if (!isCrawlError(error, 'CRAWL_SITEMAP_INVALID')) throw error;
        return error.message;
      }
    };
    fc.assert(
      fc.property(fc.oneof(xml, whole, list), fc.integer({ min: 1, max: 9 }), (text, step) => {
        const bytes = Buffer.from(text);
        const context = { url: URL_HERE };
        const expected = outcome(() => parseSitemap(bytes, context));
        expect(outcome(() => finish(sitemapInSteps(bytes, context, step)))).toEqual(expected);
      }),
      { numRuns: 4000 },
    );
  });
});
