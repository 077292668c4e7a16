// How the benchmarks print a ratio: always ours to that beside it, so that less is better in all of them.

/**
 * @param what - What is counted, such as `CPU`.
 * @param most - What the ratio may be; without it nothing is asked of it.
 */
export function ratioLine({ what, ours, peer, ratio, most }) {
  const limit = most === undefined ? 'no limit' : `at most ${most.toFixed(2)}`;
  return `${what}, ${ours} : ${peer} = ${ratio.toFixed(2)} : 1 (less is better, ${limit})${verdict(ratio, most)}`;
}

function verdict(ratio, most) {
  if (most === undefined) return '';
  return ratio <= most ? ' ok' : ` MORE than ${most.toFixed(2)}`;
}
