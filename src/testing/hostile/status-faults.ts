import { type Fault, faultsOf } from './fault.ts';
import { answer, head, noise, page } from './peer.ts';

const HTML = 'Content-Type: text/html';

/** An answer whose status line is this. */
function withStatusLine(line: string, title: string): string {
  const body = page(title);
  return `${line}\r\n${HTML}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Misbehaviour in the first line of an answer, and in answers before the answer. */
export const STATUS_FAULTS: readonly Fault[] = faultsOf('answer', [
  ['status-garbage', 'Sends bytes that are no HTTP at all, and closes.', (peer) => peer.end(noise(peer.random, 400))],
  ['status-http09', 'Sends the document alone, as HTTP/0.9 did.', (peer) => peer.end(page('nine'))],
  [
    'status-no-reason',
    'Leaves out the reason and the space before it.',
    (peer) => peer.send(withStatusLine('HTTP/1.1 200', 'no reason')),
  ],
  ['status-out-of-range', 'Answers with status 999.', (peer) => peer.send(withStatusLine('HTTP/1.1 999 What', '999'))],
  ['status-zero', 'Answers with status 000.', (peer) => peer.send(withStatusLine('HTTP/1.1 000 Nothing', 'zero'))],
  ['status-two-digits', 'Answers with status 20.', (peer) => peer.send(withStatusLine('HTTP/1.1 20 OK', 'two'))],
  [
    'status-not-a-number',
    'Has letters where the status stands.',
    (peer) => peer.send(withStatusLine('HTTP/1.1 two OK', 'letters')),
  ],
  [
    'status-twice',
    'Sends the status line twice.',
    (peer) => peer.send(withStatusLine('HTTP/1.1 200 OK\r\nHTTP/1.1 200 OK', 'twice')),
  ],
  [
    'status-endless',
    'Has a reason that never ends.',
    (peer) => peer.send('HTTP/1.1 200 ').flood(() => 'OK'.repeat(8192)),
  ],
  ['status-http2', 'Claims HTTP/2 in a text of HTTP/1.', (peer) => peer.send(withStatusLine('HTTP/2 200 OK', 'two'))],
  [
    'status-http3000',
    'Claims a version with four digits.',
    (peer) => peer.send(withStatusLine('HTTP/3000.1 200 OK', 'future')),
  ],
  [
    'status-lower-case',
    'Writes the name of the protocol small.',
    (peer) => peer.send(withStatusLine('http/1.1 200 ok', 'small')),
  ],
  ['status-icy', 'Answers as an old radio station.', (peer) => peer.send(withStatusLine('ICY 200 OK', 'radio'))],
  [
    'status-blank-lines',
    'Sends empty lines before the answer, without end.',
    (peer) => peer.flood(() => '\r\n'.repeat(8192)),
  ],
  [
    'status-partial',
    'Answers 206 to a request for the whole.',
    (peer) => peer.send(head('206 Partial Content', HTML, 'Content-Range: bytes 5-1/-3', 'Content-Length: 4'), 'part'),
  ],
  [
    'informational-endless',
    'Sends 100 Continue over and over, and no answer.',
    (peer) => peer.flood(() => head('100 Continue').repeat(500)),
  ],
  [
    'informational-slow',
    'Sends 102 Processing now and then, and no answer.',
    (peer) => peer.drip(head('102 Processing').repeat(10_000), undefined, 27),
  ],
  [
    'informational-hints',
    'Sends twelve answers of 103 with links before the real one.',
    (peer) =>
      peer.send(
        head('103 Early Hints', ...Array.from({ length: 20 }, (_, i) => `Link: </${i}.css>; rel=preload`)).repeat(12),
        answer(page('hints')),
      ),
  ],
  [
    'upgrade-unasked',
    'Changes to a web socket that nobody asked for.',
    (peer) =>
      peer.send(head('101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'), noise(peer.random, 100)),
  ],
  [
    'status-throttled-absurd',
    'Answers 429 with a Retry-After of three thousand years.',
    (peer) => peer.send(head('429 Too Many Requests', 'Retry-After: 99999999999', 'Content-Length: 0')),
  ],
  [
    'status-throttled-nonsense',
    'Answers 503 with three values of Retry-After that are none.',
    (peer) =>
      peer.send(
        head(
          '503 Service Unavailable',
          'Retry-After: -5',
          'Retry-After: soon',
          'Retry-After: Thu, 99 Foo 2099 99:99:99 GMT',
          'Content-Length: 0',
        ),
      ),
  ],
]);
