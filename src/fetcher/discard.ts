import type { Readable } from 'node:stream';
import type { TransportResponse } from '../ports.ts';

/** Reading this much costs less than a new connection. */
const WORTH_READING_BYTES = 16_384;

/** And this long. */
const WORTH_WAITING_MS = 250;

/** Gets rid of a body nobody wants: reads it if it is small and there, so that its connection can be used again. */
export function discard(response: TransportResponse): Promise<void> {
  const body = response.body as Readable;
  const length = Number(response.headers['content-length']);
  return new Promise((resolve) => {
    let bytes = 0;
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    const giveUp = () => {
      body.destroy();
      done();
    };
    const timer = setTimeout(giveUp, WORTH_WAITING_MS);
    body.on('error', done).on('close', done).on('end', done);
    if (length > WORTH_READING_BYTES || body.destroyed) {
      giveUp();
      return;
    }
    body.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > WORTH_READING_BYTES) giveUp();
    });
  });
}
