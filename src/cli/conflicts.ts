import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Arguments } from './arguments.ts';

/** What is wrong with the arguments together, though each of them is right; `undefined` where nothing is. */
export function conflict(given: Arguments): string | undefined {
  return WRONG.find(([holds]) => holds(given))?.[1] ?? noDirectory('--state', given.state);
}

/** What is wrong with a path where a directory is wanted, or a place for one. */
export function noDirectory(name: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  if (path === '') return `${name} takes the path of a directory.`;
  let there: boolean | undefined;
  try {
    there = statSync(path, { throwIfNoEntry: false })?.isDirectory();
  } catch {
    // Whoever opens it tells why that can't be.
  }
  return there === false ? `${name} takes a directory, and ${path} is a file.` : undefined;
}

/** In the order in which they are told. What would be left aside in silence is refused. */
const WRONG: readonly (readonly [holds: (given: Arguments) => boolean, message: string])[] = [
  [
    ({ demo, urls }) => demo && urls.length > 0,
    '--demo crawls the web that it serves, and nothing else: leave out the URLs, or --demo.',
  ],
  [
    ({ demo, state, revisit }) => demo && (state !== undefined || revisit === true),
    '--demo serves its web at another port each time, so that no later run can go on with it: leave out --state and --revisit, or --demo.',
  ],
  [({ demo, network }) => demo && network !== undefined, '--demo connects to this machine alone: leave out --network.'],
  [
    ({ urls, demo, state }) => urls.length === 0 && !demo && state === undefined,
    'no URL given. Try: polite-crawler https://example.org/ --contact you@example.org',
  ],
  [
    ({ contact, userAgent }) => contact !== undefined && userAgent !== undefined,
    '--user-agent is the whole User-Agent, contact included: leave out --contact, or --user-agent.',
  ],
  [
    ({ revisit, state }) => revisit === true && state === undefined,
    '--revisit needs --state <directory>: without it nothing is known of earlier visits.',
  ],
  [({ revisit, urls }) => revisit === true && urls.length === 0, '--revisit visits the URLs given again: give those.'],
  [
    ({ output, log }) => output !== undefined && log !== undefined && isSame(output, log),
    '--output and --log would be mixed up in one place: send one of them elsewhere.',
  ],
  [
    ({ log, logFormat }) => logFormat !== undefined && log === undefined,
    '--log-format needs --log <file>: without it there is no log.',
  ],
];

function isSame(one: string, other: string): boolean {
  return one === '-' || other === '-' ? one === other : resolve(one) === resolve(other);
}
