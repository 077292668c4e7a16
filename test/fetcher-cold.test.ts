import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { newFetcher } from './helpers/fetcher.ts';
import { startSite } from './helpers/site.ts';

const root = new URL('..', import.meta.url).pathname;

test('what is loaded with the first request takes none of its time', async () => {
  // Slowly enough, since every module is read and compiled in a fresh process under load.
  const source = `
    import http from 'node:http';
    import { register } from 'node:module';
    import { Fetcher } from ${JSON.stringify(`${root}dist/bundle/index.js`)};
    const hook = 'export const load = async (url, context, next) => {'
      + ' if (url.includes("/node_modules/got/") && url.endsWith("/source/index.js")) await new Promise((resolve) => setTimeout(resolve, 400));'
      + ' return next(url, context); };';
    register('data:text/javascript,' + encodeURIComponent(hook));
    const server = http.createServer((request, response) => response.end('fine')).listen(0, '127.0.0.1', async () => {
      const timeouts = { connect: 300, headers: 300, page: 300 };
      const fetcher = new Fetcher({ userAgent: 'testbot/1.0 (+mailto:owner@example.test)', timeouts });
      const url = 'http://127.0.0.1:' + server.address().port + '/';
      const [result] = await Promise.all([fetcher.fetch({ url }), fetcher.fetch({ url })]);
      console.log(result.status);
      await fetcher.close();
      server.close();
    });
  `;
  const args = ['--input-type=module', '--eval', source];
  expect(execFileSync(process.execPath, args, { encoding: 'utf8', cwd: root })).toBe('200\n');
});

test('a fetcher that is closed while it loads says so', async () => {
  await using site = await startSite((_, response) => response.end());
  const fetcher = newFetcher();
  const fetching = fetcher.fetch({ url: site.url('/') });
  const closing = fetcher.close();
  await expect(fetching).rejects.toMatchObject({ code: 'CRAWL_CLOSED', url: site.url('/') });
  await closing;
  expect(site.log).toEqual([]);
});
