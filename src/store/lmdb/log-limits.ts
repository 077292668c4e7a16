/** When records of URLs are written to a log first, and how many before they are merged into the table. */
export interface LogLimits {
  /** Beside fewer known URLs than these, whose pages are written often, the log would cost more than it saves. */
  from: number;
  /** This part of all that are known is written before a merge, */
  part: number;
  /** but so many at most: an index of 16 MiB, and a log that is read in a few seconds. */
  most: number;
  /** Rows merged or removed with a commit, at least. */
  work: number;
}

/** Those of this process. Tests narrow them, so that a few records see the whole life of a log. */
export const LOG_LIMITS: LogLimits = { from: 1_000_000, part: 1 / 16, most: 400_000, work: 64 };
