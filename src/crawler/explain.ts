import { Admission } from '../admission.ts';
import { mustTake } from '../options.ts';
import type { CrawlStore, UrlRecord } from '../ports.ts';
import { createRequest } from '../request.ts';
import { openForReading } from '../store/open.ts';
import type { Explanation } from '../types.ts';
import { readSeedOrigins } from './session.ts';
import type { Settings } from './settings.ts';

/** What is open of a crawl at the moment. */
export interface OpenCrawl {
  readonly store?: CrawlStore | undefined;
  readonly admission?: Admission | undefined;
}

/** See `Crawler.explain`. A directory that is not open is looked into without disturbing whoever crawls there. */
export async function explain(url: string, settings: Settings, open: OpenCrawl): Promise<Explanation> {
  mustTake('Crawler.explain', 'a URL as a string', typeof url === 'string' || (url as unknown) instanceof URL, url);
  const request = createRequest({ url }, settings.canonical);
  if (request === null) {
    return { url, canonical: null, host: undefined, state: 'unknown', reason: 'url-invalid', fetches: [] };
  }
  const about = { url: request.url, canonical: request.key, host: request.host };
  const { store, close } = await readable(open.store ?? settings.store);
  try {
    const record = await store?.record(request.key);
    if (record !== undefined) return { ...about, ...fromRecord(record) };
    if (await store?.has(request.key)) return { ...about, state: 'seen', fetches: [] };
    const admission = open.admission ?? (await admissionOf(settings, store));
    const { reason } = admission.admit({ url: request.url }, { depth: 0 });
    return { ...about, state: 'unknown', reason, fetches: [] };
  } finally {
    await close();
  }
}

async function readable(
  store: CrawlStore | string | undefined,
): Promise<{ readonly store: CrawlStore | undefined; readonly close: () => Promise<void> }> {
  if (typeof store !== 'string') return { store, close: () => Promise.resolve() };
  const opened = await openForReading(store);
  return { store: opened, close: async () => opened?.close() };
}

async function admissionOf(settings: Settings, store: CrawlStore | undefined): Promise<Admission> {
  const admission = new Admission(settings);
  if (store !== undefined) admission.addSeeds(await readSeedOrigins(store));
  return admission;
}

function fromRecord(record: UrlRecord): Omit<Explanation, 'url' | 'canonical' | 'host'> {
  const { key: _key, url: _url, fetches = [], nextDueAt, ...rest } = record;
  return {
    ...rest,
    fetches: fetches.map(({ at, ...fetch }) => ({ at: new Date(at), ...fetch })),
    nextDueAt: nextDueAt === undefined ? undefined : new Date(nextDueAt),
  };
}
