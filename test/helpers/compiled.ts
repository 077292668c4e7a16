import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';

const root = new URL('../..', import.meta.url).pathname;

/** The sources as JavaScript, for tests that need a process of their own. */
export function compile(name: string): { readonly dist: string; readonly remove: () => void } {
  // Inside the package, so that the build finds its dependencies; of this process alone.
  const dist = `${root}node_modules/.cache/${name}-${process.pid}`;
  const options = ['--outDir', dist, '--composite', 'false', '--incremental', 'false', '--tsBuildInfoFile', 'null'];
  const declarations = ['--declaration', 'false', '--declarationMap', 'false', '--isolatedDeclarations', 'false'];
  try {
    const tsc = `${root}node_modules/typescript/bin/tsc`;
    execFileSync(process.execPath, [tsc, '-p', `${root}tsconfig.json`, ...options, ...declarations], { stdio: 'pipe' });
  } catch {
    // Types are another test's business; what was emitted can be run.
  }
  return { dist, remove: () => rmSync(dist, { recursive: true, force: true }) };
}
