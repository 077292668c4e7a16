// What the cost of a crawl is measured by, in the process that crawls.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readSync } from 'node:fs';

/** Nanoseconds that the main thread has run, so that other processes don't count; where the system doesn't tell, the clock. */
function runTime() {
  let file;
  try {
    file = openSync('/proc/self/schedstat');
  } catch {
    return () => process.hrtime.bigint();
  }
  const buffer = Buffer.alloc(64);
  return () => BigInt(buffer.latin1Slice(0, readSync(file, buffer, 0, 64, 0)).split(' ', 1)[0]);
}

/** Processor time of all threads while `work` goes on, and the longest turn of the event loop, in milliseconds. */
export async function costOf(work) {
  const now = runTime();
  let longest = 0n;
  let isRunning = true;
  const before = process.cpuUsage();
  let last = now();
  const look = () => {
    const at = now();
    if (at - last > longest) longest = at - last;
    last = at;
    if (isRunning) setImmediate(look);
  };
  look();
  const result = await work();
  look();
  isRunning = false;
  const { user, system } = process.cpuUsage(before);
  return { result, longestTurnMs: Math.round(Number(longest) / 1e6), cpuMs: Math.round((user + system) / 1e3) };
}

/** Forks a script as a server, and gives the port that it tells. */
export async function forkServer(script, options) {
  const server = fork(script, [JSON.stringify({ role: 'serve', ...options })]);
  const [port] = await once(server, 'message');
  return { port, close: () => server.disconnect() };
}

/** Tells the parent process where a server listens, and ends with it. */
export function listenForParent(server, host) {
  server.listen(0, host, () => process.send(server.address().port));
  process.on('disconnect', () => process.exit());
}
