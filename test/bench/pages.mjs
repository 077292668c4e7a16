// A made-up site, the same at every start: a tree of pages underneath, so that every page is reached, random links
// besides, and of markup what real pages have: head, script, style, navigation, prose, tables, entities, some words that
// are not ASCII. Used by site.mjs, which serves it, and by micro.mjs.

const WORDS = (
  'the of and to in is that for it as with on at by this which from page index value table server request ' +
  'answer queue frontier polite robot host delay header body text link order season market garden river mountain'
).split(' ');
const RARE = ['café', 'naïve', '—', '日本語', 'пример', '&amp;', '&mdash;', '&nbsp;'];

/** Small, fast, and the same everywhere (mulberry32). */
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const escaped = (text) => text.replaceAll('&', '&amp;');

/** @returns the addresses of pages, and their documents as bytes. */
export function madeUpSite({ pages = 3000, hosts = 100, links = 40, kb = 30, port }) {
  const host = (page) => `127.1.${1 + Math.floor((page % hosts) / 250)}.${1 + ((page % hosts) % 250)}`;
  const path = (page) => (page % 10 === 9 ? `/q?id=${page}&v=2` : `/d${page % 7}/page-${page}.html`);
  const url = (page) => `http://${host(page)}:${port}${path(page)}`;
  return { pages, host, path, url, html: (page) => html(page) };

  function html(page) {
    const next = random(page + 1);
    const int = (limit) => Math.floor(next() * limit);
    const word = () => (next() < 0.015 ? RARE[int(RARE.length)] : WORDS[int(WORDS.length)]);
    const prose = (length) => Array.from({ length }, word).join(' ');
    const targets = [];
    for (let child = page * 3 + 1; child <= page * 3 + 3; child++) if (child < pages) targets.push(child);
    // Half of the links stay on the host, as most do.
    while (targets.length < links) {
      const any = int(pages);
      targets.push(next() < 0.5 ? any : Math.min(pages - 1, any - (any % hosts) + (page % hosts)));
    }
    const anchor = (target, name) => {
      const near = target % hosts === page % hosts;
      return `<a href="${escaped(near ? path(target) : url(target))}" class="${name}" title="${prose(3)}">${prose(2)}</a>`;
    };
    const items = targets.map((target, at) => anchor(target, at < 10 ? 'nav-link' : 'ref'));
    const nav = items.slice(0, 10).map((item) => `<li class="item">${item} <b>${prose(3)}</b></li>`);
    const rest = items.slice(10);
    const style = '.card{margin:0 4px;padding:2px;color:#345;display:flex}'.repeat(20);
    const script = 'function f(a,b){if(a<b&&a!==null){return "<div>"+a+"<\\/div>"}return b>>>1}'.repeat(20);
    const head =
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${prose(3)}, page ${page}</title>` +
      `<meta name="description" content="${prose(15)}"><link rel="stylesheet" href="/static/main.css">` +
      `<style>${style}</style><script src="/static/app.js" async></script></head>\n<body class="page" data-page="${page}">` +
      `<header><nav><ul>${nav.join('\n')}</ul></nav></header>\n<main><article>\n`;
    let text = head;
    let section = 0;
    while (text.length < kb * 1024 - script.length || rest.length > 0) {
      section++;
      text += `<section id="s${section}" class="section"><h2>${prose(4)} <small>#${section}</small></h2>\n`;
      for (let n = 0; n < 3; n++)
        text += `<p>${prose(20)} <em>${prose(2)}</em> ${prose(12)} ${rest.shift() ?? ''} ${prose(18)}.</p>\n`;
      if (section % 3 === 0)
        text += `<table>${`<tr><td>${prose(2)}<td class="num">${int(1000)}</td></tr>`.repeat(4)}</table>\n`;
      if (section % 3 === 1)
        text += `<figure><img src="/static/i${int(99)}.jpg" alt="${prose(3)}" width="640"><figcaption>${prose(8)}</figcaption></figure>\n`;
      text += '</section>\n';
    }
    return Buffer.from(
      `${text}</article></main><footer><p>&copy; ${prose(3)}</p></footer><script>${script}</script></body></html>\n`,
    );
  }
}
