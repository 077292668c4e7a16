import { type Act, type Fault, faultsOf } from './fault.ts';
import { chunkedHead, head, noise, noiseFlood, type Peer, page } from './peer.ts';
import { headReader } from './requests.ts';

/** The first byte of a handshake of TLS. */
const HANDSHAKE = 22;

/** Does this with each request, of who speaks TLS to the proxy as of who does not. */
function asked(act: (peer: Peer, request: string) => void): Act {
  const read = (peer: Peer): ((data: Buffer) => void) =>
    headReader(
      (request) => act(peer, request),
      () => peer.end(),
    );
  return (outer) =>
    outer.heard((first) => {
      const isSecure = first[0] === HANDSHAKE;
      outer.putBack(first);
      if (isSecure) outer.secure({}, (inner) => inner.hear(read(inner)));
      else outer.hear(read(outer));
    });
}

const ESTABLISHED: string = head('200 Connection established');

/** Opens a tunnel for who wants one; what others asked for is answered likewise. */
const afterTunnel = (act: (peer: Peer) => void): Act => asked((peer) => act(peer.send(ESTABLISHED)));

const refusal = (status: string, ...fields: readonly string[]): Act =>
  asked((peer) => void peer.send(head(status, 'Content-Length: 0', ...fields)));

/** Misbehaviour of a proxy of HTTP. */
const HTTP: readonly Fault[] = faultsOf('proxy', [
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
]);

/** The first words of a client of SOCKS 4 and 5; whichever it is, the answer is to grant what it asks for. */
const GRANTED_4: Uint8Array = Uint8Array.of(0, 0x5a, 0, 0, 0, 0, 0, 0);
const WELCOME_5: Uint8Array = Uint8Array.of(5, 0);
const GRANTED_5: Uint8Array = Uint8Array.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 0);

/** Does this when it was asked to connect, and says which version it was asked in. */
function toConnect(act: (peer: Peer, version: 4 | 5) => void): Act {
  return (peer) =>
    peer.heard((hello) => {
      if (hello[0] === 4) act(peer, 4);
      else peer.send(WELCOME_5).heard(() => act(peer, 5));
    });
}

const atHello =
  (act: (peer: Peer, version: 4 | 5) => void): Act =>
  (peer) =>
    peer.heard((hello) => act(peer, hello[0] === 4 ? 4 : 5));

const granted = (version: 4 | 5): Uint8Array => (version === 4 ? GRANTED_4 : GRANTED_5);

/** Misbehaviour of a proxy of SOCKS. */
const SOCKS: readonly Fault[] = faultsOf('socks', [
  ['socks-silence', 'Never says a word.', () => {}],
  ['socks-close-on-connect', 'Closes when somebody connects.', (peer) => peer.end()],
  ['socks-close-at-hello', 'Closes when it is greeted.', atHello((peer) => peer.end())],
  ['socks-reset', 'Breaks the connection off when it is greeted.', atHello((peer) => peer.reset())],
  [
    'socks-version',
    'Speaks another version.',
    atHello((peer) => void peer.send(Uint8Array.of(9, 0, 9, 9, 9, 9, 9, 9, 9, 9))),
  ],
  [
    'socks-no-method',
    'Takes none of the ways to say who asks.',
    atHello((peer) => void peer.send(Uint8Array.of(5, 0xff))),
  ],
  [
    'socks-method-unasked',
    'Chooses a way to say who asks that was not named.',
    atHello((peer) => void peer.send(Uint8Array.of(5, 0x80))),
  ],
  [
    'socks-short',
    'Answers with the first half, and falls silent.',
    toConnect((peer, version) => void peer.send(granted(version).subarray(0, 4))),
  ],
  [
    'socks-short-close',
    'Answers with the first half, and closes.',
    toConnect((peer, version) => peer.end(granted(version).subarray(0, 4))),
  ],
  ['socks-silence-after-hello', 'Falls silent when it is asked to connect.', toConnect(() => {})],
  ['socks-close-after-hello', 'Closes when it is asked to connect.', toConnect((peer) => peer.end())],
  [
    'socks-refused',
    'Says that the host refuses.',
    toConnect(
      (peer, version) =>
        void peer.send(
          version === 4 ? Uint8Array.of(0, 0x5b, 0, 0, 0, 0, 0, 0) : Uint8Array.of(5, 5, 0, 1, 0, 0, 0, 0, 0, 0),
        ),
    ),
  ],
  [
    'socks-address-unknown',
    'Answers with an address of a kind that there is not.',
    toConnect((peer) => void peer.send(Uint8Array.of(5, 0, 0, 9, 1, 1, 1, 1, 1, 1))),
  ],
  [
    'socks-drip',
    'Answers one byte at a time.',
    atHello((peer) => peer.drip(Buffer.concat([WELCOME_5, Uint8Array.of(5, 0, 0, 3, 255), Buffer.alloc(257)]))),
  ],
  ['socks-noise', 'Sends bytes without meaning, without end.', (peer) => peer.flood(noiseFlood(peer.random))],
  ['socks-zeros', 'Sends zeros without end.', atHello((peer) => peer.flood(() => Buffer.alloc(4096)))],
  ['socks-http', 'Speaks HTTP.', atHello((peer) => peer.end(head('400 Bad Request', 'Content-Length: 0')))],
  ['socks-tunnel-closed', 'Connects, and closes.', toConnect((peer, version) => peer.end(granted(version)))],
  [
    'socks-tunnel-silence',
    'Connects, and nothing comes through.',
    toConnect((peer, version) => void peer.send(granted(version))),
  ],
  [
    'socks-tunnel-noise',
    'Connects, and bytes without meaning come through, without end.',
    toConnect((peer, version) => peer.send(granted(version)).flood(noiseFlood(peer.random))),
  ],
]);

export const PROXY_FAULTS: readonly Fault[] = [...HTTP, ...SOCKS];
