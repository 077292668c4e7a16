import { RobotsTxt } from '../robots-txt.ts';
import type { Copy, Entry } from './entry.ts';

const VERSION = 1;
const NEWLINE = 0x0a;
const POLICIES: readonly unknown[] = ['rules', 'open', 'closed', 'unreachable'];
const DAY_MS = 86_400_000;

/** The name an origin's entry is stored under. */
export function recordName(origin: string): string {
  return `robots:${origin}`;
}

/** An entry as bytes: a line of JSON, then the body of the file. */
export function encodeEntry({ copy, ...entry }: Entry): Uint8Array {
  const { robots: _, body, ...about } = copy ?? {};
  const head = JSON.stringify({ version: VERSION, ...entry, copy: copy && { ...about, bytes: body?.length ?? 0 } });
  return Buffer.concat([Buffer.from(`${head}\n`), body ?? new Uint8Array()]);
}

/**
 * What {@link encodeEntry} wrote. Never throws.
 * @returns `undefined` for anything else: another version, another origin, half a body.
 */
export function decodeEntry(origin: string, record: Uint8Array, now: number): Entry | undefined {
  const end = record.indexOf(NEWLINE);
  const head = end < 0 ? undefined : parseObject(Buffer.from(record.subarray(0, end)).toString('utf8'));
  if (head?.version !== VERSION || head.origin !== origin || !POLICIES.includes(head.policy)) return undefined;
  const policy = head.policy as Entry['policy'];
  const { checkedAt, expiresAt, failures, failingSince, reason, detail } = head;
  if (!isTime(checkedAt) || !isTime(expiresAt) || !isTime(failures) || typeof detail !== 'string') return undefined;
  const copy = head.copy === undefined ? undefined : decodeCopy(origin, head.copy, record.subarray(end + 1));
  if (copy === undefined && (head.copy !== undefined || policy === 'rules')) return undefined;
  if (policy === 'unreachable' && !isTime(failingSince)) return undefined;
  return {
    origin,
    policy,
    copy,
    // A clock that was set back must not keep an entry alive for longer than a day from now.
    checkedAt: Math.min(checkedAt, now),
    expiresAt: Math.min(expiresAt, now + DAY_MS),
    failures,
    failingSince: isTime(failingSince) ? Math.min(failingSince, now) : undefined,
    reason: reason === 'robots-unreachable' ? reason : 'robots',
    detail,
  };
}

function decodeCopy(origin: string, given: unknown, rest: Uint8Array): Copy | undefined {
  if (given === null || typeof given !== 'object') return undefined;
  const { bytes, url, etag, lastModified, lifetimeMs } = given as Readonly<Record<string, unknown>>;
  if (bytes !== rest.length || typeof url !== 'string' || !isTime(lifetimeMs)) return undefined;
  const body = Uint8Array.from(rest);
  return {
    robots: RobotsTxt.parse(body, `${origin}/robots.txt`),
    body,
    bytes,
    url,
    etag: typeof etag === 'string' ? etag : undefined,
    lastModified: typeof lastModified === 'string' ? lastModified : undefined,
    lifetimeMs,
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
