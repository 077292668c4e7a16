import type { HostState } from '../../ports.ts';

// By itself, so that the public types lead to none of the package lmdb, which not every compiler takes.
/** A host of a store, and how much of it waits. */
export interface StoredHost extends HostState {
  /** Requests waiting. */
  readonly queued: number;
}
