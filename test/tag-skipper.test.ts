// Text and tags of no interest are passed over with vector instructions: nothing may depend on whether there are any.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { LinkExtractor, type LinkProfile, type ScanResult, scanInSteps } from '../src/link-extractor/index.ts';
import { vectorCode } from '../src/link-extractor/vector-code.ts';
import { assemble } from './helpers/assemble.mjs';
import { nastyDocument, random } from './helpers/nasty-html.ts';

const root = new URL('..', import.meta.url).pathname;
const url = 'https://garden.test/plants/index.html?v=1';
const PROFILES: readonly LinkProfile[] = ['navigation', 'resources', 'exhaustive'];

/** What the build finds in a process that has no WebAssembly. */
function withoutVectors(profile: LinkProfile, documents: readonly string[]): readonly unknown[] {
  const folder = mkdtempSync(join(tmpdir(), 'no-vectors-'));
  try {
    const [from, to] = [join(folder, 'in.json'), join(folder, 'out.json')];
    writeFileSync(from, JSON.stringify({ url, profile, documents }));
    const paths = [join(root, 'test/helpers/scan-file.mjs'), join(root, 'dist/link-extractor/index.js'), from, to];
    execFileSync(process.execPath, paths);
    const { hasVectors, results } = JSON.parse(readFileSync(to, 'utf8'));
    expect(hasVectors).toBe(false);
    return results;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function inSteps(extractor: LinkExtractor, html: string, characters: number): ScanResult {
  const steps = scanInSteps(extractor, { url, html }, { characters, references: 100 });
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Characters that mean something, and some that look like them once they are cut down to a byte. */
const SOUP = [
  ...'<<<<>>>>""\'\'==  //aaabsz!?-&;#\n\t\f\r\0\x01\x0b\x7f\u013c\u013e\u0122\u2260\u8000\u803c\uff1c\ud83d\ude00',
  ...[
    '<a href="/x',
    '<a href=',
    '</a>',
    '<p class="b">',
    "<span title='c\"d'>",
    '<div e="f<g>h">',
    '</p>',
    '<li>',
    '<b>',
  ],
  ...[
    '<!--',
    '-->',
    '<svg',
    '</svg>',
    '<style>',
    '</style>',
    '<title>',
    '</title>',
    '<form>',
    '</form>',
    'style="a:url(b)"',
  ],
  ...[
    '<A HREF="/y" Rel="nofollow">',
    "<a rel='next' href='/z\"'>",
    '<a href="/1" href="/2">',
    '<a\tid="q"href="/3">',
    '<a\f',
  ],
  ...[
    '<a name="r">',
    '<a href = "/4">',
    '<a disabled href="/5">',
    '<a/href="/6">',
    '</A >',
    '</a\0>',
    '</a1>',
    '<a data-s="t" ',
  ],
  ...[
    '<a href="/7" style="u:url(v)">',
    '<abbr title="w">',
    '<a href="/8"rel="x"/>',
    ' href="/9"',
    ' rel="nofollow"',
    '<a>',
    '<a ',
  ],
  ...[' style=url(c)', '<td width=5 title="x">', '<i ="j">', '<k"l="m>n">', '<o=p q="r">', 'text of some length, '],
];

function soup(next: () => number, length: number): string {
  let text = next() < 0.8 ? '<p>' : '';
  while (text.length < length) text += SOUP[Math.floor(next() * SOUP.length)];
  return text;
}

const DOCUMENTS: Readonly<Record<string, (seed: number) => string>> = {
  'of tags in any order': (seed) => nastyDocument(random(seed)),
  'of characters in any order': (seed) => soup(random(seed), 20 + (seed % 400)),
  // Around 64 characters, which are looked at together.
  'with one tag of any length': (seed) =>
    `<p>${'t'.repeat(seed % 5)}<span ${'c'.repeat(seed % 67)}="${'d<a href=e>"'.slice(0, seed % 12)}${'f'.repeat(seed % 71)}"><a href="/g${seed}">h</a>`,
};

test.each<[html: string, links: string[]]>([
  ['<p><i ="l><a href=/x>m">', ['/x']],
  ['<p><i a.="l><a href=/x>m">', []],
  ['<p><b="><a href=/y>">', ['/y']],
  ['<p><b\u{1}a="><a href=/y>">', ['/y']],
  ['<p><form action=/a></form><form action=/b></form>', ['/a', '/b']],
  ['<p><form action=/a></b></form x><form action=/b></form>', ['/a', '/b']],
  ['<p><a href="/c">t</a\u{1}>u</a>', ['/c']],
  ['<p><a\u{1}href="/d"><a href="/e">', ['/e']],
  ['<p><a x=y" href="/f"><a href="/g">', ['/f', '/g']],
  ['<p><a ="" href="/h"><a ""href="/i">', ['/h']],
])('what only seems to be as it should be: %j', (html, links) => {
  const { origin } = new URL(url);
  const found = new LinkExtractor({ profile: 'exhaustive' }).extract({ url, html });
  expect(found.map((link) => link.url)).toEqual(links.map((link) => origin + link));
});

test.each<[name: string, text: string]>([
  ['tags of no interest', '<b>x</b>'],
  ['end tags', '</a>'],
  ['links', '<a href=/>'],
  ['text', 'a < b > c, '],
])('a long document of nothing but %s is read in steps', (_, part) => {
  const html = `<p>${part.repeat(2_000_000 / part.length)}`;
  let steps = 0;
  for (const running = scanInSteps(new LinkExtractor(), { url, html }); running.next().done !== true; ) steps++;
  expect(steps).toBeGreaterThan(html.length / 100_000);
});

test('a document that was read in steps is let go', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const scan = (): void => {
    const html = `<p>${'<b>x</b><a href="/l">m</a>'.repeat(400_000)}`;
    inSteps(new LinkExtractor(), html, 32_768);
  };
  scan();
  collect();
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  expect(arrayBuffers).toBeLessThan(15_000_000);
  expect(heapUsed).toBeLessThan(60_000_000);
});

test('more links than are passed in one go', () => {
  const html = `<p>${Array.from({ length: 2000 }, (_, n) => `<a href="/${n}">${n}</a>`).join('')}`;
  const links = new LinkExtractor().extract({ url, html });
  expect(links.map((link) => link.text)).toEqual(Array.from({ length: 2000 }, (_, n) => String(n)));
});

test('the code that runs is made of the code that is read', async () => {
  expect(readFileSync(join(root, 'src/link-extractor/skip-bytes.ts'), 'utf8')).toBe(await assemble());
});

test('there are vector instructions where the tests run', () => {
  expect(vectorCode()).toBeDefined();
});

describe.each(Object.keys(DOCUMENTS))('documents %s', (kind) => {
  const make = DOCUMENTS[kind] as (seed: number) => string;
  test.each(PROFILES)('give the same with vector instructions as without: %s', (profile) => {
    const extractor = new LinkExtractor({ profile });
    const documents = Array.from({ length: 5000 }, (_, seed) => make(seed));
    const results = withoutVectors(profile, documents);
    documents.forEach((html, seed) => {
      expect({ seed, html, ...extractor.scan({ url, html }) }).toEqual({ seed, html, ...(results[seed] as object) });
    });
    expect(documents.filter((html) => extractor.extract({ url, html }).length > 0).length).toBeGreaterThan(100);
  });
});

describe('long documents', () => {
  // Seen through a window where they are read in steps: tags stand across its end, and some are longer than all of it.
  const documents = Array.from({ length: 12 }, (_, seed) => {
    const next = random(seed);
    let text = '<title>long</title><p>';
    while (text.length < 150_000) {
      const kind = next();
      if (kind < 0.002) text += `<div class="${'<a href=/no>'.repeat(5000)}">`;
      else if (kind < 0.004) text += 'no tag at all '.repeat(3000);
      else if (kind < 0.006) text += '< '.repeat(20_000);
      else if (kind < 0.3) text += `<a href="/${Math.floor(next() * 1e6)}" title="it's > here">link</a>`;
      else if (kind < 0.6) text += `<span class="${'c'.repeat(next() * 90)}">t</span>\n`;
      else text += soup(next, 10).replaceAll(/<(?!p|a|\/|b|li)/g, '<b>');
    }
    return text;
  });

  test.each(PROFILES)('give the same in whole, in steps and without vector instructions: %s', (profile) => {
    const extractor = new LinkExtractor({ profile, maxLinks: Number.POSITIVE_INFINITY });
    const results = withoutVectors(profile, documents) as ScanResult[];
    documents.forEach((html, seed) => {
      const whole = extractor.scan({ url, html });
      expect(whole.links.length, String(seed)).toBeGreaterThan(20);
      // The other process has the usual limit.
      expect(JSON.parse(JSON.stringify(whole.links.slice(0, 6000)))).toEqual(results[seed]?.links);
      for (const characters of [1000, 20_000, 32_768, 100_000]) {
        expect(inSteps(extractor, html, characters)).toEqual(whole);
      }
    });
  });

  test('give the same where several are read in turn', () => {
    const extractor = new LinkExtractor();
    const running = documents.map((html) =>
      scanInSteps(extractor, { url, html }, { characters: 7000, references: 50 }),
    );
    const results: ScanResult[] = [];
    while (results.filter(Boolean).length < running.length) {
      running.forEach((steps, at) => {
        const { done, value } = steps.next();
        if (done && value !== undefined) results[at] = value;
      });
    }
    expect(results).toEqual(documents.map((html) => extractor.scan({ url, html })));
  });
});
