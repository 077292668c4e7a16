import type { HostPatch, HostState, Lease } from '../ports.ts';

/** The leases that are out, and what was learnt of their hosts since. */
export class HeldLeases {
  readonly #leases = new Map<number, Lease>();
  readonly #hosts = new Map<string, { state: HostState; leases: number }>();

  all(): Iterable<Lease> {
    return this.#leases.values();
  }

  add(lease: Lease): void {
    this.#leases.set(lease.fence, lease);
    const { host } = lease.request;
    const leases = (this.#hosts.get(host)?.leases ?? 0) + 1;
    this.#hosts.set(host, { state: lease.host, leases });
  }

  remove(lease: Lease): void {
    if (!this.#leases.delete(lease.fence)) return;
    const { host } = lease.request;
    const held = this.#hosts.get(host);
    if (held !== undefined && --held.leases === 0) this.#hosts.delete(host);
  }

  /** The host of a lease with what was learnt of it since the lease. */
  stateOf(lease: Lease): HostState {
    return this.#hosts.get(lease.request.host)?.state ?? lease.host;
  }

  learn(host: string, patch: HostPatch): void {
    const held = this.#hosts.get(host);
    if (held !== undefined) held.state = { ...held.state, ...patch };
  }

  clear(): void {
    this.#leases.clear();
    this.#hosts.clear();
  }
}
