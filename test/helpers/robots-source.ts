import http from 'node:http';
import { createGunzip } from 'node:zlib';
import type { RobotsSource } from '../../src/ports.ts';

/** A `RobotsSource` straight over node:http: one GET, no redirects, body gunzipped and cut. Every name is found on loopback. */
export function httpRobotsSource(address = '127.0.0.1'): RobotsSource {
  return {
    getOnce: (url, { maxBytes, userAgent, headers, signal }) =>
      new Promise((resolve, reject) => {
        const request = http.get(url, {
          agent: false,
          headers: { ...headers, 'user-agent': userAgent, 'accept-encoding': 'gzip' },
          lookup: (_host, options, done) => {
            if (options.all) (done as (error: null, found: object[]) => void)(null, [{ address, family: 4 }]);
            else done(null, address, 4);
          },
          ...(signal === undefined ? {} : { signal }),
        });
        request.on('error', reject);
        request.on('response', (response) => {
          const chunks: Buffer[] = [];
          let size = 0;
          const isPacked = response.headers['content-encoding'] === 'gzip';
          const body = isPacked ? response.on('error', reject).pipe(createGunzip()) : response;
          const finish = () => {
            const kept = Buffer.concat(chunks).subarray(0, maxBytes);
            resolve({ status: response.statusCode ?? 0, headers: linesOf(response), body: kept, url });
          };
          body.on('error', reject);
          body.on('end', finish);
          body.on('data', (chunk: Buffer) => {
            chunks.push(chunk);
            size += chunk.length;
            if (size < maxBytes) return;
            finish();
            request.destroy();
          });
        });
      }),
  };
}

function linesOf({ headersDistinct }: http.IncomingMessage): Record<string, string | string[]> {
  const lines = Object.entries(headersDistinct).map(([name, values = []]) => [
    name,
    values.length > 1 ? values : values[0],
  ]);
  return Object.fromEntries(lines);
}
