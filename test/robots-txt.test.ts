import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isCrawlError } from '../src/errors.ts';
import { ROBOTS_MAX_BYTES, RobotsTxt, robotsOrigin } from '../src/robots-txt.ts';

interface RobotsCase {
  readonly id: string;
  readonly group: string;
  readonly why: string;
  readonly robots?: string;
  readonly robotsParts?: readonly { readonly text: string; readonly times: number }[];
  readonly robotsUrl?: string;
  readonly agent: string;
  readonly url: string;
  readonly allowed?: boolean;
  readonly applies?: boolean;
  readonly crawlDelay?: number | null;
  readonly sitemaps?: readonly string[];
}

const corpus: readonly RobotsCase[] = JSON.parse(
  readFileSync(new URL('corpus/robots.json', import.meta.url), 'utf8'),
).filter(({ group }: RobotsCase) => group !== 'fetch-status');

const HOST = 'https://shop.example.com';

/** The file with these lines for everyone, at HOST. */
function file(lines: string | Uint8Array): RobotsTxt {
  return RobotsTxt.parse(lines, `${HOST}/robots.txt`);
}

function rules(...lines: string[]): RobotsTxt {
  return file(['User-agent: FooBot', ...lines].join('\n'));
}

function bytes(...parts: (string | readonly number[])[]): Uint8Array {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
}

describe('the shared cases', () => {
  test('are all there', () => expect(corpus.length).toBe(97));

  test.each(corpus)('$id $group: $why', (given) => {
    const body = given.robots ?? given.robotsParts?.map(({ text, times }) => text.repeat(times)).join('') ?? '';
    const robots = RobotsTxt.parse(body, given.robotsUrl ?? new URL('/robots.txt', given.url ?? HOST).href);
    let checked = 0;
    if (given.applies !== undefined) expect([robots.applies(given.url), ++checked]).toEqual([given.applies, checked]);
    if (given.allowed !== undefined) {
      expect([robots.allows(given.url, given.agent), ++checked]).toEqual([given.allowed, checked]);
    }
    if (given.crawlDelay !== undefined) {
      expect([robots.crawlDelay(given.agent), ++checked]).toEqual([given.crawlDelay ?? undefined, checked]);
    }
    if (given.sitemaps !== undefined) expect([robots.sitemaps, ++checked]).toEqual([given.sitemaps, checked]);
    expect(checked).toBeGreaterThan(0);
  });
});

describe('the origin a file speaks for (RFC 9309, 2.3)', () => {
  const robots = RobotsTxt.parse('User-agent: *\nDisallow: /x', 'http://a.example.test/robots.txt');

  test.each([
    ['http://a.example.test/x', true],
    ['http://A.EXAMPLE.test/x', true],
    ['http://a.example.test./x', true],
    ['http://a.example.test:80/x', true],
    ['http://user:word@a.example.test/x', true],
    ['http://www.a.example.test/x', false],
    ['https://a.example.test/x', false],
    ['http://a.example.test:8080/x', false],
    ['https://a.example.test:80/x', false],
    ['not a URL', false],
    ['mailto:someone@a.example.test', false],
  ])('%s is of it: %s', (url, applies) => {
    expect(robots.applies(url)).toBe(applies);
    if (applies) expect(robots.allows(url, 'FooBot')).toBe(false);
    else expect(codeOf(() => robots.allows(url, 'FooBot'))).toBe('CRAWL_URL_INVALID');
  });

  test('a URL is judged by the resource it names, however it is written', () => {
    for (const end of ['\\x/y', '/./x/y', '/%78/y', '//../x', '\\a\\..\\x/y'])
      expect([end, robots.allows(`http://a.example.test${end}`, 'FooBot')]).toEqual([end, false]);
    for (const end of ['?/x', '#/x', '?q/x/y', '/.x/x'])
      expect([end, robots.allows(`http://a.example.test${end}`, 'FooBot')]).toEqual([end, true]);
    const ends = fc.string({ unit: fc.constantFrom('/', '\\', '?', '#', '.', 'x', 'y', '@', '%78', ' ', '\t') });
    const starts = fc.constantFrom('http://', 'http:', 'http:\\', 'http:///', ' http://');
    fc.assert(
      fc.property(starts, ends, (start, end) => {
        const url = `${start}a.example.test${end}`;
        const parsed = URL.canParse(url) ? new URL(url) : undefined;
        if (parsed?.origin !== robots.origin) return;
        expect(robots.allows(url, 'FooBot')).toBe(robots.allows(parsed.href, 'FooBot'));
      }),
    );
  });

  test('a question about another origin fails loudly and says what to load', () => {
    expect(() => robots.allows('https://b.example.test/x', 'FooBot')).toThrow(
      'The robots.txt of http://a.example.test says nothing about https://b.example.test/x. Load the one of https://b.example.test.',
    );
  });

  test('a name in Unicode and in punycode is one origin', () => {
    expect(robotsOrigin('http://bücher.example.test/a')).toBe(robotsOrigin('http://xn--bcher-kva.example.test:80'));
    expect(robotsOrigin('http://[::1]:8080/a?b')).toBe('http://[::1]:8080');
  });

  test.each(['', 'robots.txt', 'ftp://a.example.test/robots.txt', 'http://'])(
    'parse() refuses to speak for %j',
    (url) => expect(codeOf(() => RobotsTxt.parse('', url))).toBe('CRAWL_URL_INVALID'),
  );
});

describe('from bytes to lines', () => {
  const refusing = 'User-agent: *\nDisallow: /';

  test.each([
    ['a byte order mark', bytes([0xef, 0xbb, 0xbf], refusing)],
    ['a mark of one byte', bytes([0xef], refusing)],
    ['a mark of two bytes', bytes([0xef, 0xbb], refusing)],
    ['UTF-16 in little endian', bytes([0xff, 0xfe], [...Buffer.from(refusing, 'utf16le')])],
    ['UTF-16 in big endian', bytes([0xfe, 0xff], [...Buffer.from(refusing, 'utf16le').swap16()])],
    ['text with a mark', `\ufeff${refusing}`],
    ['line ends of all kinds', '\r\n\r\rUser-agent: *\r\nUser-agent: x\n\rDisallow: /\r'],
  ])('%s hides no line', (_, body) => expect(file(body).allows(`${HOST}/a`, 'FooBot')).toBe(false));

  test('a mark elsewhere spoils its line only', () => {
    const robots = file(bytes('User-agent: *\n', [0xef, 0xbb, 0xbf], 'Disallow: /a\nDisallow: /b'));
    expect([robots.allows(`${HOST}/a`, 'x'), robots.allows(`${HOST}/b`, 'x')]).toEqual([true, false]);
  });

  test('a byte that is not UTF-8 still matches the URL with that byte', () => {
    const robots = file(bytes('User-agent: *\nDisallow: /caf', [0xe9], '/\nDisallow: /', [0xc3, 0xa0]));
    expect(robots.allows(`${HOST}/caf%E9/`, 'x')).toBe(false);
    expect(robots.allows(`${HOST}/caf%C3%A9/`, 'x')).toBe(true);
    expect(robots.allows(`${HOST}/à`, 'x')).toBe(false);
  });

  test('CR LF is one line end, so that line numbers are those of an editor', () => {
    expect(file('User-agent: *\r\n\r\nDisallow: /a\rAllow: /a/b').matches(`${HOST}/a/b`, 'x').line).toBe(4);
  });

  test('a control character in a value is a byte like others', () => {
    expect(rules('Disallow: /a\0b').allows(`${HOST}/a%00b`, 'FooBot')).toBe(false);
  });

  test.each([
    ['User agent: FooBot\nDissallow: /x'],
    ['useragent: FooBot\ndissalow: /x'],
    ['User-agents: FooBot\nDisalow: /x'],
    ['USER-AGENT : FooBot\nDiasllow: /x'],
    ['user-agent FooBot\nDisallaw /x'],
    ['User-agent: FooBot\nDisallowed: /x'],
    ['User-agent\t FooBot  # us\n \tDisallow\t/x#y'],
    ['User-agent: * (everyone)\nDisallow:/x'],
  ])('%j is understood', (body) => {
    expect(file(body).allows(`${HOST}/x`, 'FooBot')).toBe(false);
    expect(file(body).allows(`${HOST}/`, 'FooBot')).toBe(true);
  });

  test.each([
    ['User-agent: FooBot\nDisallow /x y'],
    ['User-agent: FooBot\nDeny: /x'],
    ['User-agent: FooBot\n: /x'],
    ['User-agent: FooBot\nDisallow'],
    ['User-agent: FooBot\n# Disallow: /x'],
    ['User agent FooBot\nDisallow: /x'],
    ['User-agent: *Bot\nDisallow: /x'],
  ])('%j forbids nothing', (body) => expect(file(body).allows(`${HOST}/x`, 'FooBot')).toBe(true));

  test('an index page that is allowed allows its folder, too', () => {
    const robots = rules('Disallow: /', 'Allow: /x/index.html', 'Allow: /y/indexes');
    const asked = ['/x/', '/x/index.html', '/x/page', '/y/'];
    expect(asked.map((path) => robots.allows(HOST + path, 'FooBot'))).toEqual([true, true, false, false]);
  });

  test('a Disallow that is too long forbids all that begins like it, an Allow is dropped', () => {
    const path = `/${'a'.repeat(17_000)}`;
    const robots = rules('Disallow: /b', `Disallow: ${path}z$`, `Allow: /b${path}`);
    expect(robots.allows(`${HOST}${path}`, 'FooBot')).toBe(false);
    expect(robots.allows(`${HOST}${path.slice(0, 16_000)}`, 'FooBot')).toBe(true);
    expect(robots.allows(`${HOST}/b${path}`, 'FooBot')).toBe(false);
  });

  test.each([
    ['Disallow: /ab', '|cd', '/abx', false],
    ['Disallow: /ab%', '|41', '/abA', false],
    ['Disallow: /ab%C', '|3', '/ab%C3', false],
    ['Disallow: /ab$', '|cd', '/ab$cd', false],
    ['Disallow: /ab', '|\nAllow: /ab', '/ab', false],
    ['Allow: /ab', '|cd', '/abx', false],
    ['Allow: /ab\n', '|', '/ab', true],
    ['Allow: /ab # for', '|ever', '/ab', true],
    ['Allow: /x\nDisallow:', '|/', '/x', true],
  ])('cut at the size limit, %j (%j) answers %s with %s', (before, after, path, allowed) => {
    const head = 'User-agent: *\nDisallow: /a\n';
    const filler = `#${'-'.repeat(ROBOTS_MAX_BYTES - head.length - before.length - 2)}\n`;
    const text = head + filler + before;
    expect(text.length).toBe(ROBOTS_MAX_BYTES);
    expect(file(text + after.slice(1)).allows(HOST + path, 'x')).toBe(allowed);
    // One that fetched it may have stopped right there.
    expect(file(text).allows(HOST + path, 'x')).toBe(allowed);
  });

  test('a name cut at the size limit frees nobody', () => {
    const head = 'User-agent: *\nDisallow: /\n';
    const text = `${head}#${'-'.repeat(ROBOTS_MAX_BYTES - head.length - 20)}\nUser-agent: FooBot`;
    expect(text.length).toBe(ROBOTS_MAX_BYTES);
    expect(file(`${text}tle`).allows(`${HOST}/`, 'FooBot')).toBe(false);
  });

  test('what lies behind the size limit is not read', () => {
    const text = `User-agent: *\n${'#'.repeat(ROBOTS_MAX_BYTES - 15)}\nDisallow: /`;
    expect(file(text).allows(`${HOST}/`, 'x')).toBe(true);
    expect(file(text.replace('##', '')).allows(`${HOST}/`, 'x')).toBe(true);
    expect(file(text.replace('#'.repeat(20), '')).allows(`${HOST}/`, 'x')).toBe(false);
  });

  test('the buffer may be used again afterwards', () => {
    const body = Buffer.from(refusing);
    const robots = file(body);
    body.fill(0);
    expect(robots.allows(`${HOST}/`, 'x')).toBe(false);
  });
});

describe('groups', () => {
  const groups = 'User-agent: ourbot\nDisallow: /m\n\nUser-agent: bot\nDisallow: /b\n\nUser-agent: *\nDisallow: /s';
  const asked = (agent: string | string[], body = groups) =>
    ['/m', '/b', '/s'].filter((path) => !file(body).allows(HOST + path, agent));

  test.each([
    ['OurBot', '/m'],
    ['OurBot/1.2', '/m'],
    ['OurBot/1.2 (+https://info.example.test/)', '/m'],
    ['Mozilla/5.0 (compatible; OurBot/1.2; +http://info.example.test/)', '/m'],
    ['bot', '/b'],
    ['mybot', '/s'],
    ['our', '/s'],
    ['*', '/s'],
    ['', '/s'],
    ['42', '/s'],
  ])('%j is refused %s alone', (agent, refused) => expect(asked(agent)).toEqual([refused]));

  test('of several tokens the first that is named decides', () => {
    expect(asked(['OurBot-News', 'Bot', 'OurBot'])).toEqual(['/b']);
    expect(asked(['OurBot-News', 'other'])).toEqual(['/s']);
    expect(asked([])).toEqual(['/s']);
  });

  test('an empty group shields from *', () => {
    expect(asked('x', `User-agent: x\nUser-agent: y\nUser-agent: z\nDisallow:\n${groups}`)).toEqual([]);
    expect(asked('x', `${groups}\nUser-agent: x`)).toEqual([]);
  });

  test('a name that is no token starts a group for nobody', () => {
    expect(asked('x', 'User-agent: 360Spider\nDisallow: /m\nUser-agent:\nDisallow: /b')).toEqual([]);
  });
});

describe('matching: the vectors of RFC 9309 and of Google', () => {
  test.each<[string[], Record<string, boolean>]>([
    [['disallow: /x/page.html', 'allow: /x/'], { '/x/page.html': false }],
    [['disallow: /x', 'allow: /x/'], { '/x': false, '/x/': true }],
    [['disallow: /', 'allow: /'], { '/x': true }],
    [['allow: /page', 'disallow: /*.html'], { '/page.html': false, '/page': true }],
    [['allow: /page', 'disallow: /*.ph'], { '/page.php5': true }],
    [['allow: /$', 'disallow: /'], { '/': true, '/page.htm': false }],
    [['disallow: /foo/bar$'], { '/foo/bar': false, '/foo/bar/': true }],
    [['disallow: /fish'], { '/fish.html?id=1': false, '/Fish': true, '/?id=fish': true }],
    [['disallow: /fish/'], { '/fish': true, '/fish/?x': false }],
    [['disallow: /*.php'], { '/index?f=a.php/': false, '/windows.PHP': true, '/': true }],
    [['disallow: /*.php$'], { '/a/b.php': false, '/a.php?p': true, '/a.php5': true }],
    [['disallow: /foo/bar/ツ'], { '/foo/bar/%E3%83%84': false, '/foo/bar/%e3%83%84': false }],
    [['disallow: /path/file-with-a-%2A.html'], { '/path/file-with-a-*.html': false, '/path/file-with-a-b.html': true }],
    [['disallow: /path/foo-%24'], { '/path/foo-$': false, '/path/foo-': true }],
    [['disallow: /foo/bar/%62%61%7A'], { '/foo/bar/baz': false }],
    [['disallow: /a%2Fb'], { '/a/b': true, '/a%2fb': false }],
    [['disallow: /foo/quz#qux'], { '/foo/quz': false }],
    [
      ['disallow: /foo/bar?baz=https://foo.bar'],
      { '/foo/bar?baz=https%3A%2F%2Ffoo.bar': false, '/foo/bar?baz=https://foo.bar': false },
    ],
    [['disallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar'], { '/foo/bar?baz=https://foo.bar': false, '/foo/bar': true }],
    [['disallow: /*?to=http:'], { '/a/b?to=http%3a//': false, '/a:b': true }],
    [
      [
        'Disallow: /en/',
        'Allow: /en/geo/',
        'Allow: /en/$',
        'Disallow: /*.pdf$',
        'Allow: /t',
        'Disallow: /t',
        'Disallow: fish',
      ],
      { '/en/': true, '/en/x': false, '/en/geo/1': true, '/a.pdf': false, '/a.pdf?x': true, '/t': true, '/fish': true },
    ],
    [['disallow: /*?'], { '/a?': false, '/a': true, '/a?b': false }],
    [['disallow: /*?$'], { '/a?': false, '/a?b': true }],
    [['disallow: /a?$'], { '/a?': false, '/a': true, '/a?b': true }],
    [['disallow: /?x=/../'], { '/?x=/../y': false, '/y': true }],
    [['disallow: /a/./b'], { '/a/b': true }],
    [['disallow: /a b'], { '/a%20b': false, '/a b': false }],
    [['disallow: /"<>^`{|}'], { '/"<>^`{|}': false, '/%22%3C%3E%5E%60%7B%7C%7D': false }],
    [['disallow: /list[1]'], { '/list[1]': false, '/list1': true }],
    [["disallow: /it's?that's"], { "/it's?that's": false }],
    [['disallow: /100%'], { '/100%': false, '/100%25': false, '/100': true }],
    [['disallow: /*%C3'], { '/a/%c3%a9': false }],
    [['disallow: /%%%'], { '/%%%': false }],
    [['disallow: *'], { '/': false, '/a?b': false }],
    [['disallow: **/a**b**$'], { '/x/a/b': false, '/a': true }],
    [['disallow: $'], { '/': true }],
    [['disallow: /$$'], { '/$': false, '/': true, '/$/': true }],
    [['disallow: /a$b', 'allow: /a$'], { '/a$b': false, '/a': true }],
    [['disallow: /a*', 'allow: /a'], { '/a': false }],
    [['disallow: /日本', 'allow: /*ab'], { '/日本/ab': false }],
    [
      ['disallow: /'],
      { '/robots.txt': true, '/robots%2Etxt': true, '/robots.txt/': false, '/a/robots.txt': false, '': false },
    ],
  ])('%j', (lines, expected) => {
    for (const given of [lines, lines.toReversed()]) {
      const robots = rules(...given);
      const answers = Object.keys(expected).map((path) => [path, robots.allows(HOST + path, 'FooBot')]);
      expect(Object.fromEntries(answers)).toEqual(expected);
    }
  });

  test('says which rule decided, and where it stands', () => {
    const robots = file('# ours\nUser-agent: *\nDisallow: /caf\u00e9 # no\nDISALLOW:/*.pdf\nallow: /caf\u00e9/menu');
    expect(robots.matches(`${HOST}/café/x`, 'x')).toEqual({ allowed: false, rule: 'Disallow: /café', line: 3 });
    expect(robots.matches(`${HOST}/a.pdf`, 'x')).toEqual({ allowed: false, rule: 'Disallow: /*.pdf', line: 4 });
    expect(robots.matches(`${HOST}/café/menu`, 'x')).toEqual({ allowed: true, rule: 'Allow: /café/menu', line: 5 });
    expect(robots.matches(`${HOST}/other`, 'x')).toEqual({ allowed: true });
  });
});

describe('delays', () => {
  test.each<[string, number | undefined]>([
    ['Crawl-delay: 0.2', 0.2],
    ['Crawl-delay: 0', 0],
    ['Crawl-delay: -3', undefined],
    ['Crawl-delay:', undefined],
    ['Crawl-delay: abc', undefined],
    ['Crawl-delay: 1,5', undefined],
    ['Crawl-delay: Infinity', undefined],
    ['Crawl-delay: 1e999', undefined],
    ['Crawl-delay: 0x10', undefined],
    ['Crawl-delay: 1e9', 1e9],
    ['Crawl-delay: 301', 301],
    ['Crawl-delay: .5 # half', 0.5],
    ['crawl delay: 7', 7],
    ['Crawl-delay: 2\nCrawl-delay: 8\nCrawl-delay: 5', 8],
    ['Crawl-delay: 2\nCrawl-delay: soon', 2],
    ['Request-rate: 1/5', 5],
    ['Request-rate: 10/1m', 6],
    ['Request-rate: 1/1h 0600-0845', 3600],
    ['Request-rate: 2 / 3 s', 1.5],
    ['Request-rate: 0/5', undefined],
    ['Request-rate: 1/5d', undefined],
    ['Request-rate: 5', undefined],
    ['Crawl-delay: 2\nRequest-rate: 1/4', 4],
    ['Crawl-delay: 9\nRequest-rate: 1/4', 9],
  ])('%j gives %s', (lines, seconds) => expect(rules(lines).crawlDelay('FooBot/1.0')).toBe(seconds));

  test('a delay is meant for the names right before it, and after a rule for the group', () => {
    const robots = file(
      'User-agent: a\nCrawl-delay: 5\nUser-agent: b\nUser-agent: c\nCrawl-delay: 2\nDisallow: /x\nRequest-rate: 1/3',
    );
    expect(['a', 'b', 'c', 'd'].map((agent) => robots.crawlDelay(agent))).toEqual([5, 3, 3, undefined]);
  });

  test('only the selected group counts', () => {
    const robots = file('User-agent: *\nCrawl-delay: 4\nDisallow: /y\nUser-agent: FooBot\nDisallow: /x');
    expect([robots.crawlDelay('FooBot'), robots.crawlDelay('other')]).toEqual([undefined, 4]);
  });
});

describe('other records', () => {
  test('are shown raw with line and group, names that follow included', () => {
    const robots = file(
      'Sitemap: /s.xml\nUser-agent: A\nContent-Signal: search=yes, ai-train=no\nUser-agent: 4\nUser-agent: b\nDisallow: /\nhost: caf\u00e9.example',
    );
    expect(robots.records).toEqual([
      { key: 'sitemap', value: '/s.xml', line: 1, agents: [] },
      { key: 'content-signal', value: 'search=yes, ai-train=no', line: 3, agents: ['A', 'b'] },
      { key: 'host', value: 'café.example', line: 7, agents: ['A', 'b'] },
    ]);
  });

  test('sitemaps are http URLs, resolved, without fragment, each once', () => {
    const robots = file(
      'site-map: /ü.xml#top\nSitemap: //cdn.example.org/s.xml\nSitemap: ftp://x/y\nSitemap: http://\nSitemap: /%C3%BC.xml',
    );
    expect(robots.sitemaps).toEqual([`${HOST}/%C3%BC.xml`, 'https://cdn.example.org/s.xml']);
    robots.sitemaps.length = 0;
    expect(robots.sitemaps.length).toBe(2);
  });
});

describe('hostile files', () => {
  test('no bytes make it throw', () => {
    const word = fc.constantFrom(
      'User-agent',
      'Disallow',
      'allow',
      ':',
      ' ',
      '\n',
      '\r',
      '#',
      '*',
      '$',
      '/',
      '%',
      '\0',
      'é',
    );
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.array(word, { maxLength: 60 }).map((all) => Buffer.from(all.join(''))),
    );
    fc.assert(
      fc.property(body, fc.string(), fc.webPath(), (given, agent, path) => {
        const robots = RobotsTxt.parse(given, HOST);
        expect(typeof robots.allows(`${HOST}/${path}`, agent)).toBe('boolean');
        expect(robots.crawlDelay(agent) ?? 0).toBeGreaterThanOrEqual(0);
        expect(robots.sitemaps.every((url) => URL.canParse(url))).toBe(true);
        expect(robots.records.every(({ line }) => line > 0)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test.each<[string, (size: number) => { lines: string; path: string }]>([
    ['wildcards', (n) => ({ lines: `Disallow: /*${'a*'.repeat(n / 4)}b`, path: `/${'a'.repeat(n)}` })],
    [
      'a long piece',
      (n) => ({ lines: `Disallow: /*${'a'.repeat(n / 4)}b${'a'.repeat(n / 4)}`, path: `/${'a'.repeat(n)}` }),
    ],
    ['many pieces', (n) => ({ lines: `Disallow: ${'/*a'.repeat(n / 8)}b$`, path: '/a'.repeat(n / 2) })],
    ['escapes', (n) => ({ lines: `Disallow: /${'%C3'.repeat(n / 8)}`, path: `/${'ü'.repeat(n / 2)}` })],
  ])('%s take time in proportion to their size', (_, make) => {
    const time = (size: number) => {
      const { lines, path } = make(size);
      const robots = rules(lines);
      robots.allows(HOST + path, 'FooBot');
      return best(() => robots.allows(HOST + path, 'FooBot'));
    };
    // Eight times the size: eight times the time if linear, sixty-four if quadratic.
    expect(time(16_000) / time(2000)).toBeLessThan(32);
  });

  test.each<[string, (lines: number) => string]>([
    [
      'names and rules',
      (n) => 'User-agent: a\n'.repeat(n / 2) + Array.from({ length: n / 2 }, (_, i) => `Disallow: /${i}*x\n`).join(''),
    ],
    [
      'names of many',
      (n) => Array.from({ length: n }, (_, i) => `User-agent: a${'b'.repeat(i % 50)}\nx: y\n`).join(''),
    ],
    ['spaces', (n) => `Disallow: ${' '.repeat(n * 10)}x\n`],
    ['line ends', (n) => '\r\n\r'.repeat(n * 3)],
  ])('a file of %s is read in proportion to its size', (_, make) => {
    const time = (lines: number) => {
      const body = Buffer.from(make(lines));
      return best(() => {
        const robots = file(body);
        robots.allows(`${HOST}/y`, 'a');
        robots.records.length;
      });
    };
    time(1000);
    expect(time(16_000) / time(2000)).toBeLessThan(32);
  });
});

describe('against a plain reading of the rules', () => {
  const piece = fc.constantFrom(
    '/',
    'a',
    'b',
    '*',
    '$',
    '?',
    '%2F',
    '%2f',
    '%61',
    '%',
    'é',
    ':',
    '.',
    '[',
    '~',
    '%7e',
    "'",
  );
  const path = fc.array(piece, { maxLength: 8 }).map((parts) => `/${parts.join('')}`);
  const rule = fc.record({
    allow: fc.boolean(),
    path: fc.oneof(
      path,
      fc.array(piece, { maxLength: 5 }).map((p) => p.join('')),
    ),
  });

  test('every answer is the same, for few rules and for many', () => {
    const many = Array.from({ length: 900 }, (_, i) => `Disallow: /filler/${i}/of/many`);
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 8 }), path, fc.boolean(), (all, asked, isLarge) => {
        const lines = all.map(({ allow, path }) => `${allow ? 'Allow' : 'Disallow'}: ${path}`);
        const url = new URL(HOST + asked);
        const robots = rules(...lines, ...(isLarge ? many : []));
        expect([lines, url.href, robots.allows(url.href, 'FooBot')]).toEqual([lines, url.href, plainly(all, url)]);
      }),
      { numRuns: 3000 },
    );
  });
});

/** The rule of RFC 9309, section 2.2.2, by trying everything. */
function plainly(all: readonly { allow: boolean; path: string }[], url: URL): boolean {
  const subject = normal(url.href.slice(HOST.length)).replaceAll('*', '%2A').replaceAll('$', '%24');
  const longest = { true: 0, false: 0 };
  for (const { allow, path } of all) {
    if (!/^[/*]/.test(path)) continue;
    const pattern = normal(path.replace(/\$(?!$)/g, '%24'));
    const hits = matchesAt(pattern, subject) || (pattern.includes('?') && matchesAt(second(pattern), second(subject)));
    if (hits) longest[`${allow}`] = Math.max(longest[`${allow}`], pattern.length);
  }
  return longest.false <= longest.true;
}

function normal(text: string): string {
  return [...text.matchAll(/%[0-9a-f]{2}|[\s\S]/giu)]
    .map(([part]) => {
      if (part.length === 3) {
        const char = String.fromCharCode(Number.parseInt(part.slice(1), 16));
        return /[\w.~-]/.test(char) ? char : part.toUpperCase();
      }
      if (/[[\]']/.test(part)) return `%${part.charCodeAt(0).toString(16).toUpperCase()}`;
      return part.length === 1 && part < '\x7f' ? part : encodeURIComponent(part);
    })
    .join('');
}

function second(text: string): string {
  const [path, ...query] = text.split('?');
  return query.length === 0 ? text : `${path}?${query.join('?').replace(/[:/@]/g, encodeURIComponent)}`;
}

function matchesAt(pattern: string, subject: string): boolean {
  if (pattern === '') return true;
  if (pattern === '$') return subject === '';
  if (pattern[0] === '*') return [...subject, ''].some((_, i) => matchesAt(pattern.slice(1), subject.slice(i)));
  return subject !== '' && pattern[0] === subject[0] && matchesAt(pattern.slice(1), subject.slice(1));
}

function best(work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 7; i++) {
    const start = performance.now();
    work();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

function codeOf(work: () => unknown): string {
  try {
    work();
    return 'nothing thrown';
  } catch (error) {
    return isCrawlError(error) ? error.code : `not a CrawlError: ${error}`;
  }
}
