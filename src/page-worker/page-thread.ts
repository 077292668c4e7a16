// What runs in each thread: loads the user's module once, and gives it one page after another.
import { workerData } from 'node:worker_threads';
import { LinkExtractor } from '../link-extractor/index.ts';
import { FetchedPage, loadCheerio } from '../page.ts';
import type { Link } from '../types.ts';
import {
  begin,
  bodyIn,
  end,
  faultOf,
  type PageTask,
  pack,
  type ThreadAnswer,
  type ThreadData,
  type ThreadTask,
} from './messages.ts';
import type { PageHandler } from './options.ts';

const settings = workerData as ThreadData;
let extractor: LinkExtractor | undefined;
let loading: Promise<PageHandler> | undefined;

/** Does one task. Never rejects: a fault of the user's code is an answer. */
export default async function work(task: ThreadTask): Promise<ThreadAnswer> {
  let handler: PageHandler;
  try {
    loading ??= load(settings.module);
    handler = await loading;
  } catch (thrown) {
    return { failed: 'load', fault: faultOf(thrown) };
  }
  if (task === 'load') return pack(undefined);
  begin(task);
  const answer = await handle(handler, task);
  end(task);
  return answer;
}

async function handle(handler: PageHandler, task: PageTask): Promise<ThreadAnswer> {
  const page = pageOf(task);
  try {
    return await answerOf(handler, page);
  } finally {
    page.release();
  }
}

async function answerOf(handler: PageHandler, page: FetchedPage): Promise<ThreadAnswer> {
  let data: unknown;
  try {
    data = await handler(page);
  } catch (thrown) {
    return { failed: 'handler', fault: faultOf(thrown) };
  }
  try {
    return pack(data);
  } catch (thrown) {
    return { failed: 'result', fault: faultOf(thrown) };
  }
}

async function load(module: string): Promise<PageHandler> {
  const { default: exported } = (await import(module)) as { default?: unknown };
  // Most handlers need it, and the time it takes should not be that of the first page.
  loadCheerio();
  if (typeof exported === 'function') return exported as PageHandler;
  // An ES module that was compiled to CommonJS has its default export one step further in.
  const inner = (exported as { default?: unknown } | null | undefined)?.default;
  if (typeof inner === 'function') return inner as PageHandler;
  throw new TypeError('it has no default export that is a function');
}

function pageOf({ parts, memory, links }: PageTask): FetchedPage {
  const { profile, maxLinks, userAgent } = settings;
  extractor ??= new LinkExtractor({ profile, maxLinks });
  const finder = links === undefined ? extractor : new FoundLinks(links, { profile, maxLinks });
  const shared = bodyIn(memory);
  return withOwnBody(new FetchedPage({ ...parts, body: shared }, finder, userAgent), shared);
}

/** Much of what takes bytes refuses shared ones, so `body` is a copy, which nobody pays for who does not ask for it. */
function withOwnBody(page: FetchedPage, shared: Buffer): FetchedPage {
  const property = { configurable: true, enumerable: true };
  return Object.defineProperty(page, 'body', {
    ...property,
    get() {
      const body = Buffer.from(new Uint8Array(shared).buffer);
      Object.defineProperty(page, 'body', { ...property, value: body, writable: true });
      return body;
    },
  });
}

/** Stands in for an extractor of the user's own, which can't leave the main thread. */
class FoundLinks extends LinkExtractor {
  readonly #links: NonNullable<PageTask['links']>;

  constructor(links: NonNullable<PageTask['links']>, options: ConstructorParameters<typeof LinkExtractor>[0]) {
    super(options);
    this.#links = links;
  }

  override extract(): Link[] {
    if ('failure' in this.#links) throw new Error(this.#links.failure);
    return [...this.#links.found];
  }
}
