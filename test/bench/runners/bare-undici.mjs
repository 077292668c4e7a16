// The limit: undici and htmlparser2 in a loop, chunks going straight into the parser.
import { Agent } from 'undici';
import { concurrency, loop, report } from './job.mjs';
import { pageParser } from './page-parser.mjs';

const agent = new Agent({ connections: concurrency, pipelining: 1, keepAliveTimeout: 60_000 });
await loop(
  (url, add) =>
    new Promise((resolve, reject) => {
      const { origin, pathname, search } = new URL(url);
      const text = new TextDecoder();
      const parser = pageParser(url, add);
      agent.dispatch(
        { origin, path: pathname + search, method: 'GET' },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData: (_, chunk) => parser.write(text.decode(chunk, { stream: true })),
          onResponseEnd() {
            parser.end(text.decode());
            resolve();
          },
          onResponseError: (_, error) => reject(error),
        },
      );
    }),
);
report();
await agent.close();
