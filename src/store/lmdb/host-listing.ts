import type { HostTable } from './host-table.ts';
import type { StoredHost } from './stored-host.ts';

/** The first so many hosts, those with most waiting first. */
export function listHosts(hosts: HostTable, most: number): StoredHost[] {
  const all: StoredHost[] = [];
  hosts.visitAll(
    () => {},
    (host) => {
      all.push({ ...host.state(), queued: host.waiting });
      // Sorted now and then, so that a list of the first few never holds a million.
      if (all.length >= 2 * most + 1000) cut(all, most);
    },
  );
  return cut(all, most);
}

function cut(hosts: StoredHost[], most: number): StoredHost[] {
  hosts.sort((a, b) => b.queued - a.queued || b.pages - a.pages || (a.host < b.host ? -1 : 1));
  hosts.length = Math.min(hosts.length, most);
  return hosts;
}
