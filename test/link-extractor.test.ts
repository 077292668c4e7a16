import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test, vi } from 'vitest';
import { LinkExtractor, type LinkProfile } from '../src/link-extractor/index.ts';
import { canonicalizeUrl } from '../src/url.ts';

interface Case {
  id: string;
  group: string;
  url: string;
  html: string;
  headers?: Record<string, string | string[]>;
  agent?: string;
  expected: { url: string; source: string; rel?: string[]; nofollow?: boolean }[];
  why: string;
}

const cases = JSON.parse(readFileSync(new URL('corpus/links.json', import.meta.url), 'utf8')) as Case[];
const profiles: LinkProfile[] = ['navigation', 'resources', 'exhaustive'];

describe('the corpus of links', () => {
  test.each(cases)('$id: $why', ({ url, html, headers = {}, agent = 'TestBot', expected }) => {
    for (const profile of profiles) {
      const links = new LinkExtractor({ profile }).extract({ url, html, headers, userAgent: agent });
      const found = new Map(links.map((link) => [`${link.source} ${canonicalizeUrl(link.url)}`, link]));
      const wanted = expected.filter(({ source, rel }) => isIn(profile, source, rel));
      expect([...found.keys()].sort()).toEqual(wanted.map((link) => `${link.source} ${link.url}`).sort());
      for (const link of wanted) {
        const match = found.get(`${link.source} ${link.url}`);
        if (link.rel) expect(match?.rel).toEqual(link.rel);
        if (link.nofollow !== undefined) expect(match?.nofollow).toBe(link.nofollow);
      }
    }
  });
});

function isIn(profile: LinkProfile, source: string, rel: string[] = []): boolean {
  if (profile !== 'navigation') return true;
  if (rel.includes('stylesheet')) return false;
  return /^(a|area|frame|iframe|link|meta|header)\//.test(source);
}

const PAGE = 'http://a.example.test/p?id=1';

function scan(
  html: string,
  options: { profile?: LinkProfile; maxLinks?: number; url?: string; headers?: Record<string, string | string[]> } = {},
) {
  const { profile = 'exhaustive', maxLinks, url = PAGE, headers = {} } = options;
  const extractor = new LinkExtractor(maxLinks === undefined ? { profile } : { profile, maxLinks });
  return extractor.scan({ url, html, headers, userAgent: 'TestBot/1.0' });
}

/** `source path` of each link, the host of the page left out. */
function found(html: string, options: Parameters<typeof scan>[1] = {}): string[] {
  return scan(html, options).links.map(({ source, url }) => `${source} ${url.replace('http://a.example.test/', '/')}`);
}

const paths = (html: string, options: Parameters<typeof scan>[1] = {}): string[] =>
  scan(html, options).links.map(({ url }) => url.replace('http://a.example.test/', '/'));

describe('what went wrong elsewhere', () => {
  test('white space around and within a reference is dropped, a no-break space is not (KF-18)', () => {
    const html =
      '<a href=" http://a.example.test/q ">a</a><a href="\n\t/r\n">b</a><a href="/s\n/t">c</a><a href="\u00a0/u">d</a>';
    expect(paths(html)).toEqual(['/q', '/r', '/s/t', '/%C2%A0/u']);
  });

  test.each([
    ['<base href="/pages/">', '/pages/k.html'],
    ['<base href="sub/">', '/img/sub/k.html'],
    ['<base href="?">', '/img/k.html'],
    ['<base href="/one/"><base href="/two/">', '/one/k.html'],
    ['<base target=_blank><base href="/three/">', '/three/k.html'],
    ['<base href="javascript:1">', '/img/k.html'],
    ['<base href="data:,x">', '/img/k.html'],
    ['<base href="http://[">', '/img/k.html'],
  ])('%s makes k.html %s (KF-19)', (base, expected) => {
    const url = 'http://a.example.test/img/x.html';
    for (const html of [
      `${base}<a href=k.html>`,
      `<a href=k.html>k</a>${base}`,
      `<body><p>${base}</p><a href=k.html>`,
    ]) {
      expect(paths(html, { url })).toEqual([expected]);
    }
  });

  test.each([
    ['/i/w_300,h_200/a.jpg 1x,/i/b.jpg 2x', ['/i/w_300,h_200/a.jpg', '/i/b.jpg']],
    ['a.jpg, b.jpg,, c.jpg,', ['/a.jpg', '/b.jpg', '/c.jpg']],
    ['data:image/gif;base64,R0lG 1x, /d.jpg 2x', ['/d.jpg']],
    ['a,b,,c,', ['/a,b,,c']],
    ['e.jpg (x,y), f.jpg', ['/f.jpg']],
    ['/w 100w, /wh 100w 50h, /h 50h, /x 1.5x, /xx 1x 2x, /e 1e3x, /n -1x, /z 0w', ['/w', '/wh', '/x', '/e']],
  ])('srcset="%s" names %j (KF-20)', (srcset, expected) => {
    expect(paths(`<img srcset="${srcset}">`)).toEqual(expected);
  });

  test.each([
    ['0; URL=\n/a', ['/a']],
    ["0;url='/b'", ['/b']],
    ['5,url=&quot;/c&quot; rest', ['/c']],
    ['0; /d', ['/d']],
    ['0 url=/e', ['/e']],
    ['3', []],
    ['; url=/f', []],
    ['.5; url=/g', ['/g']],
    ['0;url=javascript:1', []],
  ])('a refresh of "%s" leads to %j (KF-21)', (content, expected) => {
    expect(paths(`<meta http-equiv=refresh content="${content}">`)).toEqual(expected);
    expect(paths(`<META CONTENT="${content}" HTTP-EQUIV=REFRESH>`)).toEqual(expected);
  });

  test('text of scripts holds no links (KF-22)', () => {
    const html = `<script>a.src=g;m.parentNode.insertBefore(a,m);var u=('https:'==p?'https://ssl':'http://www')+'.x.example.test/g.js'</script>
      <script type="application/json">{"href":"/no"}</script><script src="/yes.js"></script>`;
    expect(found(html)).toEqual(['script/src /yes.js']);
  });

  test('references to characters are decoded once, by the rules for attributes (KF-23)', () => {
    const html =
      '<a href="/l?t=1&amp;p=2">a</a><a href="/l?a=1&copy=2">b</a><a href="/l?x=1&#38;y=2">c</a><a href="/l?b=1&amp;copy=3">d</a><a href="/&copy;&#128;&eacute">e</a>';
    expect(paths(html)).toEqual([
      '/l?t=1&p=2',
      '/l?a=1&copy=2',
      '/l?x=1&y=2',
      '/l?b=1&copy=3',
      '/%C2%A9%E2%82%AC%C3%A9',
    ]);
  });

  test('deep nesting does not overflow (KF-24)', () => {
    const deep = '<b>'.repeat(200_000);
    expect(paths(`${deep}<a href="/deep">x</a>`)).toEqual(['/deep']);
    expect(paths(`${deep}<svg><p><a href="/deep">x</a>`)).toEqual(['/deep']);
  });
});

describe('profiles', () => {
  const html = `<link rel=stylesheet href=/css><link rel=next href=/next><link rel=alternate type=application/rss+xml href=/feed>
    <link rel=alternate hreflang=nl href=/nl><link rel=search type=application/opensearchdescription+xml href=/osd><link rel=dns-prefetch href=//x.test>
    <link rel=pingback href=/pingback><link href=/nothing><link rel="shortcut icon" href=/icon>
    <img src=/img longdesc=/long><form action=/find><button formaction=/else>x</button></form><form method=post action=/buy><input type=submit formaction=/buy2></form>
    <q cite=/cite></q><a href=/a ping=/ping>a</a><iframe src=/frame srcdoc="<a href=in>x</a><base href=/b/>"></iframe><div style="background:url('/bg')">
    <svg><use href="#part"/><use xlink:href=/sprite#x></use><image href=/pic></svg>`;

  test('navigation is what leads a person to another page', () => {
    expect(found(html, { profile: 'navigation' })).toEqual([
      'link/href /next',
      'link/href /nl',
      'a/href /a',
      'iframe/src /frame',
    ]);
  });

  test('resources adds what the page is made of', () => {
    expect(found(html, { profile: 'resources' })).toEqual([
      'link/href /css',
      'link/href /next',
      'link/href /nl',
      'link/href /icon',
      'img/src /img',
      'a/href /a',
      'iframe/src /frame',
      'div/style /bg',
      'use/xlink:href /sprite',
      'image/href /pic',
    ]);
  });

  test('exhaustive adds GET forms, documents in attributes and what is old or rare', () => {
    const added = found(html).filter((link) => !found(html, { profile: 'resources' }).includes(link));
    expect(added).toEqual([
      'link/href /feed',
      'link/href /osd',
      'link/href /nothing',
      'img/longdesc /long',
      'form/action /find',
      'button/formaction /else',
      'q/cite /cite',
      'iframe/srcdoc /b/in',
    ]);
  });

  test('the default is navigation', () => {
    const extractor = new LinkExtractor();
    expect(extractor.extract({ url: PAGE, html })).toEqual(scan(html, { profile: 'navigation' }).links);
  });

  test('documents in attributes of such documents are left alone', () => {
    const inner = '<iframe srcdoc="&lt;a href=/two>"></iframe><a href=/one>';
    expect(found(`<iframe srcdoc='${inner.replaceAll('"', '&quot;')}'></iframe>`)).toEqual(['iframe/srcdoc /one']);
  });

  test('style sheets name what they refer to, in url() and @import alone', () => {
    const css = `@import "/i1"; @import url(/i2) screen; a{b:url( "/u1" );c:URL(/u2)} /* url(/no) */ d{content:"url(/no)"} e{f:url(#id)} @media x{} "@import" '/no'; xurl(/no) g{h:url(/u\\33 )} url(a b) url(/u4`;
    expect(found(`<style>${css}</style><style type=text/less>a{b:url(/no)}</style>`)).toEqual([
      'style/import /i1',
      'style/import /i2',
      'style/url /u1',
      'style/url /u2',
      'style/url /u3',
      'style/url /u4',
    ]);
  });

  test.each([
    [{ profile: 'deep' }, 'CRAWL_OPTION_INVALID', /later release/],
    [{ profile: 'all' }, 'CRAWL_OPTION_INVALID', /'navigation', 'resources', 'exhaustive'/],
    [{ maxLinks: -1 }, 'CRAWL_OPTION_INVALID', /maxLinks/],
    [{ maxlinks: 1 }, 'CRAWL_OPTION_UNKNOWN', /Did you mean "maxLinks"/],
  ])('%j is refused', (options, code, message) => {
    const make = () => new LinkExtractor(options as object);
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code }));
  });
});

test('a frameset takes the place of a body that shows nothing, and of all that was in it', () => {
  const html =
    '<head><link rel=next href=/next></head><a href=/gone><meta name=robots content=nofollow><html manifest=/kept><title>gone</title><frameset><frame src=/frame><a href=/no></frameset>';
  expect(found(html)).toEqual(['link/href /next', 'html/manifest /kept', 'frame/src /frame']);
  expect(scan(html)).toMatchObject({ title: undefined, metas: [] });
});

describe('one link', () => {
  test('is reported once for each place it comes from, where it came first', () => {
    expect(
      found('<a href=/x>1</a><area href=/x><a href="/x#y">2</a><a href="http://a.example.test/x">3</a><a href=/z>'),
    ).toEqual(['a/href /x', 'area/href /x', 'a/href /z']);
  });

  test('may be followed where any of its occurrences may', () => {
    const { links } = scan(
      '<a href=/x rel="nofollow">1</a><a href="/x">2</a><a href=/y rel=nofollow></a><a href=./y rel="ugc, NOFOLLOW"></a>',
    );
    expect(links.map(({ url, nofollow }) => [url.slice(-2), nofollow])).toEqual([
      ['/x', false],
      ['/y', true],
    ]);
    expect(links[1]?.rel).toEqual(['nofollow']);
  });

  test('has its text, decoded and folded, of the first occurrence that has some', () => {
    const html = `<a href=/1> a\n <b>b&amp;c</b> <!-- no --> d<script>no</script></a><a href=/2><img></a><a href=/2>two</a><a href=/3>x<a href=/4>${'long '.repeat(500)}`;
    const { links } = scan(html, { profile: 'navigation' });
    expect(links.map(({ text }) => text)).toEqual(['a b&c d', 'two', 'x', 'long '.repeat(200).trim()]);
    expect(scan('<area href=/a>').links[0]).not.toHaveProperty('text');
  });

  test('loses user name and password', () => {
    expect(paths('<a href="http://u:p@a.example.test/x">')).toEqual(['/x']);
  });

  test('counts beyond maxLinks, each once', () => {
    const html = '<a href=/1></a><a href=/2></a><a href=/1></a><a href=/3></a><a href=/3></a><a href=/4></a>';
    const { links, capped } = scan(html, { maxLinks: 2 });
    expect([links.length, capped]).toEqual([2, 2]);
    expect(scan(html, { maxLinks: 0 }).links).toEqual([]);
    expect(scan(html).capped).toBe(0);
  });

  test('takes 6000 links where nothing else is said, and goes on to learn of those it has', () => {
    const links = Array.from({ length: 6010 }, (_, n) => `<a href="/${n}?a&amp;b" rel=nofollow></a>`).join('');
    const found = scan(`${links}<a href="/0?a&amp;b">text</a><a href="/6000?a&amp;b">beyond</a>`);
    expect([found.links.length, found.capped]).toEqual([6000, 10]);
    expect(found.links[0]).toMatchObject({ nofollow: false, text: 'text' });
    expect(found.links[1]).toMatchObject({ nofollow: true, text: '' });
  });

  test('leaves out references longer than any URL, and counts them', () => {
    const long = 'x'.repeat(65_536);
    const found = scan(`<a href="${long}">is taken</a><a href="${long}x">is not</a><a href="${long}&amp;">neither</a>`);
    expect([found.links.length, found.tooLong]).toEqual([1, 2]);
    expect(scan(`<img src="data:image/png;base64,${long}">`)).toMatchObject({ links: [], tooLong: 0 });
  });

  test('reads the beginning of what is too long to be meant', () => {
    const found = scan(
      `<title>${'t'.repeat(20_000)}</title><meta name=robots content="${'x,'.repeat(10_000)}nofollow">`,
    );
    expect(found.title).toHaveLength(16_384);
    expect(found.metas[0]?.content).toHaveLength(16_384);
  });

  test('finds links in what is nested deeper than it remembers, in a document of few formatting elements', () => {
    const tree = '<template><col></template>';
    const deep = `${tree}<div>${'<div>'.repeat(100_000)}<a href=/deep>x</a>${'</div>'.repeat(100_000)}</div><a href=/after>y</a>`;
    expect(paths(deep)).toEqual(['/deep', '/after']);
    const open = Array.from({ length: 70_000 }, (_, n) => `<b id=${n}>`).join('');
    expect(paths(`${tree}${open}<p><a href=/deep>x</a><template><a href=/no></a></template>`)).toEqual(['/deep']);
  });
});

describe('a page of more tags than its tree is built of', () => {
  const before = `<template><col></template>${'<b>'.repeat(500_000)}`;

  test('is read by its tags alone from there on', () => {
    const after = '<svg><g><a href=/1>x</a></svg><select><p><a href=/2></select><template><a href=/3></a></template>';
    const found = scan(
      `<a href=/0>x</a>${before}${after}<tr background=/4><script>'<a href=/no>'</script><form><frame src=/5>`,
    );
    expect(found.links.map(({ url }) => new URL(url).pathname)).toEqual(['/0', '/1', '/2', '/3', '/4', '/5']);
  });

  test('is read on from within a tag, a comment and a script', () => {
    const after = '<a href=/1 title="<a href=/no>"><!-- <a href=/no> --><script>"<a href=/no>"</script><a href=/2>';
    expect(paths(before + after)).toEqual(['/1', '/2']);
  });
});

test('symbols in a template hold no links, and cost no tree', () => {
  const symbol = '<svg viewBox="0 0 1 1"><!-- a > b --><a href=/no><path d="M0"/></a><title>t</title></svg>';
  const html = `<template id=x><span>${symbol}</span><math><mi>x</mi></math></template><a href=/yes>${symbol}</a>`;
  expect(paths(html)).toEqual(['/yes', '/no']);
  expect(paths(`<template>${symbol}<a href=/no></a></template><a href=/after>`)).toEqual(['/after']);
});

test('tells apart more references than it remembers', () => {
  const many = Array.from({ length: 70_000 }, (_, n) => `<a href="/${n}#">`).join('');
  const { links, capped } = scan(many + many, { maxLinks: 69_000 });
  expect([links.length, new Set(links.map(({ url }) => url)).size]).toEqual([69_000, 69_000]);
  expect(capped).toBeGreaterThanOrEqual(1000);
});

describe('what a page says of all its links', () => {
  test.each([
    ['<meta name=robots content="noindex, nofollow">', {}, true],
    ['<meta name=TestBot content=nofollow>', {}, true],
    ['<meta name=otherbot content=nofollow>', {}, false],
    ['', { 'X-Robots-Tag': ['noindex', 'testbot: nofollow'] }, true],
    ['<template><meta name=robots content=nofollow></template>', {}, false],
  ])('%s with %j: nofollow is %s', (meta, headers, nofollow) => {
    const { links } = scan(`<a href=/x>x</a>${meta}`, { headers: headers as Record<string, string> });
    expect(links[0]?.nofollow).toBe(nofollow);
  });

  test('does not hold for what names other versions of the page', () => {
    const html =
      '<meta name=robots content=none><link rel=canonical href=/c><link rel=alternate hreflang=nl href=/nl><link rel=next href=/n><a rel=alternate href=/a>';
    expect(scan(html).links.map(({ nofollow }) => nofollow)).toEqual([false, false, true, true]);
  });

  test('gives the named metas, whose names may be tokens', () => {
    const html =
      '<meta name=" ROBOTS " content=noarchive><meta name=viewport content=x><meta property=og:url content=y><meta name=og:title content=z><meta name=empty>';
    expect(scan(html).metas).toEqual([
      { name: 'robots', content: 'noarchive' },
      { name: 'viewport', content: 'x' },
    ]);
  });
});

describe('title and canonical URL', () => {
  test.each([
    ['<title> A &amp; B\n C</title><title>no</title>', 'A & B C'],
    ['<title></title>', ''],
    ['<p>x', undefined],
    ['<svg><title>no</title></svg><title>yes', 'yes'],
    ['<template><title>no</title></template><body><title>yes</title>', 'yes'],
    ['<!--<title>no</title>--><title><b>x</b></title>', '<b>x</b>'],
  ])('the title of %s is %j', (html, title) => {
    expect(scan(html).title).toBe(title);
  });

  test.each([
    ['<link rel=canonical href=/c>', {}, '/c'],
    ['<head></head><link rel="x CANONICAL" href=/c>', {}, '/c'],
    ['<body><link rel=canonical href=/c>', {}, undefined],
    ['<head><noscript><img></noscript><link rel=canonical href=/c>', {}, undefined],
    ['<link rel=canonical href=/c><link rel=canonical href=/d>', {}, undefined],
    ['<link rel=canonical href=/c><link rel=canonical href=c>', {}, '/c'],
    ['<link rel=canonical hreflang=nl href=/c>', {}, undefined],
    ['<link rel=canonical media=print href=/c>', {}, undefined],
    ['<link rel=canonical href="/p?id=1#x">', {}, undefined],
    ['<link rel=canonical href="/p?id=1">', {}, '/p?id=1'],
    ['<link rel=canonical href="mailto:x">', {}, undefined],
    ['<base href=/b/><link rel=canonical href=c>', { link: '<c>; rel=canonical' }, undefined],
    ['<base href=/b/>', { Link: ['</x>; rel=next', '<c>; rel="canonical"'] }, '/c'],
  ])('%s with %j is canonically %j', (html, headers, canonical) => {
    const url = scan(html, { headers: headers as Record<string, string> }).canonical;
    expect(url?.replace('http://a.example.test', '')).toBe(canonical);
  });
});

describe('headers', () => {
  test('are relative to the URL of the answer, not to the base', () => {
    const headers = {
      Link: '<n>; rel="next,prefetch", <n2>; rel=next',
      Refresh: '1;url=r',
      'Content-Location': 'p.html',
    };
    expect(found('<base href=/b/><a href=x>', { headers })).toEqual([
      'header/link /n',
      'header/link /n2',
      'header/refresh /r',
      'header/content-location /p.html',
      'a/href /b/x',
    ]);
  });

  test('links that speak of another document, or name what is no page, are left out', () => {
    const headers = {
      link: '</a>; rel=next; anchor="/other", </b>; rel=next; anchor="#x", </c>; rel=preload, </d>; rel=preconnect',
    };
    expect(found('', { headers, profile: 'navigation' })).toEqual(['header/link /b']);
    expect(found('', { headers })).toEqual(['header/link /b', 'header/link /c']);
  });

  test('a refresh without a URL, and an empty Content-Location, lead nowhere', () => {
    expect(found('', { headers: { refresh: '5', 'content-location': ' ' } })).toEqual([]);
  });
});

test('leaves relative links out where neither the document nor its base says what they are relative to', () => {
  const links = '<a href=b>relative</a><a href=https://b.example.test/>absolute</a>';
  const extractor = new LinkExtractor();
  const urls = (html: string) => extractor.extract({ url: '/docs/', html }).map(({ url }) => url);
  expect(urls(links)).toEqual(['https://b.example.test/']);
  expect(urls(`<base href=/docs/>${links}`)).toEqual(['https://b.example.test/']);
  expect(urls(`<base href=https://a.example.test/docs/>${links}`)).toEqual([
    'https://a.example.test/docs/b',
    'https://b.example.test/',
  ]);
});

test.each([
  'page.html #top',
  'page.html\f#top',
  'page.html \t#',
  '?q= #x',
  ' #x',
  'a b #x',
  'p &#x20;#x',
  'p #&amp;',
  '/x #1',
])('white space before a fragment belongs to the URL: %j', (reference) => {
  const base = 'http://a.example.test/d/?q';
  const { links } = scan(`<a href="${reference}"></a>`, { url: base });
  const url = new URL(reference.replace('&#x20;', ' '), base);
  url.hash = '';
  expect(links.map((link) => link.url)).toEqual([url.href]);
});

test('the same with and without white space before a fragment are two URLs', () => {
  const { links } = scan('<a href="p ">1</a><a href="p #x">2</a><a href="p#y">3</a><a href="p #z">4</a>', {
    url: 'http://a.example.test/',
  });
  expect(links.map(({ url, text }) => [url, text])).toEqual([
    ['http://a.example.test/p', '1'],
    ['http://a.example.test/p%20', '2'],
  ]);
});

test('a profile that is used for the first time changes no source of a scan that is under way', async () => {
  // Nobody has made an extractor of any profile there.
  vi.resetModules();
  const fresh = await import('../src/link-extractor/index.ts');
  const html = `<svg>${Array.from({ length: 2000 }, (_, n) => `<a xlink:href="/${n}">x</a>`).join('')}</svg>`;
  const steps = fresh.scanInSteps(new fresh.LinkExtractor(), { url: 'http://a.example.test/', html });
  steps.next();
  new fresh.LinkExtractor({ profile: 'exhaustive' });
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  expect(new Set(step.value.links.map(({ source }) => source))).toEqual(new Set(['a/xlink:href']));
});

test('never throws, whatever the URL of the document', () => {
  for (const url of ['', 'nonsense', 'mailto:x', 'file:///x', 'http://u:p@a.example.test/#f']) {
    const { links } = scan('<a href=rel></a><a href="http://a.example.test/abs"></a><base href="">', { url });
    expect(links.map((link) => link.url)).toContain('http://a.example.test/abs');
  }
});

test.each([0, 20_000])('links do not hold on to the pages they were found on, after %i other pages', (others) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const kept: unknown[] = [];
  const rest = 'x'.repeat(1_000_000);
  const keepOf = (n: number): void => {
    const html = `<title>${'t'.repeat(50)}${n}</title><a href="http://a.example.test/${'p'.repeat(50)}" rel="${'r'.repeat(20)}">${'text '.repeat(10)}</a><a href="${'q'.repeat(50)}">${n}</a>${rest}${n}`;
    kept.push(scan(html, { profile: 'navigation' }));
  };
  // Once the engine has compiled it, a string may no longer be put together where that is not needed.
  for (let n = 0; n < others; n++)
    scan(`<title>A page, ${n}</title><a href="another/page/${n}">one more of many words</a>`);
  keepOf(0);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let n = 1; n <= 60; n++) keepOf(n);
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
  expect(kept).toHaveLength(61);
});
