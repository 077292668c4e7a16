import { lookup, Resolver } from 'node:dns';

/** How long the system's resolver is waited for before the name servers are asked as well. */
const PATIENCE_MS = 1_500;

/**
 * Look-ups the system does at one time. libuv gives `getaddrinfo` half of its threads and queues the rest; keeping the
 * queue here allows a name that was answered otherwise to leave it.
 */
const SLOTS = Math.ceil((Number(process.env.UV_THREADPOOL_SIZE) || 4) / 2);

interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

const waiting = new Set<() => void>();
let running = 0;

/**
 * Asks the system for the addresses of a host, hosts file included. Where it gives no answer for a while, because its
 * few threads wait for other names' slow servers, the name servers are asked too, and the first addresses count.
 * Rejects with the system's error.
 */
export function systemLookup(hostname: string): Promise<readonly Address[]> {
  return new Promise((resolve, reject) => {
    let resolver: Resolver | undefined;
    const start = () => {
      waiting.delete(start);
      running++;
      lookup(hostname, { all: true, verbatim: true }, (error, addresses) => {
        running--;
        next();
        settle(() => (error === null ? resolve(addresses as Address[]) : reject(error)));
      });
    };
    const timer = setTimeout(() => {
      resolver = new Resolver({ timeout: 2_000, tries: 2 });
      askNameServers(resolver, hostname, (addresses) => settle(() => resolve(addresses)));
    }, PATIENCE_MS);
    const settle = (answer: () => void) => {
      clearTimeout(timer);
      waiting.delete(start);
      resolver?.cancel();
      answer();
    };
    waiting.add(start);
    next();
  });
}

function next(): void {
  const [start] = waiting;
  if (running < SLOTS) start?.();
}

/** Calls back once there are addresses, and not at all where there are none: then the system's answer is waited for. */
function askNameServers(resolver: Resolver, hostname: string, found: (addresses: readonly Address[]) => void): void {
  const all: Address[] = [];
  let open = 2;
  const collect = (family: 4 | 6) => (error: Error | null, addresses: readonly string[]) => {
    if (error === null) for (const address of addresses) all.push({ address, family });
    if (--open === 0 && all.length > 0) found(all);
  };
  resolver.resolve4(hostname, collect(4));
  resolver.resolve6(hostname, collect(6));
}
