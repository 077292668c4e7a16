/** What the demo web answers. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** An answer, or one that depends on how often the path has been asked for (1 at first). */
export type Resource = Answer | ((times: number) => Answer);

/** One host: its paths, and what it says to paths that are not listed. */
export interface Site {
  readonly resources: ReadonlyMap<string, Resource>;
  readonly other?: (path: string) => Answer | undefined;
}

/** Where the hosts of the demo web are, as origins without a slash at the end. */
export interface Origins {
  readonly library: string;
  readonly gallery: string;
  readonly services: string;
  readonly calendar: string;
}

/** A page of HTML. `body` is markup, `title` is text. */
export function html(
  title: string,
  body: string,
  more: { readonly head?: string } & Omit<Answer, 'body'> = {},
): Answer {
  const { head = '', ...answer } = more;
  const text = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(title)}</title>${head}</head>
<body><h1>${escapeHtml(title)}</h1>
${body}
</body>
</html>
`;
  return { ...answer, headers: { 'content-type': 'text/html; charset=utf-8', ...more.headers }, body: text };
}

export function xml(body: string, contentType = 'application/xml'): Answer {
  return { headers: { 'content-type': contentType }, body: `<?xml version="1.0" encoding="UTF-8"?>\n${body}\n` };
}

export function plain(body: string): Answer {
  return { headers: { 'content-type': 'text/plain; charset=utf-8' }, body };
}

export function redirect(location: string, status: number): Answer {
  return { status, headers: { location } };
}

/** A list of links. */
export function list(links: readonly (readonly [href: string, text: string])[]): string {
  const items = links.map(([href, text]) => `<li><a href="${escapeHtml(href)}">${escapeHtml(text)}</a></li>`);
  return `<ul>\n${items.join('\n')}\n</ul>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** The numbers from 1 to `count`. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
