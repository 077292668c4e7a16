import assert from 'node:assert/strict';
import { mustBeStore, mustTake, onlyKnown } from '../options.ts';
import type { CrawlStore, HostPatch, Lease, LeaseRules, OutcomeKind, Settlement } from '../ports.ts';
import type { CrawlRequest } from '../types.ts';
import { known, request, T0 } from './fixture.ts';
import { Model } from './model.ts';
import { Random } from './random.ts';

export interface WalkOptions {
  /** Where the random numbers begin; the same seed walks the same way. */
  readonly seed: number;
  /** @defaultValue 600 */
  readonly steps?: number;
  /** Hosts of the walk. @defaultValue 6 */
  readonly hosts?: number;
  /** IP addresses they are found at. @defaultValue 3 */
  readonly addresses?: number;
  /** Rules of the whole walk. @defaultValue drawn from the seed */
  readonly rules?: LeaseRules;
}

const OUTCOMES: readonly OutcomeKind[] = [
  'done',
  'done',
  'failed',
  'skipped',
  'redirected',
  'deferred',
  'retry',
  'retry',
];
const TTL_MS = 5_000;

/**
 * Walks an empty store at random - offers, leases, settlements, renewals, addresses, time moving on, leases running
 * out - beside a plain model of what it must do, and compares them at each step. Then works off what is left: every
 * URL must come to its end exactly once.
 *
 * Resolves where store and model agree; rejects with an assertion that names seed, step and the last steps taken, and
 * with {@link CrawlError} `CRAWL_OPTION_INVALID` or `CRAWL_OPTION_UNKNOWN` for wrong arguments.
 */
export async function exerciseStore(store: CrawlStore, options: WalkOptions): Promise<void> {
  mustBeStore('exerciseStore takes a CrawlStore', store);
  onlyKnown('exerciseStore', options, ['seed', 'steps', 'hosts', 'addresses', 'rules']);
  mustTake('exerciseStore', 'a whole number as "seed"', Number.isInteger(options.seed), options.seed);
  const walk = new Walk(store, options);
  try {
    await walk.run(options.steps ?? 600);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    throw new assert.AssertionError({
      message: `Seed ${options.seed}, after\n  ${walk.trail.slice(-12).join('\n  ')}\n${message}`,
    });
  }
}

class Walk {
  readonly trail: string[] = [];
  readonly #store: CrawlStore;
  readonly #random: Random;
  readonly #model: Model;
  readonly #rules: LeaseRules;
  readonly #hosts: number;
  readonly #addresses: number;
  /** Leases that are out, and some that are over. */
  readonly #held: Lease[] = [];
  readonly #over: Lease[] = [];
  #now = T0;
  #paths = 0;

  constructor(store: CrawlStore, options: WalkOptions) {
    this.#store = store;
    this.#random = new Random(options.seed);
    this.#hosts = options.hosts ?? 6;
    this.#addresses = options.addresses ?? 3;
    this.#rules = options.rules ?? {
      connectionsPerHost: this.#random.pick([1, 1, 1, 2, 3, 0]),
      pagesPerHost: this.#random.pick([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 5, 20]),
      startGapMs: this.#random.pick([0, 100, 1_000]),
      shareAddress: this.#random.chance(0.7),
    };
    this.#model = new Model(this.#rules);
  }

  async run(steps: number): Promise<void> {
    this.trail.push(`rules ${JSON.stringify(this.#rules)}`);
    for (let step = 0; step < steps; step++) await this.#step();
    await this.#finish();
  }

  #step(): Promise<void> {
    const draw = this.#random.below(100);
    if (draw < 20) return this.#offer();
    if (draw < 45) return this.#lease();
    if (draw < 70) return this.#settle();
    if (draw < 78) return this.#claim();
    if (draw < 82) return this.#renew();
    if (draw < 85) return this.#setHost();
    if (draw < 88) return this.#settleAgain();
    if (draw < 91) return this.#look();
    if (draw < 93) return this.#flush();
    return this.#wait();
  }

  async #offer(): Promise<void> {
    const batch = this.#batch(this.#random.below(8));
    this.trail.push(`offer ${batch.map((one) => one.url).join(' ')}`);
    const met: number[] = [];
    const expected = this.#model.offer(batch, this.#now);
    assert.equal(await this.#store.offer(batch, this.#now, (index) => met.push(index)), expected.fresh);
    assert.deepEqual(met, expected.known);
  }

  #batch(size: number): CrawlRequest[] {
    return Array.from({ length: size }, () => {
      const host = `https://h${this.#random.below(this.#hosts)}.test`;
      if (this.#random.chance(0.08)) {
        return request({ url: `${host}/robots.txt?${this.#paths++}`, kind: 'robots', origin: host });
      }
      const path = this.#random.chance(0.2) ? this.#random.below(this.#paths + 1) : this.#paths++;
      const level = this.#random.chance(0.5) ? 0 : this.#random.below(16) - 8;
      const revisit = this.#random.chance(0.1) ? { revisit: true } : {};
      return request({ url: `${host}/${path}`, level, depth: this.#random.below(5), referrer: `${host}/`, ...revisit });
    });
  }

  async #lease(): Promise<void> {
    const limit = this.#random.below(6);
    this.trail.push(`lease ${limit} at ${this.#now - T0}`);
    const leases = await this.#store.lease(this.#now, limit, TTL_MS, this.#rules);
    this.#model.takeBackExpired(this.#now);
    for (const lease of leases) {
      this.trail.push(`  got ${lease.url} (${lease.fence})`);
      this.#model.leased(lease, this.#now, TTL_MS);
      this.#held.push(lease);
    }
    assert.ok(leases.length <= limit, 'more leases than asked for');
    if (leases.length < limit) {
      const free = this.#model.free(this.#now);
      assert.equal(free, undefined, `${free} is due and free, and was not leased`);
    }
  }

  async #settle(lease: Lease | undefined = this.#takeHeld(), kind?: OutcomeKind): Promise<void> {
    if (lease === undefined) return;
    const settlement = this.#settlement(lease, kind ?? this.#random.pick(OUTCOMES));
    this.trail.push(`settle ${lease.url} (${lease.fence}) as ${settlement.outcome}, due ${settlement.requeue?.dueAt}`);
    const met: number[] = [];
    const settled = await this.#store.settle(lease, settlement, this.#now, (index) => met.push(index));
    const expected = this.#model.settle(lease, settlement, this.#now, settled.accepted);
    assert.deepEqual(settled, { accepted: expected.accepted, offered: expected.fresh });
    assert.deepEqual(met, expected.known);
    this.#over.push(lease);
  }

  #settlement(lease: Lease, outcome: OutcomeKind): Settlement {
    const random = this.#random;
    const again = outcome === 'deferred' || outcome === 'retry';
    const dueAt = random.chance(0.5) ? this.#now : this.#now + random.below(3_000);
    const attempts = lease.request.attempts + 1;
    return {
      outcome,
      ...(random.chance(0.4) ? { outlinks: this.#batch(random.below(4)) } : undefined),
      ...(random.chance(0.8) ? { host: this.#patch() } : undefined),
      ...(again && random.chance(0.8) ? { requeue: { request: { ...lease.request, attempts }, dueAt } } : undefined),
      ...(random.chance(0.5) ? { addressNextAt: this.#now + random.below(400) } : undefined),
      ...(outcome === 'done' ? { delivered: random.chance(0.8) } : undefined),
    };
  }

  #patch(): HostPatch {
    const random = this.#random;
    return {
      nextAt: this.#now + random.below(1_500),
      delayMs: random.below(1_000),
      ...(random.chance(0.1) ? { blockedUntil: this.#now + random.below(4_000) } : undefined),
      ...(random.chance(0.2) ? { crawlDelayMs: random.below(2_000), failures: random.below(4) } : undefined),
    };
  }

  async #claim(): Promise<void> {
    const lease = this.#held[this.#random.below(this.#held.length)];
    if (lease === undefined || !this.#rules.shareAddress || this.#model.hasExpired(this.#now)) return;
    const address = `192.0.2.${this.#random.below(this.#addresses)}`;
    this.trail.push(`claim ${address} for ${lease.url} (${lease.fence})`);
    const moment = await this.#store.claimAddress(lease, address, this.#now);
    const expected = this.#model.claim(lease, address, this.#now);
    assert.equal(moment === 0, expected === 0, `claimAddress gave ${moment}, the model ${expected}`);
    if (expected === 0) return;
    assert.ok(moment > this.#now, 'a refused address is not to be tried again at once');
    await this.#settle(this.#takeHeld(lease), 'deferred');
  }

  async #renew(): Promise<void> {
    const lease = this.#held[this.#random.below(this.#held.length)];
    if (lease === undefined) return;
    this.trail.push(`renew ${lease.url} (${lease.fence})`);
    const renewed = await this.#store.renew(lease, this.#now, TTL_MS);
    assert.equal(renewed, this.#model.renew(lease, this.#now, TTL_MS, renewed));
  }

  async #setHost(): Promise<void> {
    const host = `h${this.#random.below(this.#hosts)}.test`;
    if (this.#model.hasExpired(this.#now)) return;
    const patch = { nextAt: this.#now + this.#random.below(1_000) - 500, blockedUntil: 0 };
    this.trail.push(`setHost ${host} ${JSON.stringify(patch)}`);
    await this.#store.setHost(host, patch);
    this.#model.setHost(host, patch);
    assert.deepEqual(known((await this.#store.getHost(host)) ?? {}), this.#model.state(host));
  }

  async #settleAgain(): Promise<void> {
    const lease = this.#over[this.#random.below(this.#over.length)];
    if (lease === undefined) return;
    this.trail.push(`settle again ${lease.url} (${lease.fence})`);
    const settlement: Settlement = { outcome: 'done', outlinks: this.#batch(2), host: { nextAt: this.#now + 9_999 } };
    assert.deepEqual(await this.#store.settle(lease, settlement, this.#now), { accepted: false, offered: 0 });
  }

  /** Compares what can be asked for without changing anything. */
  async #look(): Promise<void> {
    this.trail.push(`look at ${this.#now - T0}`);
    await this.#nextDueAt();
    // A store may take a lease back once it has run out, or when it next leases: till then nothing is sure.
    if (this.#model.hasExpired(this.#now)) return;
    assert.deepEqual(await this.#store.stats(), this.#model.stats());
    for (const [host, state] of this.#model.states())
      assert.deepEqual(known((await this.#store.getHost(host)) ?? {}), state);
  }

  async #flush(): Promise<void> {
    this.trail.push('flush');
    await this.#store.flush();
  }

  async #nextDueAt(): Promise<number | undefined> {
    const moment = await this.#store.nextDueAt(this.#now, this.#rules);
    const due = (at: number | undefined): number | undefined =>
      at === undefined ? undefined : Math.max(at, this.#now);
    if (!this.#model.hasExpired(this.#now)) assert.equal(due(moment), due(this.#model.nextDueAt()), 'nextDueAt');
    return moment;
  }

  async #wait(): Promise<void> {
    const dueAt = this.#random.chance(0.5) ? await this.#nextDueAt() : undefined;
    const far = this.#random.chance(0.1) ? TTL_MS : 800;
    this.#now = Math.max(this.#now, dueAt ?? this.#now + this.#random.below(far));
    this.trail.push(`wait until ${this.#now - T0}`);
  }

  #takeHeld(lease: Lease | undefined = this.#held[this.#random.below(this.#held.length)]): Lease | undefined {
    if (lease !== undefined) this.#held.splice(this.#held.indexOf(lease), 1);
    return lease;
  }

  /** Works off the rest; all that waits must come, and come at the moment that was foretold. */
  async #finish(): Promise<void> {
    for (;;) {
      while (this.#held.length > 0) await this.#settle(this.#takeHeld(), 'done');
      const dueAt = await this.#nextDueAt();
      if (dueAt === undefined) break;
      this.#now = Math.max(this.#now, dueAt);
      const before = this.#held.length;
      for (let tries = 0; this.#held.length === before && tries < 20; tries++) await this.#lease();
      assert.ok(this.#held.length > before, `nothing was leased at the moment that nextDueAt foretold`);
    }
    await this.#look();
    this.#model.mustBeFinished();
    const { queued, leased, seen, done, failed, skipped, redirected } = await this.#store.stats();
    assert.deepEqual({ queued, leased }, { queued: 0, leased: 0 });
    const ends = done + failed + skipped + redirected;
    assert.equal(
      ends,
      seen + this.#model.revisits,
      'every URL seen has come to its end once, and once for each revisit',
    );
  }
}
