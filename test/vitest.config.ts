import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** They hold budgets of time and memory of this very machine, and so run alone, one by one, when the others are done. */
const BUDGETS = [
  'test/blocking.test.ts',
  'test/hostile-crawl.test.ts',
  'test/hostile-memory.test.ts',
  'test/link-extractor-heavy.test.ts',
  'test/lmdb-scale.test.ts',
  'test/memory-budget.test.ts',
];

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    pool: 'forks',
    globalSetup: ['test/helpers/build.ts'],
    setupFiles: ['test/helpers/unhandled-rejections.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['test/**/*.test.ts'],
          exclude: BUDGETS,
          maxWorkers: Math.max(2, availableParallelism() - 1),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'budgets', include: BUDGETS, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
