import { type Fault, faultsOf } from './fault.ts';
import {
  answer,
  type Bytes,
  chunk,
  chunkedHead,
  head,
  noise,
  noiseFlood,
  once,
  type Peer,
  page,
  toBytes,
} from './peer.ts';

const START = '<!doctype html><title>hostile</title>';

/** A page with this in it, always the same. */
function html(make: () => Bytes): (peer: Peer) => void {
  const bytes = once(() => answer(make()));
  return (peer) => void peer.send(bytes());
}

const links = (count: number): string =>
  Array.from({ length: count }, (_, i) => `<a href="http://127.0.0.1:1/${i}?${'q'.repeat(20)}">`).join('');

/** Misbehaviour in what a body says, in a sound answer. */
const CONTENT: readonly Fault[] = faultsOf('answer', [
  ['html-nested', 'Nests 100,000 elements.', html(() => START + '<div>'.repeat(100_000))],
  [
    'html-nested-formatting',
    'Opens 5,000 elements of formatting and tables, and closes none.',
    html(() => START + '<b><i><table><a href=x>'.repeat(5000)),
  ],
  ['html-title-huge', 'Has a title of 1 MiB.', html(() => `<title>${'t'.repeat(2 ** 20)}</title>`)],
  ['html-attribute-huge', 'Has an attribute of 1 MiB.', html(() => `${START}<a href="${'/a'.repeat(2 ** 19)}">x</a>`)],
  [
    'html-attributes-many',
    'Has an element with 20,000 attributes.',
    html(() => `${START}<a ${Array.from({ length: 20_000 }, (_, i) => `a${i}=1`).join(' ')} href="x">`),
  ],
  ['html-links-flood', 'Has 20,000 links to elsewhere.', html(() => START + links(20_000))],
  [
    'html-entities-flood',
    'Has 100,000 character references that are never ended.',
    html(() => `${START}<p>${'&lt&notin&#xffffffff&#0'.repeat(25_000)}`),
  ],
  [
    'html-comment-open',
    'Begins a comment, a script and a CDATA that never end.',
    html(() => `${START}<!--${'--!-'.repeat(50_000)}<script><!--<script><![CDATA[`),
  ],
  [
    'html-base',
    'Has a base that is no place to go from.',
    html(() => '<base href="javascript:x"><base href="http://["><a href="a"><a href="//"><a href="http:///">'),
  ],
  [
    'html-links-bad',
    'Has links that are none.',
    html(
      () =>
        `${START}${['http://', 'http://a:99999/', '//[', 'ht\ntp://x', '\0', '%zz', '\\\\x', '?#', 'data:,', 'mailto:', `http://${'a.'.repeat(300)}`].map((href) => `<a href="${href}">`).join('')}`,
    ),
  ],
  [
    'html-nul',
    'Has NULs and half characters throughout.',
    html(() => `${START}<a\0 hr\0ef="/\0"\0>\0</\0a>\xc3\xe2\x82\xf0\x9f`.repeat(1000)),
  ],
  ['html-binary', 'Sends bytes without meaning as HTML.', (peer) => void peer.send(answer(noise(peer.random, 60_000)))],
  [
    'html-endless',
    'Sends HTML without length or end.',
    (peer) => peer.send(head('200 OK', 'Content-Type: text/html')).flood((i) => `<p id=${i}>${'more '.repeat(2000)}`),
  ],
  [
    'html-refresh-self',
    'Asks to be loaded again from itself, at once.',
    (peer) => void peer.send(answer(`${START}<meta http-equiv=refresh content="0;url=${peer.base}/${peer.n}">`)),
  ],
  [
    'video-endless',
    'Sends a video without end.',
    (peer) => peer.send(head('200 OK', 'Content-Type: video/mp4')).flood(noiseFlood(peer.random)),
  ],
  [
    'xml-entities',
    'Sends XHTML whose entities grow a thousand million times.',
    (peer) => void peer.send(answer(ENTITIES, 'Content-Type: application/xhtml+xml')),
  ],
]);

const ENTITIES = `<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "haha">${Array.from({ length: 9 }, (_, i) => `<!ENTITY ${'bcdefghij'[i]} "${`&${'abcdefghi'[i]};`.repeat(10)}">`).join('')}]><html><body>&j;</body></html>`;

/** A sound answer with bytes changed, put in, taken out or repeated. */
function mutated(peer: Peer): Buffer {
  const { random } = peer;
  const chunked = random.chance(0.5);
  const body = page(`mutated ${peer.n}`, '<a href="/one">one</a>'.repeat(10));
  let bytes = chunked ? toBytes([chunkedHead(), chunk(body), chunk(body), '0\r\n\r\n']) : answer(body);
  for (let left = 1 + random.below(8); left > 0; left--) {
    const at = random.below(bytes.length);
    const end = Math.min(bytes.length, at + 1 + random.below(12));
    const part = bytes.subarray(at, end);
    const changes = [
      noise(random, part.length),
      noise(random, 1 + random.below(40)),
      Buffer.alloc(0),
      Buffer.concat([part, part]),
    ];
    bytes = Buffer.concat([bytes.subarray(0, at), random.pick(changes), bytes.subarray(end)]);
  }
  return bytes;
}

/** Misbehaviour that is another for each number. */
const RANDOM: readonly Fault[] = faultsOf('answer', [
  [
    'random-bytes',
    'Sends bytes without meaning, as many as chance has it, and closes, resets or waits.',
    (peer) => ending(peer, noise(peer.random, peer.random.below(5000))),
  ],
  [
    'random-body',
    'Sends bytes without meaning as a body, in a coding and a length that may be wrong.',
    (peer) => {
      const body = noise(peer.random, peer.random.below(3000));
      const coding = peer.random.pick(['gzip', 'br', 'deflate', 'identity', 'gzip, br']);
      ending(
        peer,
        toBytes([
          head(
            '200 OK',
            'Content-Type: text/html',
            `Content-Encoding: ${coding}`,
            `Content-Length: ${body.length + peer.random.below(5) - 2}`,
          ),
          body,
        ]),
      );
    },
  ],
  [
    'mutated',
    'Sends a sound answer in which some bytes were changed, and closes, resets or waits.',
    (peer) => ending(peer, mutated(peer)),
  ],
]);

function ending(peer: Peer, bytes: Buffer): void {
  const way = peer.random.below(4);
  if (way === 0) peer.send(bytes);
  else if (way === 1) peer.reset(bytes);
  else peer.end(bytes);
}

export const CONTENT_FAULTS: readonly Fault[] = [...CONTENT, ...RANDOM];
