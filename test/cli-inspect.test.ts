import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from './helpers/cli.ts';
import { linkPage } from './helpers/crawl.ts';
import { type Site, startSite } from './helpers/site.ts';

let site: Site;
let directory: string;

beforeAll(async () => {
  site = await startSite((request, response) => {
    const path = request.url ?? '';
    if (path === '/robots.txt') return void response.end('User-agent: *\nDisallow: /secret');
    if (path === '/old') return void response.writeHead(301, { location: '/a' }).end();
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(linkPage(path === '/' ? ['/a', '/b', '/old', '/secret', 'http://127.0.0.2:9/'] : ['/'], path));
  });
  directory = await mkdtemp(join(tmpdir(), 'polite-crawler-inspect-'));
});

afterAll(async () => {
  await site.close();
  await rm(directory, { recursive: true, force: true });
});

const state = () => join(directory, 'state');
const crawlWith = (...more: string[]) =>
  cli(
    site.url('/'),
    '--contact',
    'owner@example.test',
    '--wait',
    '0',
    '--delay-factor',
    '0',
    '--state',
    state(),
    '-q',
    ...more,
  );

describe('polite-crawler --state and inspect', () => {
  test('the same command goes on where the first one ended, and a third finds nothing left', async () => {
    expect((await crawlWith('-n', '1')).code).toBe(0);
    expect(site.paths).toEqual(['/']);
    expect((await crawlWith()).code).toBe(0);
    expect([...site.paths].sort()).toEqual(['/', '/a', '/b', '/old']);
    expect((await crawlWith()).code).toBe(0);
    expect(site.paths).toHaveLength(4);
  });

  test('lists counts and hosts', async () => {
    const { code, out } = await cli('inspect', state());
    expect(code).toBe(0);
    expect(out).toMatch(/URLs met\D+5 /);
    expect(out).toMatch(/Pages delivered\D+3 /);
    expect(out).toMatch(/Visits done\D+3 /);
    expect(out).toContain('127.0.0.1');
    const { stats, hosts } = JSON.parse((await cli('inspect', state(), '--json')).out);
    expect(stats).toMatchObject({ seen: 5, queued: 0, pages: 3, done: 3, redirected: 1, skipped: 1, failed: 0 });
    expect(hosts).toHaveLength(1);
    expect(hosts[0]).toMatchObject({ host: '127.0.0.1', queued: 0, pages: 3 });
  });

  test('explains URLs: fetched, redirected, refused by robots, by scope, and never met', async () => {
    const urls = ['/a', '/old', '/secret', '/never'].map((path) => site.url(path));
    const { code, out } = await cli('inspect', state(), ...urls, 'http://127.0.0.2:9/', 'mailto:x', '--json');
    expect(code).toBe(0);
    const { explanations } = JSON.parse(out);
    expect(explanations).toMatchObject([
      { state: 'done', foundOn: site.url('/'), source: 'a/href', depth: 1, fetches: [{ status: 200 }] },
      { state: 'redirected', redirectedTo: site.url('/a'), fetches: [{ status: 301 }] },
      { state: 'skipped', reason: 'robots' },
      { state: 'unknown' },
      { state: 'skipped', reason: 'off-host', foundOn: site.url('/') },
      { state: 'unknown', canonical: null, reason: 'url-invalid' },
    ]);
    expect((await cli('inspect', state(), site.url('/a'))).out).toContain('Found on');
  });

  test('says what is wrong with a directory that holds no crawl', async () => {
    const missing = await cli('inspect', join(directory, 'nothing'));
    expect(missing).toMatchObject({ code: 1, out: '' });
    expect(missing.err).toContain('There is no crawl in');
    expect((await cli('inspect')).code).toBe(2);
    expect((await cli('inspect', '--help')).code).toBe(0);
  });
});
