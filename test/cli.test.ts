// The command as its users run it: a process, its two outputs, its exit code, and Ctrl-C.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, jsonLines, start } from './helpers/cli.ts';
import { linkPage, pathOf } from './helpers/crawl.ts';
import { type Answer, gate, html, rules, serve } from './helpers/pages.ts';
import { startSite } from './helpers/site.ts';

const root = new URL('..', import.meta.url).pathname;
const CONTACT = ['--contact', 'owner@example.test'];
const PACKAGE = join(root, 'package.json');
const FAST = [...CONTACT, '--wait', '0', '--delay-factor', '0'];
const three = { '/': linkPage(['/1', '/2'], 'home'), '/1': linkPage([], 'one'), '/2': linkPage([], 'two') };

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'polite-crawler-cli-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('Wrong usage ends with 2 and says what is wrong', () => {
  test.each([
    ['no URL', [...CONTACT], 'no URL given'],
    [
      'no contact',
      ['https://example.test/'],
      'error: A contact is missing, so that who is asked knows whom to talk to. Add --contact',
    ],
    [
      'a user agent without a contact',
      ['https://example.test/', '--user-agent', 'x/1'],
      '--user-agent needs a contact',
    ],
    [
      'a contact that is none',
      ['https://example.test/', '--contact', 'nobody'],
      "'nobody' is invalid. It takes a mail address or an http(s) URL",
    ],
    [
      'a contact beside a user agent',
      ['https://example.test/', ...CONTACT, '--user-agent', 'x/1 (a@b.test)'],
      'leave out',
    ],
    ['a misspelt option', ['https://example.test/', '--contct', 'x'], 'Did you mean --contact?'],
    ['another', ['https://example.test/', '--max-page', '3'], 'Did you mean --max-pages?'],
    ['an option without its value', ['https://example.test/', '--depth'], '--depth'],
    ['no number', ['https://example.test/', ...CONTACT, '--depth', 'deep'], 'whole number'],
    ...[
      ['--concurrency', '0', 'a whole number from 1 to 10000'],
      ['--max-pages', '0', 'a whole number, 1 or more'],
      ['--max-pages-per-host', '0', 'a whole number, 1 or more'],
      ['--max-body', '0', 'a whole number, 1 or more'],
      ['--max-duration', '0', 'a number, 0.001 or more'],
      ['--timeout', '0', 'a number from 0.001 to 2147483'],
      ['--timeout', '1e9', 'a number from 0.001 to 2147483'],
    ].map(([option = '', value = '', takes = '']): [string, string[], string] => [
      `${option} ${value}`,
      ['https://example.test/', ...CONTACT, option, value],
      `<${option === '--max-body' ? 'bytes' : /timeout|duration/.test(option) ? 'seconds' : 'count'}>' argument '${value}' is invalid. It takes ${takes}`,
    ]),
    [
      'a file for a state',
      ['https://example.test/', ...CONTACT, '--state', PACKAGE],
      `--state takes a directory, and ${PACKAGE} is`,
    ],
    ['a revisit without a state', ['https://example.test/', ...CONTACT, '--revisit'], '--revisit needs --state'],
    ['a revisit of nothing', [...CONTACT, '--revisit', '--state', 'x'], 'visits the URLs given'],
    ['URLs for the demo', ['https://example.test/', '--demo'], 'leave out the URLs'],
    ['a state for the demo', ['--demo', '--state', 'x'], 'leave out --state and --revisit, or --demo'],
    ['a revisit of the demo', ['--demo', '--revisit'], 'leave out --state and --revisit, or --demo'],
    ['a network for the demo', ['--demo', '--network', 'any'], 'leave out --network'],
    ['pages and log on one output', ['https://example.test/', ...CONTACT, '-o', '-', '--log', '-'], 'mixed up'],
    ['pages and log in one file', ['https://example.test/', ...CONTACT, '-o', 'a', '--log', './a'], 'mixed up'],
    ['a format of no log', ['https://example.test/', ...CONTACT, '--log-format', 'jsonl'], '--log-format needs --log'],
    ['a misspelt command', ['inspct', 'state', '--json'], 'Did you mean: polite-crawler inspect <directory>'],
    ['a file to inspect', ['inspect', PACKAGE], 'is a file'],
    ['no choice', ['https://example.test/', ...CONTACT, '--scope', 'planet'], 'host, domain, any'],
    ['no pattern', ['https://example.test/', ...CONTACT, '--include', '('], 'include'],
    ['no header', ['https://example.test/', ...CONTACT, '--header', 'nonsense'], 'Name: value'],
    ['a header that can’t be sent', ['https://example.test/', ...CONTACT, '--header', 'a b: c'], 'a b'],
    ['no URL at all', ['not a url', ...CONTACT], 'not a url'],
    ['a host for a URL', ['example.test', ...CONTACT], 'Did you mean "https://example.test"?'],
    ['another scheme', ['ftp://example.test/', ...CONTACT], 'ftp://example.test/'],
  ])('%s', async (_name, args, says) => {
    const ran = await cli(...args);
    expect(ran.err).toContain(says);
    expect(ran.code).toBe(2);
    expect(ran.out).toBe('');
    expect(ran.err).not.toContain('    at ');
  });
});

describe('Help', () => {
  test('--help prints options, exit codes and examples, and ends with 0', async () => {
    const ran = await cli('--help');
    expect(ran).toMatchObject({ code: 0, err: '' });
    for (const part of ['--contact', '--max-pages', '--output', 'Exit codes: 0', 'Ctrl-C once', 'Examples:']) {
      expect(ran.out).toContain(part);
    }
    expect(Math.max(...ran.out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120);
  });

  test('--version prints the version of the package', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    expect(await cli('--version')).toMatchObject({ code: 0, err: '', out: `${version}\n` });
  });
});

describe('A crawl', () => {
  test('ends with 0 and tells a person what it came to, on standard error alone', async () => {
    await using site = await serve(three);
    const ran = await cli(site.url('/'), ...FAST);
    expect(ran).toMatchObject({ code: 0, out: '' });
    expect(ran.err).toMatch(/Pages\s*│\s*3\b/);
    expect(ran.err).toMatch(/127\.0\.0\.1/);
    expect(site.paths).toEqual(['/', '/1', '/2']);
    expect(site.log[0]?.headers['user-agent']).toMatch(
      /^polite-crawler\/\d+\.\d+\.\d+ \(\+mailto:owner@example\.test\)$/,
    );
  });

  test('with --quiet says nothing', async () => {
    await using site = await serve(three);
    expect(await cli(site.url('/'), ...FAST, '--quiet')).toMatchObject({ code: 0, out: '', err: '' });
  });

  test.each(['-', 'pages.jsonl', 'new/folder/pages.jsonl'])(
    'with --output %s writes a JSON object per page',
    async (target) => {
      await using site = await serve(three);
      const file = target === '-' ? target : join(folder, target);
      const ran = await cli(site.url('/'), ...FAST, '--output', file, '--quiet');
      expect(ran).toMatchObject({ code: 0, err: '' });
      const lines = jsonLines(target === '-' ? ran.out : await readFile(file, 'utf8'));
      expect(lines.map(({ url, title, status, depth }) => [pathOf(String(url)), title, status, depth])).toEqual([
        ['/', 'home', 200, 0],
        ['/1', 'one', 200, 1],
        ['/2', 'two', 200, 1],
      ]);
      expect(lines[1]).toMatchObject({ referrer: site.url('/'), contentType: 'text/html', redirects: [] });
      expect(lines[1]?.fingerprint).toMatch(/^[0-9a-f]{64}$/);
      if (target !== '-') expect(ran.out).toBe('');
    },
  );

  test.each([
    ['--log', 'a folder', () => folder],
    ['--output', 'a folder', () => folder],
    ['--output', 'where nothing can be made', () => '/proc/no-such-folder/pages.jsonl'],
    ['--log', 'where nothing can be made', () => '/proc/no-such-folder/events.log'],
    ['--stats-directory', 'below a file', () => join(folder, 'file', 'stats')],
    ['--stats-directory', 'where nothing can be made', () => '/proc/no-such-folder/stats'],
  ])('with %s %s fails at the start, and asks nobody', async (option, _, path) => {
    await using site = await serve(three);
    await writeFile(join(folder, 'file'), '');
    const ran = await cli(site.url('/'), ...FAST, option, path());
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toMatch(new RegExp(`^error: ${option} .* can't be written: `));
    expect(site.log).toEqual([]);
  });

  test('with --revisit asks for the URLs again, and delivers what has changed', async () => {
    let body = 'first';
    await using site = await serve({
      '/': (response, { headers }) => {
        const etag = `"${body}"`;
        const status = headers['if-none-match'] === etag ? 304 : 200;
        response.writeHead(status, { 'content-type': 'text/html', etag }).end(status === 304 ? undefined : body);
      },
    });
    const run = () =>
      cli(site.url('/'), ...FAST, '--state', join(folder, 'revisited'), '--revisit', '--output', '-', '--quiet');
    const lines: number[] = [];
    for (const next of ['first', 'first', 'second']) {
      body = next;
      const ran = await run();
      expect(ran).toMatchObject({ code: 0, err: '' });
      lines.push(jsonLines(ran.out).length);
    }
    expect(lines).toEqual([1, 0, 1]);
  });

  test('ends with 1 and says why where earlier runs have used its limit up', async () => {
    await using site = await serve(three);
    const state = ['--state', join(folder, 'used-up'), '--max-pages', '2'];
    expect(await cli(site.url('/'), ...FAST, ...state, '--quiet')).toMatchObject({ code: 0, err: '' });
    for (const more of [[], ['--revisit']]) {
      const ran = await cli(site.url('/'), ...FAST, ...state, '--quiet', ...more);
      expect(ran.code).toBe(1);
      expect(ran.err).toContain('--max-pages is 2 and counts over all runs of a store: earlier ones came to 2 pages');
    }
  });

  test('with --save keeps the pages as files, and with --log and --stats-directory what happened', async () => {
    await using site = await serve(three);
    const [save, log, stats] = [join(folder, 'mirror'), join(folder, 'events.jsonl'), join(folder, 'stats')];
    const ran = await cli(
      ...[site.url('/'), ...FAST, '--quiet', '--save', save],
      ...['--log', log, '--log-format', 'jsonl', '--stats-directory', stats],
    );
    expect(ran).toMatchObject({ code: 0, out: '', err: '' });
    const saved = (await readdir(save, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const texts = await Promise.all(saved.map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8')));
    for (const page of Object.values(three)) expect(texts).toContain(page);
    const events = jsonLines(await readFile(log, 'utf8')).map(({ event }) => event);
    expect(events[0]).toBe('start');
    expect(events.at(-1)).toBe('end');
    expect(events.filter((event) => event === 'page')).toHaveLength(3);
    expect(await readdir(stats)).not.toEqual([]);
  });

  test('keeps to limits, patterns, headers and robots rules given as options', async () => {
    await using site = await serve({ ...three, '/robots.txt': rules('User-agent: *', 'Disallow: /1') });
    await cli(
      site.url('/'),
      ...FAST.slice(CONTACT.length),
      '-q',
      '--max-pages',
      '1',
      '-H',
      'X-Test: yes',
      '--user-agent',
      'other/1 (a@b.test)',
    );
    expect(site.paths).toEqual(['/']);
    expect(site.log.at(-1)?.headers).toMatchObject({ 'x-test': 'yes', 'user-agent': 'other/1 (a@b.test)' });
    site.log.length = 0;
    await cli(site.url('/'), ...FAST, '-q', '--exclude', '/2');
    expect(site.paths).toEqual(['/']);
    site.log.length = 0;
    await cli(site.url('/'), ...FAST, '-q', '--no-robots', '--depth', '1');
    expect(site.log.map(({ path }) => path)).toEqual(['/', '/1', '/2']);
  });

  test('leaves out of its lines what is not known of a page that is streamed yet', async () => {
    const image: Answer = (response) => void response.writeHead(200, { 'content-type': 'image/png' }).end('pixels');
    await using site = await serve({ '/': linkPage(['/a.png'], 'home'), '/a.png': image });
    const save = join(folder, 'streamed');
    const ran = await cli(site.url('/'), ...FAST, '-q', '-o', '-', '--save', save);
    const [home, png] = jsonLines(ran.out);
    expect(home).toMatchObject({ bytes: Buffer.byteLength(linkPage(['/a.png'], 'home')) });
    expect(home?.fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(png).toMatchObject({ url: site.url('/a.png'), status: 200, contentType: 'image/png' });
    expect(png).not.toHaveProperty('bytes');
    expect(png).not.toHaveProperty('fingerprint');
  });

  test('waits between requests as it is told', async () => {
    await using site = await serve(three);
    await cli(site.url('/'), ...CONTACT, '-q', '--wait', '0.25', '--delay-factor', '0');
    const gaps = site.log.slice(1).map((seen, i) => seen.at - site.log[i]!.endedAt!);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(247);
  });

  test('without URLs says that a new directory has none to go on with', async () => {
    const ran = await cli('--state', join(folder, 'new'), ...FAST);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('no URL was given, and the store holds none of an earlier run');
  });

  test('that gets nothing ends with 1 and says why', async () => {
    const gone = await startSite(() => {});
    await gone.close();
    const unreachable = await cli(gone.url('/'), ...FAST, '--retries', '0');
    expect(unreachable.code).toBe(1);
    expect(unreachable.err).toContain('nothing could be crawled');
    expect(unreachable.err).toContain('CRAWL_CONNECT_FAILED');

    await using closed = await serve({ ...three, '/robots.txt': rules('User-agent: *', 'Disallow: /') });
    const refused = await cli(closed.url('/'), ...FAST, '-q');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('1 robots');

    await using inside = await serve(three);
    const guarded = await cli(inside.url('/'), ...FAST, '-q', '--network', 'public');
    expect(guarded.code).toBe(1);
    expect(guarded.err).toContain('CRAWL_ADDRESS_REFUSED');
    expect(inside.log).toEqual([]);
  });

  test.each(['--output', '--save'])('whose %s can’t be written says so and does not end with 0', async (option) => {
    await using site = await serve(three);
    const ran = await cli(site.url('/'), ...FAST, '-q', option, '/dev/null/nowhere');
    expect(ran.err).toContain('/dev/null/nowhere');
    expect(ran.code).toBe(1);
  });

  test('goes on in its --state where it was left', async () => {
    await using site = await serve(three);
    const state = ['--state', join(folder, 'state')];
    expect((await cli(site.url('/'), ...FAST, '-q', ...state, '--max-pages', '1')).code).toBe(0);
    expect(site.paths).toEqual(['/']);
    expect((await cli(site.url('/'), ...FAST, '-q', ...state)).code).toBe(0);
    expect(site.paths).toEqual(['/', '/1', '/2']);
  });

  test('that goes on tells what this run did, and beside it what all runs did', async () => {
    await using site = await serve(three);
    const state = ['--state', join(folder, 'told-apart')];
    expect((await cli(site.url('/'), ...FAST, ...state, '--max-pages', '1')).err).toMatch(/Pages *│ 1 *│?\n/);
    const { err } = await cli(site.url('/'), ...FAST, ...state);
    expect(err).toMatch(/This run *│ All runs/);
    expect(err).toMatch(/Pages *│ 2 *│ 3\b/);
    expect(err).toMatch(/200 *│ *2 *│ *3\b/);
    expect(err).toMatch(/127\.0\.0\.1 *│ *2 *│ *2 *│/);
  });
});

test('The demo says that its errors belong to it', async () => {
  const { code, err } = await cli('--demo', '-n', '1', '--wait', '0', '--delay-factor', '0');
  expect(code).toBe(0);
  expect(err).toMatch(/\nThis web misbehaves on purpose: 404, 429, 500 and a loop of redirects belong to it\.\n$/);
});

describe('npm start', () => {
  test('with nothing to crawl shows the demo', async () => {
    const { code, err } = await start('-n', '1', '--wait', '0', '--delay-factor', '0');
    expect(code).toBe(0);
    expect(err).toMatch(/^Demo web on http:/);
  });

  test('goes on with the crawl of a directory, and with no demo', async () => {
    await using site = await serve(three);
    const state = ['--state', join(folder, 'started'), ...FAST];
    expect((await start(site.url('/'), ...state, '-n', '1')).code).toBe(0);
    expect(site.paths).toEqual(['/']);
    const { code, err } = await start(...state);
    expect(code).toBe(0);
    expect(err).not.toContain('Demo web');
    expect(site.paths).toEqual(['/', '/1', '/2']);
  });

  test('takes no directory for the demo', async () => {
    const { code, err } = await start('--demo', '--state', join(folder, 'no-demo'));
    expect(code).toBe(2);
    expect(err).toContain('leave out --state');
  });
});

test('The demo keeps to what it is told', async () => {
  const ran = await cli(
    '--demo',
    '--scope',
    'host',
    '--depth',
    '1',
    '--wait',
    '0',
    '--delay-factor',
    '0',
    '-o',
    '-',
    '-q',
  );
  expect(ran).toMatchObject({ code: 0, err: '' });
  const lines = jsonLines(ran.out);
  expect(lines.length).toBeGreaterThan(1);
  expect(Math.max(...lines.map(({ depth }) => Number(depth)))).toBeLessThanOrEqual(1);
});

describe('A reader that goes early is no fault', () => {
  const deaf = async (...args: readonly string[]) => {
    const running = cli(...args);
    running.child.stdout?.destroy();
    return running;
  };

  test.each([[['--help']], [['--version']], [['inspect', '--help']]])('of %o', async (args) => {
    expect(await deaf(...args)).toMatchObject({ code: 0, signal: null, err: '' });
  });

  test('of inspect --json', async () => {
    await using site = await serve(three);
    const state = join(folder, 'unread');
    await cli(site.url('/'), ...FAST, '-q', '--state', state);
    expect(await deaf('inspect', state, '--json')).toMatchObject({ code: 0, signal: null, err: '' });
    expect(await deaf('inspect', state, site.url('/'), '--json')).toMatchObject({ code: 0, signal: null, err: '' });
  });

  test.each([['-o'], ['--log']])('of a crawl that never ends, by %s', async (option) => {
    await using site = await startSite((request, response) => {
      if (request.url === '/robots.txt') return void response.writeHead(404).end();
      html(response, linkPage([`${request.url}a`], String(request.url)));
    });
    const running = cli(site.url('/'), ...FAST, '--depth', '1000000', option, '-');
    running.child.stdout?.once('data', () => running.child.stdout?.destroy());
    const ran = await running;
    expect(ran).toMatchObject({ code: 0, signal: null });
    expect(ran.err).not.toMatch(/EPIPE|error: /);
  });

  test('where it reads both outputs', async () => {
    await using site = await serve(three);
    const running = cli(site.url('/'), ...FAST, '-o', '-');
    running.child.stdout?.destroy();
    running.child.stderr?.destroy();
    expect(await running).toMatchObject({ code: 0, signal: null });
  });

  test('where it reads the progress alone, and the pages are kept', async () => {
    await using site = await serve(three);
    const file = join(folder, 'unseen.jsonl');
    const running = cli(site.url('/'), ...FAST, '-o', file);
    running.child.stderr?.destroy();
    expect(await running).toMatchObject({ code: 0, signal: null });
    expect(jsonLines(await readFile(file, 'utf8'))).toHaveLength(3);
  });
});

describe('Ctrl-C', () => {
  /** A home page, then a page that waits, then others. */
  async function slowSite() {
    const release = gate();
    const asked = gate();
    const slow: Answer = (response) => {
      asked.open();
      void release.opened.then(() => html(response, linkPage([], 'slow')));
    };
    const site = await serve({ '/': linkPage(['/slow', '/1', '/2']), '/slow': slow, '/1': '1', '/2': '2' });
    return { site, release, asked };
  }

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'once (%s) finishes what is in flight, and begins nothing new',
    async (signal) => {
      const { site, release, asked } = await slowSite();
      try {
        const running = cli(site.url('/'), ...FAST, '--output', '-');
        await asked.opened;
        running.child.kill(signal);
        await expect.poll(running.err).toContain('Ctrl-C again');
        release.open();
        const ran = await running;
        expect(ran).toMatchObject({ code: signal === 'SIGINT' ? 130 : 143, signal: null });
        expect(jsonLines(ran.out).map(({ url }) => pathOf(String(url)))).toEqual(['/', '/slow']);
        expect(site.paths).toEqual(['/', '/slow']);
        expect(ran.err).toMatch(/Still queued\s*│\s*2\b/);
      } finally {
        await site.close();
      }
    },
  );

  test('twice stops at once, and what was written is whole', async () => {
    const { site, asked } = await slowSite();
    try {
      const file = join(folder, 'interrupted.jsonl');
      const running = cli(site.url('/'), ...FAST, '--output', file);
      await asked.opened;
      running.child.kill('SIGINT');
      await expect.poll(running.err).toContain('Ctrl-C again');
      running.child.kill('SIGINT');
      const ran = await running;
      expect(ran).toMatchObject({ code: 130, signal: null });
      expect(jsonLines(await readFile(file, 'utf8')).map(({ url }) => pathOf(String(url)))).toEqual(['/']);
      expect(ran.err).toMatch(/Still queued\s*│\s*3\b/);
    } finally {
      await site.close();
    }
  });
});
