import type { Peer } from './peer.ts';

/**
 * When a misbehaviour shows: with the connection, before anything was asked; in the answer for a page; in the robots.txt
 * or the sitemap of a site whose pages are sound; in TLS or in HTTP/2, for URLs of https; or in a proxy of HTTP or SOCKS.
 */
export type FaultPlace = 'connection' | 'answer' | 'robots.txt' | 'sitemap' | 'tls' | 'http2' | 'proxy' | 'socks';

/** One misbehaviour of a {@link HostileServer}. */
export interface HostileFault {
  /** Its name, and the first part of the path it is met under. */
  readonly name: string;
  /** What the server does, in a sentence. */
  readonly does: string;
  readonly place: FaultPlace;
}

/** A misbehaviour and how it is done. */
export interface Fault extends HostileFault {
  readonly act: (peer: Peer) => void;
}

/** What a server does to who connects. */
export type Act = Fault['act'];

type Row = readonly [name: string, does: string, act: Act];

/** Misbehaviours of one place. */
export function faultsOf(place: FaultPlace, rows: readonly Row[]): readonly Fault[] {
  return rows.map(([name, does, act]) => ({ name, does, place, act }));
}
