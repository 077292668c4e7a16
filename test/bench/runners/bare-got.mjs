// The limit: got and htmlparser2 in a loop, nothing else.
import http from 'node:http';
import got from 'got';
import { loop, report } from './job.mjs';
import { pageParser } from './page-parser.mjs';

const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 4096 });
const client = got.extend({ agent: { http: agent }, retry: { limit: 0 }, throwHttpErrors: false });
await loop(async (url, add) => {
  const { body } = await client(url);
  pageParser(url, add).end(body);
});
report();
agent.destroy();
