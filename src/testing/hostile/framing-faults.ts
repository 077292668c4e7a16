import { type Fault, faultsOf } from './fault.ts';
import { chunk, chunkedHead, head, noise, page } from './peer.ts';

const BODY = page('framed');

/** An answer with these fields about its length, and a body. */
function framed(...fields: readonly string[]): string {
  return head('200 OK', 'Content-Type: text/html', ...fields) + BODY;
}

/** Misbehaviour in what says where a body ends. */
export const FRAMING_FAULTS: readonly Fault[] = faultsOf('answer', [
  [
    'length-repeated',
    'Says the same length twice.',
    (peer) => peer.send(framed(`Content-Length: ${BODY.length}`, `Content-Length: ${BODY.length}`)),
  ],
  [
    'length-list',
    'Says the length twice in one field.',
    (peer) => peer.send(framed(`Content-Length: ${BODY.length}, ${BODY.length}`)),
  ],
  [
    'length-conflicting',
    'Says two lengths that differ.',
    (peer) => peer.send(framed(`Content-Length: ${BODY.length}`, 'Content-Length: 7')),
  ],
  ['length-negative', 'Says a negative length.', (peer) => peer.send(framed('Content-Length: -1'))],
  [
    'length-huge',
    'Says a length beyond 64 bits.',
    (peer) => peer.send(framed('Content-Length: 99999999999999999999999')),
  ],
  [
    'length-exabyte',
    'Says a length of an exabyte, sends a little, and waits.',
    (peer) => peer.send(framed('Content-Length: 1152921504606846976')),
  ],
  ['length-words', 'Says the length in words.', (peer) => peer.send(framed('Content-Length: ninety'))],
  [
    'length-hex',
    'Says the length in hexadecimal.',
    (peer) => peer.send(framed(`Content-Length: 0x${BODY.length.toString(16)}`)),
  ],
  ['length-empty', 'Says no number for the length.', (peer) => peer.send(framed('Content-Length: '))],
  ['length-too-short', 'Sends more than it said.', (peer) => peer.send(framed('Content-Length: 20'))],
  [
    'length-too-long',
    'Sends less than it said, and closes.',
    (peer) => peer.end(framed(`Content-Length: ${BODY.length + 100}`)),
  ],
  [
    'length-and-chunks',
    'Says a length and sends chunks.',
    (peer) =>
      peer.send(
        head('200 OK', 'Content-Type: text/html', 'Content-Length: 5', 'Transfer-Encoding: chunked'),
        chunk(BODY),
        '0\r\n\r\n',
      ),
  ],
  [
    'transfer-coding-unknown',
    'Uses a transfer coding that does not exist.',
    (peer) => peer.end(framed('Transfer-Encoding: squeezed')),
  ],
  [
    'transfer-coding-twice',
    'Says twice that it sends chunks.',
    (peer) => peer.send(head('200 OK', 'Transfer-Encoding: chunked, chunked'), chunk(BODY), '0\r\n\r\n'),
  ],
  [
    'chunk-endless',
    'Sends chunks without end.',
    (peer) => peer.send(chunkedHead()).flood(() => chunk('<p>more</p>'.repeat(1000))),
  ],
  [
    'chunk-one-byte',
    'Sends 20,000 chunks of one byte.',
    (peer) => peer.send(chunkedHead(), chunk('x').toString('latin1').repeat(20_000), '0\r\n\r\n'),
  ],
  [
    'chunk-size-garbage',
    'Has garbage where the size of a chunk stands.',
    (peer) => peer.send(chunkedHead(), chunk(BODY), 'zz\r\nzz\r\n', noise(peer.random, 50)),
  ],
  [
    'chunk-size-negative',
    'Has a chunk of negative size.',
    (peer) => peer.send(chunkedHead(), chunk(BODY), '-5\r\nhello\r\n0\r\n\r\n'),
  ],
  [
    'chunk-size-huge',
    'Has a chunk whose size is beyond 64 bits.',
    (peer) => peer.send(chunkedHead(), 'fffffffffffffffff\r\n', BODY),
  ],
  [
    'chunk-size-endless',
    'Has a size of a chunk that never ends.',
    (peer) => peer.send(chunkedHead()).flood(() => '0'.repeat(16_384)),
  ],
  [
    'chunk-size-wrong',
    'Has a chunk that is longer than it said.',
    (peer) => peer.send(chunkedHead(), `3\r\n${BODY}\r\n0\r\n\r\n`),
  ],
  [
    'chunk-extension-flood',
    'Has extensions of a chunk that never end.',
    (peer) => peer.send(chunkedHead(), '5').flood(() => ';name=value'.repeat(1000)),
  ],
  [
    'chunk-extensions-many',
    'Gives each of 20,000 chunks an extension of its own.',
    (peer) => peer.send(chunkedHead()).flood((i) => (i < 20_000 ? `1;n${i}=${i}\r\nx\r\n` : '0\r\n\r\n'), 360_000),
  ],
  [
    'chunk-trailer-flood',
    'Has trailers that never end.',
    (peer) => peer.send(chunkedHead(), chunk(BODY), '0\r\n').flood((i) => `X-${i}: trailer\r\n`),
  ],
  ['chunk-no-last', 'Closes without the last chunk.', (peer) => peer.end(chunkedHead(), chunk(BODY))],
  [
    'no-content-with-body',
    'Answers 204 and sends a body.',
    (peer) => peer.send(head('204 No Content', 'Content-Type: text/html', `Content-Length: ${BODY.length}`), BODY),
  ],
  [
    'reset-content-with-body',
    'Answers 205 and sends a body.',
    (peer) => peer.send(head('205 Reset Content', 'Content-Type: text/html', `Content-Length: ${BODY.length}`), BODY),
  ],
  [
    'not-modified-with-body',
    'Answers 304 to who has nothing, and sends a body.',
    (peer) => peer.send(head('304 Not Modified', 'ETag: "none"', `Content-Length: ${BODY.length}`), BODY),
  ],
]);
