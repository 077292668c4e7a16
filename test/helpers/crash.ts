import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CrawlerOptions, CrawlStats } from '../../src/index.ts';
import { linkPage } from './crawl.ts';
import { type Site, startSite } from './site.ts';

const DIST = new URL('../../dist', import.meta.url).pathname;
const CHILD = new URL('crash-crawler.mjs', import.meta.url).pathname;

/** Where a process kills itself: the nth time it passes a labelled step, or so long after it began to crawl. */
export interface Kill {
  readonly label?: string;
  readonly count?: number;
  readonly afterMs?: number;
}

export interface Line {
  readonly kind: 'page' | 'error' | 'killed' | 'done';
  readonly run: number;
  readonly at: number;
  readonly url?: string;
  readonly code?: string;
  readonly stats?: CrawlStats;
}

/** A crawl in processes of its own, each killed, the next one going on from the same store. */
export class CrashingCrawl implements AsyncDisposable {
  readonly #directory: string;
  readonly #seeds: readonly string[];
  readonly #options: Partial<CrawlerOptions>;
  #run = 0;

  static async create(seeds: readonly string[], options: Partial<CrawlerOptions>): Promise<CrashingCrawl> {
    return new CrashingCrawl(await mkdtemp(join(tmpdir(), 'polite-crawler-crash-')), seeds, options);
  }

  private constructor(directory: string, seeds: readonly string[], options: Partial<CrawlerOptions>) {
    this.#directory = directory;
    this.#seeds = seeds;
    this.#options = options;
  }

  /** One process. @returns whether it came to the end of the crawl. */
  async run(kill?: Kill): Promise<boolean> {
    const job = {
      dist: DIST,
      directory: join(this.#directory, 'state'),
      journal: this.#journal,
      run: this.#run++,
      seeds: this.#seeds,
      options: this.#options,
      kill,
    };
    const child = spawn(process.execPath, [CHILD, JSON.stringify(job)], { stdio: ['ignore', 'ignore', 'pipe'] });
    let complaints = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaints += text;
    });
    const [code, signal] = await once(child, 'close');
    if (signal === 'SIGKILL') return false;
    if (code !== 0) throw new Error(`The crawl ended with ${code}: ${complaints}`);
    return true;
  }

  async lines(): Promise<Line[]> {
    const text = await readFile(this.#journal, 'utf8').catch(() => '');
    // A line that was being written when the process died has no end.
    return text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  }

  get #journal(): string {
    return join(this.#directory, 'journal.jsonl');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** Hosts on loopback, each with a tree of pages of its own, so that the order within a host is that of its links. */
export interface CrashWeb extends AsyncDisposable {
  readonly seeds: string[];
  /** Every page there is. */
  readonly pages: string[];
  readonly site: Site;
}

export async function startCrashWeb(hosts: number, pagesPerHost: number): Promise<CrashWeb> {
  const site = await startSite((request, response) => {
    const path = request.url ?? '/';
    if (path === '/robots.txt') return void response.end('User-agent: *\nDisallow: /secret');
    const page = Number(/^\/(\d+)$/.exec(path)?.[1] ?? Number.NaN);
    if (path === '/moved') return void response.writeHead(301, { location: '/1' }).end();
    if (!(page < pagesPerHost)) return void response.writeHead(404, { 'content-type': 'text/html' }).end('no');
    const children = [1, 2, 3].map((k) => page * 3 + k).filter((child) => child < pagesPerHost);
    const links = [...children.map((child) => `/${child}`), '/0', '/secret', ...(page === 0 ? ['/moved'] : [])];
    response.writeHead(200, { 'content-type': 'text/html' }).end(linkPage(links, `${request.headers.host} ${page}`));
  }, '0.0.0.0');
  const names = Array.from({ length: hosts }, (_, i) => `127.0.9.${i + 1}`);
  return {
    site,
    seeds: names.map((host) => site.url('/0', host)),
    pages: names.flatMap((host) => Array.from({ length: pagesPerHost }, (_, page) => site.url(`/${page}`, host))),
    [Symbol.asyncDispose]: () => site.close(),
  };
}
