import { describe, expect, test } from 'vitest';
import { fetcherOver, TRANSPORTS } from './helpers/fetcher.ts';
import { startHttp2Site, startHttpProxy, startSocks } from './helpers/servers.ts';
import { startSite } from './helpers/site.ts';
import { CERTIFICATE } from './helpers/tls.ts';

describe.each(TRANSPORTS)('over %s', (transport) => {
  const newFetcher = fetcherOver(transport);

  test('none is left open, and no timer, after close()', async () => {
    const before = process.getActiveResourcesInfo().sort();
    {
      await using site = await startSite((request, response) => {
        if (request.url === '/reset') request.socket.resetAndDestroy();
        else if (request.url === '/drip') response.write('x');
        else if (request.url === '/redirect') response.writeHead(301, { location: '/ok' }).end('moved');
        else response.end('fine');
      });
      await using fetcher = newFetcher({ timeouts: { page: 200 } });
      for (const path of ['/ok', '/reset', '/redirect', '/drip']) {
        for (const answer of ['buffer', 'skip', 'stream'] as const) {
          const result = await fetcher.fetch({ url: site.url(path), accept: () => answer }).catch(() => undefined);
          if (answer === 'stream') for await (const _ of result?.stream ?? []) break;
        }
      }
    }
    await expect.poll(() => process.getActiveResourcesInfo().sort()).toEqual(before);
  });

  test('none is left open by HTTP/2, nor by proxies', async () => {
    const before = process.getActiveResourcesInfo().sort();
    {
      await using site = await startHttp2Site((request, response) => {
        if (request.url === '/drip') response.write('x');
        else response.end('fine');
      });
      await using proxy = await startHttpProxy();
      await using socks = await startSocks();
      const proxies = [undefined, `http://127.0.0.1:${proxy.port}`, `socks5://127.0.0.1:${socks.port}`];
      for (const http2 of [true, false]) {
        for (const through of proxies) {
          await using fetcher = newFetcher({
            http2,
            proxy: through,
            tls: { ca: CERTIFICATE },
            timeouts: { page: 200 },
          });
          for (const path of ['/ok', '/drip']) await fetcher.fetch({ url: site.url(path) }).catch(() => undefined);
        }
      }
      expect(site.log.filter((line) => line.endsWith('/ok'))).toHaveLength(6);
    }
    await expect.poll(() => process.getActiveResourcesInfo().sort()).toEqual(before);
  });
});
