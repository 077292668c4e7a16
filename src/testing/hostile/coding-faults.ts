import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { type Fault, faultsOf } from './fault.ts';
import { answer, type Bytes, chunk, chunkedHead, noise, once, page } from './peer.ts';

const BOMB_BYTES = 16 * 2 ** 20;

/** Stored blocks of no bytes (RFC 1951, 3.2.4). */
const EMPTY_BLOCKS: string = '\0\0\0\xff\xff'.repeat(3000);

const zeros = (): Buffer => Buffer.alloc(BOMB_BYTES);
const gzipBomb = once(() => gzipSync(zeros()));
const deflateBomb = once(() => deflateSync(zeros()));
const nestedBomb = once(() => gzipSync(gzipBomb()));
const brotliBomb = once(() =>
  brotliCompressSync(zeros(), { params: { [constants.BROTLI_PARAM_QUALITY]: 3, [constants.BROTLI_PARAM_LGWIN]: 22 } }),
);
const large = once(() => page('large', '<p>text that can be compressed</p>'.repeat(10_000)));
const emptyMembers = once(() => Buffer.concat(Array.from({ length: 800 }, () => gzipSync(Buffer.alloc(0)))));

function coded(coding: string, body: Bytes): Buffer {
  return answer(body, `Content-Encoding: ${coding}`);
}

function corrupt(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let i = at; i < Math.min(at + 20, copy.length); i++) copy[i] = (copy[i] ?? 0) ^ 0xa5;
  return copy;
}

/** Misbehaviour in the compression of a body. */
export const CODING_FAULTS: readonly Fault[] = faultsOf('answer', [
  ['gzip-bomb', 'Sends 16 KiB of gzip that become 16 MiB.', (peer) => void peer.send(coded('gzip', gzipBomb()))],
  [
    'gzip-bomb-nested',
    'Sends a few hundred bytes that become 16 MiB when gzip is undone twice.',
    (peer) => void peer.send(coded('gzip, gzip', nestedBomb())),
  ],
  [
    'deflate-bomb',
    'Sends 16 KiB of deflate that become 16 MiB.',
    (peer) => void peer.send(coded('deflate', deflateBomb())),
  ],
  [
    'brotli-bomb',
    'Sends a few bytes of Brotli that become 16 MiB.',
    (peer) => void peer.send(coded('br', brotliBomb())),
  ],
  [
    'gzip-empty-members',
    'Sends gzip members without end that hold nothing.',
    (peer) => peer.send(chunkedHead('Content-Encoding: gzip')).flood(() => chunk(emptyMembers())),
  ],
  [
    'deflate-empty-blocks',
    'Sends blocks of deflate without end that hold nothing.',
    (peer) => peer.send(chunkedHead('Content-Encoding: deflate'), chunk('\x78\x9c')).flood(() => chunk(EMPTY_BLOCKS)),
  ],
  [
    'gzip-truncated',
    'Sends gzip that ends early.',
    (peer) => void peer.send(coded('gzip', gzipSync(page('cut')).subarray(0, -12))),
  ],
  [
    'gzip-truncated-large',
    'Sends a long body of gzip that ends early.',
    (peer) =>
      void peer.send(
        coded('gzip', gzipSync(Buffer.concat([Buffer.from(large()), noise(peer.random, 200_000)])).subarray(0, -5000)),
      ),
  ],
  [
    'gzip-corrupt',
    'Sends gzip with broken bytes in it.',
    (peer) => void peer.send(coded('gzip', corrupt(gzipSync(page('broken')), 14))),
  ],
  [
    'gzip-checksum',
    'Sends gzip with a wrong checksum.',
    (peer) => {
      const body = gzipSync(page('sum'));
      peer.send(coded('gzip', corrupt(body, body.length - 8)));
    },
  ],
  [
    'gzip-junk-behind',
    'Sends gzip with junk behind it.',
    (peer) => void peer.send(coded('gzip', Buffer.concat([gzipSync(page('junk')), noise(peer.random, 300)]))),
  ],
  [
    'gzip-junk-behind-large',
    'Sends a long body of gzip with junk behind it.',
    (peer) =>
      void peer.send(coded('gzip', Buffer.concat([gzipSync(noise(peer.random, 150_000)), noise(peer.random, 300)]))),
  ],
  [
    'brotli-corrupt',
    'Sends Brotli with broken bytes in it.',
    (peer) => void peer.send(coded('br', corrupt(brotliCompressSync(noise(peer.random, 500)), 40))),
  ],
  ['coding-mislabelled', 'Says gzip of plain text.', (peer) => void peer.send(coded('gzip', page('plain')))],
  ['coding-other', 'Says Brotli of gzip.', (peer) => void peer.send(coded('br', gzipSync(page('other'))))],
  [
    'coding-noise',
    'Says deflate of bytes without meaning.',
    (peer) => void peer.send(coded('deflate', noise(peer.random, 700))),
  ],
  [
    'coding-unknown',
    'Names a coding that does not exist.',
    (peer) => void peer.send(coded('squash', noise(peer.random, 200))),
  ],
  [
    'coding-stacked',
    'Names gzip twenty times over.',
    (peer) => void peer.send(coded(Array(20).fill('gzip').join(', '), gzipSync(page('stacked')))),
  ],
  [
    'coding-garbage',
    'Has garbage where the coding stands.',
    (peer) => void peer.send(coded(';,,=;"gzip\xff', gzipSync(page('garbage')))),
  ],
]);
