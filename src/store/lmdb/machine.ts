import { readFileSync, readlinkSync } from 'node:fs';
import { hostname, uptime } from 'node:os';

/** Processes of one system see each other by their ids. */
export interface System {
  readonly host: string;
  /** Another one after every start of the machine. */
  readonly boot: string;
  /** Another one in every container that has process ids of its own; empty where there is no such thing. */
  readonly ids: string;
}

export function thisSystem(): System {
  return { host: hostname(), boot: bootId(), ids: attempt(() => readlinkSync('/proc/self/ns/pid')) ?? '' };
}

/** A name for the time since the machine was started. */
export function bootId(): string {
  const id = attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  // Elsewhere the moment of the start, in minutes: a little inexact, so that neighbours count as the same.
  return id ?? `at ${Math.round((Date.now() / 1000 - uptime()) / 60)}`;
}

/** Whether both were made since the same start of the machine. */
export function sameBoot(a: string, b: string): boolean {
  if (a === b) return true;
  if (!a.startsWith('at ') || !b.startsWith('at ')) return false;
  return Math.abs(Number(a.slice(3)) - Number(b.slice(3))) <= 1;
}

/** When a process was started, in the system's own measure; `undefined` where that can't be told. */
export function startOf(pid: number): { readonly at: string; readonly ended: boolean } | undefined {
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (text === undefined) return undefined;
  // The name of the command stands in brackets and may hold anything; state is the first field behind it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = ''] = fields;
  return { at: fields[19] ?? '', ended: state === 'Z' || state === 'X' };
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
