import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { Fetcher, type FetcherOptions } from '../src/fetcher/index.ts';
import { loopbackLookup, startRawSite, startSite } from './helpers/site.ts';

const userAgent = 'testbot/1.0 (+mailto:operator@example.test)';

function newFetcher(options: Partial<FetcherOptions> = {}): Fetcher & AsyncDisposable {
  const fetcher = new Fetcher({ userAgent, ...options });
  return Object.assign(fetcher, { [Symbol.asyncDispose]: () => fetcher.close() });
}

describe('Fetcher.fetch()', () => {
  test('gives status, headers and body of an answer, and says who asked', async () => {
    await using site = await startSite((_, response) => {
      response.writeHead(404, { 'content-type': 'Text/HTML; charset=utf-8' }).end('gone');
    });
    await using fetcher = newFetcher();
    const result = await fetcher.fetch({ url: site.url('/a#part') });
    expect(result).toMatchObject({
      url: site.url('/a'),
      finalUrl: site.url('/a'),
      status: 404,
      contentType: 'text/html',
      redirects: [],
      truncated: false,
      bytes: 4,
      acceptance: 'buffer',
      remoteAddress: '127.0.0.1',
    });
    expect(result.body.toString()).toBe('gone');
    expect(site.log[0]?.headers['user-agent']).toBe(userAgent);
  });

  test('undoes gzip', async () => {
    await using site = await startSite((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('hello'));
    });
    await using fetcher = newFetcher();
    expect((await fetcher.fetch({ url: site.url('/') })).body.toString()).toBe('hello');
  });
});
