import { readdirSync, readFileSync } from 'node:fs';

export const root: string = new URL('../..', import.meta.url).pathname;

export function readDoc(path: string): string {
  return readFileSync(new URL(path, new URL('../../', import.meta.url)), 'utf8');
}

/** README.md and all of docs/, as paths from the root. */
export const DOCS: readonly string[] = [
  'README.md',
  ...readdirSync(`${root}docs`).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));

/** The rows of all tables of a document, or of the part under one heading: cells, trimmed, without head and rule. */
export function rowsOf(markdown: string, heading?: string): string[][] {
  const rows: string[][] = [];
  let head = true;
  for (const line of heading === undefined ? withoutCode(markdown).split('\n') : partOf(markdown, heading)) {
    if (!line.startsWith('|')) head = true;
    else if (head) head = false;
    else if (!/^\|[-:| ]+\|$/.test(line)) rows.push(cellsOf(line));
  }
  return rows;
}

function cellsOf(line: string): string[] {
  const cells = line.split(/(?<!\\)\|/).slice(1, -1);
  return cells.map((cell) => cell.trim());
}

/** The lines between a heading and the next one of the same rank or above. */
function partOf(markdown: string, heading: string): string[] {
  const lines = withoutCode(markdown).split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (start < 0) throw new Error(`No heading "${heading}"`);
  const rank = lines[start]!.indexOf(' ');
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line) && line.indexOf(' ') <= rank);
  return lines.slice(start + 1, length < 0 ? undefined : start + 1 + length);
}

/** What stands in back quotes: `` `a`, `b` `` gives two. */
export function quotedIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
}

/** Rows of option tables as name and what the default cell says, several names of one row apart. */
export function optionRows(markdown: string, heading?: string): [name: string, fallback: string][] {
  return rowsOf(markdown, heading).flatMap(([names = '', fallback = '']) => {
    const each = quotedIn(names);
    const fallbacks = quotedIn(fallback);
    return each.map((name, i): [string, string] => [name, each.length > 1 ? (fallbacks[i] ?? '') : fallback]);
  });
}

/** The value of a default written as code, such as `` `60_000` ``; `undefined` where the cell is a sentence. */
export function defaultIn(cell: string): unknown {
  const code = /^`([^`]+)`$/.exec(cell)?.[1] ?? cell;
  if (!/^(?:-?[\d_.]+|Infinity|true|false|'[^']*'|[{[].*[}\]])$/.test(code)) return undefined;
  return new Function(`return (${code});`)();
}

/** Anchors of the headings, as GitHub makes them. */
export function anchorsOf(markdown: string): string[] {
  const headings = withoutCode(markdown).matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, text]) =>
    text!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Targets of links that are no URLs. */
export function linksOf(markdown: string): string[] {
  const targets = withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g);
  return [...targets].map(([, target]) => target!).filter((target) => !/^[a-z]+:/.test(target));
}

/** Code blocks marked `ts`, in order. */
export function snippetsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code!);
}

function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, '');
}
