import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const src = new URL('../src', import.meta.url).pathname;

/** Rooms from the ground up. A file may import from lower lines, and within its own folder. */
const LINES = [
  ['errors'],
  ['types'],
  ['ports'],
  ['options', 'url', 'headers', 'fingerprint', 'promises', 'make-folder', 'turns', 'bounded'],
  ['request', 'robots-txt', 'steady-clock', 'directives', 'sitemap', 'text', 'system-lookup', 'user-agent'],
  ['address-guard', 'dns', 'politeness', 'url-filter', 'link-extractor'],
  ['fetcher', 'page', 'stats', 'event-log'],
  ['robots-cache', 'store', 'sink', 'page-worker'],
  ['frontier', 'admission'],
  ['testing'],
  ['visit', 'seeding'],
  ['crawler'],
  ['index'],
  ['cli'],
];

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
const room = (file: string) => (file.split('/')[0] ?? '').replace(/\.ts$/, '');
const line = (file: string) => LINES.findIndex((rooms) => rooms.includes(room(file)));

test.each(files)('%s stands in a room and imports only from below', (file) => {
  expect(line(file), `${file} has no line in the table`).toBeGreaterThanOrEqual(0);
  const text = readFileSync(join(src, file), 'utf8');
  for (const [, from = ''] of text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
    const target = relative(src, join(src, dirname(file), from));
    if (room(target) === room(file)) continue;
    expect(line(target), `${file} imports ${target}, which is not below it`).toBeLessThan(line(file));
  }
});
