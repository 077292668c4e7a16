import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { rulesOf } from '../src/link-extractor/rules.ts';
import { insertAt, removeAt } from '../src/link-extractor/tree/array.ts';
import { HTML, KNOWN_NAMES, likeOthers } from '../src/link-extractor/tree/elements.ts';
import { OpenElements } from '../src/link-extractor/tree/open-elements.ts';
import { compile } from './helpers/compiled.ts';

const { dist, remove } = compile('heavy-pages');
afterAll(remove);

/** A second is the limit on a machine that does nothing else; beside other work the same takes more than twice as long. */
const MOST_SECONDS = 3;
const HEAVIEST = [
  ...['unclosed everything', 'links that lead nowhere', 'misnested links', 'tables in cells', 'names that all differ'],
  ...['text for the tree builder', 'MathML for the tree builder'],
];

test('15 MB of the heaviest pages take little processor time', async () => {
  const bench = new URL('bench/heavy-pages.mjs', import.meta.url).pathname;
  const args = [
    bench,
    '--json',
    '--rounds=2',
    `--most=${MOST_SECONDS}`,
    `--shapes=${HEAVIEST.join(',')}`,
    `--dist=${dist}`,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { rows } = JSON.parse(stdout) as { rows: { shape: string; seconds: number }[] };
  expect(rows).toHaveLength(HEAVIEST.length);
});

test('all elements that hold links are known to the tree builder', () => {
  const names = new Set(['', ...KNOWN_NAMES]);
  const profiles = ['navigation', 'resources', 'exhaustive'] as const;
  expect(profiles.flatMap((profile) => rulesOf(profile).names.filter((name) => !names.has(name)))).toEqual([]);
});

test('the stack of open elements stays short, however many are opened', () => {
  const stack = new OpenElements(1000);
  let longest = 0;
  for (let n = 0; n < 500_000; n++) {
    stack.push(likeOthers(n === 5 ? 'template' : 'div', HTML));
    longest = Math.max(longest, stack.items.length);
  }
  expect(longest).toBeLessThan(12_000);
  expect([stack.templates, stack.items[5]?.name]).toEqual([1, 'template']);
});

test('items come in and go out as with splice, near the end and far from it', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { minLength: 1, maxLength: 200 }), fc.nat(), (items, place) => {
      const out = [...items];
      removeAt(out, place % items.length);
      expect(out).toEqual(items.toSpliced(place % items.length, 1));
      const more = [...items];
      insertAt(more, place % (items.length + 1), -1);
      expect(more).toEqual(items.toSpliced(place % (items.length + 1), 0, -1));
    }),
  );
});
