export { type ContentType, parseContentType } from './headers/content-type.ts';
export { parseAnyDate, parseHttpDate, parseW3cDate } from './headers/dates.ts';
export { type HeaderSource, headerLines } from './headers/lines.ts';
export { type HeaderLink, parseLinkHeader } from './headers/link.ts';
export { parseRefresh, type Refresh } from './headers/refresh.ts';
export { MAX_RETRY_AFTER_MS, parseCacheLifetime, parseRetryAfter, retryAfterOf } from './headers/timing.ts';
export { productToken } from './headers/user-agent.ts';
