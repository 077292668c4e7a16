import type { TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import type { FetcherOptions } from '../src/fetcher/index.ts';
import { fetcherOver, rejection, TRANSPORTS } from './helpers/fetcher.ts';
import { startSecureSite } from './helpers/servers.ts';
import { loopbackLookup, startSite } from './helpers/site.ts';
import { CERTIFICATE, KEY } from './helpers/tls.ts';

describe.each(TRANSPORTS)('tls over %s', (transport) => {
  const newFetcher = (options: Partial<FetcherOptions> = {}) =>
    fetcherOver(transport)({ dnsLookup: loopbackLookup(), ...options });
  const HOST = 'secure.example.test';
  const whoAsks = (request: { socket: unknown }) =>
    (request.socket as TLSSocket).getPeerCertificate()?.subject?.CN ?? 'nobody';

  test('trusts an authority of the user’s, for its own name alone', async () => {
    await using site = await startSecureSite((_, response) => response.end('secret'));
    await using fetcher = newFetcher({ tls: { ca: CERTIFICATE } });
    const result = await fetcher.fetch({ url: site.url('/', HOST) });
    expect(result.body.toString()).toBe('secret');
    expect(result.timings.tls).toBeGreaterThanOrEqual(0);
    expect(await rejection(fetcher.fetch({ url: site.url('/', 'other.example.test') }))).toMatchObject({
      code: 'CRAWL_TLS_FAILED',
      retryable: false,
    });
  });

  test('keeps secure connections', async () => {
    await using site = await startSecureSite((_, response) => response.end('x'));
    await using fetcher = newFetcher({ tls: { ca: CERTIFICATE } });
    for (let n = 0; n < 3; n++) {
      await fetcher.fetch({ url: site.url('/', HOST) });
      await new Promise(setImmediate);
    }
    expect(site.connections).toBe(1);
  });

  test('trusts everybody where it is told to', async () => {
    await using site = await startSecureSite((_, response) => response.end('secret'));
    await using fetcher = newFetcher({ tls: { rejectUnauthorized: false } });
    expect((await fetcher.fetch({ url: site.url('/', 'any.example.test') })).status).toBe(200);
  });

  test('speaks no version below the one asked for', async () => {
    await using site = await startSecureSite((_, response) => response.end(), { maxVersion: 'TLSv1.2' });
    await using fetcher = newFetcher({ tls: { ca: CERTIFICATE, minVersion: 'TLSv1.3' } });
    expect(await rejection(fetcher.fetch({ url: site.url('/', HOST) }))).toMatchObject({ code: 'CRAWL_TLS_FAILED' });
  });

  test('shows the client certificate to hosts that were named, to no host it is led to', async () => {
    await using site = await startSecureSite(
      (request, response) => {
        if (request.url === '/away') response.writeHead(302, { location: site.url('/there', HOST) }).end();
        else response.end(whoAsks(request));
      },
      { requestCert: true, rejectUnauthorized: false },
    );
    await using fetcher = newFetcher({
      network: 'any',
      tls: { rejectUnauthorized: false, cert: CERTIFICATE, key: KEY },
    });
    const ask = async (url: string) => (await fetcher.fetch({ url })).body.toString();
    expect(await ask(site.url('/', HOST))).toBe(HOST);
    expect(await ask(site.url('/'))).toBe(HOST);
    expect(await ask(site.url('/away'))).toBe('nobody');
    expect(await ask(site.url('/', HOST))).toBe(HOST);
  });

  test('fails for good where the server wants a certificate of the client and there is none', async () => {
    await using site = await startSecureSite((_, response) => response.end(), { requestCert: true, ca: CERTIFICATE });
    await using without = newFetcher({ tls: { ca: CERTIFICATE } });
    expect(await rejection(without.fetch({ url: site.url('/', HOST) }))).toMatchObject({
      code: 'CRAWL_TLS_FAILED',
      retryable: false,
    });
    await using having = newFetcher({ tls: { ca: CERTIFICATE, cert: CERTIFICATE, key: KEY } });
    expect((await having.fetch({ url: site.url('/', HOST) })).status).toBe(200);
  });

  test.each([
    [{ certs: 'x' }, 'CRAWL_OPTION_UNKNOWN'],
    ['x', 'CRAWL_OPTION_INVALID'],
    [{ rejectUnauthorized: 'no' }, 'CRAWL_OPTION_INVALID'],
    [{ cert: CERTIFICATE, key: 'no key' }, 'CRAWL_OPTION_INVALID'],
    [{ cert: 'none' }, 'CRAWL_OPTION_INVALID'],
    [{ ca: 5 }, 'CRAWL_OPTION_INVALID'],
    [{ minVersion: 'TLSv9' }, 'CRAWL_OPTION_INVALID'],
  ])('refuses %o in the constructor', (tls, code) => {
    expect(() => newFetcher({ tls: tls as never })).toThrow(expect.objectContaining({ code }));
  });

  test('an insecure page is led to a secure one, and its header of credentials stays behind', async () => {
    await using site = await startSecureSite((request, response) => response.end(request.headers.authorization ?? ''));
    await using start = await startSite((_, response) => {
      response.writeHead(302, { location: site.url('/', HOST) }).end();
    });
    await using fetcher = newFetcher({
      network: 'any',
      tls: { ca: CERTIFICATE },
      headers: { Authorization: 'Basic c2VjcmV0' },
    });
    expect((await fetcher.fetch({ url: start.url('/', HOST) })).body.toString()).toBe('');
    expect(start.log[0]?.headers.authorization).toBe('Basic c2VjcmV0');
  });
});
