import { type Act, type Fault, faultsOf } from './fault.ts';
import { head, noiseFlood, type Peer } from './peer.ts';

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
export const SOCKS_FAULTS: readonly Fault[] = faultsOf('socks', [
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
