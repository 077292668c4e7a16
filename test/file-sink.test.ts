import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isCrawlError } from '../src/errors.ts';
import { fileNameFor, INDEX_NAME, PARTIAL_SUFFIX } from '../src/sink/files/file-name.ts';
import { FileSink, type FileSinkOptions } from '../src/sink/files/index.ts';
import type { Page } from '../src/types.ts';
import { canonicalizeUrl } from '../src/url.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'file-sink-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function page(url: string, body: string | Buffer | Readable = `page of ${url}`, more: Partial<Page> = {}): Page {
  const stream = body instanceof Readable ? body : undefined;
  return {
    url,
    finalUrl: url,
    status: 200,
    contentType: 'text/html',
    body: stream === undefined ? Buffer.from(body as string) : Buffer.alloc(0),
    stream,
    fetchedAt: new Date(0),
    truncated: false,
    ...more,
  } as Page;
}

/** Every file below the root, as relative paths, the index left out. */
function files(directory = root): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.endsWith(INDEX_NAME) && lstatSync(join(directory, name)).isFile())
    .sort();
}
const codeOf = (thrown: unknown) => (isCrawlError(thrown) ? thrown.code : thrown);

/** Paths that have led other tools astray. */
const HARD = [
  'https://a.example/',
  'https://a.example/docs',
  'https://a.example/docs/',
  'https://a.example/docs/one',
  'https://a.example/docs/one.html',
  'https://a.example/docs/one.html/two.html',
  'https://a.example/docs/index.html',
  'https://a.example/docs?x=1',
  'https://a.example/docs?x=2',
  'https://a.example/docs/?x=1',
  'https://a.example/docs.html',
  'https://a.example/docs.html?',
  'https://a.example//docs//one.html',
  'https://a.example/DOCS/one.html',
  'https://a.example/docs/ONE.html',
  'https://a.example/A',
  'https://a.example/a',
  'http://a.example/docs/one.html',
  'https://a.example:8080/docs/one.html',
  'https://a.example./docs/one.html',
  'https://a_example/docs/one.html',
  'https://b.example/docs/one.html',
  `https://a.example/x?${'q'.repeat(300)}`,
  `https://a.example/x?${'q'.repeat(301)}`,
  `https://a.example/${encodeURI('é'.repeat(200))}`,
  `https://a.example/${encodeURI('é'.repeat(201))}`,
  `https://a.example/${'d/'.repeat(500)}one.html`,
  `https://a.example/${'d/'.repeat(501)}one.html`,
  `https://a.example/${'d'.repeat(300)}/one.html`,
  'https://a.example/..%2f..%2fout.txt',
  'https://a.example/..%2F..%2Fout.txt',
  'https://a.example/%2e%2e/%2e%2e/out',
  'https://a.example/a%5c..%5cb',
  'https://a.example/a%00b',
  'https://a.example/CON',
  'https://a.example/con.html',
  'https://a.example/con/one.html',
  'https://a.example/_con/one.html',
  'https://a.example/aux.txt',
  'https://a.example/nul.tar.gz?x',
  'https://a.example/lpt1/x',
  'https://nul/one.html',
  'https://_nul/one.html',
  'https://urls.jsonl/one.html',
  'https://_urls.jsonl/one.html',
  'https://a.example/urls.jsonl',
  'https://a.example/end.',
  'https://a.example/end.%20',
  'https://a.example/.htaccess',
  'https://a.example/.a/one.html',
  'https://a.example/a:b|c*d',
  'https://a.example/a"b<c>d',
  'https://a.example/one.html~.part',
  'https://a.example/one.html.part',
  'https://a.example/one.html',
  'https://a.example/~ann/one.html',
  'https://127.0.0.1/one.html',
  'https://[::1]/one.html',
];

function requireSafe(name: string) {
  const segments = name.split('/');
  for (const segment of segments) {
    expect(Buffer.byteLength(segment)).toBeLessThanOrEqual(255 - Buffer.byteLength(PARTIAL_SUFFIX));
    expect(segment).toMatch(/^[A-Za-z0-9_-][A-Za-z0-9_.~-]*$/);
    expect(segment).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i);
    expect(segment).not.toMatch(/\.$/);
  }
  expect(name.endsWith(PARTIAL_SUFFIX)).toBe(false);
  expect(name).not.toBe(INDEX_NAME);
  for (const folder of segments.slice(1, -1)) expect(folder).not.toContain('.');
  if (segments.length > 1) expect(segments.at(-1)).toContain('.');
  expect(resolve('/root', name).startsWith('/root/')).toBe(true);
}

describe('fileNameFor()', () => {
  test.each([
    ['https://a.example/docs/one.html', 'text/html', 'a.example/docs/one.html'],
    ['http://a.example/docs/one.html', 'text/html', 'a.example_http/docs/one.html'],
    ['http://127.0.0.1:8080/pic.png', 'image/png', '127.0.0.1_http_8080/pic.png'],
    ['https://a.example/pic.png', 'text/html', 'a.example/pic.png'],
  ])('a plain URL is its own name: %s', (url, type, name) => {
    expect(fileNameFor(url, type, 'tree')).toBe(name);
  });

  test.each([
    ['https://a.example/', 'text/html', /^a\.example\/index~[0-9a-f]{20}\.html$/],
    ['https://a.example/docs', 'text/html; charset=utf-8', /^a\.example\/docs~[0-9a-f]{20}\.html$/],
    ['https://a.example/docs/', 'text/html', /^a\.example\/docs\/index~[0-9a-f]{20}\.html$/],
    ['https://a.example/service?wsdl', 'text/xml', /^a\.example\/service_wsdl~[0-9a-f]{20}\.xml$/],
    ['https://a.example/Pic.JPG?w=1', 'image/jpeg', /^a\.example\/Pic_w_1~[0-9a-f]{20}\.jpg$/],
    ['https://a.example/data', '', /~[0-9a-f]{20}\.bin$/],
    ['https://a.example/data', 'application/vnd.x+json', /~[0-9a-f]{20}\.json$/],
    ['https://a.example/data', 'application/soap+xml', /~[0-9a-f]{20}\.xml$/],
    ['https://a.example/data', '__proto__', /~[0-9a-f]{20}\.bin$/],
  ])('any other gets a digest, and an extension if it has none: %s as %j', (url, type, name) => {
    expect(fileNameFor(url, type, 'tree')).toMatch(name);
  });

  test('flat names hold host and path in one', () => {
    expect(fileNameFor('https://a.example/docs/one.html', 'text/html', 'flat')).toMatch(
      /^a\.example_docs_one~[0-9a-f]{20}\.html$/,
    );
  });

  test.each(['tree', 'flat'] as const)('URLs that led others astray get safe and distinct names (%s)', (layout) => {
    const names = HARD.map((url) => fileNameFor(url, 'text/html', layout));
    for (const name of names) requireSafe(name);
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(
      new Set(HARD.map((url) => new URL(url).href)).size,
    );
  });

  test.each(['tree', 'flat'] as const)(
    'any two URLs get safe names, and distinct ones, case aside (%s, property)',
    (layout) => {
      const segment = fc.oneof(
        fc.constantFrom(
          'a',
          'A',
          'docs',
          'index.html',
          'con',
          'x.html',
          '..',
          '.',
          '',
          '%2f',
          '%2e%2e',
          'a.b.c',
          '~',
          'é',
          'a~b',
        ),
        fc.string({ unit: 'binary', maxLength: 300 }),
      );
      const url = fc
        .tuple(
          fc.constantFrom('http', 'https'),
          fc.constantFrom(
            'a.example',
            'A.example',
            'a.example.',
            'a.example:8080',
            'con',
            '[::1]',
            'xn--bcher-kva.example',
          ),
          fc.array(segment, { maxLength: 20 }),
          fc.constantFrom('', '?', '?a=1', '?A=1', '?a/../b'),
        )
        .map(([scheme, host, segments, query]) => `${scheme}://${host}/${segments.join('/')}${query}`)
        .filter((text) => URL.canParse(text))
        .map((text) => {
          const parsed = new URL(text);
          parsed.hash = '';
          return parsed.href;
        });
      fc.assert(
        fc.property(fc.uniqueArray(url, { minLength: 2, maxLength: 20 }), (urls) => {
          const names = urls.map((each) => fileNameFor(each, 'text/html', layout));
          for (const name of names) requireSafe(name);
          expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(urls.length);
          const paths = new Set(names.map((name) => name.toLowerCase()));
          for (const name of paths) {
            for (let slash = name.indexOf('/'); slash !== -1; slash = name.indexOf('/', slash + 1)) {
              expect(paths.has(name.slice(0, slash)), 'no file is also a folder').toBe(false);
            }
          }
        }),
        { numRuns: 300 },
      );
    },
  );
});

describe('FileSink', () => {
  test('writes bodies and streams under their names, and an index of them', async () => {
    const sink = new FileSink({ directory: join(root, 'deep', 'out') });
    await sink.write(page('https://a.example/docs/one.html', 'one'));
    await sink.write(
      page('https://a.example/film', Readable.from([Buffer.from('ab'), Buffer.from('cd')]), {
        contentType: 'video/mp4',
        finalUrl: 'https://b.example/film',
      }),
    );
    await sink.close();
    const index = readFileSync(join(root, 'deep', 'out', INDEX_NAME), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(index).toEqual([
      {
        time: '1970-01-01T00:00:00.000Z',
        url: 'https://a.example/docs/one.html',
        file: 'a.example/docs/one.html',
        status: 200,
        contentType: 'text/html',
        bytes: 3,
      },
      {
        time: '1970-01-01T00:00:00.000Z',
        url: 'https://a.example/film',
        finalUrl: 'https://b.example/film',
        file: expect.stringMatching(/^a\.example\/film~[0-9a-f]{20}\.mp4$/),
        status: 200,
        contentType: 'video/mp4',
        bytes: 4,
      },
    ]);
    expect(readFileSync(join(root, 'deep', 'out', index[1].file), 'utf8')).toBe('abcd');
    expect(readFileSync(sink.pathFor('https://a.example/docs/one.html', 'text/html'), 'utf8')).toBe('one');
  });

  test('makes nothing before the first page, and no index where none is wanted', async () => {
    const directory = join(root, 'out');
    const sink = new FileSink({ directory, index: false });
    expect(existsSync(directory)).toBe(false);
    await sink.write(page('https://a.example/one.html'));
    expect(readdirSync(directory)).toEqual(['a.example']);
    await new FileSink({ directory: join(root, 'other') }).close();
    expect(existsSync(join(root, 'other'))).toBe(false);
  });

  test('keeps every page of a site whose names are also folders, in any order, all at once', async () => {
    const urls = ['docs', 'docs/', 'docs/one', 'docs/index.html', 'docs?x=1'].map(
      (path) => `https://a.example/${path}`,
    );
    const forwards = join(root, 'forwards');
    const backwards = join(root, 'backwards');
    for (const [directory, order] of [
      [forwards, urls],
      [backwards, [...urls].reverse()],
    ] as const) {
      const sink = new FileSink({ directory });
      await Promise.all(order.map((url) => sink.write(page(url))));
      await sink.close();
    }
    expect(files(forwards)).toHaveLength(5);
    expect(files(forwards)).toEqual(files(backwards));
    for (const name of files(forwards)) {
      expect(readFileSync(join(forwards, name), 'utf8')).toBe(readFileSync(join(backwards, name), 'utf8'));
    }
  });

  test.each(['tree', 'flat'] as const)('writes what led others astray, each once, all inside (%s)', async (name) => {
    const urls = [...new Map(HARD.map((url) => [canonicalizeUrl(url), new URL(url).href])).values()];
    const sink = new FileSink({ directory: join(root, 'out'), layout: name });
    await Promise.all(urls.map((url) => sink.write(page(url))));
    await sink.close();
    const written = readFileSync(join(root, 'out', INDEX_NAME), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(written).toHaveLength(urls.length);
    for (const { url, file } of written) expect(readFileSync(join(root, 'out', file), 'utf8')).toBe(`page of ${url}`);
    expect(readdirSync(root)).toEqual(['out']);
  });

  test('the same page again replaces the file, another spelling of its URL too', async () => {
    const sink = new FileSink({ directory: root });
    await sink.write(page('https://a.example/~ann/', 'first'));
    await sink.write(page('https://a.example/%7Eann/', 'second'));
    expect(files()).toHaveLength(1);
    expect(readFileSync(join(root, files()[0]!), 'utf8')).toBe('second');
  });

  test('the same page many times at once leaves one whole file', async () => {
    const sink = new FileSink({ directory: root });
    const bodies = Array.from({ length: 20 }, (_, i) => String(i).repeat(10_000));
    await Promise.all(
      bodies.map((body) => sink.write(page('https://a.example/one.html', Readable.from([Buffer.from(body)])))),
    );
    expect(files()).toEqual([join('a.example', 'one.html')]);
    expect(readFileSync(join(root, 'a.example', 'one.html'), 'utf8')).toBe(bodies.at(-1));
  });

  test('a leftover of a crash is written over', async () => {
    mkdirSync(join(root, 'a.example'));
    writeFileSync(join(root, 'a.example', `one.html${PARTIAL_SUFFIX}`), 'half a page that is longer than the whole');
    writeFileSync(join(root, INDEX_NAME), '{"url":"half');
    await new FileSink({ directory: root }).write(page('https://a.example/one.html', 'whole'));
    expect(files()).toEqual([join('a.example', 'one.html')]);
    expect(readFileSync(join(root, 'a.example', 'one.html'), 'utf8')).toBe('whole');
    const [half, line] = readFileSync(join(root, INDEX_NAME), 'utf8').split('\n');
    expect(half).toBe('{"url":"half');
    expect(JSON.parse(line!).url).toBe('https://a.example/one.html');
  });

  test('the final name appears only when the page is whole', async () => {
    const stream = new Readable({ read() {} });
    const sink = new FileSink({ directory: root });
    const written = sink.write(page('https://a.example/one.html', stream));
    stream.push('half');
    await expect.poll(() => files()).toEqual([join('a.example', `one.html${PARTIAL_SUFFIX}`)]);
    stream.push(null);
    await written;
    expect(files()).toEqual([join('a.example', 'one.html')]);
  });

  test('a folder that is taken away in between is made again', async () => {
    const sink = new FileSink({ directory: join(root, 'out') });
    await sink.write(page('https://a.example/docs/one.html'));
    rmSync(join(root, 'out'), { recursive: true });
    await sink.write(page('https://a.example/docs/two.html'));
    expect(files()).toEqual([join('out', 'a.example', 'docs', 'two.html')]);
  });

  test('many pages at once are all listed in the index', async () => {
    const sink = new FileSink({ directory: root, layout: 'flat' });
    const urls = Array.from({ length: 300 }, (_, i) => `https://a.example/${i}`);
    await Promise.all(urls.map((url) => sink.write(page(url))));
    const lines = readFileSync(join(root, INDEX_NAME), 'utf8').trimEnd().split('\n');
    expect(new Set(lines.map((line) => JSON.parse(line).url))).toEqual(new Set(urls));
  });
});

describe('a page that cannot be written', () => {
  test('because its stream fails leaves no file, and the one before stays', async () => {
    const sink = new FileSink({ directory: root });
    await sink.write(page('https://a.example/one.html', 'good'));
    const broken = new Readable({
      read() {
        this.push('half');
        this.destroy(new Error('connection lost'));
      },
    });
    const failure = await sink.write(page('https://a.example/one.html', broken)).catch((thrown) => thrown);
    expect(codeOf(failure)).toBe('CRAWL_SINK_FAILED');
    expect(failure.cause.message).toBe('connection lost');
    expect(failure.url).toBe('https://a.example/one.html');
    expect(files()).toEqual([join('a.example', 'one.html')]);
    expect(readFileSync(join(root, 'a.example', 'one.html'), 'utf8')).toBe('good');
  });

  test.each(['body', 'stream'])('because it is larger than maxBytes leaves no file (%s)', async (kind) => {
    const sink = new FileSink({ directory: root, maxBytes: 10 });
    const of = (text: string) =>
      page('https://a.example/one.html', kind === 'body' ? text : Readable.from([Buffer.from(text)]));
    await sink.write(of('x'.repeat(10)));
    expect(codeOf(await sink.write(of('x'.repeat(11))).catch((thrown) => thrown))).toBe('CRAWL_BODY_TOO_LARGE');
    expect(files()).toEqual([join('a.example', 'one.html')]);
    expect(readFileSync(join(root, 'a.example', 'one.html'), 'utf8')).toHaveLength(10);
  });

  test('because its folder cannot be made closes its stream', async () => {
    writeFileSync(join(root, 'file'), '');
    const stream = new Readable({ read() {} });
    const failure = await new FileSink({ directory: join(root, 'file') })
      .write(page('https://a.example/', stream))
      .catch((thrown) => thrown);
    expect(codeOf(failure)).toBe('CRAWL_SINK_FAILED');
    expect(stream.destroyed).toBe(true);
  });

  test('after close() is refused, and close() waits for what was begun', async () => {
    const stream = new Readable({ read() {} });
    const sink = new FileSink({ directory: root });
    const written = sink.write(page('https://a.example/one.html', stream));
    const closed = sink.close();
    stream.push('x');
    stream.push(null);
    await closed;
    expect(files()).toEqual([join('a.example', 'one.html')]);
    await written;
    expect(codeOf(await sink.write(page('https://a.example/two.html')).catch((thrown) => thrown))).toBe('CRAWL_CLOSED');
    await sink.close();
  });
});

describe('symbolic links', () => {
  let outside: string;
  beforeEach(() => {
    outside = realpathSync(mkdtempSync(join(tmpdir(), 'outside-')));
  });
  afterEach(() => rmSync(outside, { recursive: true, force: true }));

  test('are not followed out of the folder', async () => {
    symlinkSync(outside, join(root, 'a.example'));
    const failure = await new FileSink({ directory: root })
      .write(page('https://a.example/docs/one.html'))
      .catch((thrown) => thrown);
    expect(codeOf(failure)).toBe('CRAWL_SINK_FAILED');
    expect(failure.message).toContain('leads out of the folder');
    expect(readdirSync(outside)).toEqual([]);
  });

  test('are not followed to a sister folder whose name only begins alike', async () => {
    const inner = join(outside, 'out');
    mkdirSync(inner);
    mkdirSync(join(outside, 'out-side'));
    symlinkSync(join(outside, 'out-side'), join(inner, 'a.example'));
    const failure = await new FileSink({ directory: inner })
      .write(page('https://a.example/one.html'))
      .catch((thrown) => thrown);
    expect(codeOf(failure)).toBe('CRAWL_SINK_FAILED');
  });

  test('are followed within it, and the folder itself may be one', async () => {
    mkdirSync(join(outside, 'elsewhere'));
    symlinkSync(join(outside, 'elsewhere'), join(outside, 'a.example'));
    symlinkSync(outside, join(root, 'out'));
    await new FileSink({ directory: join(root, 'out') }).write(page('https://a.example/one.html', 'one'));
    expect(readFileSync(join(outside, 'elsewhere', 'one.html'), 'utf8')).toBe('one');
  });

  test('in the place of a file, a leftover or the index are not written through', async () => {
    const target = join(outside, 'target');
    writeFileSync(target, 'untouched');
    mkdirSync(join(root, 'a.example'));
    symlinkSync(target, join(root, 'a.example', 'one.html'));
    symlinkSync(target, join(root, 'a.example', `one.html${PARTIAL_SUFFIX}`));
    const sink = new FileSink({ directory: root });
    await sink.write(page('https://a.example/one.html', 'one'));
    expect(readFileSync(join(root, 'a.example', 'one.html'), 'utf8')).toBe('one');
    rmSync(join(root, INDEX_NAME));
    symlinkSync(target, join(root, INDEX_NAME));
    const failure = await new FileSink({ directory: root })
      .write(page('https://a.example/two.html'))
      .catch((thrown) => thrown);
    expect(codeOf(failure)).toBe('CRAWL_SINK_FAILED');
    expect(readFileSync(target, 'utf8')).toBe('untouched');
  });
});

describe('a prefix', () => {
  test.each([
    ['pictures/holiday-', 'pictures', 'holiday-'],
    ['holiday', '.', 'holiday'],
    ['pictures/', 'pictures', ''],
    ['./a/b/', 'a/b', ''],
  ])('%j begins every file name', async (prefix, directory, start) => {
    const sink = new FileSink({ prefix: `${root}/${prefix}` });
    await sink.write(page('https://a.example/pics/one.png', 'png', { contentType: 'image/png' }));
    await sink.close();
    const names = readdirSync(join(root, directory)).sort();
    expect(names).toHaveLength(2);
    expect(names.every((name) => name.startsWith(start))).toBe(true);
    expect(names).toContain(`${start}${INDEX_NAME}`);
    const path = sink.pathFor('https://a.example/pics/one.png', 'image/png');
    expect(relative(join(root, directory), path)).toMatch(
      new RegExp(`^${start}a\\.example_pics_one~[0-9a-f]{20}\\.png$`),
    );
    expect(readFileSync(path, 'utf8')).toBe('png');
  });

  test('leaves the names within 255 bytes at its longest', async () => {
    const sink = new FileSink({ prefix: join(root, 'p'.repeat(99)) });
    await sink.write(page(`https://a.example/${'x'.repeat(500)}`));
    expect(files()).toHaveLength(1);
  });
});

test.each<[string, object, string]>([
  ['neither folder nor prefix', {}, 'CRAWL_OPTION_CONFLICT'],
  ['both', { directory: 'a', prefix: 'b' }, 'CRAWL_OPTION_CONFLICT'],
  ['a tree with a prefix', { prefix: 'b', layout: 'tree' }, 'CRAWL_OPTION_CONFLICT'],
  ['an empty folder', { directory: '' }, 'CRAWL_OPTION_INVALID'],
  ['a NUL', { prefix: 'a\0' }, 'CRAWL_OPTION_INVALID'],
  ['another layout', { directory: 'a', layout: 'heap' }, 'CRAWL_OPTION_INVALID'],
  ['no bytes', { directory: 'a', maxBytes: 0 }, 'CRAWL_OPTION_INVALID'],
  ['a prefix of 100 bytes', { prefix: 'p'.repeat(100) }, 'CRAWL_OPTION_INVALID'],
  ['a slip of the pen', { dir: 'a' }, 'CRAWL_OPTION_UNKNOWN'],
])('the options %s are refused', (_, options, code) => {
  let thrown: unknown;
  try {
    new FileSink(options as FileSinkOptions);
  } catch (error) {
    thrown = error;
  }
  expect(codeOf(thrown)).toBe(code);
});
