import { AddressGuard } from '../address-guard.ts';
import { Admission } from '../admission.ts';
import { DnsCache } from '../dns.ts';
import { Fetcher, type ProxyOption } from '../fetcher/index.ts';
import { takesNames } from '../fetcher/proxy.ts';
import { Frontier } from '../frontier.ts';
import type { CrawlStore } from '../ports.ts';
import { RobotsCache } from '../robots-cache.ts';
import { SitemapFiles } from '../sitemap/file-count.ts';
import { StatsCollector } from '../stats.ts';
import { openStore } from '../store/open.ts';
import { nextTurn, turnIsOver, turnIsOverAt } from '../turns.ts';
import { ContentSeen } from '../visit/content-seen.ts';
import { HostFinder, type WhoFinds } from '../visit/host-finder.ts';
import { UnreachableHosts } from '../visit/unreachable-hosts.ts';
import { keepCanonical } from './canonical-kept.ts';
import type { Settings } from './settings.ts';

const SEEDS = 'crawl:seeds';
const MOVED = 'crawl:moved-seeds';
const STATS = 'crawl:stats';
/** Moved seeds that are written with each new one, not only at checkpoints. */
const FEW_MOVED = 100;
/** Seeds taken in between two looks at the clock. */
const SEEDS_AT_ONCE = 500;
const SMALL_STATS_BYTES = 4096;
const LARGE_STATS_EVERY_MS = 250;

/** What a crawl has open while it runs. Made by {@link Session.open}, so that the crawler's constructor opens nothing. */
export class Session {
  readonly store: CrawlStore;
  readonly frontier: Frontier;
  readonly fetcher: Fetcher;
  readonly finder: HostFinder;
  readonly guard: AddressGuard;
  readonly robots: RobotsCache | undefined;
  readonly admission: Admission;
  readonly stats: StatsCollector;
  readonly contentSeen: ContentSeen;
  readonly unreachable: UnreachableHosts = new UnreachableHosts();
  readonly sitemapFiles: SitemapFiles = new SitemapFiles();
  readonly #ownsStore: boolean;
  readonly #named = new Set<string>();
  readonly #moved = new Set<string>();
  #statsWritten = 0;
  #statsBytes = 0;

  static async open(settings: Settings): Promise<Session> {
    const { store, owned } = await openStore(settings.store);
    try {
      await keepCanonical(store, settings.canonical);
      const frontier = await Frontier.open({
        store,
        politeness: settings.politeness,
        clock: settings.clock,
        maxPagesPerHost: settings.maxPagesPerHost,
        canonical: settings.canonical,
      });
      // A store that learns the rules before the seeds need not go over the hosts of all of them.
      await frontier.nextDueAt();
      const session = new Session(settings, store, frontier, owned);
      await session.#restore();
      await session.fetcher.ready();
      return session;
    } catch (thrown) {
      if (owned) await store.close();
      throw thrown;
    }
  }

  private constructor(settings: Settings, store: CrawlStore, frontier: Frontier, ownsStore: boolean) {
    this.store = store;
    this.frontier = frontier;
    this.#ownsStore = ownsStore;
    this.guard = new AddressGuard(settings.network);
    const dns = new DnsCache({ clock: settings.clock, lookup: settings.dnsLookup });
    this.finder = new HostFinder(dns, whoFinds(settings.fetcher.proxy, this.guard));
    this.fetcher = new Fetcher({ ...settings.fetcher, network: this.guard, dnsLookup: dns });
    // In memory these would only be kept twice.
    const durable = store.durable === true ? store : undefined;
    this.robots = settings.respectRobots
      ? new RobotsCache({ source: this.fetcher, clock: settings.clock, storage: durable, ...settings.robots })
      : undefined;
    this.admission = new Admission(settings);
    this.stats = new StatsCollector({ clock: settings.clock });
    this.contentSeen = new ContentSeen(durable);
  }

  /** Lets the crawl go where a seed is: its host joins the scope and may be connected to wherever it resolves to. */
  async addSeeds(urls: readonly URL[]): Promise<void> {
    const before = this.#named.size;
    await this.#takeSeeds(urls);
    if (this.#named.size > before) await this.store.setMeta(SEEDS, encode([...this.#named]));
  }

  /** Lets the scope follow a seed to another spelling of its host; what may be connected to stays as it is. */
  async widenScope(url: URL): Promise<void> {
    this.admission.addSeeds([url]);
    this.#moved.add(url.origin);
    // Many seeds may move, and each writing anew what all have moved to would take longer and longer.
    if (this.#moved.size <= FEW_MOVED) await this.#keepMoved();
  }

  /**
   * The statistics as they go into a commit, so that a crash costs little of them: with each one while they are small,
   * less often where they have grown with the hosts.
   */
  statsEntry(now: number): readonly [string, Uint8Array] | undefined {
    if (this.#statsBytes > SMALL_STATS_BYTES && now - this.#statsWritten < LARGE_STATS_EVERY_MS) return undefined;
    this.#statsWritten = now;
    const bytes = encode(this.stats);
    this.#statsBytes = bytes.length;
    return [STATS, bytes];
  }

  /** Makes durable what happened so far. */
  async checkpoint(): Promise<void> {
    if (this.#moved.size > FEW_MOVED) await this.#keepMoved();
    await this.store.setMeta(STATS, encode(this.stats));
    await this.frontier.flush();
  }

  /** Closes what was opened here; a store that was handed in stays open. */
  async close(): Promise<void> {
    try {
      this.finder.close();
      await this.fetcher.close();
      await this.robots?.flush();
      await this.frontier.close();
    } finally {
      // Also where the store is lost: it must be let go of, to be opened again once mended.
      if (this.#ownsStore) await this.store.close();
    }
  }

  async #keepMoved(): Promise<void> {
    await this.store.setMeta(MOVED, encode([...this.#moved]));
  }

  async #takeSeeds(urls: readonly URL[]): Promise<void> {
    for (let from = 0; from < urls.length; from += SEEDS_AT_ONCE) {
      if (turnIsOver()) await nextTurn();
      const some = urls.slice(from, from + SEEDS_AT_ONCE);
      for (const url of some) {
        this.guard.allowHost(url.hostname);
        this.#named.add(url.origin);
      }
      this.admission.addSeeds(some);
    }
  }

  async #restore(): Promise<void> {
    await this.#takeSeeds(await readOrigins(this.store, SEEDS));
    const moved = await readOrigins(this.store, MOVED);
    for (const url of moved) this.#moved.add(url.origin);
    this.admission.addSeeds(moved);
    const stats = decode(await this.store.getMeta(STATS));
    if (stats !== undefined) this.stats.restore(stats);
  }
}

/** A proxy that takes names finds hosts itself, but those whose addresses the guard must see before. */
function whoFinds(proxy: ProxyOption | undefined, guard: AddressGuard): (hostname: string) => WhoFinds {
  const takes = takesNames(proxy);
  if (takes === false) return () => 'here';
  if (takes === undefined) return () => 'unsure';
  return (hostname) => (guard.dependsOnAddress(hostname) ? 'here' : 'proxy');
}

/** Origins of the seeds of a crawl, as its store has them: what its scope is made of. */
export async function readSeedOrigins(store: CrawlStore): Promise<URL[]> {
  return [...(await readOrigins(store, SEEDS)), ...(await readOrigins(store, MOVED))];
}

async function readOrigins(store: CrawlStore, name: string): Promise<URL[]> {
  const seeds = decode(await store.getMeta(name));
  const urls: URL[] = [];
  for (const origin of Array.isArray(seeds) ? seeds : []) {
    urls.push(new URL(String(origin)));
    if (turnIsOverAt(urls.length)) await nextTurn();
  }
  return urls;
}

function encode(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value), 'utf8');
}

function decode(bytes: Uint8Array | undefined): unknown {
  return bytes === undefined ? undefined : JSON.parse(Buffer.from(bytes).toString('utf8'));
}
