// The limit: undici and htmlparser2 in a loop, chunks going straight into the parser.
import { Parser } from 'htmlparser2';
import { Agent } from 'undici';
import { concurrency, loop, report, result } from './job.mjs';

const agent = new Agent({ connections: concurrency, pipelining: 1, keepAliveTimeout: 60_000 });
await loop(
  (url, add) =>
    new Promise((resolve, reject) => {
      const { origin, pathname, search } = new URL(url);
      const text = new TextDecoder();
      let inTitle = false;
      let title = '';
      const parser = new Parser({
        onopentag(name, attributes) {
          if (name === 'a' && attributes.href !== undefined) add(attributes.href, url);
          else if (name === 'title') inTitle = true;
        },
        ontext(part) {
          if (inTitle) title += part;
        },
        onclosetag(name) {
          if (name === 'title') inTitle = false;
        },
      });
      agent.dispatch(
        { origin, path: pathname + search, method: 'GET' },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData: (_, chunk) => parser.write(text.decode(chunk, { stream: true })),
          onResponseEnd() {
            parser.end(text.decode());
            result.pages++;
            if (title !== '') result.titles++;
            resolve();
          },
          onResponseError: (_, error) => reject(error),
        },
      );
    }),
);
report();
await agent.close();
