// What every runner shares: its job, the plain queue of the loops, and its closing line.
export const { seed, concurrency } = JSON.parse(process.argv[2]);
export const result = { pages: 0, titles: 0, errors: 0 };

/** The queue of a bare loop: a Set of what was seen, an array of what is to come. */
export async function loop(get) {
  const seen = new Set([seed]);
  const queue = [seed];
  let next = 0;
  const add = (href, base) => {
    if (!URL.canParse(href, base)) return;
    const url = new URL(href, base);
    if (url.protocol !== 'http:') return;
    url.hash = '';
    if (seen.has(url.href)) return;
    seen.add(url.href);
    queue.push(url.href);
  };
  let active = 0;
  await new Promise((done) => {
    const step = () => {
      while (active < concurrency && next < queue.length) {
        active++;
        get(queue[next++], add)
          .catch(() => result.errors++)
          .finally(() => {
            active--;
            step();
          });
      }
      if (active === 0) done();
    };
    step();
  });
}

/** CPU of the whole process so far, its start included, in milliseconds. */
export function report() {
  const { user, system } = process.cpuUsage();
  const rssMb = process.resourceUsage().maxRSS / 1024;
  console.log(JSON.stringify({ ...result, cpuMs: (user + system) / 1000, rssMb }));
}
