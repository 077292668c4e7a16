import { mustTake } from '../options.ts';
import type { Observation } from '../politeness.ts';
import type { HostPatch, Lease, OutcomeKind, RecordPatch, Settlement, SettleResult } from '../ports.ts';
import type { CrawlRequest, HostEvent } from '../types.ts';
import type { Offer } from './offers.ts';

/** How the work on a lease ended. */
export interface Outcome {
  readonly outcome: OutcomeKind;
  /** What the request showed of the host; absent where the host was not asked: its clock stays as it is. */
  readonly observation?: Observation | undefined;
  /** Offered in the same commit. */
  readonly outlinks?: readonly Offer[] | undefined;
  /** For `deferred` and `retry`: the request as it is to be queued again. @defaultValue the lease's */
  readonly request?: CrawlRequest | undefined;
  /** For `deferred` and `retry`: when the URL itself is due; the host's clock counts as well. @defaultValue at once */
  readonly dueAt?: number | undefined;
  /** Before this moment the host is not asked, though nothing was asked of it now; its clock never goes back by it. */
  readonly hostNextAt?: number | undefined;
  /** The same for what blocks the host beside its clock, as an unreachable robots.txt does. */
  readonly hostBlockedUntil?: number | undefined;
  /** Whether a page was delivered. */
  readonly delivered?: boolean | undefined;
  readonly record?: RecordPatch | undefined;
  /** Written in the same commit; `undefined` removes. */
  readonly meta?: Settlement['meta'];
}

/** What became of a settlement. */
export interface FrontierSettleResult extends SettleResult {
  /** Where the host's state took a turn: it backs off, is parked, has recovered. */
  readonly host?: HostEvent | undefined;
}

const OUTCOMES: ReadonlySet<OutcomeKind> = new Set(['done', 'failed', 'skipped', 'redirected', 'deferred', 'retry']);

/** @throws {@link CrawlError} `CRAWL_OPTION_INVALID` */
export function mustBeOutcome(outcome: Outcome): void {
  const isOutcome = OUTCOMES.has(outcome?.outcome);
  mustTake('Frontier.settle', "an object with an outcome, such as { outcome: 'done' }", isOutcome, outcome);
}

/** @throws {@link CrawlError} `CRAWL_OPTION_INVALID` */
export function mustBeLease(method: string, lease: Lease): void {
  const isLease = typeof lease?.fence === 'number' && typeof lease.request === 'object';
  mustTake(`Frontier.${method}`, 'a lease of this frontier', isLease, lease);
}

/** What goes into a settlement besides the outcome. */
interface SettlementParts {
  readonly outlinks: readonly CrawlRequest[];
  readonly host: HostPatch;
  readonly now: number;
  readonly ipDelayMs: number;
}

/** What the store is told of an outcome. */
export function settlementOf(
  lease: Lease,
  outcome: Outcome,
  { outlinks, host, now, ipDelayMs }: SettlementParts,
): Settlement {
  const { observation } = outcome;
  const again = outcome.outcome === 'deferred' || outcome.outcome === 'retry';
  return {
    outcome: outcome.outcome,
    outlinks,
    host: putOff(host, outcome),
    requeue: again ? { request: outcome.request ?? lease.request, dueAt: Math.ceil(outcome.dueAt ?? now) } : undefined,
    addressNextAt: observation === undefined ? undefined : Math.ceil((observation.endedAt || now) + ipDelayMs),
    delivered: outcome.delivered,
    record: outcome.record,
    meta: outcome.meta,
  };
}

/** A host's patch with the times until which an outcome puts it off. */
function putOff(host: HostPatch, { hostBlockedUntil, hostNextAt }: Outcome): HostPatch {
  if (hostNextAt === undefined && hostBlockedUntil === undefined) return host;
  const later = (own: number | undefined, asked: number | undefined): number =>
    Math.max(own ?? 0, Math.ceil(asked ?? 0));
  return {
    ...host,
    nextAt: later(host.nextAt, hostNextAt),
    blockedUntil: later(host.blockedUntil, hostBlockedUntil),
  };
}
