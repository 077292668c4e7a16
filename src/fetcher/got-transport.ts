import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Got, HandlerFunction, Options, Request } from 'got';
import { headersFor } from './connections.ts';
import { Exchange } from './exchange.ts';
import type { Hop } from './hop.ts';
import { HttpTransport } from './http-transport.ts';

/** Sends requests by got, stripped of all that the crawler does itself: redirects, retries, decompression, cookies. */
export class GotTransport extends HttpTransport {
  #client: Got | undefined;

  /** got is loaded with the first request, since whoever imports the package may never send one. */
  override ready(): Promise<unknown> | undefined {
    const loading = super.ready();
    return this.#client === undefined ? Promise.all([loading, this.#load()]) : loading;
  }

  protected override send(hop: Hop): Exchange {
    let request: ClientRequest | undefined;
    const open = (_url: URL, { headers, method }: RequestOptions): ClientRequest => {
      request = this.connections.open(hop, { headers, method });
      request.once('socket', (socket) => exchange.onSocket(socket, request?.reusedSocket === true));
      request.once('response', () => exchange.onHead());
      request.once('upgrade', (_response, socket) => exchange.onUpgrade(socket));
      return request;
    };
    const client = this.#client as Got;
    const stream = client(hop.url, { headers: headersFor(hop), request: open } as object) as unknown as Request;
    const exchange = new Exchange(hop, this.context, (error) => void stream.destroy(error));
    const failed = (error: Error) => exchange.failed(error);
    stream.on('error', failed);
    stream.once('response', (response: IncomingMessage) => {
      // got would read along, and throw away a complete body when something unexpected follows it.
      response.removeAllListeners('readable');
      request?.removeAllListeners('error').on('error', failed);
      stream.off('error', failed).on('error', () => {});
      exchange.onResponse(response);
    });
    return exchange;
  }

  async #load(): Promise<void> {
    const { default: got } = await import('got');
    this.#client ??= got.extend({
      decompress: false,
      followRedirect: false,
      handlers: [withFewOptions],
      isStream: true,
      retry: { limit: 0 },
      // What counts as complete is HTTP's own framing, which Node checks.
      strictContentLength: false,
      throwHttpErrors: false,
    }) as Got;
  }
}

/**
 * Keeps got from making some forty options for Node with every request, which Node would copy twice: what they say is
 * said by the agents. It costs more than all else that got does.
 */
const withFewOptions: HandlerFunction = (options, next) => {
  const few = { headers: options.headers, method: options.method };
  options.createNativeRequestOptions = () => few as unknown as ReturnType<Options['createNativeRequestOptions']>;
  return next(options);
};
