import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { isCrawlError } from '../src/errors.ts';
import type { LinkContext } from '../src/types.ts';
import { DYNAMIC_EXTENSIONS, MAX_URL_LENGTH, safeCheck, UrlFilter } from '../src/url-filter.ts';

const CONTEXT: LinkContext = { depth: 1, referrer: 'http://a.example/' };
const check = (filter: UrlFilter, url: string) => filter.check(new URL(url), CONTEXT);
const codeOf = (run: () => unknown) => {
  try {
    run();
    return undefined;
  } catch (thrown) {
    return isCrawlError(thrown) ? thrown.code : thrown;
  }
};

// First in the file: what is loaded once stays loaded.
test('sameDomain() loads the Public Suffix List, the import does not', () => {
  const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((path) => path.includes('/tldts/'));
  check(UrlFilter.sameHost('http://a.example/'), 'http://b.example/');
  expect(loaded()).toBe(false);
  UrlFilter.sameDomain('http://a.example/');
  expect(loaded()).toBe(true);
});

describe('UrlFilter.sameHost()', () => {
  test('takes hosts beyond ASCII, also where a function has become hot', () => {
    for (let round = 0; round < 10_000; round++) UrlFilter.sameHost('http://é.example/');
    for (const seed of [
      'http://é.example/',
      'http://ß.example/',
      'http://пример.example/',
      'http://xn--9ca.example/',
    ]) {
      expect(check(UrlFilter.sameHost(seed), new URL(seed).href)).toBeUndefined();
    }
  });

  test.each<[string, string, string | undefined, string]>([
    ['http://a.example/', 'http://a.example/x', undefined, 'the same host'],
    ['http://a.example/', 'http://a.example:80/x', undefined, 'a default port may be written'],
    ['http://a.example/', 'https://a.example/x', undefined, 'the scheme is not compared'],
    ['http://a.example/', 'https://a.example:80/x', 'off-host', 'port 80 is not the default of https'],
    ['http://a.example:8080/', 'http://a.example:8080/x', undefined, 'another port, in both'],
    ['http://a.example:8080/', 'http://a.example/x', 'off-host', 'the port is part of the host'],
    ['http://A.Example./', 'http://a.eXAMPLE/x', undefined, 'case and trailing dot do not count'],
    ['http://a.example.:8080/', 'http://a.example:8080/x', undefined, 'nor does a trailing dot before a port'],
    ['http://a.example/', 'http://www.a.example/x', 'off-host', 'www is another host'],
    ['http://bücher.example/', 'http://xn--bcher-kva.example/', undefined, 'punycode and Unicode are one name'],
    ['http://[::1]/', 'http://[0:0:0:0:0:0:0:1]/', undefined, 'an IPv6 address has one form'],
    ['http://127.0.0.1/', 'http://0x7f.1/', undefined, 'an IPv4 address has one form'],
  ])('seed %s and %s give %s: %s', (seed, url, reason, _because) => {
    expect(check(UrlFilter.sameHost(seed), url)).toBe(reason);
    expect(check(UrlFilter.sameHost([new URL(seed)]), url)).toBe(reason);
  });

  test('takes several seeds, out of anything that can be iterated', () => {
    const filter = UrlFilter.sameHost(new Set(['http://a.example/', 'http://b.example/']));
    expect(check(filter, 'http://b.example/')).toBeUndefined();
    expect(check(filter, 'http://c.example/')).toBe('off-host');
    expect(codeOf(() => UrlFilter.sameHost([]))).toBe('CRAWL_OPTION_INVALID');
  });

  test.each(['not a url', '/relative', 'mailto:a@b.example', ''])('refuses the seed %j by throwing', (seed) => {
    expect(codeOf(() => UrlFilter.sameHost([seed]))).toBe('CRAWL_URL_INVALID');
    expect(codeOf(() => UrlFilter.sameDomain(seed))).toBe('CRAWL_URL_INVALID');
  });

  test('says what it takes when given no URLs at all', () => {
    expect(codeOf(() => UrlFilter.sameHost(undefined as never))).toBe('CRAWL_OPTION_INVALID');
    expect(codeOf(() => UrlFilter.sameHost(7 as never))).toBe('CRAWL_OPTION_INVALID');
  });
});

describe('UrlFilter.sameDomain()', () => {
  test.each<[string, string, string | undefined, string]>([
    ['http://www.a.example/', 'http://b.a.example:8080/', undefined, 'names of one registrable domain, on any port'],
    ['http://a.co.uk/', 'http://www.a.co.uk/', undefined, 'below a suffix of two labels'],
    ['http://a.co.uk/', 'http://b.co.uk/', 'off-domain', 'co.uk is a public suffix'],
    ['http://ann.github.io/', 'http://bob.github.io/', 'off-domain', 'github.io is a private suffix'],
    ['http://ann.github.io/', 'http://www.ann.github.io/', undefined, 'one user of it is one domain'],
    ['http://github.io/', 'http://ann.github.io/', 'off-domain', 'a suffix itself stands for itself'],
    ['http://127.0.0.1/', 'http://127.0.0.1:81/', undefined, 'an address equals itself'],
    ['http://127.0.0.1/', 'http://128.0.0.1/', 'off-domain', 'the end of an address is no domain'],
    ['http://[::1]/', 'http://[::2]/', 'off-domain', 'nor is that of an IPv6 address'],
    ['http://intranet/', 'http://intranet/x', undefined, 'a name without a dot equals itself'],
    ['http://intranet/', 'http://other/', 'off-domain', 'and nothing else'],
    ['http://a.example./', 'http://www.a.example/', undefined, 'a trailing dot does not count'],
    ['http://my_host.a.example/', 'http://a.example/', undefined, 'an underscore does no harm'],
  ])('seed %s and %s give %s: %s', (seed, url, reason, _because) => {
    expect(check(UrlFilter.sameDomain(seed), url)).toBe(reason);
  });
});

describe('the built-in filters', () => {
  test.each([
    [['example.org'], 'http://example.org/', undefined],
    [['example.org'], 'http://a.b.example.org:8080/', undefined],
    [['example.org'], 'http://badexample.org/', 'off-domain'],
    [['.gov', '*.mil'], 'http://nasa.gov/', undefined],
    [['.gov', '*.mil'], 'http://navy.mil/', undefined],
    [['.gov', '*.mil'], 'http://a.example/', 'off-domain'],
    [['BÜCHER.example.'], 'http://www.xn--bcher-kva.example/', undefined],
    [['0.0.1'], 'http://127.0.0.1/', 'off-domain'],
    [['127.0.0.1'], 'http://127.0.0.1/', undefined],
  ])('domainSuffix(%j) on %s gives %s', (suffixes, url, reason) => {
    expect(check(UrlFilter.domainSuffix(...suffixes), url)).toBe(reason);
  });

  test.each([
    [['https'], 'https://a.example/', undefined],
    [['HTTPS:'], 'https://a.example/', undefined],
    [['https'], 'http://a.example/', 'scheme'],
    [['http', 'https'], 'ftp://a.example/', 'scheme'],
  ])('schemes(%j) on %s gives %s', (wanted, url, reason) => {
    expect(check(UrlFilter.schemes(...wanted), url)).toBe(reason);
  });

  test.each([
    [[80], 'http://a.example/', undefined],
    [[80], 'https://a.example/', 'port'],
    [[80, 443], 'https://a.example/', undefined],
    [[80], 'http://a.example:8080/', 'port'],
    [[8080], 'http://a.example:8080/', undefined],
    [[80], 'mailto:a@b.example', 'port'],
  ])('ports(%j) on %s gives %s', (wanted, url, reason) => {
    expect(check(UrlFilter.ports(...wanted), url)).toBe(reason);
  });

  test.each([
    [{ deny: ['pdf'] }, '/a.pdf', 'extension'],
    [{ deny: ['.PDF'] }, '/a.pdf', 'extension'],
    [{ deny: ['pdf'] }, '/a.PDF?x=1', 'extension'],
    [{ deny: ['pdf'] }, '/a%2EpDF', 'extension'],
    [{ deny: ['pdf'] }, '/a.pdf;v=1', 'extension'],
    [{ deny: ['pdf'] }, '/a.pdf/', undefined],
    [{ deny: ['pdf'] }, '/a.html', undefined],
    [{ deny: ['pdf'] }, '/pdf', undefined],
    [{ deny: ['pdf'] }, '/.pdf', undefined],
    [{ deny: ['pdf'] }, '/?file=a.pdf', undefined],
    [{ deny: ['gz'] }, '/a.tar.gz', 'extension'],
    [{ deny: ['tar.gz'] }, '/a.tar.gz', 'extension'],
    [{ deny: ['tar.gz'] }, '/a.gz', undefined],
    [{ deny: ['tar.gz'] }, '/.tar.gz', undefined],
    [{ deny: [''] }, '/a/', 'extension'],
    [{ deny: [''] }, '/a', 'extension'],
    [{ deny: [''] }, '/a.', 'extension'],
    [{ deny: [''] }, '/a.html', undefined],
    [{ allow: ['html', ''] }, '/a/', undefined],
    [{ allow: ['html'] }, '/a/', 'extension'],
    [{ allow: ['html'] }, '/a.html', undefined],
    [{ allow: ['html'] }, '/a.htm', 'extension'],
    [{ allow: ['html'], deny: ['html'] }, '/a.html', 'extension'],
    [{ allow: [] }, '/a.html', 'extension'],
    [{}, '/a.html', undefined],
  ])('extensions(%j) on %s gives %s', (rules, path, reason) => {
    expect(check(UrlFilter.extensions(rules), `http://a.example${path}`)).toBe(reason);
  });

  test.each([
    ['/', undefined],
    ['/?', undefined],
    ['/a.html', undefined],
    ['/php', undefined],
    ['/phpbook/a.html', undefined],
    ['/?a', 'dynamic'],
    ['/a.html?x=1', 'dynamic'],
    ['/a.php', 'dynamic'],
    ['/a.PHP', 'dynamic'],
    ['/a.%70hp', 'dynamic'],
    ['/index.php/news/1', 'dynamic'],
    ['/cgi-bin/counter', 'dynamic'],
    ['/a/CGI-BIN/counter', 'dynamic'],
    ['/a.html;jsessionid=1F', 'dynamic'],
    ['/a.jsp;v=1', 'dynamic'],
  ])('dynamicPages() on %s gives %s', (path, reason) => {
    expect(check(UrlFilter.dynamicPages(), `http://a.example${path}`)).toBe(reason);
  });

  test('dynamicPages() knows every extension on its list', () => {
    expect(DYNAMIC_EXTENSIONS).toContain('asp');
    for (const extension of DYNAMIC_EXTENSIONS) {
      expect(check(UrlFilter.dynamicPages(), `http://a.example/x.${extension}`)).toBe('dynamic');
    }
  });

  test.each([
    [['/docs/'], '/docs/a', undefined],
    [['/docs/'], '/docs', 'path'],
    [['/docs/'], '/docs2/a', 'path'],
    [['/docs'], '/docs2/a', undefined],
    [['/Docs'], '/docs', 'path'],
    [['/~ann/'], '/%7Eann/a', undefined],
    [['/%7eann/'], '/~ann/a', undefined],
    [['/ü/'], '/%c3%bc/a', undefined],
    [['/a/'], '/a%2Fb', 'path'],
    [['/a/../b/'], '/b/x', undefined],
    [['//a/'], '//a/x', undefined],
    [['/x', '/docs/'], '/docs/a', undefined],
  ])('pathPrefix(%j) on %s gives %s', (prefixes, path, reason) => {
    expect(check(UrlFilter.pathPrefix(...prefixes), `http://a.example${path}`)).toBe(reason);
  });

  test.each([
    [{ allow: [/\/docs\//] }, undefined],
    [{ allow: [/\/blog\//] }, 'pattern'],
    [{ deny: [/\/docs\//] }, 'pattern'],
    [{ deny: [/\/blog\//] }, undefined],
    [{ allow: [/docs/], deny: [/\.html$/] }, 'pattern'],
    [{ allow: [/blog/, /docs/] }, undefined],
    [{ allow: [] }, 'pattern'],
    [{}, undefined],
  ])('matching(%j) gives %s', (rules, reason) => {
    expect(check(UrlFilter.matching(rules), 'http://a.example/docs/a.html')).toBe(reason);
  });

  test.each(['g', 'y', 'gy', 'gi'])('matching() answers the same on every call with the flags %s', (flags) => {
    const own = new RegExp('http:', flags);
    own.lastIndex = 3;
    const filter = UrlFilter.matching({ allow: [own] });
    const answers = [1, 2, 3, 4].map(() => check(filter, 'http://a.example/'));
    expect(answers).toEqual([undefined, undefined, undefined, undefined]);
    expect(own.lastIndex, 'the expression given is left alone').toBe(3);
  });

  test('maxLength() counts the characters of the serialised URL', () => {
    const url = `http://a.example/${'x'.repeat(10)}`;
    expect(check(UrlFilter.maxLength(url.length), url)).toBeUndefined();
    expect(check(UrlFilter.maxLength(url.length - 1), url)).toBe('url-too-long');
    expect(check(UrlFilter.maxLength(), `http://a.example/${'x'.repeat(MAX_URL_LENGTH)}`)).toBe('url-too-long');
    expect(check(UrlFilter.maxLength(20), 'http://a.example/ü'), 'ü is written with six characters').toBe(
      'url-too-long',
    );
  });

  test.each<[string, () => UrlFilter]>([
    ['ports()', () => UrlFilter.ports()],
    ['ports(0)', () => UrlFilter.ports(0)],
    ['ports(65536)', () => UrlFilter.ports(65_536)],
    ['ports("80")', () => UrlFilter.ports('80' as never)],
    ['schemes()', () => UrlFilter.schemes()],
    ['schemes("https://")', () => UrlFilter.schemes('https://')],
    ['domainSuffix()', () => UrlFilter.domainSuffix()],
    ['domainSuffix("")', () => UrlFilter.domainSuffix('')],
    ['domainSuffix("a/b")', () => UrlFilter.domainSuffix('a/b')],
    ['domainSuffix("http://a.example")', () => UrlFilter.domainSuffix('http://a.example')],
    ['domainSuffix("a:80")', () => UrlFilter.domainSuffix('a:80')],
    ['pathPrefix()', () => UrlFilter.pathPrefix()],
    ['pathPrefix("docs")', () => UrlFilter.pathPrefix('docs')],
    ['pathPrefix("/a?b")', () => UrlFilter.pathPrefix('/a?b')],
    ['extensions({ allow: "pdf" })', () => UrlFilter.extensions({ allow: 'pdf' as never })],
    ['extensions({ deny: ["a/b"] })', () => UrlFilter.extensions({ deny: ['a/b'] })],
    ['matching({ deny: ["x"] })', () => UrlFilter.matching({ deny: ['x' as never] })],
    ['matching({ deny: /x/ })', () => UrlFilter.matching({ deny: /x/ as never })],
    ['maxLength(0)', () => UrlFilter.maxLength(0)],
    ['from("x")', () => UrlFilter.from('x' as never)],
    ['and(undefined)', () => UrlFilter.any().and(undefined as never)],
    ['or({})', () => UrlFilter.any().or({} as never)],
  ])('%s throws CRAWL_OPTION_INVALID', (_, make) => {
    expect(codeOf(make)).toBe('CRAWL_OPTION_INVALID');
  });

  test('an unknown option is refused by name', () => {
    expect(codeOf(() => UrlFilter.extensions({ alow: [] } as never))).toBe('CRAWL_OPTION_UNKNOWN');
    expect(codeOf(() => UrlFilter.matching({ denny: [] } as never))).toBe('CRAWL_OPTION_UNKNOWN');
  });
});

const accept = UrlFilter.any();
const refuse = (reason: string) => UrlFilter.from(() => reason);

describe('joining filters', () => {
  test('and() gives the reason of the first that refuses, and asks no further', () => {
    const asked = vi.fn(() => 'second');
    expect(check(refuse('first').and(UrlFilter.from(asked)), 'http://a.example/')).toBe('first');
    expect(asked).not.toHaveBeenCalled();
    expect(check(accept.and(refuse('second')), 'http://a.example/')).toBe('second');
    expect(check(accept.and(accept), 'http://a.example/')).toBeUndefined();
  });

  test('or() accepts what one accepts, else gives the reason of the last', () => {
    expect(check(refuse('first').or(accept), 'http://a.example/')).toBeUndefined();
    expect(check(accept.or(refuse('second')), 'http://a.example/')).toBeUndefined();
    expect(check(refuse('first').or(refuse('second')), 'http://a.example/')).toBe('second');
  });

  test('not() turns a filter round and says its name', () => {
    class OnlyDocs extends UrlFilter {
      override check(url: URL): string | undefined {
        return url.pathname.startsWith('/docs/') ? undefined : 'no-docs';
      }
    }
    const docs = 'http://a.example/docs/';
    expect(check(new OnlyDocs().not(), docs)).toBe('not(OnlyDocs)');
    expect(check(new OnlyDocs().not(), 'http://a.example/')).toBeUndefined();
    expect(check(UrlFilter.sameHost(docs).not(), docs)).toBe('not(sameHost)');
    expect(check(UrlFilter.sameHost(docs).and(new OnlyDocs()).not(), docs)).toBe('not(sameHost and OnlyDocs)');
    expect(check(new OnlyDocs().or(refuse('x')).not(), docs)).toBe('not(OnlyDocs or filter)');
    expect(check(UrlFilter.from(() => undefined, 'mine').not(), docs)).toBe('not(mine)');
    expect(check(new OnlyDocs().not().not(), 'http://a.example/')).toBe('not(not(OnlyDocs))');
  });

  test('the name inside not() stays short, and a broken toString does no harm', () => {
    const long = Array.from({ length: 200 }, () => UrlFilter.any()).reduce((all, next) => all.and(next));
    expect(check(long.not(), 'http://a.example/')?.length).toBeLessThan(100);
    class Broken extends UrlFilter {
      override check(): undefined {
        return undefined;
      }
      override toString(): string {
        throw new Error('broken');
      }
    }
    expect(check(new Broken().not(), 'http://a.example/')).toBe('not(filter)');
  });

  test('a chain of a hundred thousand filters asks each without overflowing the stack', () => {
    let asked = 0;
    const counting = UrlFilter.from(() => {
      asked++;
      return undefined;
    });
    let chain = counting;
    for (let doubling = 0; doubling < 17; doubling++) chain = chain.and(chain);
    expect(safeCheck(chain, new URL('http://a.example/'), CONTEXT)).toEqual({ reason: undefined });
    expect(asked).toBe(2 ** 17);
  });

  test('a nest too deep for the stack refuses instead of throwing', () => {
    let nest = accept;
    for (let level = 0; level < 100_000; level++) nest = nest.not();
    const { reason, error } = safeCheck(nest, new URL('http://a.example/'), CONTEXT);
    expect(reason).toBe('filter-failed');
    expect(error?.cause).toBeInstanceOf(RangeError);
  });

  test('the context reaches every part', () => {
    const deep = UrlFilter.from((_, context) => (context.depth > 3 ? 'deep' : undefined));
    const filter = accept.and(deep.not().not());
    expect(filter.check(new URL('http://a.example/'), { depth: 3 })).toBeUndefined();
    expect(filter.check(new URL('http://a.example/'), { depth: 4 })).toBe('not(not(filter))');
  });
});

const BROKEN: [string, () => unknown][] = [
  ['throws an error', () => raise(new Error('broken'))],
  ['throws undefined', () => raise(undefined)],
  ['throws what cannot be shown', () => raise(Object.create(null))],
  ['returns true', () => true],
  ['returns false', () => false],
  ['returns null', () => null],
  ['returns 0', () => 0],
  ['returns an empty reason', () => ''],
  ['returns an object', () => ({})],
  ['returns a promise', () => Promise.resolve(undefined)],
  ['returns a promise that rejects', () => Promise.reject(new Error('late'))],
  // biome-ignore lint/suspicious/noThenProperty: the very thing to be guarded against
  ['returns a thenable whose then throws', () => ({ then: () => raise(new Error('then')) })],
  ['returns an object that cannot be looked at', () => new Proxy({}, { has: () => raise(new Error('has')) })],
  [
    'asks a joined filter that failed',
    () =>
      UrlFilter.from(() => raise(new Error()))
        .not()
        .check(new URL('http://a/'), CONTEXT),
  ],
];

function raise(thrown: unknown): never {
  throw thrown;
}

describe('a filter that gives no answer', () => {
  test.each(BROKEN)('refuses, whatever it is joined to, when it %s', async (_, fn) => {
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown) => rejections.push(reason);
    process.on('unhandledRejection', onRejection);
    try {
      const broken = UrlFilter.from(fn as () => undefined);
      const joined = [
        broken,
        broken.not(),
        broken.and(accept),
        accept.and(broken),
        broken.or(refuse('x')),
        refuse('x').or(broken).not(),
      ];
      for (const filter of joined) {
        const { reason, error } = safeCheck(filter, new URL('http://a.example/p'), CONTEXT);
        expect(reason).toBe('filter-failed');
        expect(error?.code).toBe('CRAWL_FILTER_FAILED');
        expect(error?.url).toBe('http://a.example/p');
      }
      expect(check(broken.and(accept), 'http://a.example/')).toBe('filter-failed');
      expect(check(broken.or(accept), 'http://a.example/'), 'one acceptance is enough').toBeUndefined();
      expect(check(broken.and(refuse('x')), 'http://a.example/'), 'one refusal is enough').toBe('x');
      await new Promise((resolve) => setImmediate(resolve));
      expect(rejections).toEqual([]);
    } finally {
      process.off('unhandledRejection', onRejection);
    }
  });

  test('the error says what came back, or keeps what was thrown', () => {
    const thrown = new Error('no such list');
    const failed = safeCheck(
      UrlFilter.from(() => raise(thrown))
        .not()
        .and(accept),
      new URL('http://a/'),
      CONTEXT,
    );
    expect(failed.error?.cause).toBe(thrown);
    expect(failed.error?.message).toContain('no such list');
    const returned = safeCheck(
      UrlFilter.from(() => true as never),
      new URL('http://a/'),
      CONTEXT,
    );
    expect(returned.error?.message).toContain('returned true');
  });

  test('a filter of plain objects, without the class, is asked too', () => {
    const plain = { check: () => 'plain' } as unknown as UrlFilter;
    expect(safeCheck(plain, new URL('http://a/'), CONTEXT)).toEqual({ reason: 'plain' });
    expect(safeCheck({} as UrlFilter, new URL('http://a/'), CONTEXT).reason).toBe('filter-failed');
  });
});

describe('the laws of joining', () => {
  /** Accepts, refuses or fails by one bit of the path each, so that URLs range over all combinations. */
  const leaf = fc.record({ bit: fc.nat(3), kind: fc.constantFrom('plain', 'broken') }).map(({ bit, kind }) =>
    UrlFilter.from((url) => {
      const digit = url.pathname[bit + 1];
      if (digit === '2' || kind === 'broken') throw new Error('no answer');
      return digit === '0' ? `bit ${bit}` : undefined;
    }),
  );
  const filters = fc.letrec<{ tree: UrlFilter }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.tuple(tie('tree'), tie('tree')).map(([a, b]) => a.and(b)),
      fc.tuple(tie('tree'), tie('tree')).map(([a, b]) => a.or(b)),
      tie('tree').map((a) => a.not()),
    ),
  })).tree;
  const urls = fc
    .array(fc.constantFrom('0', '1', '2'), { minLength: 4, maxLength: 4 })
    .map((digits) => new URL(`http://a.example/${digits.join('')}`));
  const answer = (filter: UrlFilter, url: URL) => {
    const { reason } = safeCheck(filter, url, CONTEXT);
    return reason === undefined ? 'accepts' : reason === 'filter-failed' ? 'fails' : 'refuses';
  };
  const law = (name: string, left: (a: UrlFilter, b: UrlFilter) => UrlFilter, right: typeof left) => {
    test(name, () => {
      fc.assert(
        fc.property(filters, filters, urls, (a, b, url) => {
          expect(answer(left(a, b), url)).toBe(answer(right(a, b), url));
        }),
        { numRuns: 500 },
      );
    });
  };
  law(
    'not (a and b) is not a or not b',
    (a, b) => a.and(b).not(),
    (a, b) => a.not().or(b.not()),
  );
  law(
    'not (a or b) is not a and not b',
    (a, b) => a.or(b).not(),
    (a, b) => a.not().and(b.not()),
  );
  law(
    'not not a is a',
    (a) => a.not().not(),
    (a) => a,
  );
  law(
    'a and b is b and a',
    (a, b) => a.and(b),
    (a, b) => b.and(a),
  );
  law(
    'a or b is b or a',
    (a, b) => a.or(b),
    (a, b) => b.or(a),
  );
  law(
    'a and (a or b) is a',
    (a, b) => a.and(a.or(b)),
    (a) => a,
  );
  law(
    'any and a is a',
    (a) => UrlFilter.any().and(a),
    (a) => a,
  );

  test('check() and safeCheck() give one reason, and never throw', () => {
    fc.assert(
      fc.property(filters, filters, urls, (a, b, url) => {
        const joined = a.and(b);
        expect(joined.check(url, CONTEXT)).toBe(safeCheck(joined, url, CONTEXT).reason);
      }),
    );
  });

  test('the built-in filters answer on every URL there is', () => {
    const builtIn = [
      UrlFilter.sameHost('http://a.example/'),
      UrlFilter.sameDomain('http://a.example/'),
      UrlFilter.domainSuffix('example'),
      UrlFilter.schemes('http'),
      UrlFilter.ports(80),
      UrlFilter.extensions({ allow: ['html', ''], deny: ['tar.gz'] }),
      UrlFilter.dynamicPages(),
      UrlFilter.pathPrefix('/a'),
      UrlFilter.matching({ deny: [/x/g] }),
      UrlFilter.maxLength(100),
    ];
    const anyUrl = fc
      .oneof(
        fc.webUrl({ withQueryParameters: true }),
        fc.string({ unit: 'binary' }).map((s) => `http://a.example/${s}`),
      )
      .filter((url) => URL.canParse(url));
    fc.assert(
      fc.property(anyUrl, fc.constantFrom(...builtIn), (url, filter) => {
        const { reason, error } = safeCheck(filter, new URL(url), CONTEXT);
        expect(error).toBeUndefined();
        expect(safeCheck(filter.not(), new URL(url), CONTEXT).reason === undefined).toBe(reason !== undefined);
      }),
      { numRuns: 1000 },
    );
  });
});
