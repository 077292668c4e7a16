import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { makeFolder } from '../src/make-folder.ts';

const root = mkdtempSync(join(tmpdir(), 'make-folder-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('makes what is missing, and leaves what is there', () => {
  const deep = join(root, 'a/b/c');
  makeFolder(deep);
  expect(existsSync(deep)).toBe(true);
  makeFolder(deep);
  makeFolder(`${deep}/`);
  makeFolder('/');
  makeFolder('.');
});

test('follows a link to a folder', () => {
  symlinkSync(root, join(root, 'link'));
  makeFolder(join(root, 'link/below'));
  expect(existsSync(join(root, 'below'))).toBe(true);
});

test.each(['file', 'file/below', 'file/below/further'])('throws where a file stands in the way of %s', (path) => {
  writeFileSync(join(root, 'file'), '');
  expect(() => makeFolder(join(root, path))).toThrow(/EEXIST|ENOTDIR/);
});

test.runIf(existsSync('/proc/self'))('throws at once where nothing can be made', () => {
  expect(() => makeFolder('/proc/no-such-folder')).toThrow(/ENOENT|EACCES|EPERM/);
  expect(() => makeFolder('/proc/no-such-folder/below/further')).toThrow(/ENOENT|EACCES|EPERM/);
});
