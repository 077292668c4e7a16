import { LEVELS } from '../request.ts';

/** How many front queues there are. */
export const LEVEL_COUNT: number = LEVELS.highest - LEVELS.lowest + 1;

/** Turns after which the choice of levels starts over; within them each level has its turn. */
export const LEVEL_CYCLE = 144;

/** Slots of each level in every second turn: 8 for the highest pair of levels down to 1 for the lowest. */
const SLOTS = Array.from({ length: LEVEL_COUNT }, (_, i) => Math.floor((LEVEL_COUNT - i + 1) / 2));

/** Every second turn's level, spread out so that no level's turns come in a row. */
const ORDER: readonly number[] = spread(SLOTS);

/**
 * Which of a host's levels is served at its turn: a pure function of the stored turn counter and of what waits, so
 * that a resumed crawl goes on in the same order, and every store in the same one.
 *
 * Turns 0, 2, 4, ... take the highest level that has something. The others prefer one level after another, higher
 * ones more often, and take the highest where that one is empty. So the higher level is served more often, and each
 * level at least once in {@link LEVEL_CYCLE} turns, whatever arrives at the others.
 *
 * @param turn - How many turns the host has had.
 * @param waiting - Bit `level - LEVELS.lowest` is set where that level has something; not 0.
 */
export function chooseLevel(turn: number, waiting: number): number {
  const highest = 31 - Math.clz32(waiting);
  if (turn % 2 === 0) return highest + LEVELS.lowest;
  const preferred = ORDER[((turn - 1) / 2) % ORDER.length]!;
  return ((waiting >>> preferred) & 1 ? preferred : highest) + LEVELS.lowest;
}

/** Indices of levels from the lowest, each as often as it has slots, evenly spread (smooth weighted round robin). */
function spread(slots: readonly number[]): number[] {
  const total = slots.reduce((sum, n) => sum + n, 0);
  const credit = slots.map(() => 0);
  return Array.from({ length: total }, () => {
    for (const [i, n] of slots.entries()) credit[i]! += n;
    const best = credit.indexOf(Math.max(...credit));
    credit[best]! -= total;
    return LEVEL_COUNT - 1 - best;
  });
}
