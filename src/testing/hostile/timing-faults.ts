import { type Fault, faultsOf } from './fault.ts';
import { answer, chunk, chunkedHead, head, noise, noiseFlood, page } from './peer.ts';

const HTML = 'Content-Type: text/html';

/** Silence, drops and broken connections in an answer. */
const IN_ANSWERS: readonly Fault[] = faultsOf('answer', [
  ['silence-after-request', 'Reads the request and never answers.', () => {}],
  [
    'silence-in-head',
    'Falls silent in the middle of the head.',
    (peer) => void peer.send('HTTP/1.1 200 OK\r\nContent-Ty'),
  ],
  [
    'silence-in-body',
    'Falls silent in the middle of the body.',
    (peer) => void peer.send(head('200 OK', HTML, 'Content-Length: 5000'), '<p>half'),
  ],
  [
    'silence-in-chunk',
    'Falls silent in the middle of a chunk.',
    (peer) => void peer.send(chunkedHead(), '1000\r\n<p>half'),
  ],
  [
    'silence-in-skipped-body',
    'Promises a large video, and sends nothing of it.',
    (peer) => void peer.send(head('200 OK', 'Content-Type: video/mp4', 'Content-Length: 1000000')),
  ],
  [
    'drip-head',
    'Sends the head one byte at a time.',
    (peer) => peer.drip(answer(page('drip'), ...Array.from({ length: 90 }, (_, i) => `X-${i}: ${'d'.repeat(100)}`))),
  ],
  [
    'drip-body',
    'Sends the body one byte at a time.',
    (peer) => peer.send(head('200 OK', HTML, 'Content-Length: 100000')).drip(' '.repeat(100_000)),
  ],
  [
    'drip-chunks',
    'Sends chunks of one byte, now and then, without end.',
    (peer) => peer.send(chunkedHead()).drip(chunk('.').toString('latin1').repeat(20_000), undefined, 6),
  ],
  [
    'half-close-in-body',
    'Ends its side in the middle of the body, and keeps the other open.',
    (peer) => peer.end(head('200 OK', HTML, 'Content-Length: 5000'), '<p>half'),
  ],
  [
    'half-close-without-length',
    'Ends its side behind a body of unknown length.',
    (peer) => peer.end(head('200 OK', HTML), page('closed')),
  ],
  ['close-after-request', 'Reads the request and closes.', (peer) => peer.end()],
  ['reset-after-request', 'Reads the request and breaks the connection off.', (peer) => peer.reset()],
  [
    'reset-in-head',
    'Breaks the connection off in the middle of the head.',
    (peer) => peer.reset('HTTP/1.1 200 OK\r\nContent-Ty'),
  ],
  [
    'reset-after-head',
    'Breaks the connection off behind the head.',
    (peer) => peer.reset(head('200 OK', HTML, 'Content-Length: 5000')),
  ],
  [
    'reset-in-body',
    'Breaks the connection off in the middle of the body.',
    (peer) => peer.reset(head('200 OK', HTML, 'Content-Length: 5000'), '<p>half'),
  ],
  ['reset-after-body', 'Breaks the connection off behind a whole answer.', (peer) => peer.reset(answer(page('reset')))],
  [
    'keep-alive-race',
    'Promises to keep the connection, and closes it at once behind the answer.',
    (peer) => peer.end(answer(page('race'), 'Connection: keep-alive', 'Keep-Alive: timeout=600')),
  ],
  [
    'two-answers',
    'Sends two answers to one request.',
    (peer) => void peer.send(answer(page('first')), answer(page('smuggled'))),
  ],
  [
    'two-answers-late',
    'Sends a second answer when the connection is at rest.',
    (peer) => peer.send(answer(page('first'))).later(peer.dripMs * 2, () => void peer.send(answer(page('smuggled')))),
  ],
  [
    'junk-behind-answer',
    'Sends bytes without meaning behind the answer.',
    (peer) => void peer.send(answer(page('junk')), noise(peer.random, 3000)),
  ],
  [
    'junk-flood-behind-answer',
    'Sends bytes without meaning behind the answer, without end.',
    (peer) => peer.send(answer(page('flood'))).flood(noiseFlood(peer.random)),
  ],
]);

/** Misbehaviour to who has only connected. */
const AT_CONNECTION: readonly Fault[] = faultsOf('connection', [
  ['silence-on-connect', 'Accepts the connection and never says a word.', () => {}],
  ['close-on-connect', 'Accepts the connection and closes it.', (peer) => peer.end()],
  ['reset-on-connect', 'Accepts the connection and breaks it off.', (peer) => peer.reset()],
  [
    'close-unread',
    'Answers and closes without having read the request.',
    (peer) => peer.abandon(answer(page('unread'))),
  ],
  ['answer-before-request', 'Sends an answer before it is asked.', (peer) => void peer.send(answer(page('early')))],
  [
    'tls-alert',
    'Answers with an alert of TLS.',
    (peer) => peer.end(Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28])),
  ],
  [
    'tls-handshake',
    'Waits for a handshake of TLS.',
    (peer) => peer.secure({}, (secured) => void secured.send(answer(page('secure')))),
  ],
  ['ssh-banner', 'Greets as a server of another protocol.', (peer) => void peer.send('SSH-2.0-OpenSSH_9.6\r\n')],
  [
    'flood-on-connect',
    'Sends bytes without meaning as soon as somebody connects, without end.',
    (peer) => peer.flood(noiseFlood(peer.random)),
  ],
]);

export const TIMING_FAULTS: readonly Fault[] = [...IN_ANSWERS, ...AT_CONNECTION];
