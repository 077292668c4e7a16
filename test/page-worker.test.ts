import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CrawlError, Crawler, CrawlerOptions, CrawlStats, LinkExtractor, Page } from '../src/index.ts';
import { PAGE_WORKER_DEFAULTS, pageWorkerSettings } from '../src/page-worker/index.ts';
import { compile } from './helpers/compiled.ts';
import { HASTE, linkPage, pathOf, USER_AGENT } from './helpers/crawl.ts';
import { surfaceOf } from './helpers/page-handler.mjs';
import { gate, moved, serve } from './helpers/pages.ts';

const run = promisify(execFile);
const HANDLER = new URL('helpers/page-handler.mjs', import.meta.url);
const compiled = compile('page-worker');
let library: typeof import('../src/index.ts');
let folder: string;

beforeAll(async () => {
  // Threads need files that Node can run, so the crawler is that of the compiled sources.
  library = await import(join(compiled.dist, 'index.js'));
  folder = await mkdtemp(join(tmpdir(), 'polite-crawler-worker-'));
});

afterAll(async () => {
  compiled.remove();
  await rm(folder, { recursive: true, force: true });
});

interface Crawled {
  readonly pages: Page[];
  readonly errors: CrawlError[];
  readonly stats: CrawlStats;
  /** What the page at a path got, by path and query. */
  data(path: string): unknown;
}

function crawlerWith(options: Partial<CrawlerOptions> = {}): Crawler {
  const settings = { userAgent: USER_AGENT, ...HASTE, network: 'any', connectionsPerHost: 0, threads: 1 } as const;
  return new library.Crawler({ ...settings, pageWorker: HANDLER, ...options });
}

async function crawl(seeds: string | string[], options: Partial<CrawlerOptions> = {}): Promise<Crawled> {
  const crawler = crawlerWith(options);
  const pages: Page[] = [];
  const errors: CrawlError[] = [];
  crawler.on('page', (page) => void pages.push(page));
  crawler.on('error', (error) => void errors.push(error));
  const stats = await crawler.run(seeds);
  return { pages, errors, stats, data: (path) => pages.find((page) => pathOf(page.url) === path)?.data };
}

async function moduleOf(name: string, source: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, source);
  return path;
}

/** A site whose `/gate` answers when it is let, and of what it was asked there. */
async function gatedSite(pages: Record<string, string>) {
  const held: ServerResponse[] = [];
  let changed = gate();
  const site = await serve(
    new Proxy(pages as Record<string, string | ((response: ServerResponse) => void)>, {
      get: (answers, path) =>
        String(path).startsWith('/gate')
          ? (response: ServerResponse) => {
              held.push(response);
              changed.open();
              changed = gate();
            }
          : Reflect.get(answers, path),
    }),
  );
  return Object.assign(site, {
    held,
    /** Resolves when so many wait at the gate. */
    async waiting(count: number): Promise<void> {
      while (held.length < count) await changed.opened;
    },
    letOne(): void {
      held.shift()?.end('open');
    },
  });
}

describe('A page worker', () => {
  test('sees of a page what the main thread sees, and its answer is there before anybody gets the page', async () => {
    const body = `<!doctype html><title>Caf\u00e9</title><base href="/b/"><link rel="canonical" href="/c">
      <meta name="robots" content="noindex"><h1>Tall \u00fc</h1><a href="x" rel="nofollow">text of it</a>`;
    await using site = await serve({
      '/': moved('/page'),
      '/page': (response) =>
        void response
          .writeHead(203, { 'content-type': 'text/html; charset=windows-1252', 'set-cookie': ['a=1', 'b=2'] })
          .end(Buffer.from(body, 'latin1')),
    });
    const seen: [string, unknown][] = [];
    const sink = { write: async (page: Page) => void seen.push(['sink', page.data]), close: async () => {} };
    class Visiting extends library.Crawler {
      override visit(page: Page): void {
        seen.push(['visit', page.data]);
      }
    }
    const options = { userAgent: USER_AGENT, ...HASTE, network: 'any', maxDepth: 0 } as const;
    const crawler = new Visiting({ ...options, pageWorker: HANDLER, threads: 1, sinks: [sink] });
    crawler.on('page', (page) => void seen.push(['page', page.data]));
    for await (const page of crawler.pages(site.url('/'))) {
      seen.push(['pages()', page.data]);
      expect(page.data).toEqual({ ...surfaceOf(page) });
      expect(page.data).toMatchObject({
        status: 203,
        encoding: 'windows-1252',
        heading: 'Tall \u00fc',
        title: 'Caf\u00e9',
      });
      expect(page.data).toMatchObject({ redirects: [{ status: 302 }], directives: { index: false }, truncated: false });
    }
    expect(seen.map(([who]) => who)).toEqual(['pages()', 'visit', 'page', 'sink']);
    expect(new Set(seen.map(([, data]) => data)).size).toBe(1);
  });

  test('is given every page, those with errors too, while links are followed as ever', async () => {
    await using site = await serve({ '/': linkPage(['/a', '/gone']), '/a': linkPage(['/b']), '/b': linkPage([]) });
    const { pages, stats, errors } = await crawl(site.url('/'), { threads: 2 });
    expect(pages.map((page) => [pathOf(page.url), (page.data as Page).status]).sort()).toEqual([
      ['/', 200],
      ['/a', 200],
      ['/b', 200],
      ['/gone', 404],
    ]);
    expect(errors).toEqual([]);
    expect(stats.pages).toBe(4);
  });

  test('may return whatever can be copied, and nothing', async () => {
    await using site = await serve({ '/?do=rich': 'rich', '/?do=undefined': 'none' });
    const { data, errors } = await crawl([site.url('/?do=rich'), site.url('/?do=undefined')]);
    expect(errors).toEqual([]);
    expect(data('/?do=rich')).toEqual({
      map: new Map([['a', new Set([1])]]),
      date: new Date(0),
      bytes: Buffer.from('bytes'),
      big: 1n,
    });
    expect(data('/?do=undefined')).toBeUndefined();
  });

  test('gets typed arrays and the like with memory of their own, and Buffers as such', async () => {
    await using site = await serve({ '/?do=views': 'views' });
    const { data } = await crawl(site.url('/?do=views'));
    const { part, data: view, ...rest } = data('/?do=views') as Record<string, NodeJS.ArrayBufferView>;
    expect(rest).toStrictEqual({
      floats: new Float64Array([1.5, -0]),
      bytes: Buffer.from('bytes'),
      none: new Uint16Array(0),
    });
    expect(part).toStrictEqual(new Uint8Array(4).fill(7));
    expect(view).toBeInstanceOf(DataView);
    expect(new Uint8Array((view as DataView).buffer)).toEqual(Uint8Array.of(2, 3));
    for (const { byteOffset, byteLength, buffer } of [part!, view!, ...Object.values(rest)])
      expect([byteOffset, buffer.byteLength]).toEqual([0, byteLength]);
  });

  test('has a body that is a Buffer like any other, made once', async () => {
    const text = 'the body of it';
    await using site = await serve({ '/?do=body': text, '/?do=body-twice': text });
    const { data, errors } = await crawl([site.url('/?do=body'), site.url('/?do=body-twice')]);
    expect(errors).toEqual([]);
    const bytes = new TextEncoder().encode(text);
    expect(data('/?do=body')).toEqual({
      digest: createHash('sha256').update(bytes).digest('hex'),
      response: text,
      memory: bytes.buffer,
      isBuffer: true,
    });
    expect(data('/?do=body-twice')).toEqual({ isSame: true, isBlank: true, text });
  });

  test.each([
    ['a small body, which shares its memory with others', 40],
    ['a large body', 200_000],
  ])("can't touch what the main thread has: %s", async (_, size) => {
    const text = `<a href="/next">${'x'.repeat(size)}</a>`;
    await using site = await serve({ '/?do=scribble': text, '/next': linkPage([]) });
    const written: string[] = [];
    const sink = { write: async (page: Page) => void written.push(page.body.toString()), close: async () => {} };
    const { pages, data, errors } = await crawl(site.url('/?do=scribble'), { sinks: [sink] });
    expect(errors).toEqual([]);
    expect(data('/?do=scribble')).toBe(text.length);
    expect(pages[0]?.text).toBe(text);
    expect(written[0]).toBe(text);
    expect(pages.map((page) => pathOf(page.url))).toEqual(['/?do=scribble', '/next']);
  });

  test('has the document of a page until it has answered', async () => {
    await using site = await serve({ '/?do=keep': linkPage(['/?do=keep&n=2']), '/?do=keep&n=2': linkPage([]) });
    const { data } = await crawl(site.url('/?do=keep'));
    expect(data('/?do=keep')).toEqual({ own: 5, left: undefined });
    expect(data('/?do=keep&n=2')).toEqual({ own: 4, left: 0 });
  });

  test.each(['keep-throw', 'keep-reject', 'keep-function'])(
    'has no document left after it failed: %s',
    async (deed) => {
      const paths = [`/?do=${deed}`, '/?do=keep'] as const;
      await using site = await serve({ [paths[0]]: linkPage([paths[1]]), [paths[1]]: linkPage([]) });
      const { data, errors } = await crawl(site.url(paths[0]));
      expect(errors.map(({ code }) => code)).toEqual(['CRAWL_WORKER_FAILED']);
      expect(data(paths[1])).toEqual({ own: 4, left: 0 });
    },
  );

  test('is not given streams', async () => {
    await using site = await serve({ '/': linkPage(['/file']), '/file': (response) => void response.end('contents') });
    const { data, pages, errors } = await crawl(site.url('/'), {
      accept: (head) => (head.contentType === '' ? 'stream' : 'buffer'),
    });
    expect(errors).toEqual([]);
    expect(pages).toHaveLength(2);
    expect(data('/')).toMatchObject({ url: site.url('/') });
    expect(data('/file')).toBeUndefined();
  });

  test("finds the links of the profile, and is sent those that an extractor of the user's own found", async () => {
    await using site = await serve({ '/': '<a href="/a">a</a><img src="/b.png"><img src="/c.png">' });
    const options = { maxDepth: 0 };
    const urls = ({ data }: Crawled) => (data('/') as Page).links.map((link) => pathOf(link.url));
    const resources = new library.LinkExtractor({ profile: 'resources', maxLinks: 2 });
    expect(urls(await crawl(site.url('/'), { ...options, extract: resources }))).toEqual(['/a', '/b.png']);
    class Own extends library.LinkExtractor {
      override extract({ url }: { url: string }): ReturnType<LinkExtractor['extract']> {
        return [{ url: new URL('/own', url).href, source: 'own', rel: [], nofollow: false, text: 'mine' }];
      }
    }
    const own = await crawl(site.url('/'), { ...options, extract: new Own() });
    expect(urls(own)).toEqual(['/own']);
    class Scanning extends library.LinkExtractor {
      override scan(document: Parameters<LinkExtractor['scan']>[0]): ReturnType<LinkExtractor['scan']> {
        const { links, ...found } = super.scan(document);
        return { ...found, links: links.map((link) => ({ ...link, url: `${link.url}?scanned` })) };
      }
    }
    const scanning = await crawl(site.url('/'), { ...options, extract: new Scanning() });
    expect((scanning.data('/') as Page).links.map(({ url }) => url)).toEqual([`${site.url('/a')}?scanned`]);
    class Failing extends library.LinkExtractor {
      override extract(): never {
        throw new Error('no links today');
      }
    }
    const failing = await crawl(site.url('/'), { ...options, extract: new Failing() });
    expect(failing.errors.map(({ code }) => code)).toEqual(['CRAWL_WORKER_FAILED', 'CRAWL_HOOK_FAILED']);
    expect(failing.errors[0]?.message).toContain('no links today');
  });
});

describe('The module of a page worker', () => {
  const SOURCE = 'export default (page) => page.title;';

  test('is found by a path, which is relative to the working directory', async () => {
    await using site = await serve({ '/': linkPage([], 'found') });
    const pageWorker = relative(process.cwd(), await moduleOf('found here.mjs', SOURCE));
    expect((await crawl(site.url('/'), { pageWorker })).data('/')).toBe('found');
  });

  test.each([
    ['/a folder/handler.js', 'file:///a%20folder/handler.js'],
    ['handler.js', pathToFileURL('handler.js').href],
    ['../100%/handler.js', pathToFileURL('../100%/handler.js').href],
    ['file:///handler.js?version=2', 'file:///handler.js?version=2'],
    [new URL('file:///handler.js?version=2'), 'file:///handler.js?version=2'],
  ])('named %s is %s', (pageWorker, url) => {
    expect(pageWorkerSettings({ pageWorker })?.module).toBe(url);
  });

  test.each([
    ['CommonJS', 'plain.cjs', 'module.exports = (page) => page.title;'],
    [
      'CommonJS that was an ES module',
      'made.cjs',
      'exports.__esModule = true; exports.default = (page) => page.title;',
    ],
    ['an ES module that takes its time', 'late.mjs', `await new Promise((go) => setImmediate(go)); ${SOURCE}`],
  ])('may be %s', async (_, name, source) => {
    await using site = await serve({ '/': linkPage([], 'found') });
    expect((await crawl(site.url('/'), { pageWorker: await moduleOf(name, source) })).data('/')).toBe('found');
  });

  test('may be TypeScript where Node reads that, and is refused by name where not', async () => {
    await using site = await serve({ '/': linkPage([], 'found') });
    const pageWorker = await moduleOf('typed.ts', 'export default (page: { title: string }): string => page.title;');
    const crawled = crawl(site.url('/'), { pageWorker });
    if ((process.features as { typescript?: unknown }).typescript) expect((await crawled).data('/')).toBe('found');
    else await expect(crawled).rejects.toThrow(expect.objectContaining({ code: 'CRAWL_OPTION_INVALID' }));
  });

  test.each([
    ['does not exist', 'nowhere.mjs', undefined, /Cannot find module/],
    ['has no default export', 'none.mjs', 'export const handle = () => 1;', /no default export that is a function/],
    [
      'has one that is no function',
      'object.mjs',
      'export default { handle: 1 };',
      /no default export that is a function/,
    ],
    ['throws', 'throws.mjs', 'throw new Error("out of order");', /out of order/],
    ['is no JavaScript', 'wrong.mjs', 'export default function (', /Unexpected end of input/],
    ['ends its thread', 'ends.mjs', 'process.exit(5);', /exited with code: 5/],
    [
      'is broken by what it begins',
      'breaks.mjs',
      'setImmediate(() => { throw new Error("broken") }); await new Promise(() => {});',
      /broken/,
    ],
  ])('that %s stops the crawl before it begins', async (_, name, source, reason) => {
    await using site = await serve({ '/': linkPage([]) });
    const pageWorker = source === undefined ? join(folder, name) : await moduleOf(name, source);
    const crawler = crawlerWith({ pageWorker });
    const events: string[] = [];
    for (const event of ['start', 'error', 'end'] as const) crawler.on(event, () => void events.push(event));
    const failed = await crawler.run(site.url('/')).catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ name: 'CrawlError', code: 'CRAWL_OPTION_INVALID', cause: expect.any(Error) });
    const { message } = failed as Error;
    expect(message).toContain(`Option "pageWorker": the module ${pathToFileURL(pageWorker).href} can't be used`);
    expect(message).toMatch(reason);
    expect(events).toEqual([]);
    expect(site.log).toEqual([]);
    expect(crawler.running).toBe(false);
  });

  test('is not waited for without end', async () => {
    const { PageWorker } = await import(join(compiled.dist, 'page-worker/index.js'));
    const module = pathToFileURL(await moduleOf('endless.mjs', 'for (;;);')).href;
    const settings = { module, threads: 1, timeoutMs: 1000, memoryBytes: 536_870_912 };
    const context = { userAgent: USER_AGENT, extractor: new library.LinkExtractor(), onError: () => {} };
    await expect(PageWorker.open(settings, { ...context, loadTimeoutMs: 300 })).rejects.toMatchObject({
      code: 'CRAWL_OPTION_INVALID',
      message: expect.stringContaining('it was not loaded within 300 ms'),
    });
  });

  test('that fails in a further thread costs the page its data, and the crawl goes on', async () => {
    await using site = await serve({ '/': linkPage(['/a?do=exit', '/b']), '/a?do=exit': 'a', '/b': 'b' });
    const flag = join(folder, 'loaded-once');
    const source = `import { existsSync, writeFileSync } from 'node:fs';
      if (existsSync(${JSON.stringify(flag)})) throw new Error('only once');
      writeFileSync(${JSON.stringify(flag)}, '');
      export default (page) => page.url.includes('exit') ? process.exit(1) : 'done';`;
    const { pages, errors } = await crawl(site.url('/'), {
      pageWorker: await moduleOf('once.mjs', source),
      concurrency: 1,
    });
    expect(pages.map((page) => page.data)).toEqual(['done', undefined, undefined]);
    expect(errors.map(({ code }) => code)).toEqual(['CRAWL_WORKER_FAILED', 'CRAWL_WORKER_FAILED']);
    expect(errors[1]?.message).toContain('only once');
  });
});

describe('A page whose worker fails', () => {
  const FAULTS: Record<string, [code: string, message: RegExp, cause?: unknown]> = {
    throw: [
      'CRAWL_WORKER_FAILED',
      /failed on .*: too wide$/,
      { name: 'RangeError', message: 'too wide', code: 'E_WIDE' },
    ],
    reject: ['CRAWL_WORKER_FAILED', /failed on .*: not today$/, { message: 'not today' }],
    'throw-text': ['CRAWL_WORKER_FAILED', /failed on .*: only words$/, { message: 'only words' }],
    function: [
      'CRAWL_WORKER_FAILED',
      /can't be copied .* return plain data: /,
      { message: expect.stringMatching(/clone/) },
    ],
    selection: [
      'CRAWL_WORKER_FAILED',
      /can't be copied .* return plain data: /,
      { message: expect.stringMatching(/clone/) },
    ],
    exit: ['CRAWL_WORKER_FAILED', /exited with code: 7/, { message: expect.stringMatching(/7/) }],
    uncaught: ['CRAWL_WORKER_FAILED', /nobody caught this/, { message: 'nobody caught this' }],
    unhandled: ['CRAWL_WORKER_FAILED', /nobody handled this/, { message: 'nobody handled this' }],
    hang: ['CRAWL_WORKER_TIMEOUT', /within 1500 ms \(pageWorkerTimeoutMs\)/],
    wait: ['CRAWL_WORKER_TIMEOUT', /within 1500 ms \(pageWorkerTimeoutMs\)/],
  };

  test('is delivered without data and the reason is told; its links are followed, and the next page has its data', {
    timeout: 60_000,
  }, async () => {
    const deeds = Object.keys(FAULTS);
    // One leads to the next: each page that fails, then one that does not.
    const paths = deeds.flatMap((deed, i) => [`/?do=${deed}`, `/good${i}`]);
    const pagesOf = paths.map((path, i) => [path, linkPage(paths.slice(i + 1, i + 2))] as const);
    await using site = await serve(Object.fromEntries(pagesOf));
    const { pages, errors, stats, data } = await crawl(site.url(paths[0]!), { pageWorkerTimeoutMs: 1500 });
    expect(pages.map((page) => pathOf(page.url))).toEqual(paths);
    expect(site.paths).toEqual(paths);
    for (const [path, body] of pagesOf) {
      if (path.startsWith('/good')) expect(data(path)).toMatchObject({ text: body });
      else expect(data(path)).toBeUndefined();
    }
    expect(errors.map(({ url }) => url)).toEqual(deeds.map((deed) => site.url(`/?do=${deed}`)));
    for (const [i, [code, message, cause]] of Object.values(FAULTS).entries()) {
      expect(errors[i]).toMatchObject({ name: 'CrawlError', code, retryable: false });
      expect(errors[i]?.message).toMatch(message);
      expect(errors[i]?.message.length).toBeLessThan(400);
      if (cause !== undefined) expect(errors[i]?.cause).toEqual(expect.objectContaining(cause));
    }
    const errorCodes = { CRAWL_WORKER_FAILED: 8, CRAWL_WORKER_TIMEOUT: 2 };
    expect(stats).toMatchObject({ pages: 20, errors: 10, errorCodes, retries: 0 });
  });

  test.each([
    ['many objects', 'memory'],
    ['one array', 'push'],
    ['one map', 'map'],
  ])('by the memory that %s takes is told of, and the process stands', async (_, deed) => {
    await using site = await serve({ [`/?do=${deed}`]: linkPage(['/next']), '/next': 'next' });
    const { data, errors } = await crawl(site.url(`/?do=${deed}`), { pageWorkerMemoryBytes: 67_108_864 });
    expect(errors).toEqual([
      expect.objectContaining({
        code: 'CRAWL_WORKER_FAILED',
        message: expect.stringContaining('than 67108864 bytes (pageWorkerMemoryBytes)'),
      }),
    ]);
    expect(data('/next')).toMatchObject({ url: site.url('/next') });
  });

  test('by memory is one that keeps it: what is garbage by then does not count', async () => {
    await using site = await serve({ '/?do=garbage': 'garbage' });
    const { data, errors } = await crawl(site.url('/?do=garbage'), { pageWorkerMemoryBytes: 67_108_864 });
    expect(errors).toEqual([]);
    expect(data('/?do=garbage')).toBe(2_600_000);
  });

  test('costs none of the others theirs, however many there are', async () => {
    const bad = ['throw', 'exit', 'wait', 'hang'].map((deed) => `/?do=${deed}`);
    const good = Array.from({ length: 24 }, (_, i) => `/good${i}`);
    const paths = good.flatMap((path, i) => (i % 6 === 0 ? [path, bad[i / 6]!] : [path]));
    await using site = await serve({ '/': linkPage(paths), ...Object.fromEntries(paths.map((path) => [path, path])) });
    const { pages, errors, data } = await crawl(site.url('/'), { threads: 2, pageWorkerTimeoutMs: 1500 });
    expect(pages).toHaveLength(1 + paths.length);
    for (const path of good) expect(data(path)).toMatchObject({ text: path });
    expect(errors.map(({ url }) => pathOf(url ?? '')).sort()).toEqual([...bad].sort());
  });

  test('by a thread that broke after its answer keeps that answer, and the break is told without a URL', async () => {
    await using site = await gatedSite({
      '/?do=late': linkPage(['/hold']),
      '/hold': linkPage(['/next']),
      '/next': 'next',
    });
    const crawler = crawlerWith();
    const pages: Page[] = [];
    const told = gate();
    const errors: [string, string | undefined][] = [];
    crawler.on('error', (error, url) => {
      errors.push([error.message, url]);
      told.open();
    });
    crawler.on('page', async (page) => {
      pages.push(page);
      if (pathOf(page.url) !== '/hold') return;
      // The thread has no page now; what the first one left behind breaks it.
      await site.waiting(1);
      site.letOne();
      await told.opened;
    });
    await crawler.run(site.url('/?do=late'));
    expect(errors).toEqual([[expect.stringMatching(/between two pages: too late$/), undefined]]);
    expect(pages.map((page) => page.data)).toEqual(['answered', expect.anything(), expect.anything()]);
  });
});

describe('The threads of a page worker', () => {
  const gated = (count: number) => Array.from({ length: count }, (_, n) => `/?do=gate&n=${n}`);
  const pagesAt = (paths: string[]) => Object.fromEntries(paths.map((path) => [path, 'page']));

  test('are as many as asked for, one page in each; pages that wait are in flight', async () => {
    const paths = gated(12);
    await using site = await gatedSite(pagesAt(paths));
    const concurrency = 4;
    const crawler = crawlerWith({ threads: 2, concurrency });
    const threads = new Set<number>();
    let delivered = 0;
    let most = 0;
    crawler.on('request', (url) => {
      if (!url.endsWith('/robots.txt')) most = Math.max(most, ++asked - delivered);
    });
    let asked = 0;
    crawler.on('page', (page) => {
      delivered++;
      threads.add((page.data as { thread: number }).thread);
    });
    const running = crawler.run(paths.map((path) => site.url(path)));
    for (let left = paths.length; left > 0; left--) {
      await site.waiting(Math.min(2, left));
      expect(site.held.length).toBeLessThanOrEqual(2);
      site.letOne();
    }
    const stats = await running;
    expect(stats.pages).toBe(paths.length);
    expect(threads.size).toBe(2);
    expect(most).toBe(concurrency);
  });

  test('are ended by stop with now; pages that they had go back, and a later run has them', async () => {
    const paths = gated(3);
    await using site = await gatedSite(pagesAt(paths));
    const crawler = crawlerWith({ threads: 2 });
    const pages: Page[] = [];
    const errors: CrawlError[] = [];
    crawler.on('page', (page) => void pages.push(page));
    crawler.on('error', (error) => void errors.push(error));
    const running = crawler.run(paths.map((path) => site.url(path)));
    await site.waiting(2);
    await crawler.stop({ now: true });
    const stats = await running;
    expect(pages).toEqual([]);
    expect(errors).toEqual([]);
    expect(stats).toMatchObject({ pages: 0, queued: 3 });
    site.held.splice(0);
    const again = crawler.run();
    for (let left = paths.length; left > 0; left--) {
      await site.waiting(1);
      site.letOne();
    }
    expect((await again).pages).toBe(3);
    expect(pages.map((page) => page.data)).toEqual(paths.map(() => expect.objectContaining({ gate: 'open' })));
  });

  test('are ended where the reader of pages() leaves, and by a signal', async () => {
    const [gateway = ''] = gated(1);
    await using site = await gatedSite({ '/': linkPage([]), ...pagesAt([gateway]) });
    const seeds = [site.url('/'), site.url(gateway)];
    for await (const page of crawlerWith({ threads: 2 }).pages(seeds)) {
      expect(page.data).toMatchObject({ url: site.url('/') });
      await site.waiting(1);
      break;
    }
    site.held.splice(0);
    const controller = new AbortController();
    const running = crawlerWith().run(seeds[1], { signal: controller.signal });
    await site.waiting(1);
    controller.abort();
    expect(await running).toMatchObject({ pages: 0, queued: 1 });
  });

  test('finish what they have when the crawl is stopped, or paused', async () => {
    const paths = gated(3);
    await using site = await gatedSite(pagesAt(paths));
    const crawler = crawlerWith({ concurrency: 1 });
    const data: unknown[] = [];
    crawler.on('page', (page) => void data.push(page.data));
    const running = crawler.run(paths.map((path) => site.url(path)));
    await site.waiting(1);
    const paused = crawler.pause();
    site.letOne();
    await paused;
    expect(data).toHaveLength(1);
    crawler.resume();
    await site.waiting(1);
    const stopped = crawler.stop();
    site.letOne();
    await stopped;
    expect(await running).toMatchObject({ pages: 2, queued: 1 });
    expect(data).toEqual([0, 1].map(() => expect.objectContaining({ gate: 'open' })));
  });

  test.runIf(process.platform === 'linux')(
    'are all gone when the crawl is over, those too that were cut short',
    async () => {
      const paths = ['/?do=wait', '/?do=hang', '/?do=exit', '/good'];
      await using site = await serve(Object.fromEntries(paths.map((path) => [path, path])));
      const seeds = paths.map((path) => site.url(path));
      const running = () => readdirSync('/proc/self/task').length;
      // Starts what a process of Node's has besides.
      await crawl(seeds, { pageWorker: undefined });
      const before = running();
      const { errors } = await crawl(seeds, { threads: 3, pageWorkerTimeoutMs: 1500 });
      expect(errors).toHaveLength(3);
      // Ending a thread takes it a moment.
      await expect.poll(running, { timeout: 10_000 }).toBeLessThanOrEqual(before);
    },
  );

  const PROGRAM = `
    const server = require('node:http').createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(request.url === '/robots.txt' ? '' : '<title>bundled</title>');
    });
    server.listen(0, '127.0.0.1', async () => {
      const crawler = new Crawler({ userAgent: 'child/1.0 (+mailto:a@example.test)', pageWorker: process.argv[2], pageWorkerMemoryBytes: Number(process.argv[3]) });
      crawler.on('error', (error) => console.log(error.code));
      crawler.on('page', (page) => console.log(page.data));
      await crawler.run('http://127.0.0.1:' + server.address().port + '/');
      server.close();
    });
  `;

  test.each([
    [
      'an ES module',
      'program.mjs',
      (path: string) =>
        `import { createRequire } from 'node:module'; import { Crawler } from ${path}; const require = createRequire(import.meta.url);`,
    ],
    ['CommonJS', 'program.cjs', (path: string) => `const { Crawler } = require(${path});`],
  ])('let a process end whose crawl is over, with the library as it is published, from %s', async (_, name, load) => {
    const bundle = JSON.stringify(new URL('../dist/bundle/index.js', import.meta.url).pathname);
    const program = await moduleOf(name, load(bundle) + PROGRAM);
    await moduleOf('title.mjs', 'export default (page) => page.$("title").text();');
    const ran = await run(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', program, 'title.mjs', '536870912'],
      {
        cwd: folder,
        timeout: 20_000,
      },
    );
    expect(ran).toEqual({ stdout: 'bundled\n', stderr: '' });
  });

  test('let a process end whose threads were asked for their memory', async () => {
    const bundle = JSON.stringify(new URL('../dist/bundle/index.js', import.meta.url).pathname);
    const program = await moduleOf('asked.cjs', `const { Crawler } = require(${bundle});${PROGRAM}`);
    await moduleOf('full.mjs', 'export default () => { for (const kept = [];;) kept.push(0); };');
    const flags = ['--disable-warning=ExperimentalWarning'];
    const ran = await run(process.execPath, [...flags, program, 'full.mjs', '33554432'], {
      cwd: folder,
      timeout: 20_000,
    });
    expect(ran).toEqual({ stdout: 'CRAWL_WORKER_FAILED\nundefined\n', stderr: '' });
  });
});

describe('The options of a page worker', () => {
  test('have defaults, and "auto" is one thread for each processor', () => {
    expect(pageWorkerSettings({ pageWorker: '/handler.js' })).toEqual({
      module: 'file:///handler.js',
      threads: availableParallelism(),
      timeoutMs: PAGE_WORKER_DEFAULTS.pageWorkerTimeoutMs,
      memoryBytes: PAGE_WORKER_DEFAULTS.pageWorkerMemoryBytes,
    });
    expect(pageWorkerSettings({ threads: 3 })).toBeUndefined();
    const endless = { pageWorkerTimeoutMs: Number.POSITIVE_INFINITY, pageWorkerMemoryBytes: Number.POSITIVE_INFINITY };
    expect(pageWorkerSettings({ pageWorker: 'a.js', threads: 3, ...endless })).toMatchObject({
      threads: 3,
      timeoutMs: Number.POSITIVE_INFINITY,
      memoryBytes: Number.POSITIVE_INFINITY,
    });
  });

  test('without limits are taken as well', async () => {
    await using site = await serve({ '/': linkPage([]) });
    const endless = { pageWorkerTimeoutMs: Number.POSITIVE_INFINITY, pageWorkerMemoryBytes: Number.POSITIVE_INFINITY };
    expect((await crawl(site.url('/'), endless)).data('/')).toMatchObject({ status: 200 });
  });

  test.each<[string, object]>([
    ['pageWorker', { pageWorker: '' }],
    ['pageWorker', { pageWorker: 7 }],
    ['pageWorker', { pageWorker: () => {} }],
    ['pageWorker', { pageWorker: new URL('https://example.org/handler.js') }],
    ['threads', { threads: 0 }],
    ['threads', { threads: 1.5 }],
    ['threads', { threads: 'many' }],
    ['threads', { threads: 1025 }],
    ['pageWorkerTimeoutMs', { pageWorkerTimeoutMs: 0 }],
    ['pageWorkerMemoryBytes', { pageWorkerMemoryBytes: 1000 }],
  ])('%s is refused where it is wrong: %j', (name, options) => {
    expect(() => crawlerWith(options as Partial<CrawlerOptions>)).toThrow(
      expect.objectContaining({ code: 'CRAWL_OPTION_INVALID', message: expect.stringContaining(`"${name}"`) }),
    );
  });
});
