import { describe, expect, test } from 'vitest';
import { fetcherOver, TRANSPORTS } from './helpers/fetcher.ts';
import { startSite } from './helpers/site.ts';

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
});
