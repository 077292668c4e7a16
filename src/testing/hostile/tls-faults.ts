import type { TLSSocket } from 'node:tls';
import { EARLY, EXPIRED, HOSTILE_AUTHORITY, RIGHT, UNSIGNED, WRONG } from './certificates.ts';
import { type Act, type Fault, faultsOf } from './fault.ts';
import { answer, chunk, chunkedHead, head, noise, noiseFlood, type Peer, page, toBytes } from './peer.ts';
import { headReader } from './requests.ts';
import { renegotiate, type SecureOptions } from './secure.ts';

const HTML = 'Content-Type: text/html';

/** One record of TLS (RFC 8446, 5.1), not encrypted. */
function record(type: 'alert' | 'handshake', payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(5);
  bytes[0] = type === 'alert' ? 21 : 22;
  bytes.writeUInt16BE(0x0303, 1);
  bytes.writeUInt16BE(payload.length, 3);
  return toBytes([bytes, payload]);
}

const alert = (level: 'warning' | 'fatal', code: number): Buffer =>
  record('alert', Uint8Array.of(level === 'fatal' ? 2 : 1, code));

const WARNINGS: Buffer = Buffer.concat(Array<Buffer>(1000).fill(alert('warning', 112)));
const EMPTY_RECORDS: Buffer = Buffer.concat(Array<Buffer>(1000).fill(record('handshake', new Uint8Array(0))));

/** The first message of a server, which says that it is as long as messages can be. */
const HELLO_START: Uint8Array = Uint8Array.of(2, 0xff, 0xff, 0xff, 3, 3);

/** A handshake that comes as far as the certificate. */
const withCertificate =
  (certificate: string, more: SecureOptions = {}): Act =>
  (peer) =>
    peer.secure({ certificate, ...more }, serve(sound));

type Secured = (inner: Peer, outer: Peer, socket: TLSSocket) => void;

/** A sound handshake, and then this in answer to each request but that for robots.txt. */
const answering =
  (act: Secured, options: SecureOptions = {}): Act =>
  (outer) =>
    outer.secure(options, (inner, socket) => serve((peer) => act(peer, outer, socket))(inner));

function serve(act: (peer: Peer) => void): (peer: Peer) => void {
  return (peer) => {
    const onHead = (request: string): void => {
      if (request.startsWith('GET /robots.txt')) peer.send(head('404 Not Found', 'Content-Length: 0'));
      else act(peer);
    };
    peer.hear(headReader(onHead, () => peer.end()));
  };
}

const sound = (peer: Peer): void => void peer.send(answer(page('secure')));

/** In answer to the first message of a client. */
const toHello =
  (act: Act): Act =>
  (peer) =>
    peer.heard(() => act(peer));

/** Half of an answer, and what happens then to the connection under it. */
const half = (start: string, then: (outer: Peer, inner: Peer) => void): Act =>
  answering((inner, outer) => inner.send(start, '<p>half').later(inner.dripMs, () => then(outer, inner)));

const LENGTH: string = head('200 OK', HTML, 'Content-Length: 5000');

/** Misbehaviour in the handshake. */
const HANDSHAKES: readonly Fault[] = faultsOf('tls', [
  ['tls-silence', 'Reads the first message of the handshake and never answers.', () => {}],
  ['tls-close', 'Closes in answer to the first message.', toHello((peer) => peer.end())],
  ['tls-reset', 'Breaks the connection off in answer to the first message.', toHello((peer) => peer.reset())],
  [
    'tls-close-in-handshake',
    'Closes in the middle of its own first message.',
    toHello((peer) => peer.end(record('handshake', Uint8Array.of(2, 0, 0, 90, 3, 3)).subarray(0, 9))),
  ],
  [
    'tls-silence-in-handshake',
    'Falls silent in the middle of its own first message.',
    toHello((peer) => void peer.send(record('handshake', Uint8Array.of(2, 0, 0, 90, 3, 3)))),
  ],
  ['tls-drip', 'Sends the handshake one byte at a time.', (peer) => peer.secure({ dripMs: peer.dripMs }, serve(sound))],
  [
    'tls-hello-endless',
    'Sends a first message without end.',
    toHello((peer) => {
      peer.send(record('handshake', HELLO_START)).flood(() => record('handshake', Buffer.alloc(16_000)));
    }),
  ],
  ['tls-alert-fatal', 'Answers the first message with an alert.', toHello((peer) => peer.end(alert('fatal', 40)))],
  [
    'tls-alert-endless',
    'Sends warnings without end in place of a handshake.',
    toHello((peer) => peer.flood(() => WARNINGS)),
  ],
  [
    'tls-records-empty',
    'Sends records without end that hold nothing.',
    toHello((peer) => peer.flood(() => EMPTY_RECORDS)),
  ],
  [
    'tls-noise',
    'Answers the first message with bytes without meaning, without end.',
    toHello((peer) => peer.flood(noiseFlood(peer.random))),
  ],
  ['tls-plain', 'Speaks HTTP without TLS.', toHello((peer) => peer.end(answer(page('plain'), 'Connection: close')))],
  [
    'tls-old',
    'Knows no version since 2006.',
    (peer) => peer.secure({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }, serve(sound)),
  ],
  [
    'tls-client-unknown',
    'Wants a certificate of the client.',
    (peer) => peer.secure({ asksBack: true, maxVersion: 'TLSv1.2' }, serve(sound)),
  ],
  ['certificate-expired', 'Has a certificate that ended in 2021.', withCertificate(EXPIRED)],
  ['certificate-early', 'Has a certificate that begins in 2100.', withCertificate(EARLY)],
  ['certificate-other-name', 'Has the certificate of another host.', withCertificate(WRONG)],
  ['certificate-self-signed', 'Has a certificate that nobody has signed.', withCertificate(UNSIGNED)],
  [
    'certificate-chain-long',
    'Has a certificate with 100 others behind it.',
    withCertificate(RIGHT + HOSTILE_AUTHORITY.repeat(100)),
  ],
  [
    'certificate-chain-huge',
    'Has a certificate with 2,000 others behind it.',
    withCertificate(RIGHT + HOSTILE_AUTHORITY.repeat(2000)),
  ],
]);

/** Misbehaviour once the handshake is done. */
const CONNECTIONS: readonly Fault[] = faultsOf('tls', [
  ['tls-silence-after-handshake', 'Falls silent when the handshake is done.', (peer) => peer.secure({}, () => {})],
  ['tls-close-after-handshake', 'Closes when it was asked.', answering((peer) => peer.end())],
  ['tls-cut-in-head', 'Cuts the connection under TLS in the head.', answering((_, outer) => outer.end())],
  ['tls-cut-in-body', 'Cuts the connection under TLS in a body of known length.', half(LENGTH, (peer) => peer.end())],
  [
    'tls-cut-in-chunks',
    'Cuts the connection under TLS in a body of chunks.',
    half(`${chunkedHead()}${chunk('<p>').toString('latin1')}ff\r\n`, (peer) => peer.end()),
  ],
  [
    'tls-cut-without-length',
    'Cuts the connection under TLS in a body that ends with the connection.',
    half(head('200 OK', HTML), (peer) => peer.end()),
  ],
  ['tls-reset-in-body', 'Breaks the connection off in the body.', half(LENGTH, (peer) => peer.reset())],
  [
    'tls-close-in-body',
    'Closes in a body of known length, as it should be done.',
    half(LENGTH, (_, peer) => peer.end()),
  ],
  [
    'tls-noise-in-body',
    'Sends bytes that are not encrypted in the body.',
    half(LENGTH, (peer) => void peer.send(noise(peer.random, 400))),
  ],
  ['tls-alert-in-body', 'Sends an alert in the body.', half(LENGTH, (peer) => void peer.send(alert('fatal', 80)))],
  [
    'tls-plain-in-body',
    'Goes on without TLS in the body.',
    half(LENGTH, (peer) => void peer.send('more of it'.repeat(500))),
  ],
  [
    'tls-renegotiation-endless',
    'Wants to do the handshake again and again.',
    answering(
      (inner, _, socket) => {
        inner.send(LENGTH);
        renegotiate(socket);
      },
      { maxVersion: 'TLSv1.2' },
    ),
  ],
]);

export const TLS_FAULTS: readonly Fault[] = [...HANDSHAKES, ...CONNECTIONS];
