/** Processor time of this process for `work`, in microseconds, the least of three runs; other processes don't count. */
export function cpuTime(work: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    const start = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, user + system);
  }
  return least;
}

/**
 * How many times longer `work` takes for a size four times as large: about 4 where it is linear, 16 where quadratic.
 * Sizes grow until the smaller run takes at least 2 ms, so that the clock's steps don't decide; work that is quicker
 * than that for two million does not grow to speak of (0).
 */
export function growth(work: (size: number) => void, size = 1000): number {
  work(size);
  for (;;) {
    const small = cpuTime(() => work(size));
    if (small >= 2000) return cpuTime(() => work(4 * size)) / small;
    if (size >= 2_000_000) return 0;
    size *= 2;
  }
}
