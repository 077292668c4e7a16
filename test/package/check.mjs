// The package as its users get it: packed, looked over, installed into an empty ESM and an empty CommonJS project.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = new URL('../..', import.meta.url).pathname;
const scratch = mkdtempSync(join(tmpdir(), 'polite-crawler-package-'));
const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

try {
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', scratch], root));
  const tarball = join(scratch, packed.filename);
  const files = packed.files.map((file) => file.path);
  expect(files.includes('dist/bundle/index.js') && files.includes('dist/index.d.ts'), 'the tarball holds dist');
  expect(files.includes('README.md') && files.includes('LICENSE') && files.includes('CHANGELOG.md'), 'and its papers');
  expect(!files.some((file) => /^(test|\.ci)\//.test(file)), 'and nothing that only developers need');
  expect(files.includes('examples/quickstart.ts'), 'and the examples, to be copied');
  expect(packed.size < 1_100_000, `the tarball has ${packed.size} bytes`);
  console.log(`${packed.filename}: ${packed.size} bytes, ${files.length} files`);

  run('npx', ['publint', '--strict', tarball], root);
  run('npx', ['attw', tarball, '--profile', 'esm-only'], root);

  const program = (load) => `
    ${load}
    if (typeof Crawler !== 'function' || typeof storeContract !== 'function') throw new Error('exports are missing');
    let code;
    try { new Crawler({}); } catch (error) { code = error.code; }
    if (code !== 'CRAWL_CONTACT_MISSING') throw new Error('the constructor did not ask for a contact: ' + code);
    const server = http.createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(request.url === '/' ? '<h1>read</h1>' : '');
    });
    server.listen(0, '127.0.0.1', async () => {
      const crawler = new Crawler({ userAgent: 'check/1.0 (+mailto:check@example.org)', pageWorker: 'read.mjs' });
      crawler.on('page', (page) => {
        if (page.data === 'read') console.log('ok');
      });
      await crawler.run('http://127.0.0.1:' + server.address().port + '/');
      server.close();
    });
  `;
  project(
    'esm',
    'module',
    'main.mjs',
    program(`
    import http from 'node:http';
    import { Crawler } from 'polite-crawler';
    import { storeContract } from 'polite-crawler/testing';
  `),
  );
  project(
    'cjs',
    'commonjs',
    'main.cjs',
    program(`
    const http = require('node:http');
    const { Crawler } = require('polite-crawler');
    const { storeContract } = require('polite-crawler/testing');
  `),
  );

  // Without skipLibCheck, so that no type of a dependency may be in the way of those who are strict.
  const typed = join(scratch, 'esm', 'typed.mts');
  writeFileSync(
    typed,
    `import { Crawler, type Page } from 'polite-crawler';
     import { LmdbStore } from 'polite-crawler/lmdb';
     const store = await LmdbStore.open('state');
     const crawler = new Crawler({ userAgent: 'check/1.0 (+mailto:check@example.org)', store });
     crawler.on('page', (page: Page) => console.log(page.url, page.data));
     for (const { host, queued } of await store.hosts()) console.log(host, queued);`,
  );
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const strict = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', ...types, typed];
  run(process.execPath, [tsc, ...strict], join(scratch, 'esm'));
  console.log('esm: typed');

  function project(name, type, file, source) {
    const directory = join(scratch, name);
    mkdirSync(directory);
    writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: `empty-${name}`, private: true, type }));
    writeFileSync(join(directory, file), source);
    writeFileSync(join(directory, 'read.mjs'), `export default ({ $ }) => $('h1').text();`);
    run('npm', ['install', '--no-audit', '--no-fund', tarball], directory);
    expect(run('node', [file], directory).trim().endsWith('ok'), `${name}: the program runs`);
    const help = run('npx', ['polite-crawler', '--help'], directory);
    expect(help.includes('--contact'), `${name}: the command is installed`);
    const version = run('npx', ['polite-crawler', '--version'], directory).trim();
    expect(
      version === JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version,
      `${name}: it tells its version`,
    );
    console.log(`${name}: installed and run`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function expect(holds, what) {
  if (!holds) throw new Error(`package check: not so: ${what}`);
}
