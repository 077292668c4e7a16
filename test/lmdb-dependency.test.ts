import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';

vi.mock('lmdb', () => {
  throw new Error("Cannot find package 'lmdb'");
});

test('without the package lmdb the store says what to install', async () => {
  const { LmdbStore } = await import('../src/store/lmdb/index.ts');
  await expect(LmdbStore.open(join(tmpdir(), 'never-made'))).rejects.toMatchObject({
    code: 'CRAWL_DEPENDENCY_MISSING',
    message: expect.stringContaining('npm install lmdb@3'),
  });
});
