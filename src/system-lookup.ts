import { lookup, Resolver } from 'node:dns';

/** One address of a host. */
export interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/** The two ways to find a host, and how they are used; tests put their own in place. */
export interface Resolvers {
  /** As `getaddrinfo` does it: hosts file, search domains, name servers. */
  readonly system: (hostname: string) => Promise<readonly Address[]>;
  /** Name servers only. Gives nothing where they know nothing; `stop` ends the question. Never throws. */
  readonly nameServers: (
    hostname: string,
    found: (addresses: readonly Address[]) => void,
  ) => { readonly stop: () => void };
  /** Questions the system works on at one time. */
  readonly slots: number;
  /** How long the system is waited for before the name servers are asked as well, in milliseconds. */
  readonly patienceMs: number;
  /** The same while the system has not even begun, in milliseconds. @defaultValue `patienceMs` */
  readonly queuePatienceMs?: number;
  /** How long a question waits to be begun at all, in milliseconds. @defaultValue for ever */
  readonly queueTimeoutMs?: number;
}

/**
 * Asks the system for the addresses of hosts. Where it gives no answer for a while, because its few threads wait for the
 * slow servers of other names, the name servers are asked too, and the first addresses count. An error is always the
 * system's.
 */
export class SystemLookup {
  readonly #resolvers: Resolvers;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(resolvers: Resolvers) {
    this.#resolvers = resolvers;
  }

  find(hostname: string): Promise<readonly Address[]> {
    const { nameServers, patienceMs, queuePatienceMs = patienceMs, queueTimeoutMs, system } = this.#resolvers;
    return new Promise((resolve, reject) => {
      let asked: { readonly stop: () => void } | undefined;
      let hasStarted = false;
      let timer: NodeJS.Timeout | undefined;
      const settle = (answer: () => void) => {
        clearTimeout(timer);
        this.#waiting.delete(start);
        asked?.stop();
        answer();
      };
      const start = () => {
        hasStarted = true;
        this.#waiting.delete(start);
        this.#running++;
        system(hostname)
          .finally(() => {
            this.#running--;
            this.#next();
          })
          .then(
            (addresses) => settle(() => resolve(addresses)),
            (error) => settle(() => reject(error)),
          );
      };
      const askAround = () => {
        if (!hasStarted && queueTimeoutMs !== undefined) {
          timer = setTimeout(() => {
            if (!hasStarted) settle(() => reject(noThread(hostname)));
          }, queueTimeoutMs - queuePatienceMs);
        }
        asked = nameServers(hostname, (addresses) => settle(() => resolve(addresses)));
      };
      timer = setTimeout(() => {
        const left = hasStarted ? patienceMs - queuePatienceMs : 0;
        if (left > 0) timer = setTimeout(askAround, left);
        else askAround();
      }, queuePatienceMs);
      this.#waiting.add(start);
      this.#next();
    });
  }

  #next(): void {
    const [start] = this.#waiting;
    if (this.#running < this.#resolvers.slots) start?.();
  }
}

const PATIENCE_MS = 1_500;
/** All threads are taken by other names then, and likely by slow ones. */
const QUEUE_PATIENCE_MS = 250;
/** As long as whoever asks will wait; a name that nobody waits for any more must not take a thread from others. */
const QUEUE_TIMEOUT_MS = 10_000;

/**
 * libuv gives `getaddrinfo` half of its threads and queues the rest, so that files can still be read and written; keeping the queue here lets a name that was
 * answered otherwise leave it.
 */
const SLOTS = Math.ceil((Number(process.env.UV_THREADPOOL_SIZE) || 4) / 2);

/** For the whole process, as are the threads. */
const shared = new SystemLookup({
  system: askSystem,
  nameServers: askNameServers,
  slots: SLOTS,
  patienceMs: PATIENCE_MS,
  queuePatienceMs: QUEUE_PATIENCE_MS,
  queueTimeoutMs: QUEUE_TIMEOUT_MS,
});

/** The addresses of a host as this machine finds them. Rejects with the system's error. */
export function systemLookup(hostname: string): Promise<readonly Address[]> {
  return shared.find(hostname);
}

function askSystem(hostname: string): Promise<readonly Address[]> {
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: true, verbatim: true }, (error, addresses) => {
      if (error === null) resolve(addresses as Address[]);
      else reject(error);
    });
  });
}

/** Names that the name servers are asked about at a time: more would be lost on the way, as a burst of datagrams is. */
const MOST_ASKED = 64;

/** One for all names that are asked about at a time, since each has sockets of its own. */
let resolver: Resolver | undefined;
const asked = new Set<object>();
const queued = new Set<() => void>();

/** Calls back once there are addresses, and not at all where there are none. */
function askNameServers(
  hostname: string,
  found: (addresses: readonly Address[]) => void,
): { readonly stop: () => void } {
  const question = {};
  const ask = (): void => {
    queued.delete(ask);
    asked.add(question);
    resolver ??= new Resolver({ timeout: 2_000, tries: 2 });
    const all: Address[] = [];
    let open = 2;
    const collect = (family: 4 | 6) => (error: Error | null, addresses: readonly string[]) => {
      if (error === null) for (const address of addresses) all.push({ address, family });
      if (--open > 0 || !asked.has(question)) return;
      stop();
      if (all.length > 0) found(all);
    };
    try {
      resolver.resolve4(hostname, collect(4));
      resolver.resolve6(hostname, collect(6));
    } catch {
      // A name they can't even be asked about.
      stop();
    }
  };
  const stop = (): void => {
    queued.delete(ask);
    if (!asked.delete(question)) return;
    const [next] = queued;
    if (next !== undefined) next();
    else if (asked.size === 0) {
      // What is still open, though nobody wants it, would keep the process alive.
      resolver?.cancel();
      resolver = undefined;
    }
  };
  queued.add(ask);
  if (asked.size < MOST_ASKED) ask();
  return { stop };
}

function noThread(hostname: string): Error {
  const message = `no thread was free to look for ${hostname} within ${QUEUE_TIMEOUT_MS} ms`;
  return Object.assign(new Error(message), { code: 'EAI_AGAIN' });
}
