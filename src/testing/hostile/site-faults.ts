import { gzipSync } from 'node:zlib';
import { type Fault, faultsOf } from './fault.ts';
import { answer, type Bytes, chunk, chunkedHead, head, noise, once, type Peer, page } from './peer.ts';

const TEXT = 'Content-Type: text/plain';
const XML = 'Content-Type: application/xml';

/** A file that is always the same. */
function file(type: string, make: () => Bytes): (peer: Peer) => void {
  const bytes = once(() => answer(make(), type));
  return (peer) => void peer.send(bytes());
}

const NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"';

/** Misbehaviour of a robots.txt, on a site whose pages are sound. */
const ROBOTS: readonly Fault[] = faultsOf('robots.txt', [
  [
    'robots-drip',
    'Drips 100 MiB of rules.',
    (peer) => peer.send(head('200 OK', TEXT, 'Content-Length: 104857600')).drip('Disallow: /x\n'.repeat(10_000)),
  ],
  [
    'robots-flood',
    'Sends 100 MiB of rules.',
    (peer) => peer.send(head('200 OK', TEXT)).flood((i) => `Disallow: /${i}\n`.repeat(500)),
  ],
  [
    'robots-html',
    'Has a page where the rules should be.',
    (peer) => void peer.send(answer(page('Not found', '<p>User-agent: *<br>Disallow: /'))),
  ],
  [
    'robots-binary',
    'Has bytes without meaning where the rules should be.',
    (peer) => void peer.send(answer(noise(peer.random, 20_000), TEXT)),
  ],
  [
    'robots-line-huge',
    'Has one line of 400,000 characters.',
    file(TEXT, () => `User-agent: *\nDisallow: /${'a*'.repeat(200_000)}$`),
  ],
  [
    'robots-wildcards',
    'Has 2,000 patterns of many wildcards.',
    file(TEXT, () => `User-agent: *\n${`Disallow: /${'*a'.repeat(40)}$\n`.repeat(2000)}`),
  ],
  [
    'robots-groups',
    'Has 30,000 groups for as many crawlers.',
    file(TEXT, () => Array.from({ length: 30_000 }, (_, i) => `User-agent: b${i}\n`).join('')),
  ],
  [
    'robots-redirect-self',
    'Leads robots.txt to itself.',
    (peer) => void peer.send(head('301 Moved', 'Location: /robots.txt', 'Content-Length: 0')),
  ],
  [
    'robots-bomb',
    'Sends a little gzip that becomes 8 MiB of rules.',
    (peer) => void peer.send(answer(bomb('# nothing here\n'), TEXT, 'Content-Encoding: gzip')),
  ],
  ['robots-reset', 'Breaks the connection off where robots.txt is asked for.', (peer) => peer.reset()],
  ['robots-silence', 'Never answers for robots.txt.', () => {}],
  ['robots-garbage', 'Answers for robots.txt with what is no HTTP.', (peer) => peer.end(noise(peer.random, 200))],
]);

const bombs = new Map<string, Buffer>();

/** A little gzip that becomes 8 MiB of this. */
function bomb(line: string): Buffer {
  const made = bombs.get(line) ?? gzipSync(line.repeat(Math.ceil(2 ** 23 / line.length)));
  bombs.set(line, made);
  return made;
}

/** Answers with an index of sitemaps. */
function listing(peer: Peer, sitemaps: readonly string[]): void {
  const entries = sitemaps.map((url) => `<sitemap><loc>${url}</loc></sitemap>`).join('');
  peer.send(answer(`<sitemapindex ${NAMESPACE}>${entries}</sitemapindex>`, XML));
}

/** Misbehaviour of the sitemap that robots.txt names, on a site whose pages are sound. */
const SITEMAPS: readonly Fault[] = faultsOf('sitemap', [
  [
    'sitemap-index-of-itself',
    'Is an index that lists itself.',
    (peer) => listing(peer, [`${peer.origin}/sitemap.xml`]),
  ],
  [
    'sitemap-index-endless',
    'Is an index that lists two more of its kind, and so on.',
    (peer) =>
      listing(
        peer,
        [0, 1].map((i) => `${peer.origin}/sitemap.xml?${peer.query}${i}`),
      ),
  ],
  [
    'sitemap-bomb',
    'Is a little gzip that becomes 8 MiB.',
    (peer) =>
      void peer.send(answer(bomb('<url><loc>http://127.0.0.1:1/</loc></url>'), 'Content-Type: application/gzip')),
  ],
  [
    'sitemap-entities',
    'Declares entities that grow a thousand million times.',
    file(
      XML,
      () =>
        `<!DOCTYPE x [<!ENTITY a "aaaa">${'<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'.repeat(9)}]><urlset><url><loc>&b;</loc></url></urlset>`,
    ),
  ],
  ['sitemap-html', 'Is a page.', (peer) => void peer.send(answer(page('No sitemap')))],
  [
    'sitemap-unclosed',
    'Opens 50,000 elements and closes none.',
    file(XML, () => `<urlset ${NAMESPACE}>${'<url><loc>http://['.repeat(50_000)}`),
  ],
  [
    'sitemap-endless',
    'Lists places elsewhere without end.',
    (peer) =>
      peer
        .send(chunkedHead(XML))
        .flood((i) =>
          chunk(i === 0 ? `<urlset ${NAMESPACE}>` : `<url><loc>http://127.0.0.1:1/${i}</loc></url>`.repeat(300)),
        ),
  ],
]);

export const SITE_FAULTS: readonly Fault[] = [...ROBOTS, ...SITEMAPS];
