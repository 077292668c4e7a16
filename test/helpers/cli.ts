import { type ChildProcess, spawn } from 'node:child_process';

/** How a run of the command ended. */
export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface Running extends Promise<Ran> {
  readonly child: ChildProcess;
  /** What it wrote to standard error so far. */
  readonly err: () => string;
}

const BUNDLE = new URL('../../dist/bundle/', import.meta.url).pathname;

/** Runs the command as its users do, in a process of its own. Never rejects because of what it answers. */
export function cli(...args: readonly string[]): Running {
  return program('cli.js', args);
}

/** Runs what `npm start` does once all is built. Never rejects because of what it answers. */
export function start(...args: readonly string[]): Running {
  return program('start.js', args);
}

function program(file: string, args: readonly string[]): Running {
  const child = spawn(process.execPath, [`${BUNDLE}${file}`, ...args], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ran = new Promise<Ran>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, out, err }));
  });
  return Object.assign(ran, { child, err: () => err });
}

/** The JSON objects of a JSONL text. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
