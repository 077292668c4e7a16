// MB of HTML (millions of characters) per CPU second: LinkExtractor beside htmlparser2, in turn on the same pages.
//   node test/bench/extract.mjs [directory ...] [--profile=navigation] [--rounds=7] [--json]
// Directories are searched for .html files; without any, pages are made up, the same ones every time.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Parser } from 'htmlparser2';
import { LinkExtractor } from '../../dist/link-extractor/index.js';
import { ratioLine } from './ratio.mjs';

const { values, positionals: directories } = parseArgs({
  allowPositionals: true,
  options: {
    profile: { type: 'string', default: 'navigation' },
    rounds: { type: 'string', default: '7' },
    json: { type: 'boolean', default: false },
  },
});

/** What a page of documentation looks like: a head, navigation, headings, prose with code and links, tables, a footer. */
function madeUpPages(count) {
  let state = 1;
  const next = (limit) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % limit;
  };
  const words =
    'the of value returns when option default server page request queue index table column type error'.split(' ');
  const prose = (length) => Array.from({ length }, () => words[next(words.length)]).join(' ');
  const link = () =>
    `<a class="reference internal" href="${words[next(words.length)]}-${next(400)}.html#s${next(9)}" title="${prose(3)}">${prose(2)}</a>`;
  const code = () => `<code class="literal"><span class="pre">${words[next(words.length)]}()</span></code>`;
  const paragraph = () =>
    `<p>${prose(12)} ${code()} ${prose(20)} ${link()} ${prose(25)} &amp; ${code()}, ${prose(9)}.</p>\n`;
  const row = () => `<tr><td class="name">${code()}</td><td>${prose(6)}</td><td>${link()}</td></tr>\n`;
  const section = (n) =>
    `<section id="s${n}">\n<h2>${prose(3)}<a class="headerlink" href="#s${n}" title="Permalink">¶</a></h2>\n` +
    `${Array.from({ length: 4 }, paragraph).join('')}<table class="docutils">\n${Array.from({ length: 6 }, row).join('')}</table>\n</section>\n`;
  const page = (n) =>
    `<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Page ${n}</title><link rel="stylesheet" href="/style.css">` +
    `<link rel="next" href="page-${n + 1}.html"><script src="/doc.js"></script></head>\n<body><nav><ul>` +
    `${Array.from({ length: 30 }, (_, item) => `<li><a href="/guide/${item}.html">${prose(2)}</a></li>`).join('\n')}</ul></nav>\n<main>` +
    `${Array.from({ length: 4 + next(12) }, (_, part) => section(part)).join('')}</main><!-- end --><footer>${link()}</footer></body></html>\n`;
  return Array.from({ length: count }, (_, n) => ({ url: `http://docs.test/page-${n}.html`, html: page(n) }));
}

const pages =
  directories.length === 0
    ? madeUpPages(400)
    : directories.flatMap((directory) =>
        readdirSync(directory, { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.html'))
          .map((name) => ({
            url: `http://docs.test/${encodeURI(name)}`,
            html: readFileSync(join(directory, name), 'utf8'),
          })),
      );
const megabytes = pages.reduce((sum, { html }) => sum + html.length, 0) / 1e6;
const extractor = new LinkExtractor({ profile: values.profile });
let links = 0;

const runners = {
  'LinkExtractor.scan': () => {
    links = 0;
    for (const page of pages) links += extractor.scan(page).links.length;
  },
  // The parser alone: nothing is done with what it reads.
  'htmlparser2 Parser': () => {
    for (const { html } of pages) new Parser({}).end(html);
  },
  // The least that finds links with it, neither resolved nor told apart.
  'htmlparser2 Parser, references collected': () => {
    for (const { html } of pages) {
      const found = [];
      const parser = new Parser({
        onopentag: (_, { href, src }) => {
          if (href !== undefined) found.push(href);
          if (src !== undefined) found.push(src);
        },
      });
      parser.end(html);
    }
  },
};

/** What links may cost beside either peer; pages that all list all chapters of a book come nearest to it. */
const MOST_RATIO = 0.35;

const best = Object.fromEntries(Object.keys(runners).map((name) => [name, Number.POSITIVE_INFINITY]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const [name, run] of Object.entries(runners)) {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    best[name] = Math.min(best[name], (user + system) / 1e6);
  }
}

const ours = best['LinkExtractor.scan'];
const rows = Object.entries(best).map(([name, seconds]) => ({
  name,
  mbPerCpuSecond: megabytes / seconds,
  ratio: seconds / ours,
}));
if (values.json) {
  console.log(
    JSON.stringify({ bench: 'extract', profile: values.profile, pages: pages.length, megabytes, links, rows }),
  );
} else {
  console.log(
    `${pages.length} pages, ${megabytes.toFixed(1)} MB (millions of characters), ${links} links, profile ${values.profile}`,
  );
  for (const { name, mbPerCpuSecond } of rows) {
    console.log(`${name.padEnd(42)} ${mbPerCpuSecond.toFixed(0).padStart(5)} MB per CPU second`);
  }
  const [{ name: own }, ...peers] = rows;
  for (const { name: peer, ratio } of peers) {
    console.log(ratioLine({ what: 'CPU', ours: own, peer, ratio: 1 / ratio, most: MOST_RATIO }));
  }
}
