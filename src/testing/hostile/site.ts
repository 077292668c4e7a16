import { crc32 } from '../../fingerprint.ts';
import { Random } from '../random.ts';
import type { Fault, FaultPlace } from './fault.ts';
import { answer, head, type Peer, page } from './peer.ts';

/** Where a request goes: to a misbehaviour and its number, or to what is sound. */
export interface Aim {
  readonly act: (peer: Peer) => void;
  readonly n: number;
  readonly query: string;
  readonly origin: string;
  readonly base: string;
}

/** What a request names, as far as it is needed here. */
interface Asked {
  readonly path: string;
  readonly query: string;
  readonly origin: string;
}

const missing = (peer: Peer): void => void peer.send(head('404 Not Found', 'Content-Length: 0'));

/** What shows as soon as somebody connects: all that is told apart by no path. */
const AT_CONNECTION: ReadonlySet<FaultPlace> = new Set(['connection', 'tls', 'http2', 'proxy', 'socks']);

/** The site on one port: all misbehaviours of answers by path, or one of another place, which it then has for itself. */
export class HostileSite {
  readonly #faults: ReadonlyMap<string, Fault>;
  readonly #only: Fault | undefined;
  readonly #seed: number;

  constructor(faults: ReadonlyMap<string, Fault>, only: Fault | undefined, seed: number) {
    this.#faults = faults;
    this.#only = only;
    this.#seed = seed;
  }

  /** What happens to a connection before anything was asked. */
  get onConnection(): Fault | undefined {
    return this.#only !== undefined && AT_CONNECTION.has(this.#only.place) ? this.#only : undefined;
  }

  /** @param request - The head of a request. */
  aim(request: string, address: string): Aim {
    const { path, query, origin } = read(request, address);
    const [, name = '', number = ''] = path.split('/');
    const n = Number.parseInt(number, 10) || 0;
    const only = this.#only;
    if (only === undefined) {
      const fault = this.#faults.get(name);
      const act = path === '/' ? (peer: Peer) => this.#index(peer) : (fault?.act ?? missing);
      return { act, n, query, origin, base: `/${name}` };
    }
    return { act: soundSite(only, path, n), n, query, origin, base: `/${only.name}` };
  }

  randomOf(name: string, n: number): Random {
    return new Random((this.#seed ^ crc32(`${name}/${n}`)) | 0);
  }

  /** A page with a link to each misbehaviour. */
  #index(peer: Peer): void {
    const links = [...this.#faults.values()].filter(({ place }) => place === 'answer');
    peer.send(answer(page('hostile', links.map(({ name, does }) => `<p><a href="/${name}/0">${does}</a>`).join('\n'))));
  }
}

/** A site whose pages are sound, and whose robots.txt or sitemap is not. */
function soundSite(fault: Fault, path: string, n: number): (peer: Peer) => void {
  const { act, name, place } = fault;
  if (path === '/robots.txt') {
    if (place === 'robots.txt') return act;
    if (place === 'connection') return missing;
    return (peer) =>
      void peer.send(
        answer(`User-agent: *\nAllow: /\nSitemap: ${peer.origin}/sitemap.xml\n`, 'Content-Type: text/plain'),
      );
  }
  if (path === '/sitemap.xml' && place === 'sitemap') return act;
  return (peer) => void peer.send(answer(page(`${name} ${n}`)));
}

function read(request: string, address: string): Asked {
  const target = request.split(' ', 2)[1] ?? '/';
  const host = /^host:\s*(\S+)/im.exec(request)?.[1] ?? address;
  const [path = '', query = ''] = target.split('?', 2);
  return { path, query, origin: `http://${host}` };
}
