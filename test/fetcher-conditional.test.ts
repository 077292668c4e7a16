import { describe, expect, test } from 'vitest';
import { validatorsOf } from '../src/fetcher/index.ts';
import { fetcherOver, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { startSite } from './helpers/site.ts';

describe.each(TRANSPORTS)('a conditional request over %s', (transport) => {
  const newFetcher = fetcherOver(transport);

  test.each([
    ['"1"', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['W/"weak, and with a comma"', undefined],
    ['unquoted-gzip', 'not even a date'],
    ['"caf\xe9"', undefined],
    [undefined, 'Sunday, 06-Nov-94 08:49:37 GMT'],
    ['', ''],
    [undefined, undefined],
  ])('gives back the ETag %s and the Last-Modified %s byte for byte', async (etag, lastModified) => {
    await using site = await startSite((_, response) => response.writeHead(304).end());
    await using fetcher = newFetcher();
    const result = await fetcher.fetch({ url: site.url('/'), validators: { etag, lastModified } });
    const { headers } = site.log[0]!;
    expect(headers['if-none-match']).toBe(etag || undefined);
    expect(headers['if-modified-since']).toBe(lastModified || undefined);
    expect(result).toMatchObject({ status: 304, bytes: 0, truncated: false });
    expect(result.body).toHaveLength(0);
  });

  test('goes from answer to request by validatorsOf', async () => {
    const headers = { etag: 'W/"\xe9-1"', 'last-modified': 'Sun, 06 Nov 1994 08:49:37 GMT' };
    await using site = await startSite((request, response) => {
      if (request.headers['if-none-match'] === headers.etag) response.writeHead(304, headers).end();
      else response.writeHead(200, headers).end('page');
    });
    await using fetcher = newFetcher();
    const first = await fetcher.fetch({ url: site.url('/') });
    const validators = validatorsOf(first.headers);
    expect(validators).toEqual({ etag: headers.etag, lastModified: headers['last-modified'] });
    const second = await fetcher.fetch({ url: site.url('/'), validators });
    expect([first.status, second.status]).toEqual([200, 304]);
    expect(second.headers.etag).toBe(headers.etag);
    expect(site.log[1]?.headers['if-modified-since']).toBe(headers['last-modified']);
  });

  test('leaves its conditions behind when it is redirected', async () => {
    await using site = await startSite((request, response) => {
      response.writeHead(request.url === '/' ? 301 : 200, { location: '/new' }).end('page');
    });
    await using fetcher = newFetcher();
    const result = await fetcher.fetch({ url: site.url('/'), validators: { etag: '"1"', lastModified: 'x' } });
    expect(result.status).toBe(200);
    expect(site.log.map(({ headers }) => [headers['if-none-match'], headers['if-modified-since']])).toEqual([
      ['"1"', 'x'],
      [undefined, undefined],
    ]);
  });

  test.each([
    [{ etag: 'a\r\nb: c' }, 'CRAWL_OPTION_INVALID'],
    [{ lastModified: 5 }, 'CRAWL_OPTION_INVALID'],
    [{ tag: '"1"' }, 'CRAWL_OPTION_UNKNOWN'],
    ['"1"', 'CRAWL_OPTION_INVALID'],
  ])('can not have %o', async (validators, code) => {
    await using fetcher = newFetcher();
    const fetching = fetcher.fetch({ url: 'http://a.example.test/', validators: validators as never });
    expect(await rejection(fetching)).toMatchObject({ code });
  });
});

describe('validatorsOf()', () => {
  test.each([
    [{}, undefined],
    [{ etag: '' }, undefined],
    [{ etag: ['"1"', '"2"'] }, { etag: '"1"' }],
    [{ 'last-modified': 'x' }, { lastModified: 'x' }],
  ])('of %o is %o', (headers, expected) => expect(validatorsOf(headers)).toEqual(expected));
});
