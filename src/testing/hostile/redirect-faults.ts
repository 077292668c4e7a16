import { type Act, type Fault, faultsOf } from './fault.ts';
import { head, type Peer } from './peer.ts';

/** An answer that leads elsewhere. */
function moved(...locations: readonly ((peer: Peer) => string)[]): Act {
  return (peer) => {
    const fields = locations.map((location) => `Location: ${location(peer)}`);
    peer.send(head('302 Found', ...fields, 'Content-Length: 0'));
  };
}

const to = (location: string): Act => moved(() => location);

/** Misbehaviour in where an answer leads. */
export const REDIRECT_FAULTS: readonly Fault[] = faultsOf('answer', [
  ['redirect-self', 'Leads to itself.', moved((peer) => `${peer.base}/${peer.n}`)],
  [
    'redirect-circle',
    'Leads round in a circle of three.',
    moved((peer) => `${peer.base}/${peer.n}?${(Number(peer.query) + 1) % 3}`),
  ],
  [
    'redirect-endless',
    'Leads to a new place each time.',
    moved((peer) => `${peer.base}/${peer.n}?${Number(peer.query) + 1}`),
  ],
  [
    'redirect-growing',
    'Leads to a path that gets longer each time.',
    moved((peer) => `${peer.base}/${peer.n}?${peer.query}${'0'.repeat(400)}`),
  ],
  ['redirect-missing', 'Leads nowhere: it names no place.', moved()],
  ['redirect-empty', 'Names an empty place.', to('')],
  ['redirect-garbage', 'Names a place that is no URL.', to('http://[::1:80:/ /\\%')],
  ['redirect-binary', 'Names a place in bytes that are no text.', to(`/\xff\xfe\x80${'\xf0\x9f\x98'.repeat(10)}`)],
  ['redirect-huge', 'Names a place of 12,000 characters.', to(`/${'long'.repeat(3000)}`)],
  ['redirect-overlong', 'Names a place of 100,000 characters.', to(`/${'long'.repeat(25_000)}`)],
  ['redirect-script', 'Leads to a script.', to('javascript:alert(1)')],
  ['redirect-file', 'Leads to a file.', to('file:///etc/passwd')],
  ['redirect-private', 'Leads to an address inside a data centre.', to('http://169.254.169.254/latest/meta-data/')],
  ['redirect-port', 'Leads to the port of another protocol.', to('http://127.0.0.1:25/')],
  [
    'redirect-userinfo',
    'Leads to a place with a name and a password.',
    moved((peer) => `${peer.origin.replace('//', '//user:secret@')}${peer.base}/${peer.n}?again`),
  ],
  [
    'redirect-several',
    'Names two places that differ.',
    moved(
      (peer) => `${peer.base}/a`,
      (peer) => `${peer.base}/b`,
    ),
  ],
  ['redirect-split', 'Names a place with line ends in it.', to('/one%0d%0aSet-Cookie:%20a=b\rX: y')],
]);
