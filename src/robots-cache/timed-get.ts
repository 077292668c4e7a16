import { CrawlError } from '../errors.ts';
import type { RobotsSource } from '../ports.ts';
import type { RobotsAnswer } from './answer.ts';

/** A request to be sent: one GET, its redirects not followed. */
export interface RobotsFetch {
  readonly url: string;
  /** To be sent besides the usual ones: `if-none-match`, `if-modified-since`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes of the body that are wanted, after content decoding. */
  readonly maxBytes: number;
}

/** Sends a request and waits no longer than `timeoutMs`, whatever the source does. Never rejects. */
export async function timedGet(
  source: RobotsSource,
  { url, headers, maxBytes }: RobotsFetch,
  { origin, userAgent, timeoutMs }: { readonly origin: string; readonly userAgent: string; readonly timeoutMs: number },
): Promise<RobotsAnswer> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const message = `No complete answer within ${timeoutMs} ms: ${url}`;
      const error = new CrawlError('CRAWL_PAGE_TIMEOUT', message, { url, retryable: true });
      controller.abort(error);
      reject(error);
    }, timeoutMs);
  });
  try {
    const request = source.getOnce(url, { maxBytes, userAgent, headers, signal: controller.signal, origin });
    return { ...(await Promise.race([request, late])), url };
  } catch (error) {
    return { error };
  } finally {
    clearTimeout(timer);
  }
}
