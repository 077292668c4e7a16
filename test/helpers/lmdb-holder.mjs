// Opens a store, says so, and holds it until it is killed.
//   node lmdb-holder.mjs DIST DIRECTORY
const [dist, directory] = process.argv.slice(2);
const { LmdbStore } = await import(`${dist}/store/lmdb/index.js`);
await LmdbStore.open(directory);
console.log('open');
setInterval(() => undefined, 1_000);
