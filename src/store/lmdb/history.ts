import type { RecordPatch, UrlRecord } from '../../ports.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';

/** Fetches of one URL that are remembered. */
const FETCHES = 10;

type Fetch = NonNullable<UrlRecord['fetches']>[number];

/** What has happened to a URL since it was offered. */
export interface History {
  readonly leases: number;
  readonly reason?: string | undefined;
  readonly duplicateOf?: string | undefined;
  readonly redirectedTo?: string | undefined;
  readonly nextDueAt?: number | undefined;
  readonly fetches: readonly Fetch[];
}

export const NO_HISTORY: History = { leases: 0, fetches: [] };

/** The history after one more lease; `at` is when that began. */
export function afterLease(known: History, patch: RecordPatch, at: number, nextDueAt: number | undefined): History {
  const { status, error, ms, ...rest } = patch;
  const fetched = status !== undefined || error !== undefined || ms !== undefined;
  const fetches = fetched ? [...known.fetches, { at, status, error, ms }].slice(-FETCHES) : known.fetches;
  return { ...known, ...rest, leases: known.leases + 1, fetches, nextDueAt };
}

const REASON = 1 << 0;
const DUPLICATE_OF = 1 << 1;
const REDIRECTED_TO = 1 << 2;
const NEXT_DUE_AT = 1 << 3;

const STATUS = 1 << 0;
const ERROR = 1 << 1;
const MS = 1 << 2;

export function writeHistory(out: ByteWriter, history: History): void {
  const { reason, duplicateOf, redirectedTo, nextDueAt } = history;
  out.u8(
    (reason === undefined ? 0 : REASON) |
      (duplicateOf === undefined ? 0 : DUPLICATE_OF) |
      (redirectedTo === undefined ? 0 : REDIRECTED_TO) |
      (nextDueAt === undefined ? 0 : NEXT_DUE_AT),
  );
  out.varint(history.leases);
  if (reason !== undefined) out.text(reason);
  if (duplicateOf !== undefined) out.text(duplicateOf);
  if (redirectedTo !== undefined) out.text(redirectedTo);
  if (nextDueAt !== undefined) out.number(nextDueAt);
  out.u8(history.fetches.length);
  for (const fetch of history.fetches) writeFetch(out, fetch);
}

export function readHistory(source: ByteReader): History {
  if (source.left === 0) return NO_HISTORY;
  const flags = source.u8();
  return {
    leases: source.varint(),
    reason: flags & REASON ? source.text() : undefined,
    duplicateOf: flags & DUPLICATE_OF ? source.text() : undefined,
    redirectedTo: flags & REDIRECTED_TO ? source.text() : undefined,
    nextDueAt: flags & NEXT_DUE_AT ? source.number() : undefined,
    fetches: Array.from({ length: source.u8() }, () => readFetch(source)),
  };
}

function writeFetch(out: ByteWriter, { at, status, error, ms }: Fetch): void {
  out.number(at);
  out.u8((status === undefined ? 0 : STATUS) | (error === undefined ? 0 : ERROR) | (ms === undefined ? 0 : MS));
  if (status !== undefined) out.number(status);
  if (error !== undefined) out.text(error);
  if (ms !== undefined) out.number(ms);
}

function readFetch(source: ByteReader): Fetch {
  const at = source.number();
  const flags = source.u8();
  return {
    at,
    status: flags & STATUS ? source.number() : undefined,
    error: flags & ERROR ? source.text() : undefined,
    ms: flags & MS ? source.number() : undefined,
  };
}
