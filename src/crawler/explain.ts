import { Admission } from '../admission.ts';
import type { CrawlStore, UrlRecord } from '../ports.ts';
import { createRequest } from '../request.ts';
import type { Explanation } from '../types.ts';
import type { Settings } from './options.ts';

/** See `Crawler.explain`. */
export async function explain(
  url: string,
  settings: Settings,
  store: CrawlStore | string | undefined,
  admission: Admission = new Admission(settings),
): Promise<Explanation> {
  const request = createRequest({ url }, settings.canonical);
  if (request === null)
    return { url, canonical: null, host: undefined, state: 'unknown', reason: 'url-invalid', fetches: [] };
  const about = { url: request.url, canonical: request.key, host: request.host };
  const open = typeof store === 'object' ? store : undefined;
  const record = await open?.record(request.key);
  if (record !== undefined) return { ...about, ...fromRecord(record) };
  const refusal = admission.admit({ url: request.url, source: 'seed' }, { depth: 0, source: 'seed' }).reason;
  return { ...about, state: 'unknown', reason: refusal, fetches: [] };
}

function fromRecord(record: UrlRecord): Omit<Explanation, 'url' | 'canonical' | 'host'> {
  const { key: _key, url: _url, fetches = [], nextDueAt, ...rest } = record;
  return {
    ...rest,
    fetches: fetches.map(({ at, ...fetch }) => ({ at: new Date(at), ...fetch })),
    nextDueAt: nextDueAt === undefined ? undefined : new Date(nextDueAt),
  };
}
