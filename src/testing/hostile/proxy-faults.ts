import type { TLSSocket } from 'node:tls';
import { type Act, type Fault, faultsOf } from './fault.ts';
import { chunkedHead, head, noise, noiseFlood, type Peer, page } from './peer.ts';
import { headReader } from './requests.ts';
import { renegotiate, type SecureOptions } from './secure.ts';

/** The first byte of a handshake of TLS. */
const HANDSHAKE = 22;

/** Does this with each request, of who speaks TLS to the proxy as of who does not. */
function asked(act: (peer: Peer, socket?: TLSSocket) => void, options: SecureOptions = {}): Act {
  const read = (peer: Peer, socket?: TLSSocket): ((data: Buffer) => void) =>
    headReader(
      () => act(peer, socket),
      () => peer.end(),
    );
  return (outer) =>
    outer.heard((first) => {
      const isSecure = first[0] === HANDSHAKE;
      outer.putBack(first);
      if (isSecure) outer.secure(options, (inner, socket) => inner.hear(read(inner, socket)));
      else outer.hear(read(outer));
    });
}

const ESTABLISHED: string = head('200 Connection established');

/** Opens a tunnel for who wants one; what others asked for is answered likewise. */
const afterTunnel = (act: (peer: Peer) => void): Act => asked((peer) => act(peer.send(ESTABLISHED)));

const refusal = (status: string, ...fields: readonly string[]): Act =>
  asked((peer) => void peer.send(head(status, 'Content-Length: 0', ...fields)));

/** Misbehaviour of a proxy of HTTP. */
export const PROXY_FAULTS: readonly Fault[] = faultsOf('proxy', [
  ['proxy-silence', 'Reads the request and never answers.', asked(() => {})],
  ['proxy-close', 'Reads the request and closes.', asked((peer) => peer.end())],
  ['proxy-close-on-connect', 'Closes when somebody connects.', (peer) => peer.end()],
  ['proxy-reset', 'Breaks the connection off when somebody connects.', (peer) => peer.reset()],
  ['proxy-unauthorized', 'Answers 407.', refusal('407 Proxy Authentication Required', 'Proxy-Authenticate: Basic')],
  ['proxy-forbidden', 'Answers 403.', refusal('403 Forbidden')],
  ['proxy-bad-gateway', 'Answers 502.', refusal('502 Bad Gateway')],
  [
    'proxy-bad-gateway-page',
    'Answers 502 with a page of 5 MiB.',
    asked((peer) => peer.send(head('502 Bad Gateway')).flood(() => page('502').repeat(500), 5 * 2 ** 20)),
  ],
  ['proxy-redirect', 'Leads elsewhere.', refusal('302 Found', 'Location: http://127.0.0.1:1/')],
  ['proxy-garbage', 'Answers with bytes without meaning.', asked((peer) => peer.end(noise(peer.random, 500)))],
  [
    'proxy-flood',
    'Answers with bytes without meaning, without end.',
    asked((peer) => peer.flood(noiseFlood(peer.random))),
  ],
  ['proxy-drip', 'Answers one byte at a time.', asked((peer) => peer.drip(head('200 OK', `X: ${'d'.repeat(10_000)}`)))],
  [
    'proxy-head-endless',
    'Answers with a field that never ends.',
    asked((peer) => peer.send('HTTP/1.1 200 OK\r\nX: ').flood(() => 'e'.repeat(16_384))),
  ],
  [
    'proxy-informational-endless',
    'Sends 100 Continue over and over.',
    asked((peer) => peer.flood(() => head('100 Continue').repeat(500))),
  ],
  ['proxy-blank-lines', 'Sends empty lines without end.', asked((peer) => peer.flood(() => '\r\n'.repeat(8192)))],
  [
    'proxy-upgrade',
    'Changes to another protocol.',
    asked((peer) => void peer.send(head('101 Switching Protocols', 'Upgrade: x', 'Connection: Upgrade'))),
  ],
  [
    'proxy-chunks-endless',
    'Opens the tunnel with a body that never ends.',
    asked((peer) => peer.send(chunkedHead()).flood(() => '5\r\nhello\r\n'.repeat(1000))),
  ],
  ['proxy-tunnel-closed', 'Opens the tunnel and closes it.', asked((peer) => peer.end(ESTABLISHED))],
  ['proxy-tunnel-reset', 'Opens the tunnel and breaks it off.', asked((peer) => peer.reset(ESTABLISHED))],
  ['proxy-tunnel-silence', 'Opens the tunnel, and nothing comes through.', afterTunnel(() => {})],
  [
    'proxy-tunnel-noise',
    'Opens the tunnel, and bytes without meaning come through, without end.',
    afterTunnel((peer) => peer.flood(noiseFlood(peer.random))),
  ],
  [
    'proxy-tunnel-plain',
    'Opens the tunnel, and answers for the site itself.',
    afterTunnel((peer) => void peer.send(head('200 OK', 'Content-Length: 2'), 'no')),
  ],
  [
    'proxy-renegotiation-endless',
    'Wants to do the handshake of TLS with the proxy itself again and again; without TLS, never answers.',
    asked((_, socket) => void (socket !== undefined && renegotiate(socket)), { maxVersion: 'TLSv1.2' }),
  ],
]);
