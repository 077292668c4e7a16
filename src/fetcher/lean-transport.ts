import { headersFor } from './connections.ts';
import { Exchange } from './exchange.ts';
import type { Hop } from './hop.ts';
import { HttpTransport } from './http-transport.ts';

/** Sends requests by Node's own client, with nothing in between. */
export class LeanTransport extends HttpTransport {
  protected override send(hop: Hop): Exchange {
    const request = this.connections.open(hop, { headers: headerList(hop) });
    const exchange = new Exchange(hop, this.context, (error) => void request.destroy(error));
    request.on('error', (error) => exchange.failed(error));
    request.on('socket', (socket) => exchange.onSocket(socket, request.reusedSocket));
    request.on('upgrade', (_response, socket) => exchange.onUpgrade(socket));
    request.on('response', (response) => exchange.onResponse(response));
    request.end();
    return exchange;
  }
}

/** As a flat list, which Node sends as it is. */
function headerList(hop: Hop): string[] {
  const list = ['host', hop.target.host];
  const headers = headersFor(hop);
  for (const name in headers) list.push(name, headers[name] as string);
  return list;
}
