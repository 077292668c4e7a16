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
 * How many times longer `work` takes for `piece` repeated four times as often: about 4 where it is linear, 16 where
 * quadratic. Sizes grow until the smaller run takes at least 2 ms, so that the clock's steps don't decide; work that is
 * quicker than that for two million characters does not grow to speak of (0). The best of three measurements counts,
 * since a collector at work can only make things look worse.
 */
export function growth(piece: string, work: (text: string) => void): number {
  let times = 500;
  for (;;) {
    const text = repeat(piece, times);
    if (cpuTime(() => work(text)) >= 2000) break;
    if (text.length >= 2_000_000) return 0;
    times *= 2;
  }
  const small = repeat(piece, times);
  const large = repeat(piece, 4 * times);
  const ratios = [1, 2, 3].map(
    () =>
      cpuTime(() => work(large)) /
      Math.max(
        1,
        cpuTime(() => work(small)),
      ),
  );
  return Math.min(...ratios);
}

/** A flat string: what `repeat` makes is put together only when it is first read, which would be measured too. */
function repeat(piece: string, times: number): string {
  return Buffer.from(piece.repeat(times)).toString();
}
