import { afterEach, expect } from 'vitest';

const unhandled: unknown[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(reason));

// A rejection that nobody handles ends the process of whoever uses the library, whatever the test was about.
afterEach(async () => {
  // Node tells of them when the microtasks are done.
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled.splice(0)).toEqual([]);
});
