import type { IncomingMessage, ServerResponse } from 'node:http';
import { loopbackLookup, type Seen, type Site, startSite } from './site.ts';

type Handler = (response: ServerResponse, request: IncomingMessage) => void;

/** What a path answers: HTML, or whatever a function does. */
export type Answer = string | Handler;

/** Answers by path and query; `/robots.txt` is 404 unless it is among them. */
export type Pages = Readonly<Record<string, Answer>>;

/** Answers with HTML. */
export function html(response: ServerResponse, text: string, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(text);
}

/** Sends the client elsewhere; a function is for a place that is known only when the server runs. */
export function moved(
  to: string | (() => string),
  status = 302,
  headers: Readonly<Record<string, string | string[]>> = {},
): Handler {
  return (response) => {
    response.writeHead(status, { location: typeof to === 'string' ? to : to(), ...headers }).end();
  };
}

/** A file of rules. */
export function rules(...lines: string[]): Handler {
  const text = `${lines.join('\n')}\n`;
  return (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end(text);
}

/** An XML file, as sitemaps are. */
export function xml(text: string): Handler {
  return (response) => void response.writeHead(200, { 'content-type': 'application/xml' }).end(text);
}

export function urlset(urls: readonly string[]): Handler {
  const entries = urls.map((url) => `<url><loc>${url}</loc></url>`).join('');
  return xml(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries}</urlset>`);
}

export function sitemapIndex(urls: readonly string[]): Handler {
  const entries = urls.map((url) => `<sitemap><loc>${url}</loc></sitemap>`).join('');
  return xml(
    `<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries}</sitemapindex>`,
  );
}

function answer(pages: Pages, request: IncomingMessage, response: ServerResponse): void {
  const page = pages[request.url ?? ''];
  if (typeof page === 'function') page(response, request);
  else if (page !== undefined) html(response, page);
  else response.writeHead(404, { 'content-type': 'text/html' }).end('not here');
}

/** A site of these pages. */
export function serve(pages: Pages, address?: string): Promise<Site> {
  return startSite((request, response) => answer(pages, request, response), address);
}

export interface Web extends Site {
  /** A URL of a host, `/` where no path is given. */
  at(host: string, path?: string): string;
  /** What one host was asked, in order. */
  asked(host: string): string[];
  /** All requests that one host got. */
  requests(host: string): Seen[];
}

/** Several hosts on one port; each name is told from the `Host` header, in lower case and without a trailing dot. */
export async function serveHosts(hosts: Readonly<Record<string, Pages>>, address?: string): Promise<Web> {
  const nameOf = (host = ''): string => host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
  const site = await startSite((request, response) => {
    answer(hosts[nameOf(request.headers.host)] ?? {}, request, response);
  }, address);
  const requests = (host: string): Seen[] => site.log.filter((entry) => nameOf(entry.host) === host);
  return Object.assign(site, {
    at: (host: string, path = '/') => site.url(path, host),
    requests,
    asked: (host: string) => requests(host).map((entry) => entry.path),
  });
}

/** Makes every name a loopback one. */
export const NAMES = { dnsLookup: loopbackLookup() } as const;

/** Time from the end of each answer to the start of the next request, as the server saw it, in milliseconds. */
export function gaps(log: readonly Seen[]): number[] {
  return log.slice(1).map((entry, index) => entry.at - (log[index]?.endedAt ?? Number.POSITIVE_INFINITY));
}

/**
 * How much shorter than the delay a gap may look, in milliseconds: the crawler's clock counts whole milliseconds, and
 * the server stamps the end of an answer a moment after the client may have read it.
 */
export const TOLERANCE_MS = 3;

export const smallestGap = (log: readonly Seen[]): number => Math.min(...gaps(log));

/** A promise, and what resolves it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
