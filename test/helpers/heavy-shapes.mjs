// Documents, sitemaps and files of rules that ask for as much work as their size allows; the same ones every time.

const repeated = (text) => (length) => text.repeat(Math.ceil(length / text.length)).slice(0, length);
const numbered = (make) => (length) => {
  const parts = [];
  for (let n = 0, size = 0; size < length; n++) {
    const part = make(n);
    parts.push(part);
    size += part.length;
  }
  return parts.join('');
};
const within =
  (before, middle, after = '') =>
  (length) =>
    before + middle(length) + after;

/** Leads the scan of links to the tree builder. */
const TREE = '<template><col></template>';
const HTML = 'text/html; charset=utf-8';

const html = (make, contentType = HTML) => ({ kind: 'page', contentType, make });
const sitemap = (make, contentType = 'application/xml') => ({ kind: 'sitemap', contentType, make });
const seeds = (make) => ({ kind: 'seeds', contentType: HTML, make: () => '<title>seed</title>', seed: make });
const robots = (make) => ({ kind: 'robots', contentType: 'text/plain', make });

/** By name: what it is, its `Content-Type`, and how it is made at a given length. */
export const HEAVY_SHAPES = {
  // Pages
  'a million nested tags': html(repeated('<b>')),
  'nested tags for the tree builder': html(within(TREE, repeated('<div>'))),
  'formatting that all differs': html(
    within(
      TREE,
      numbered((n) => `<b id=${n}><p>`),
    ),
  ),
  'formatting opened again': html(
    within(
      `${TREE}<div>`,
      (length) => `${numbered((n) => `<b id=${n}>`)(length / 2)}</div>x${'<p>x'.repeat(length / 8)}`,
    ),
  ),
  'a million links': html(numbered((n) => `<a href=/${n}>t</a>`)),
  'links of other hosts': html(numbered((n) => `<a href=//h${n}.test/>`)),
  'links that lead nowhere': html(numbered((n) => `<a href=//h${n}:999999/>`)),
  'links with references to characters': html(numbered((n) => `<a href="/&eacute;${n}">t &eacute;</a>`)),
  'links beyond ASCII': html(numbered((n) => `<a href="/é${n}">é</a>`)),
  'links that are never closed, for the tree builder': html(
    within(
      TREE,
      numbered((n) => `<a href=/${n}>`),
    ),
  ),
  'misnested links': html(within(TREE, (length) => '<a><div>'.repeat(length / 20) + '</a>'.repeat(length / 10))),
  'end tags of nothing': html(within(TREE, (length) => '<div>'.repeat(length / 10) + '</y>'.repeat(length / 8))),
  'end tags of nothing in SVG': html(within('<svg>', (length) => '<g>'.repeat(length / 6) + '</y>'.repeat(length / 8))),
  'tables in cells': html(within(TREE, repeated('<table><tr><td>'))),
  templates: html(repeated('<template>')),
  'names that all differ': html(
    within(
      TREE,
      numbered((n) => `<x${n}>`),
    ),
  ),
  'one long attribute': html(within('<a href="', repeated('x'), '">')),
  'one long attribute of references to characters': html(within('<a href="', repeated('&lt;'), '">')),
  'one open attribute': html(within('<a href="', repeated('x'))),
  'attributes that all differ': html(
    within(
      `${TREE}<b `,
      numbered((n) => `b${n}=c `),
      '>',
    ),
  ),
  'signs that might be attributes': html(within('<a ', repeated('=/'), '>')),
  'comments in a script': html(within('<script>', repeated('<!-- -->'), '</script>')),
  NUL: html(repeated('\0')),
  'NUL in tags': html(repeated('<\0a\0>')),
  'lists of options deep down': html((length) => '<div>'.repeat(8000) + repeated('<select>')(length)),
  'tables deep down': html((length) => `${TREE}${'<div>'.repeat(8000)}${repeated('<table></table>')(length)}`),
  'signs that might be tags': html(within('<p>', repeated('<'), '>')),
  'attributes that are odd': html(repeated('<b ="x">')),
  'unclosed everything': html(repeated('<p><a href="/x"><table><svg><select><b>')),
  'canonical links': html(numbered((n) => `<link rel=canonical href=${n}>`)),
  'metas of robots': html(numbered((n) => `<meta name=robots content="none,${n}">`)),
  'one meta of robots': html(within('<meta name=robots content="', repeated('none,'), '">')),
  'relations that all differ': html(
    within(
      '<a href=x rel="',
      numbered((n) => `${n},`),
      '">',
    ),
  ),
  'a title': html(within('<title>', repeated(' a &'), '</title>')),
  'text for the tree builder': html(within(TREE, repeated('&amp;<i>'))),
  'MathML for the tree builder': html(repeated('<math><mi><a href=x>')),
  'bytes that are no UTF-8': html(repeated('<b>\xff\xfe'), 'text/html'),
  'ISO-2022-JP': html(repeated('<p>\x1b$B$"$$\x1b(B'), 'text/html; charset=iso-2022-jp'),
  'GB 18030': html(repeated('<p>\x816\x816'), 'text/html; charset=gb18030'),
  // Sitemaps
  'a sitemap of entries': sitemap(
    within(
      '<urlset>',
      numbered((n) => `<url><loc>http://HOST/section/page-${n}.html</loc></url>`),
      '</urlset>',
    ),
  ),
  'a sitemap of nothing but elements': sitemap(within('<urlset>', repeated('<url></url>'), '</urlset>')),
  'a sitemap of entities': sitemap(within('<urlset><url><loc>', repeated('&amp;'), '</loc></url></urlset>')),
  'a sitemap of one attribute': sitemap(within('<urlset a="', repeated('x'), '"></urlset>')),
  'a sitemap of images': sitemap(
    within(
      '<urlset xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>http://HOST/x</loc>',
      numbered((n) => `<image:image><image:loc>http://HOST/${n}.png</image:loc></image:image>`),
      '</url></urlset>',
    ),
  ),
  'a sitemap of lines': sitemap(
    numbered((n) => `http://HOST/line/${n}\n`),
    'text/plain',
  ),
  'a sitemap of lines that are no URLs': sitemap(repeated('a\n'), 'text/plain'),
  'an index of sitemaps': sitemap(
    within(
      '<sitemapindex>',
      numbered((n) => `<sitemap><loc>http://HOST/maps/${n}.xml</loc></sitemap>`),
      '</sitemapindex>',
    ),
  ),
  // Files of rules, of which 500 KiB are read
  'rules that all differ': robots(
    within(
      'User-agent: *\n',
      numbered((n) => `Disallow: /${n}\n`),
    ),
  ),
  'rules with wildcards': robots(
    within(
      'User-agent: *\n',
      numbered((n) => `Disallow: /*${n}*a*b$\n`),
    ),
  ),
  'rules of stars': robots(within('User-agent: *\nDisallow: /', repeated('*a'))),
  'groups that all differ': robots(numbered((n) => `User-agent: bot${n}\nDisallow: /\n`)),
  'sitemaps without end': robots(numbered((n) => `Sitemap: http://HOST/map-${n}.xml\n`)),
  // Seeds, all given at once; the length is that of their list
  'seeds of one host': seeds((n) => `/page-${n}.html`),
  'seeds of as many hosts': seeds((n) => `//127.${n >> 16}.${(n >> 8) & 255}.${n & 255}:PORT/`),
};

/** The body of a shape, a byte for each character but those of UTF-8 where it is named. */
export function heavyBody({ contentType, make }, bytes, host) {
  const text = make(bytes).replaceAll('HOST', host);
  return Buffer.from(text, contentType === HTML ? 'utf8' : 'latin1');
}
