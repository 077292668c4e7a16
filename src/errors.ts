/**
 * Every code a {@link CrawlError} can carry. Codes are API: adding one is a minor change, renaming one a major.
 * `docs/errors.md` says for each what happened and what to do.
 */
export const CRAWL_ERROR_CODES = [
  'CRAWL_CONTACT_MISSING',
  'CRAWL_OPTION_UNKNOWN',
  'CRAWL_OPTION_INVALID',
  'CRAWL_OPTION_CONFLICT',
  'CRAWL_URL_INVALID',
  'CRAWL_ALREADY_RUNNING',
  'CRAWL_CLOSED',
  'CRAWL_ABORTED',
  'CRAWL_LISTENER_FAILED',
  'CRAWL_HOOK_FAILED',
  'CRAWL_FILTER_FAILED',
  'CRAWL_SINK_FAILED',
  'CRAWL_HANDLER_TIMEOUT',
  'CRAWL_WORKER_FAILED',
  'CRAWL_WORKER_TIMEOUT',
  'CRAWL_ADDRESS_REFUSED',
  'CRAWL_PORT_REFUSED',
  'CRAWL_SCHEME_REFUSED',
  'CRAWL_DNS_FAILED',
  'CRAWL_CONNECT_FAILED',
  'CRAWL_PROXY_FAILED',
  'CRAWL_TLS_FAILED',
  'CRAWL_CONNECT_TIMEOUT',
  'CRAWL_HEADERS_TIMEOUT',
  'CRAWL_PAGE_TIMEOUT',
  'CRAWL_CONNECTION_LOST',
  'CRAWL_PROTOCOL_INVALID',
  'CRAWL_HEADERS_TOO_LARGE',
  'CRAWL_BODY_TOO_LARGE',
  'CRAWL_BODY_TRUNCATED',
  'CRAWL_BODY_UNDECODABLE',
  'CRAWL_BODY_BOMB',
  'CRAWL_HTTP_STATUS',
  'CRAWL_REDIRECT_INVALID',
  'CRAWL_REDIRECT_REFUSED',
  'CRAWL_TOO_MANY_REDIRECTS',
  'CRAWL_PARSE_FAILED',
  'CRAWL_SITEMAP_INVALID',
  'CRAWL_STORE_FAILED',
  'CRAWL_STORE_LOCKED',
  'CRAWL_STORE_FORMAT',
  'CRAWL_STORE_FULL',
  'CRAWL_STORE_READONLY',
  'CRAWL_DEPENDENCY_MISSING',
  'CRAWL_INTERNAL',
] as const;

/** One of {@link CRAWL_ERROR_CODES}. */
export type CrawlErrorCode = (typeof CRAWL_ERROR_CODES)[number];

/** What a {@link CrawlError} may carry besides its code and message. */
export interface CrawlErrorDetails {
  /** The error underneath; always kept where there was one. */
  readonly cause?: unknown;
  /** The URL that was being worked on. */
  readonly url?: string | undefined;
  /** Whether asking again later can help. @defaultValue `false` */
  readonly retryable?: boolean;
  /** The HTTP status, where an answer had one. */
  readonly status?: number;
}

/**
 * The one error class of this library. Match on {@link CrawlError.code}, never on the message:
 * messages may get better in any release, codes do not change.
 */
export class CrawlError extends Error {
  readonly code: CrawlErrorCode;
  readonly url: string | undefined;
  /** Whether asking again later can help: `true` for what a network does, `false` for what an answer says. */
  readonly retryable: boolean;
  readonly status: number | undefined;

  constructor(code: CrawlErrorCode, message: string, details: CrawlErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.url = details.url;
    this.retryable = details.retryable ?? false;
    this.status = details.status;
  }
}

// On the prototype, so that it prints in stacks and is not listed with the fields of each instance. Not inside of the
// class: bundlers give a class that speaks of itself another name.
CrawlError.prototype.name = 'CrawlError';

/**
 * Whether `error` is a {@link CrawlError}, and, if given, one with this code. Works across two copies of the package.
 * Never throws.
 */
export function isCrawlError(error: unknown, code?: CrawlErrorCode): error is CrawlError {
  try {
    if (!(error instanceof Error) || error.name !== 'CrawlError' || !('code' in error)) return false;
    return code === undefined || error.code === code;
  } catch {
    // Anything can be thrown, also what throws when it is looked at.
    return false;
  }
}

/**
 * Wraps whatever was thrown as a {@link CrawlError}; one that already is comes back unchanged. Never throws.
 */
export function toCrawlError(
  thrown: unknown,
  code: CrawlErrorCode,
  what: string,
  details: Omit<CrawlErrorDetails, 'cause'> = {},
): CrawlError {
  if (isCrawlError(thrown)) return thrown;
  return new CrawlError(code, `${what}: ${describeThrown(thrown)}`, { ...details, cause: thrown });
}

/** The text of anything that can be thrown, also of what has a broken `toString`. Never throws. */
export function describeThrown(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return 'a value that cannot be shown was thrown';
  }
}
