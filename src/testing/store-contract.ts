import { mustBeStore, mustTake, onlyKnown } from '../options.ts';
import type { CrawlStore } from '../ports.ts';
import { addresses } from './cases/addresses.ts';
import { clocks } from './cases/clocks.ts';
import { durability, type Reopened, sharing } from './cases/durability.ts';
import { knowledge } from './cases/knowledge.ts';
import { leases } from './cases/leases.ts';
import { offers } from './cases/offers.ts';
import { settlements } from './cases/settlements.ts';
import { type CaseOn, type StoreCase, Subject } from './fixture.ts';
import { exerciseStore } from './store-model.ts';

export interface StoreContractOptions {
  /**
   * Opens again what `open` opened last and what was closed since, or crashed. Cases on what outlives a process are
   * there only where this is given.
   */
  readonly reopen?: () => Promise<CrawlStore>;
  /**
   * Lets go of a store as a killed process does: nothing is closed or flushed by it. Where it is given, the cases on what
   * outlives a process are run with it as well.
   */
  readonly crash?: (store: CrawlStore) => Promise<void>;
  /** Another handle on what `open` opened last, for stores that several workers share. Cases on sharing need it. */
  readonly share?: () => Promise<CrawlStore>;
  /** Seeds of the random walks, each of which is a case. @defaultValue 1 to 5 */
  readonly seeds?: readonly number[];
  /** Steps of a random walk. @defaultValue 600 */
  readonly steps?: number;
}

/**
 * What every {@link CrawlStore} must do, as cases that any test runner can run; a case that fails rejects with an
 * assertion.
 *
 * ```ts
 * for (const { name, run } of storeContract(() => MyStore.open(emptyPlace()))) test(name, run);
 * ```
 *
 * @param open - Opens an empty store. Called once by each case; the case closes what it opened.
 * @throws {@link CrawlError} `CRAWL_OPTION_INVALID` or `CRAWL_OPTION_UNKNOWN`; a case rejects with the former where `open`
 * gives no store.
 */
export function storeContract(open: () => Promise<CrawlStore>, options: StoreContractOptions = {}): StoreCase[] {
  mustTake('storeContract', 'a function that opens an empty store', typeof open === 'function', open);
  onlyKnown('storeContract', options, ['reopen', 'crash', 'share', 'seeds', 'steps']);
  const { reopen, crash, share, seeds = [1, 2, 3, 4, 5], steps = 600 } = options;
  const single = [...offers, ...leases, ...settlements, ...clocks, ...addresses, ...knowledge];
  const cases = single.map(([name, run]) => ({ name, run: () => withStore(open, (store) => run(new Subject(store))) }));
  for (const seed of seeds) {
    const name = `a random walk agrees with the model (seed ${seed})`;
    cases.push({ name, run: () => withStore(open, (store) => exerciseStore(store, { seed, steps })) });
  }
  if (reopen !== undefined) {
    const exclusive = share === undefined;
    const close = (store: CrawlStore): Promise<void> => store.close();
    cases.push(...durable(open, close, reopen, exclusive, 'after close and reopening: '));
    if (crash !== undefined) cases.push(...durable(open, crash, reopen, exclusive, 'after a crash and reopening: '));
  }
  if (share !== undefined) cases.push(...sharing.map((one) => shared(open, share, one)));
  return cases;
}

async function withStore(open: () => Promise<CrawlStore>, run: (store: CrawlStore) => Promise<void>): Promise<void> {
  const store = await open();
  mustBeStore('The function given to storeContract opens a CrawlStore', store);
  try {
    await run(store);
  } finally {
    await store.close();
  }
}

function durable(
  open: () => Promise<CrawlStore>,
  leave: (store: CrawlStore) => Promise<void>,
  reopen: () => Promise<CrawlStore>,
  exclusive: boolean,
  prefix: string,
): StoreCase[] {
  return durability.map(([name, run]: CaseOn<Reopened>) => ({
    name: prefix + name,
    run: async () => {
      let store = await open();
      mustBeStore('The function given to storeContract opens a CrawlStore', store);
      const again = async (): Promise<Subject> => {
        await leave(store);
        store = await reopen();
        return new Subject(store);
      };
      try {
        await run({ subject: new Subject(store), exclusive, again });
      } finally {
        await store.close();
      }
    },
  }));
}

function shared(
  open: () => Promise<CrawlStore>,
  share: () => Promise<CrawlStore>,
  [name, run]: (typeof sharing)[number],
): StoreCase {
  return {
    name: `shared: ${name}`,
    run: () =>
      withStore(open, (one) => withStore(share, (other) => run({ one: new Subject(one), other: new Subject(other) }))),
  };
}
