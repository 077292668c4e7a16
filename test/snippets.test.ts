import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { startDemoWeb } from '../src/cli/demo-web/index.ts';
import { DOCS, readDoc, root, snippetsOf } from './helpers/docs.ts';
import { type Site, startSite } from './helpers/site.ts';

const run = promisify(execFile);
/** Inside the package, so that its own name leads to it. */
const folder = join(root, 'dist-examples', 'snippets');

interface Snippet {
  readonly name: string;
  readonly path: string;
  readonly code: string;
}

const snippets: readonly Snippet[] = DOCS.flatMap((path) =>
  snippetsOf(readDoc(path)).map((code, i) => ({
    name: `${path.replace(/^.*\//, '').replace('.md', '')}-${i + 1}`,
    path,
    code,
  })),
);

/** What a part of a program may take from the text around it. */
const AROUND = `
declare global {
  const userAgent: string;
  const crawler: import('polite-crawler').Crawler;
}
export {};
`;

const CONFIG = {
  extends: '../../tsconfig.json',
  compilerOptions: {
    ...{ composite: false, incremental: false, declaration: false, declarationMap: false, isolatedDeclarations: false },
    ...{ sourceMap: false, noUnusedLocals: false, noUnusedParameters: false, noEmitOnError: false },
    ...{ rootDir: '.', outDir: 'out', pretty: false },
  },
  include: ['.'],
};

const TYPES = ['Page', 'Link', 'LinkContext', 'CrawlRequest'];

let compilerOutput = '';

beforeAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const names = await exportedNames();
  await writeFile(join(folder, 'around.d.ts'), AROUND);
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(CONFIG));
  for (const { name, code } of snippets) await writeFile(join(folder, `${name}.ts`), wholeProgram(code, names));
  const tsc = run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], { cwd: folder });
  compilerOutput = await tsc.then(
    ({ stdout }) => stdout,
    ({ stdout }) => stdout,
  );
}, 120_000);

/** A program imports what it uses; in a part of one the text around it has done that. */
function wholeProgram(code: string, names: readonly string[]): string {
  if (code.includes(`from 'polite-crawler'`)) return code;
  const used = names.filter((name) => new RegExp(`(?<![.\\w'])${name}\\b`).test(code));
  const imports = used.map((name) => (TYPES.includes(name) ? `type ${name}` : name)).join(', ');
  return used.length === 0 ? `export {};\n${code}` : `import { ${imports} } from 'polite-crawler';\n${code}`;
}

/** What a snippet may import. */
async function exportedNames(): Promise<string[]> {
  const values = Object.keys(await import('polite-crawler'));
  return [...values, ...TYPES];
}

test('there are snippets', () => {
  expect(snippets.length).toBeGreaterThan(15);
});

test.each(snippets)('$name ($path) is what the compiler takes', ({ name }) => {
  const complaints = compilerOutput.split('\n').filter((line) => line.startsWith(`${name}.ts`));
  expect(complaints).toEqual([]);
});

/** Programs that are run, and what they print. */
const PRINTED: Readonly<Record<string, readonly RegExp[]>> = {
  'classes-1': [/docs\.example\.org\/a accepted$/, /b\.zip extension$/, /other\.example\/ off-domain$/],
  'classes-2': [
    /^a\/href https:\/\/example\.org\/docs\/one nofollow$/,
    /^img\/src https:\/\/example\.org\/docs\/two\.png/,
  ],
  'classes-3': [/^200 \S+ text\/html \d+ \d+ ms$/],
  'classes-4': [/^false robots Disallow: \/private\/ undefined \[ 'http:.*sitemap\.xml' \]$/],
  'classes-5': [/^200 \S+\/$/, /^200 \S+\/articles\/1$/],
  'classes-6': [/"crawler":"mine","event":"request"/, /"event":"skip".*"reason":"robots"/],
  'classes-7': [/^200 \S+ The library of the demo web \d+ links$/, /^200 /, /^2$/],
  'classes-8': [
    ...[/^false 2$/, /^http:\/\/example\.org\/~ann\/$/, /^https:\/\/example\.org\/a\?b=1$/],
    ...[/^urlset https:\/\/example\.org\/a 2026$/, /index: false, follow: false/, /^private$/],
    ...[/^\[ \{ address: '192\.0\.2\.7', family: 4 \} \]$/, /^1000$/],
  ],
  'link-extraction-1': [/^2 Docs undefined https:\/\/example\.org\/docs\/ \[\] 0 0$/],
  'link-extraction-2': [/^a\/href https:\/\/example\.org\/one$/, /^data-url https:\/\/example\.org\/two$/],
  'stores-1': [/^fetch https:\/\/example\.org\/(news)?$/, /^true$/],
};

describe('programs in the documents', () => {
  test.concurrent.each(Object.entries(PRINTED))('%s prints what it says', async (name, lines) => {
    await using web = await startDemoWeb();
    const { code } = snippets.find((snippet) => snippet.name === name)!;
    // Those that send requests send them to this machine.
    const asks = /new (Fetcher|Crawler)\b/.test(code);
    const file = join(folder, 'out', `${name}.js`);
    const program = asks ? await redirected(file, name, web.url) : file;
    const { stdout, stderr } = await run(process.execPath, [program]);
    expect(stderr).toBe('');
    const printed = stdout.split('\n').filter((line) => line !== '');
    expect(printed).toHaveLength(lines.length);
    for (const [i, line] of lines.entries()) expect(printed[i]).toMatch(line);
    if (asks) expect(web.log.length).toBeGreaterThan(0);
  });

  test.concurrent('the link checker asks for what a site links to on others, and for nothing that these link to', async () => {
    await using other = await siteOf({ '/': '<a href="/further">x</a>', '/further': '' });
    await using site = await siteOf({
      '/': `<a href="/1">1</a><a href="${other.url('/')}">2</a><a href="${other.url('/gone')}">3</a><a href="http://[bad">4</a>`,
      '/1': `<a href="/gone">5</a>`,
    });
    const file = await redirected(join(folder, 'out', 'events-2.js'), 'events-2', site.url('/'));
    const { stdout, stderr } = await run(process.execPath, [file]);
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n').sort()).toEqual(
      [
        `HTTP 404 ${other.url('/gone')} on ${site.url('/')}`,
        `HTTP 404 ${site.url('/gone')} on ${site.url('/1')}`,
      ].sort(),
    );
    expect(site.paths).toEqual(['/', '/1', '/gone']);
    expect([...other.paths].sort()).toEqual(['/', '/gone']);
  });

  test.concurrent('the contract kit passes the store in memory', async () => {
    const { stdout } = await run(process.execPath, [join(folder, 'out', 'stores-3.js')]);
    const lines = stdout.split('\n').filter((line) => line !== '');
    expect(lines.length).toBeGreaterThan(20);
    expect(lines.every((line) => line.startsWith('ok '))).toBe(true);
  });
});

function siteOf(pages: Readonly<Record<string, string>>): Promise<Site> {
  return startSite((request, response) => {
    const body = pages[request.url ?? ''];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'text/html' }).end(body);
  });
}

async function redirected(file: string, name: string, url: string): Promise<string> {
  const copy = join(folder, 'out', `${name}-run.js`);
  await writeFile(copy, (await readFile(file, 'utf8')).replaceAll('https://example.org/', url));
  return copy;
}
