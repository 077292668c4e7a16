import { gzipSync } from 'node:zlib';
import { html, list, type Origins, plain, type Resource, redirect, type Site, upTo, xml } from './site.ts';

const ARTICLES = 20;
const UNLINKED = 3;

/** The first host: pages to read, and most of what can be met on the way to them. */
export function library(origins: Origins): Site {
  return {
    resources: new Map([
      ...front(origins),
      ...articles(),
      ...detours(origins),
      ...troubles(),
      ...encodings(),
      ...rules(),
      ...sitemaps(origins.library),
    ]),
  };
}

function front(origins: Origins): [string, Resource][] {
  const home = html(
    'The library of the demo web',
    `<p>A small web on this machine, made to be crawled.</p>
${list([
  ['/articles/', 'Articles'],
  ['/detours', 'Pages that moved'],
  ['/troubles', 'Pages in trouble'],
  ['/encodings', 'Pages in other encodings'],
  ['/rules', 'Pages with rules for robots'],
  [`${origins.gallery}/`, 'The gallery'],
  [`${origins.services}/`, 'Web services'],
  [`${origins.calendar}/`, 'The calendar'],
])}`,
  );
  const robots = `User-agent: *\nDisallow: /private/\n\nSitemap: ${origins.library}/sitemap.xml\n`;
  return [
    ['/', home],
    ['/robots.txt', plain(robots)],
  ];
}

function articles(): [string, Resource][] {
  const link = (number: number): [string, string] => [`/articles/${number}`, `Article ${number}`];
  const index = html('Articles', list(upTo(ARTICLES).map(link)));
  const pages = upTo(ARTICLES).map((number): [string, Resource] => {
    const near = [number - 1, number + 1, (number * 7) % ARTICLES].filter(
      (n) => n >= 1 && n <= ARTICLES && n !== number,
    );
    const text = `<p>${`This is what article ${number} says. `.repeat(number)}</p>`;
    return [`/articles/${number}`, html(`Article ${number}`, `${text}\n${list([['/', 'Home'], ...near.map(link)])}`)];
  });
  return [['/articles/', index], ...pages];
}

function detours(origins: Origins): [string, Resource][] {
  const links = ['/old', '/for-now', '/chain/1', '/loop/1', '/to-the-gallery'];
  return [
    ['/detours', html('Pages that moved', list(links.map((path) => [path, path])))],
    ['/old', redirect('/articles/1', 301)],
    ['/for-now', redirect('/articles/2', 302)],
    ['/chain/1', redirect('/chain/2', 301)],
    ['/chain/2', redirect('/chain/3', 307)],
    ['/chain/3', redirect('/chain/end', 308)],
    ['/chain/end', html('The end of the chain', '<p>Three redirects led here.</p>')],
    ['/loop/1', redirect('/loop/2', 302)],
    ['/loop/2', redirect('/loop/1', 302)],
    ['/to-the-gallery', redirect(`${origins.gallery}/albums/1`, 301)],
  ];
}

function troubles(): [string, Resource][] {
  const links = ['/missing', '/shaky', '/busy'];
  return [
    ['/troubles', html('Pages in trouble', list(links.map((path) => [path, path])))],
    [
      '/shaky',
      (times) => (times === 1 ? { ...html('Out of order', ''), status: 500 } : html('Shaky', '<p>Well again.</p>')),
    ],
    ['/busy', (times) => (times === 1 ? tooMany() : html('Busy', '<p>There is time for you now.</p>'))],
  ];
}

function tooMany() {
  return html('Too many requests', '', { status: 429, headers: { 'retry-after': '1' } });
}

function encodings(): [string, Resource][] {
  const latin = html('Crème brûlée', '<p>Un gâteau à la crème, s’il vous plaît.</p>'.replace('’', '&rsquo;'));
  const zipped = html('Zipped', `<p>${'This page was compressed on its way. '.repeat(200)}</p>`);
  const copy = html('One text, two addresses', '<p>These bytes are served under two URLs.</p>');
  return [
    [
      '/encodings',
      html('Other encodings', list(['/latin-1', '/zipped', '/copy/one', '/copy/two'].map((path) => [path, path]))),
    ],
    [
      '/latin-1',
      {
        headers: { 'content-type': 'text/html; charset=iso-8859-1' },
        body: Buffer.from(String(latin.body).replace('<meta charset="utf-8">', ''), 'latin1'),
      },
    ],
    ['/zipped', { headers: { ...zipped.headers, 'content-encoding': 'gzip' }, body: gzipSync(String(zipped.body)) }],
    ['/copy/one', copy],
    ['/copy/two', copy],
  ];
}

function rules(): [string, Resource][] {
  const links = list([
    ['/private/diary', 'Forbidden by robots.txt'],
    ['/noindex', 'Not to be indexed'],
    ['/nofollow', 'Links not to be followed'],
    ['/header-rules', 'Rules in a header'],
  ]);
  const untrusted = '<p><a href="/untrusted" rel="nofollow">Not vouched for</a></p>';
  const meta = (content: string) => ({ head: `<meta name="robots" content="${content}">` });
  return [
    ['/rules', html('Rules for robots', `${links}\n${untrusted}`)],
    ['/private/diary', html('Diary', '<p>A polite crawler never sees this.</p>')],
    ['/untrusted', html('Untrusted', '<p>Nor this: the only link here says nofollow.</p>')],
    ['/noindex', html('Not to be indexed', list([['/behind/noindex', 'On']]), meta('noindex'))],
    ['/behind/noindex', html('Behind noindex', '<p>The link here may be followed.</p>')],
    ['/nofollow', html('Links not to be followed', list([['/behind/nofollow', 'Not on']]), meta('nofollow'))],
    ['/behind/nofollow', html('Behind nofollow', '<p>A polite crawler never sees this.</p>')],
    [
      '/header-rules',
      html('Rules in a header', list([['/behind/header', 'Not on']]), {
        headers: { 'x-robots-tag': 'noindex, nofollow' },
      }),
    ],
    ['/behind/header', html('Behind a header', '<p>A polite crawler never sees this.</p>')],
  ];
}

function sitemaps(origin: string): [string, Resource][] {
  const ns = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"';
  const urlset = (paths: readonly string[]) => {
    const urls = paths.map((path) => `<url><loc>${origin}${path}</loc><lastmod>2026-01-15</lastmod></url>`);
    return xml(`<urlset ${ns}>\n${urls.join('\n')}\n</urlset>`);
  };
  const parts = ['/sitemap-articles.xml', '/sitemap-unlinked.xml.gz'];
  const index = parts.map((path) => `<sitemap><loc>${origin}${path}</loc></sitemap>`);
  const unlinked = upTo(UNLINKED).map((number) => `/unlinked/${number}`);
  return [
    ['/sitemap.xml', xml(`<sitemapindex ${ns}>\n${index.join('\n')}\n</sitemapindex>`)],
    [parts[0]!, urlset(upTo(ARTICLES).map((number) => `/articles/${number}`))],
    [parts[1]!, { headers: { 'content-type': 'application/gzip' }, body: gzipSync(String(urlset(unlinked).body)) }],
    ...unlinked.map((path): [string, Resource] => [
      path,
      html(`Found at ${path}`, '<p>Only the sitemap knows this page.</p>'),
    ]),
  ];
}
