// Opens a store, says so, and holds it until it is killed.
//   node lmdb-holder.mjs DIST DIRECTORY [LINKS]
// With LINKS it offers so many URLs first, `https://host.test/0` and on, whose records go through a log of a few rows.
const [dist, directory, links = '0'] = process.argv.slice(2);
const { LmdbStore } = await import(`${dist}/store/lmdb/index.js`);
if (links !== '0') {
  const { LOG_LIMITS } = await import(`${dist}/store/lmdb/log-limits.js`);
  Object.assign(LOG_LIMITS, { from: 0, part: 1, most: 50, work: 2 });
}
const { createRequest } = await import(`${dist}/request.js`);
const store = await LmdbStore.open(directory);
for (let n = 0; n < Number(links); n++) await store.offer([createRequest({ url: `https://host.test/${n}` })], 1);
console.log('open');
setInterval(() => undefined, 1_000);
