/**
 * Turns of the event loop, shared by all that has much to do: timers, sockets and the pages of other hosts get theirs in
 * between, however much one page asks for.
 */

/** How long work goes on in one turn before what else waits has its turn, in milliseconds. */
const TURN_MS = 20;

let isOpen = false;
let beganAt = 0;
const waiting: (() => void)[] = [];

/** Whether the present turn has lasted long enough; who goes on after that waits for {@link nextTurn} first. */
export function turnIsOver(): boolean {
  if (isOpen) return performance.now() - beganAt >= TURN_MS;
  begin();
  return false;
}

/** Items of a list that are gone through between two looks at the clock. */
const ITEMS_AT_ONCE = 64;

/** {@link turnIsOver} for who goes through a long list of quick items: asked with the place of each. */
export function turnIsOverAt(index: number): boolean {
  return index % ITEMS_AT_ONCE === ITEMS_AT_ONCE - 1 && turnIsOver();
}

/** Resolves in a turn of its own, after those who asked before. Never rejects. */
export function nextTurn(): Promise<void> {
  if (!isOpen) begin();
  return new Promise((resolve) => {
    waiting.push(resolve);
  });
}

/** Takes steps until they give their result, over as many turns as that needs. Rejects with what a step throws. */
export async function inTurns<T>(steps: Iterator<void, T, undefined>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (turnIsOver()) await nextTurn();
  }
}

function begin(): void {
  isOpen = true;
  beganAt = performance.now();
  setImmediate(end);
}

/** One of those who wait goes on in each turn: two might take twice the time. */
function end(): void {
  isOpen = false;
  const next = waiting.shift();
  if (next === undefined) return;
  begin();
  next();
}
