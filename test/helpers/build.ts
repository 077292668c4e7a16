import { execFileSync } from 'node:child_process';

/** Once per run: `dist` as it belongs to the sources, for tests of the package and of the command as users get them. */
export default function build(): void {
  const root = new URL('../..', import.meta.url).pathname;
  try {
    execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-b', root], { encoding: 'utf8' });
  } catch (thrown) {
    // The compiler writes what it can; tests of what is wrong will say so.
    const { stdout = '' } = thrown as { stdout?: string };
    console.warn(`The build has errors:\n${stdout}`);
  }
  execFileSync('npm', ['run', '--silent', 'bundle'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
}
