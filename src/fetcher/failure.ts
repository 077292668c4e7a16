import { CrawlError, type CrawlErrorCode, describeThrown, isCrawlError } from '../errors.ts';

/** How far a request had come. */
export type Phase = 'connect' | 'headers' | 'body';

/** What a failure is called, by the error code of Node, OpenSSL or llhttp. */
const CODES: Readonly<Record<string, CrawlErrorCode>> = {
  ENOTFOUND: 'CRAWL_DNS_FAILED',
  EAI_AGAIN: 'CRAWL_DNS_FAILED',
  EAI_FAIL: 'CRAWL_DNS_FAILED',
  ETIMEDOUT: 'CRAWL_CONNECT_TIMEOUT',
  HPE_HEADER_OVERFLOW: 'CRAWL_HEADERS_TOO_LARGE',
  ERR_INVALID_CHAR: 'CRAWL_OPTION_INVALID',
  ERR_INVALID_HTTP_TOKEN: 'CRAWL_OPTION_INVALID',
  ERR_HTTP_INVALID_HEADER_VALUE: 'CRAWL_OPTION_INVALID',
  ERR_HTTP2_ERROR: 'CRAWL_PROTOCOL_INVALID',
  Z_BUF_ERROR: 'CRAWL_BODY_TRUNCATED',
};

/** A certificate that is wrong today is wrong in a minute; OpenSSL names them so, Node adds `ERR_TLS_CERT_*`. */
const CERTIFICATE = ['CERT', 'UNABLE_TO_', 'DEPTH_ZERO', 'SELF_SIGNED', 'HOSTNAME_MISMATCH', 'INVALID_CA', 'CRL_'];

/** The other side is gone. */
export const RESETS: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

const RETRYABLE: ReadonlySet<CrawlErrorCode> = new Set([
  'CRAWL_DNS_FAILED',
  'CRAWL_CONNECT_FAILED',
  'CRAWL_CONNECT_TIMEOUT',
  'CRAWL_HEADERS_TIMEOUT',
  'CRAWL_PAGE_TIMEOUT',
  'CRAWL_CONNECTION_LOST',
  'CRAWL_BODY_TRUNCATED',
]);

const WHAT: Partial<Record<CrawlErrorCode, string>> = {
  CRAWL_DNS_FAILED: 'The host can not be found',
  CRAWL_CONNECT_FAILED: 'No connection',
  CRAWL_CONNECT_TIMEOUT: 'No connection in time',
  CRAWL_TLS_FAILED: 'No secure connection',
  CRAWL_CONNECTION_LOST: 'The connection was lost before an answer came',
  CRAWL_PROTOCOL_INVALID: 'The answer is no valid HTTP',
  CRAWL_HEADERS_TOO_LARGE: 'The head of the answer is larger than "maxHeaderBytes"',
  CRAWL_OPTION_INVALID: 'The request has a header that can not be sent',
  CRAWL_BODY_TRUNCATED: 'The body ended before it was complete',
  CRAWL_BODY_UNDECODABLE: 'The body can not be decompressed',
};

/** Whatever a socket, a parser or a decompressor threw, as one of the library's errors that says for which URL. */
export function toFetchError(thrown: unknown, url: string, phase: Phase): CrawlError {
  const inner = innerCrawlError(thrown);
  if (inner !== undefined) return withUrl(inner, url);
  const nodeCode = codeOf(thrown);
  const code = classify(nodeCode, phase, url.startsWith('https:'));
  const certificate = code === 'CRAWL_TLS_FAILED' && isCertificate(nodeCode);
  return new CrawlError(code, `${WHAT[code] ?? 'Failed'}: ${describeThrown(thrown) || nodeCode} (${url})`, {
    cause: rootCause(thrown),
    url,
    retryable: code === 'CRAWL_TLS_FAILED' ? !certificate : RETRYABLE.has(code),
  });
}

function classify(code: string, phase: Phase, secure: boolean): CrawlErrorCode {
  const named = CODES[code];
  if (named !== undefined && !(named === 'CRAWL_CONNECT_TIMEOUT' && phase !== 'connect')) return named;
  if (code.startsWith('HPE_')) {
    return phase === 'body' && code === 'HPE_INVALID_EOF_STATE' ? 'CRAWL_BODY_TRUNCATED' : 'CRAWL_PROTOCOL_INVALID';
  }
  if (code.startsWith('Z_') || code.startsWith('ERR__ERROR_') || code.startsWith('ZSTD_')) {
    return 'CRAWL_BODY_UNDECODABLE';
  }
  if (isCertificate(code) || code === 'EPROTO' || code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) {
    return 'CRAWL_TLS_FAILED';
  }
  if (phase === 'body') return 'CRAWL_BODY_TRUNCATED';
  // A connection that is not there yet can't be reset, but one without TLS can.
  if (phase === 'connect' && secure && RESETS.has(code)) return 'CRAWL_TLS_FAILED';
  return phase === 'connect' ? 'CRAWL_CONNECT_FAILED' : 'CRAWL_CONNECTION_LOST';
}

function isCertificate(code: string): boolean {
  // The other side's word on the client's certificate.
  if (code.startsWith('ERR_SSL_') && (code.includes('CERTIFICATE') || code.endsWith('UNKNOWN_CA'))) return true;
  const bare = code.startsWith('ERR_TLS_') ? code.slice('ERR_TLS_'.length) : code;
  return CERTIFICATE.some((start) => bare.startsWith(start));
}

/** The same error for this URL, where it did not say which; anything else comes back unchanged. */
export function withUrl<T>(error: T, url: string): T | CrawlError {
  if (!isCrawlError(error) || error.url !== undefined) return error;
  const { code, message, retryable, status } = error;
  return new CrawlError(code, `${message} (${url})`, {
    ...('cause' in error ? { cause: error.cause } : {}),
    ...(status === undefined ? {} : { status }),
    url,
    retryable,
  });
}

function innerCrawlError(thrown: unknown): CrawlError | undefined {
  for (let at = thrown, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if (isCrawlError(at)) return at;
  }
  return undefined;
}

function codeOf(thrown: unknown): string {
  for (let at = thrown, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const code = (at as NodeJS.ErrnoException).code;
    if (typeof code === 'string' && !code.startsWith('ERR_GOT_') && code !== 'ERR_ABORTED') return code;
  }
  return '';
}

/** What lies under the wrapper of an HTTP client. */
function rootCause(thrown: unknown): unknown {
  return thrown instanceof Error && thrown.name === 'RequestError' && thrown.cause !== undefined
    ? thrown.cause
    : thrown;
}
