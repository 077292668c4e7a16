// Opens a store in a directory and is killed on the way there, before its step of this number.
//   node lmdb-steps.mjs DIST DIRECTORY STEP
// Steps are calls that change files, of which writes are two, the second with half of it written, and calls of LMDB. With
// a step beyond the last it says how many there are, and ends with the store open.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const [dist, directory, step] = process.argv.slice(2);
const { LmdbStore } = await import(`${dist}/store/lmdb/index.js`);
const { Environment } = await import(`${dist}/store/lmdb/environment.js`);

const steps = [];

function next(name) {
  steps.push(name);
  if (steps.length === Number(step)) process.kill(process.pid, 'SIGKILL');
}

function stepInto(object, name) {
  const original = object[name];
  object[name] = function (...args) {
    next(name);
    return original.apply(this, args);
  };
}

const { writeFileSync, writeSync } = fs;
for (const name of ['mkdirSync', 'openSync', 'ftruncateSync', 'fdatasyncSync', 'closeSync', 'renameSync']) {
  stepInto(fs, name);
}
for (const name of ['rmSync', 'unlinkSync']) stepInto(fs, name);
fs.writeFileSync = (path, text, options) => {
  next('writeFileSync');
  if (steps.length + 1 === Number(step)) writeFileSync(path, text.slice(0, text.length / 2), options);
  next('half of writeFileSync');
  return writeFileSync(path, text, options);
};
fs.writeSync = (file, bytes, offset, length, position) => {
  next('writeSync');
  if (steps.length + 1 === Number(step)) writeSync(file, bytes, offset, length >> 1, position);
  next('half of writeSync');
  return writeSync(file, bytes, offset, length, position);
};
syncBuiltinESMExports();
stepInto(Environment, 'open');
for (const name of ['table', 'begin', 'commit', 'pin', 'info', 'close']) stepInto(Environment.prototype, name);

await LmdbStore.open(directory);
fs.writeSync = writeSync;
console.log(JSON.stringify(steps));
process.kill(process.pid, 'SIGKILL');
