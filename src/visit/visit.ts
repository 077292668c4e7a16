import { toCrawlError } from '../errors.ts';
import type { Lease } from '../ports.ts';
import { nextTurn, turnIsOverAt } from '../turns.ts';
import { addressGate } from './address-step.ts';
import type { VisitContext } from './context.ts';
import type { Ending } from './ending.ts';
import { failed } from './failure.ts';
import { fetchStep } from './fetch-step.ts';
import { skipUnasked } from './refusal.ts';
import { robotsGate, robotsHop } from './robots-step.ts';

/**
 * One lease, from robots to settlement: host limit, robots rules, address, request, then whatever the answer asks for.
 * @throws {@link CrawlError} only what the store throws; everything else ends in an event.
 */
export async function visit(context: VisitContext, lease: Lease): Promise<void> {
  const ending = await decide(context, lease);
  const known: number[] = [];
  const entry = context.checkpoint?.();
  const outcome =
    entry === undefined ? ending.outcome : { ...ending.outcome, meta: [...(ending.outcome.meta ?? []), entry] };
  const settled = await context.frontier.settle(lease, outcome, (index) => known.push(index));
  // Taken over by another worker: that one announces.
  if (!settled.accepted) return;
  context.stats.offered(settled.offered);
  if (outcome.outcome !== 'retry' && outcome.outcome !== 'deferred') context.brokenBodies.delete(lease.request.url);
  const seen = known.length + (ending.seen ?? 0);
  if (seen > 0) context.stats.skipped('seen', seen);
  for (const link of ending.links ?? []) context.knownUrls.add(link.url);
  ending.announce?.();
  if (settled.host !== undefined) context.events.emit('host', lease.request.host, settled.host);
  await announceLinks(context, ending, known, lease.url);
}

async function decide(context: VisitContext, lease: Lease): Promise<Ending> {
  try {
    if (lease.request.kind === 'robots') return await robotsHop(context, lease);
    const refused = hostLimit(context, lease) ?? deadHost(context, lease);
    if (refused !== undefined) return refused;
    const robots = await robotsGate(context, lease);
    if (robots.ending !== undefined) return robots.ending;
    return (await addressGate(context, lease)) ?? (await fetchStep(context, lease, robots.crawlDelayMs));
  } catch (thrown) {
    const error = toCrawlError(thrown, 'CRAWL_INTERNAL', `The visit of ${lease.url} failed`, { url: lease.url });
    return failed(context, lease, error, { endedAt: context.clock.now() });
  }
}

function hostLimit(context: VisitContext, lease: Lease): Ending | undefined {
  const { delivered, kind } = lease.request;
  // A page that comes again was counted when it came first.
  if (lease.host.pages < context.maxPagesPerHost || kind !== 'page' || delivered === true) return undefined;
  return skipUnasked(context, lease, 'host-limit');
}

/** A host is parked after five failed connections in a row (`Politeness`); this many say that it won't come back soon. */
const DEAD_AFTER_FAILURES = 7;
/** How long a dead host is left alone before a URL of it is tried again, in milliseconds. */
const DEAD_FOR_MS = 86_400_000;

/** Without this each URL of a dead host would cost the crawl another hour of waiting. */
function deadHost(context: VisitContext, lease: Lease): Ending | undefined {
  const { blockedUntil, failures, nextAt } = lease.host;
  // Its clock may have been moved since by what asked nothing of it, the end of its last pause has not.
  const aloneSince = blockedUntil > 0 ? blockedUntil : nextAt;
  if (failures < DEAD_AFTER_FAILURES || context.clock.now() - aloneSince > DEAD_FOR_MS) return undefined;
  return skipUnasked(context, lease, 'host-unreachable');
}

async function announceLinks(
  context: VisitContext,
  { links }: Ending,
  known: readonly number[],
  from: string,
): Promise<void> {
  if (links === undefined || links.length === 0) return;
  const { events } = context;
  if (!events.wants('offer') && !(known.length > 0 && events.wants('skip'))) return;
  const seen = new Set(known);
  for (const [index, link] of links.entries()) {
    if (turnIsOverAt(index)) await nextTurn();
    if (seen.has(index)) events.emit('skip', link.url, 'seen', from);
    else events.emit('offer', link);
  }
}
