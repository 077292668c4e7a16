// A crawl without a network: a made-up web, virtual time, and a referee that checks every request against the rules of
// politeness by its own book-keeping. Used by test/simulation.test.ts (on src) and simulate.mjs (on dist).

/** Numbers that look random and are the same for the same seed. */
function randomFrom(seed) {
  let x = (Math.imul(seed, 0x9e3779b1) ^ 0x85ebca6b) | 1;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) / 2 ** 32;
  };
}

/** Sizes of hosts by a power law: the nth largest has about 1/n of the largest. */
function hostSizes(hosts, urls) {
  const weights = Array.from({ length: hosts }, (_, n) => 1 / (n + 1));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const sizes = weights.map((weight) => Math.max(1, Math.floor((weight / total) * urls)));
  sizes[0] += Math.max(0, urls - sizes.reduce((sum, size) => sum + size, 0));
  return sizes;
}

/** A web in which every page can be reached from the first: pages of a host are a tree, and so are the hosts. */
function makeWeb({ hosts, urls, hostsPerAddress, random }) {
  const sizes = hostSizes(hosts, urls);
  const name = (host) => `www.host${host}.example`;
  const url = (host, page) => `https://${name(host)}/section/article-${page}.html`;
  const known = new Map(sizes.map((_, host) => [name(host), host]));
  return {
    size: sizes.reduce((sum, size) => sum + size, 0),
    sizes,
    name,
    url,
    numberOf: (host) => known.get(host),
    address: (host) => `192.0.2.${Math.floor(host / hostsPerAddress)}`,
    // Servers differ a hundredfold in speed.
    speed: sizes.map(() => 5 * 100 ** random()),
    crawlDelay: sizes.map(() => (random() < 0.05 ? 1_000 * Math.ceil(random() * 5) : 0)),
    links(host, page) {
      const children = [page * 2 + 1, page * 2 + 2].filter((child) => child < sizes[host]);
      const found = children.map((child) => url(host, child));
      if (page === 0) for (const next of [host * 2 + 1, host * 2 + 2]) if (next < hosts) found.push(url(next, 0));
      found.push(url(host, 0), url(0, 0));
      return found;
    },
  };
}

/** Waiting events, soonest first. */
class Agenda {
  #items = [];

  get next() {
    return this.#items[0]?.at;
  }

  get size() {
    return this.#items.length;
  }

  add(at, run) {
    const items = this.#items;
    const item = { at, run };
    let i = items.length;
    items.push(item);
    for (let up = (i - 1) >> 1; i > 0 && items[up].at > at; i = up, up = (i - 1) >> 1) items[i] = items[up];
    items[i] = item;
  }

  take() {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (items.length === 0) return first;
    let i = 0;
    for (;;) {
      let below = i * 2 + 1;
      if (below >= items.length) break;
      if (below + 1 < items.length && items[below + 1].at < items[below].at) below++;
      if (items[below].at >= last.at) break;
      items[i] = items[below];
      i = below;
    }
    items[i] = last;
    return first;
  }
}

/** Keeps its own books of who was asked when, and objects. */
class Referee {
  #rules;
  #hosts = new Map();
  #addresses = new Map();
  #leased = new Set();
  #final = new Set();
  #seen = new Set();
  faults = [];
  /** Milliseconds that hosts waited though they might have been asked, and all the time they had work. */
  idleMs = 0;
  busyMs = 0;

  constructor(rules) {
    this.#rules = rules;
  }

  get seen() {
    return this.#seen.size;
  }

  get ended() {
    return this.#final.size;
  }

  #host(name) {
    let host = this.#hosts.get(name);
    if (host === undefined) {
      host = { inFlight: 0, freeAt: 0, delay: 0, fresh: 0, freshAt: 0, later: [], address: undefined };
      this.#hosts.set(name, host);
    }
    return host;
  }

  #address(name) {
    let address = this.#addresses.get(name);
    if (address === undefined) {
      address = { by: undefined, inFlight: 0, freeAt: 0 };
      this.#addresses.set(name, address);
    }
    return address;
  }

  #must(holds, what) {
    if (!holds && this.faults.length < 20) this.faults.push(what);
  }

  offered(urls, now) {
    let fresh = 0;
    for (const url of urls) {
      if (this.#seen.has(url)) continue;
      this.#seen.add(url);
      fresh++;
      const host = this.#host(new URL(url).hostname);
      if (host.fresh++ === 0) host.freshAt = now;
    }
    return fresh;
  }

  leased(lease, now) {
    const { url, request } = lease;
    const host = this.#host(request.host);
    this.#must(!this.#leased.has(url), `${url} was leased twice at once`);
    this.#must(!this.#final.has(url), `${url} was leased after its end`);
    this.#leased.add(url);
    host.inFlight++;
    const most = this.#rules.connectionsPerHost;
    this.#must(most === 0 || host.inFlight <= most, `${request.host} has ${host.inFlight} requests in flight`);
    this.#must(now >= host.freeAt, `${request.host} was asked ${host.freeAt - now} ms too early`);
    const again = host.later.findIndex((one) => one.url === url);
    const readyAt = Math.min(host.fresh > 0 ? host.freshAt : Infinity, ...host.later.map((one) => one.at));
    if (again >= 0) {
      this.#must(now >= host.later[again].at, `${url} was leased before it was due`);
      host.later.splice(again, 1);
    } else host.fresh--;
    const address = host.address === undefined ? undefined : this.#address(host.address);
    const dueAt = Math.max(host.freeAt, readyAt, address?.freeAt ?? 0);
    if (host.inFlight === 1) this.idleMs += now - dueAt;
  }

  /** The host was found at an address that is busy: from now on it waits for it. */
  refused(lease, name) {
    this.#host(lease.request.host).address = name;
  }

  /** The request is about to be sent to an address. */
  connected(lease, name, now) {
    const host = this.#host(lease.request.host);
    host.address = name;
    if (this.#rules.ipDelayMs === 0) return;
    const address = this.#address(name);
    const { host: by } = lease.request;
    this.#must(address.inFlight === 0 || address.by === by, `${name} is asked as ${address.by} and ${by} at once`);
    this.#must(now >= address.freeAt, `${name} was asked ${address.freeAt - now} ms too early`);
    address.by = by;
    address.inFlight++;
  }

  /** An answer has ended, and when its host may be asked again by the rule. */
  answered(lease, now, durationMs, gapMs) {
    const host = this.#host(lease.request.host);
    host.freeAt = Math.max(host.freeAt, now + gapMs);
    this.busyMs += durationMs + gapMs;
    if (this.#rules.ipDelayMs === 0) return;
    const address = this.#address(host.address);
    address.inFlight--;
    address.freeAt = Math.max(address.freeAt, now + this.#rules.ipDelayMs);
  }

  settled(lease, again) {
    const host = this.#host(lease.request.host);
    host.inFlight--;
    this.#leased.delete(lease.url);
    if (again !== undefined) host.later.push({ url: lease.url, at: again });
    else this.#final.add(lease.url);
  }

  noneLost() {
    this.#must(this.#leased.size === 0, `${this.#leased.size} leases were never settled`);
    this.#must(this.#final.size === this.#seen.size, `${this.#seen.size - this.#final.size} URLs were lost`);
  }
}

/**
 * Crawls a made-up web to its end.
 * @returns figures, and the faults that the referee found.
 */
export async function simulate({ Frontier, MemoryStore }, options) {
  const settings = {
    urls: 50_000,
    hosts: 500,
    hostsPerAddress: 3,
    workers: Infinity,
    seed: 1,
    troubled: 0.04,
    dying: 0.001,
    minDelayMs: 1_000,
    delayFactor: 5,
    maxDelayMs: 60_000,
    connectionsPerHost: 1,
    ipDelayMs: 250,
    leaseTtlMs: 300_000,
    ...options,
  };
  return new Simulation({ Frontier, MemoryStore }, settings).run();
}

class Simulation {
  #classes;
  #settings;
  #random;
  #web;
  #referee;
  #agenda = new Agenda();
  #known = new Set();
  #now = 1_700_000_000_000;
  #inFlight = 0;
  #frontier;
  #figures = { requests: 0, pages: 0, retries: 0, deferred: 0, died: 0, scheduling: 0 };

  constructor(classes, settings) {
    this.#classes = classes;
    this.#settings = settings;
    this.#random = randomFrom(settings.seed);
    this.#web = makeWeb({ ...settings, random: this.#random });
    this.#referee = new Referee(settings);
  }

  async run() {
    const { minDelayMs, delayFactor, maxDelayMs, connectionsPerHost, ipDelayMs, leaseTtlMs } = this.#settings;
    const started = performance.now();
    const from = this.#now;
    const store = await this.#classes.MemoryStore.open();
    this.#frontier = await this.#classes.Frontier.open({
      store,
      clock: { now: () => this.#now },
      politeness: { minDelayMs, delayFactor, maxDelayMs, connectionsPerHost, ipDelayMs, parkAfterFailures: 0 },
      leaseTtlMs,
    });
    const seeds = [this.#web.url(0, 0)];
    this.#referee.offered(seeds, this.#now);
    await this.#timed(() => this.#frontier.offer(seeds));
    for (;;) {
      await this.#leaseAll();
      const dueAt = await this.#timed(() => this.#frontier.nextDueAt());
      const free = this.#inFlight < this.#settings.workers;
      const next = Math.min(this.#agenda.next ?? Infinity, free ? (dueAt ?? Infinity) : Infinity);
      if (next === Infinity) break;
      this.#now = Math.max(this.#now, next);
      while (this.#agenda.size > 0 && this.#agenda.next <= this.#now) await this.#agenda.take().run();
    }
    this.#referee.noneLost();
    const stats = await this.#frontier.stats();
    return this.#report(stats, this.#now - from, performance.now() - started);
  }

  #report(stats, virtualMs, tookMs) {
    const { faults, idleMs, busyMs, seen, ended } = this.#referee;
    const { scheduling, ...figures } = this.#figures;
    if (stats.queued + stats.leased > 0) faults.push(`${stats.queued} queued and ${stats.leased} leased at the end`);
    if (stats.seen !== this.#web.size) faults.push(`${this.#web.size - stats.seen} URLs of the web were never seen`);
    if (stats.done + stats.failed !== stats.seen) faults.push('not every URL came to one end');
    return {
      ...figures,
      seen,
      ended,
      hosts: stats.hosts,
      virtualHours: virtualMs / 3_600_000,
      utilisation: busyMs / (busyMs + idleMs),
      schedulingUsPerPage: (scheduling / figures.pages) * 1_000,
      tookMs,
      faults,
    };
  }

  async #timed(work) {
    const started = performance.now();
    const result = await work();
    this.#figures.scheduling += performance.now() - started;
    return result;
  }

  async #leaseAll() {
    for (;;) {
      const room = Math.min(64, this.#settings.workers - this.#inFlight);
      if (room <= 0) return;
      const leases = await this.#timed(() => this.#frontier.lease(room));
      for (const lease of leases) await this.#start(lease);
      if (leases.length < room) return;
    }
  }

  async #start(lease) {
    this.#inFlight++;
    this.#referee.leased(lease, this.#now);
    const host = this.#web.numberOf(lease.request.host);
    const address = this.#web.address(host);
    const retryAt = await this.#timed(() => this.#frontier.claimAddress(lease, address));
    if (retryAt !== 0) {
      this.#figures.deferred++;
      this.#referee.refused(lease, address);
      this.#referee.settled(lease, retryAt);
      this.#inFlight--;
      await this.#timed(() => this.#frontier.settle(lease, { outcome: 'deferred', dueAt: retryAt }));
      return;
    }
    this.#referee.connected(lease, address, this.#now);
    this.#figures.requests++;
    if (this.#random() < this.#settings.dying) {
      this.#figures.died++;
      this.#agenda.add(lease.expiresAt, () => this.#die(lease));
      return;
    }
    const durationMs = Math.ceil(this.#web.speed[host] * (0.5 + this.#random() * 3));
    this.#agenda.add(this.#now + durationMs, () => this.#end(lease, host, durationMs));
  }

  /** A worker went away with its lease: the lease has run out, and its host counts as asked until now. */
  async #die(lease) {
    const { delayMs, crawlDelayMs } = await this.#frontier.getHost(lease.request.host);
    const gapMs = Math.max(delayMs, crawlDelayMs, this.#settings.minDelayMs);
    this.#inFlight--;
    this.#referee.answered(lease, this.#now, lease.expiresAt - lease.leasedAt, gapMs);
    this.#referee.settled(lease, this.#now);
  }

  async #end(lease, host, durationMs) {
    this.#inFlight--;
    const observation = { ...this.#answer(host), endedAt: this.#now, durationMs };
    const again = this.#queuedAgain(lease, observation);
    const outcome = again ?? { outcome: 'done', delivered: observation.status === 200 };
    const outlinks = again === undefined ? this.#web.links(host, pageOf(lease.url)) : [];
    this.#referee.settled(lease, again?.dueAt);
    const fresh = this.#referee.offered(outlinks, this.#now);
    const settled = await this.#timed(() => this.#frontier.settle(lease, { ...outcome, observation, outlinks }));
    if (!settled.accepted || settled.offered !== fresh) this.#referee.faults.push(`${lease.url}: wrong settlement`);
    const { nextAt, blockedUntil } = await this.#frontier.getHost(lease.request.host);
    const least = this.#leastGap(host, observation);
    const gap = Math.max(nextAt, blockedUntil) - this.#now;
    if (gap < least) this.#referee.faults.push(`${lease.request.host}: ${gap} ms after the answer, not ${least}`);
    this.#referee.answered(lease, this.#now, durationMs, gap);
    if (again === undefined) this.#figures.pages++;
  }

  /** The gap that the rule asks for, worked out anew. */
  #leastGap(host, { status, durationMs, retryAfterMs = 0, crawlDelayMs }) {
    const { minDelayMs, delayFactor, maxDelayMs } = this.#settings;
    const usual = Math.max(minDelayMs, Math.min(delayFactor * durationMs, maxDelayMs), crawlDelayMs);
    const overloaded = status === 429 || status === 503 || status === undefined;
    const backoff = overloaded && retryAfterMs === 0 ? 30_000 : 0;
    return Math.max(usual, retryAfterMs, backoff, this.#web.crawlDelay[host]);
  }

  #answer(host) {
    const crawlDelayMs = this.#web.crawlDelay[host];
    const draw = this.#random() / this.#settings.troubled;
    if (draw < 0.2) return { status: 503, crawlDelayMs };
    if (draw < 0.4) return { status: 429, retryAfterMs: 5_000, crawlDelayMs };
    if (draw < 0.6) return { error: { code: 'CRAWL_HEADERS_TIMEOUT', retryable: true }, crawlDelayMs };
    if (draw < 0.8) return { status: 500, crawlDelayMs };
    return { status: draw < 1 ? 404 : 200, crawlDelayMs };
  }

  /** How a URL is queued again: for robots.txt the first time its host is met, or since it failed. */
  #queuedAgain(lease, { status }) {
    const { request } = lease;
    if (!this.#known.has(request.host)) {
      this.#known.add(request.host);
      this.#figures.deferred++;
      return { outcome: 'deferred', dueAt: this.#now };
    }
    if ((status !== undefined && status < 429) || request.attempts >= 3) return undefined;
    this.#figures.retries++;
    const changed = { ...request, attempts: request.attempts + 1 };
    return { outcome: 'retry', request: changed, dueAt: this.#now + 2_000 * 2 ** request.attempts };
  }
}

function pageOf(url) {
  return Number(url.slice(url.lastIndexOf('-') + 1, -'.html'.length));
}
