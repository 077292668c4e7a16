import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { type DemoWeb, startDemoWeb } from '../src/cli/demo-web/index.ts';
import { startSite } from './helpers/site.ts';

const root = new URL('..', import.meta.url).pathname;
const run = promisify(execFile);
const GALLERY = 1;
const SERVICES = 2;

beforeAll(async () => {
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'examples')]);
}, 120_000);

interface Ran {
  readonly code: number;
  readonly lines: string[];
  readonly errors: string;
}

/** Runs a compiled example as a user would; never rejects because of what it answers. */
async function example(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const command = [join(root, 'dist-examples', `${name}.js`), ...args];
  const options = { env: { PATH: process.env.PATH, CONTACT: 'owner@example.test', ...env } };
  return run(process.execPath, command, options).then(
    ({ stdout, stderr }) => ({ code: 0, lines: linesOf(stdout), errors: stderr }),
    ({ code, stdout, stderr }) => ({ code, lines: linesOf(stdout), errors: stderr }),
  );
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'polite-crawler-example-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function filesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => !name.endsWith('.jsonl')).sort();
}

/** The index of a FileSink with a prefix. */
async function indexOf(folder: string, prefix: string): Promise<{ url: string; file: string }[]> {
  return linesOf(await readFile(join(folder, `${prefix}urls.jsonl`), 'utf8')).map((line) => JSON.parse(line));
}

const pathsAsked = (web: DemoWeb): string[] => web.log.map((entry) => entry.path);
const HASTE = { DELAY_MS: '10' };

describe('examples, compiled and run as programs', () => {
  test.concurrent('quickstart prints the first five pages of a site and stops', async () => {
    await using web = await startDemoWeb();
    const { code, lines, errors } = await example('quickstart', [web.url]);
    expect(errors).toBe('');
    expect(code).toBe(0);
    expect(lines).toHaveLength(6);
    expect(lines[0]).toBe(`200 ${web.url} The library of the demo web`);
    expect(lines[5]).toMatch(/^5 pages, [1-9]\d* URLs still queued$/);
    expect(web.smallestGapMs(new URL(web.url).origin)).toBeGreaterThanOrEqual(990);
    expect(web.log[0]).toMatchObject({ path: '/robots.txt', userAgent: 'quickstart/1.0 (+mailto:owner@example.test)' });
  });

  test.concurrent('headings prints the outlines that a worker made of the pages', async () => {
    await using web = await startDemoWeb();
    const { code, lines, errors } = await example('headings', [web.url, '4'], HASTE);
    expect(errors).toBe('');
    expect(code).toBe(0);
    expect(lines).toContain('  h1 The library of the demo web');
    const pages = lines.filter((line) => /^http:\S+ [1-9]\d* words$/.test(line));
    expect(pages).toHaveLength(4);
    expect(lines.filter((line) => line.startsWith('  h1 '))).toHaveLength(4);
  });

  test.concurrent.each(['quickstart', 'psucker', 'wsdl-crawler', 'polite-crawler', 'headings'])(
    '%s says how it is used where it has no contact, and asks nobody',
    async (name) => {
      await using web = await startDemoWeb();
      const host = name === 'polite-crawler';
      const args =
        name === 'quickstart' || name === 'headings'
          ? [web.url]
          : host
            ? ['nowhere', '127.0.0.1']
            : [web.url, 'nowhere/'];
      const { code, errors } = await example(name, args, { CONTACT: '', PORT: new URL(web.url).port });
      expect(code).toBe(2);
      expect(errors).toMatch(new RegExp(`^usage: CONTACT=you@example\\.org ${name} .*\\n$`));
      expect(web.log).toEqual([]);
    },
  );

  test.concurrent.each([
    ['psucker', ['http://127.0.0.1/']],
    ['wsdl-crawler', []],
    ['polite-crawler', ['directory']],
    ['headings', []],
  ])('%s says how it is used where arguments are missing', async (name, args) => {
    const { code, errors } = await example(name, args);
    expect(code).toBe(2);
    expect(errors).toMatch(new RegExp(`^usage: CONTACT=you@example\\.org ${name} .*\\n$`));
  });

  test.concurrent('psucker saves all pictures and the film, and nothing else', () =>
    inFolder(async (folder) => {
      await using web = await startDemoWeb();
      const { code, lines, errors } = await example('psucker', [web.urls[GALLERY]!, join(folder, 'art-')], HASTE);
      expect(errors).toBe('');
      expect(code).toBe(0);
      const paths = (await indexOf(folder, 'art-')).map(({ url }) => new URL(url).pathname).sort();
      const pictures = [1, 2, 3, 4, 5].flatMap((n) => [`/pictures/${n}.jpg`, `/pictures/${n}.png`]);
      expect(paths).toEqual(['/film.mp4', '/logo.svg', ...pictures].sort());
      const files = await filesIn(folder);
      expect(files).toEqual(lines.map((line) => basename(line)).sort());
      expect(files).toHaveLength(12);
      expect(files.every((name) => name.startsWith('art-'))).toBe(true);
      const film = await readFile(join(folder, files.find((name) => name.endsWith('.mp4'))!));
      expect(film.length).toBeGreaterThan(65_536);
      expect(film.subarray(4, 8).toString()).toBe('ftyp');
    }));

  test.concurrent('psucker keeps to its levels and documents', () =>
    inFolder(async (folder) => {
      await using web = await startDemoWeb();
      await example('psucker', [web.urls[GALLERY]!, join(folder, 'near-'), '1'], HASTE);
      expect((await indexOf(folder, 'near-')).map(({ url }) => new URL(url).pathname)).toEqual(['/logo.svg']);
      await using again = await startDemoWeb();
      await example('psucker', [again.urls[GALLERY]!, join(folder, 'few-'), '20', '3', '1'], HASTE);
      expect(again.log.filter((entry) => entry.path !== '/robots.txt')).toHaveLength(3);
    }));

  test.concurrent('wsdl-crawler finds the description without extension, and is not taken in by the page with it', () =>
    inFolder(async (folder) => {
      await using web = await startDemoWeb();
      const { code, lines, errors } = await example('wsdl-crawler', [web.urls[SERVICES]!, `${folder}/`], HASTE);
      expect(errors).toBe('');
      expect(code).toBe(0);
      const found = ['services/stocks', 'weather.wsdl'].map((path) => `${web.urls[SERVICES]}${path}`);
      expect(lines.sort()).toEqual(found);
      const index = await indexOf(folder, '');
      expect(index.map(({ url }) => url).sort()).toEqual(found);
      for (const { file } of index) {
        expect(await readFile(join(folder, file), 'utf8')).toContain('<wsdl:definitions name=');
      }
      expect(pathsAsked(web)).toEqual(expect.arrayContaining(['/decoy.wsdl', '/news.xml']));
      expect(await filesIn(folder)).toHaveLength(2);
    }));

  test.concurrent('polite-crawler begins at the root, leaves dynamic pages and other ports alone, and keeps statistics', () =>
    inFolder(async (folder) => {
      await using other = await startSite((_, response) => response.end());
      const links = ['/a.html', '/b.php', '/cgi-bin/c', '/d?e=f', other.url('/')];
      await using site = await startSite((request, response) => {
        if (request.url === '/robots.txt') return void response.writeHead(404).end();
        const body = request.url === '/' ? links.map((href) => `<a href="${href}">x</a>`).join('') : 'a page';
        response.writeHead(200, { 'content-type': 'text/html' }).end(body);
      });
      const env = { DELAY_MS: '300', PORT: String(site.port) };
      const { code, lines, errors } = await example('polite-crawler', [folder, '127.0.0.1'], env);
      expect(errors).toBe('');
      expect(code).toBe(0);
      expect(lines).toEqual(['2 pages of 1 hosts, 3 links to dynamic pages']);
      expect(site.paths).toEqual(['/', '/a.html']);
      expect(other.log).toEqual([]);
      for (const [i, { at }] of site.log.entries()) {
        if (i > 0) expect(at - site.log[i - 1]!.endedAt!).toBeGreaterThanOrEqual(290);
      }
      const record = linesOf(await readFile(join(folder, 'stats-0001.txt'), 'utf8'));
      expect(record).toContain('pages: 2');
      expect(record).toContain('skipped: 4 dynamic 3, off-host 1');
      const events = linesOf(await readFile(join(folder, 'events.log'), 'utf8'));
      expect(events.filter((line) => / page +http/.test(line))).toHaveLength(2);
    }));
});
