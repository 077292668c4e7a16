// The limit: got and htmlparser2 in a loop, nothing else.
import http from 'node:http';
import got from 'got';
import { Parser } from 'htmlparser2';
import { loop, report, result } from './job.mjs';

const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 4096 });
const client = got.extend({ agent: { http: agent }, retry: { limit: 0 }, throwHttpErrors: false });
await loop(async (url, add) => {
  const { body } = await client(url);
  parse(body, url, add);
  result.pages++;
});
report();
agent.destroy();

function parse(body, url, add) {
  let inTitle = false;
  let title = '';
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'a' && attributes.href !== undefined) add(attributes.href, url);
      else if (name === 'title') inTitle = true;
    },
    ontext(text) {
      if (inTitle) title += text;
    },
    onclosetag(name) {
      if (name === 'title') inTitle = false;
    },
  });
  parser.end(body);
  if (title !== '') result.titles++;
}
