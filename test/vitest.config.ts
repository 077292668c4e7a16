import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    globalSetup: ['test/helpers/build.ts'],
    setupFiles: ['test/helpers/unhandled-rejections.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
