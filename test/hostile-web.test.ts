// Every misbehaviour of the hostile server, met alone.
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { CRAWL_ERROR_CODES } from '../src/index.ts';
import { HOSTILE_FAULTS, type HostileFault, HostileServer } from '../src/testing/index.ts';
import { quotedIn, readDoc, rowsOf } from './helpers/docs.ts';
import { newFetcher, TRANSPORTS } from './helpers/fetcher.ts';
import {
  type CrawlEnd,
  endOf,
  endOfCrawl,
  endsOf,
  faultsAt,
  forEachFault,
  GRACE_MS,
  TIMEOUTS,
} from './helpers/hostile.ts';

const FAULTS = faultsAt('connection', 'answer', 'robots.txt', 'sitemap');
const names = FAULTS.map(({ name }) => name);

/** How a fetch ends where chance has no part in it; all that are not named give an answer. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  CRAWL_PROTOCOL_INVALID: [
    ...['status-garbage', 'status-http09', 'status-two-digits', 'status-not-a-number', 'status-twice', 'status-http2'],
    ...['status-http3000', 'status-lower-case', 'status-icy', 'upgrade-unasked', 'header-fold', 'header-fold-first'],
    ...['header-nul', 'header-control-chars', 'header-bare-cr', 'header-bare-lf', 'header-no-colon'],
    ...['header-space-before-colon', 'header-no-name', 'length-repeated', 'length-list', 'length-conflicting'],
    ...['length-negative', 'length-huge', 'length-words', 'length-hex', 'length-empty', 'length-and-chunks'],
    ...['chunk-size-huge', 'chunk-size-garbage', 'chunk-size-negative', 'chunk-size-wrong', 'chunk-size-endless'],
    ...['chunk-extension-flood', 'tls-alert', 'ssh-banner', 'flood-on-connect', 'redirect-split', 'robots-garbage'],
  ],
  CRAWL_HEADERS_TOO_LARGE: [
    ...['status-endless', 'status-blank-lines', 'informational-endless', 'header-flood-count', 'header-flood-bytes'],
    ...['header-line-huge', 'header-endless', 'header-endless-fields', 'chunk-trailer-flood', 'redirect-overlong'],
  ],
  CRAWL_CONNECT_FAILED: ['reset-on-connect'],
  CRAWL_CONNECTION_LOST: [
    ...['header-unfinished', 'close-after-request', 'reset-after-request', 'reset-in-head', 'close-on-connect'],
    ...['reset-on-connect', 'robots-reset'],
    ...['tls-handshake'],
  ],
  CRAWL_HEADERS_TIMEOUT: [
    ...['informational-slow', 'silence-after-request', 'silence-in-head', 'silence-on-connect', 'drip-head'],
    ...['robots-silence'],
  ],
  CRAWL_PAGE_TIMEOUT: [
    ...['length-exabyte', 'silence-in-body', 'silence-in-chunk', 'silence-in-skipped-body', 'drip-body', 'drip-chunks'],
    ...['robots-drip', 'gzip-empty-members', 'deflate-empty-blocks'],
  ],
  CRAWL_BODY_TRUNCATED: [
    ...[
      'length-too-long',
      'chunk-no-last',
      'half-close-in-body',
      'reset-after-head',
      'reset-in-body',
      'gzip-truncated',
    ],
  ],
  CRAWL_BODY_UNDECODABLE: [
    ...['gzip-corrupt', 'gzip-checksum', 'gzip-empty-members', 'coding-other', 'coding-unknown', 'coding-stacked'],
    ...['coding-garbage'],
  ],
  CRAWL_BODY_BOMB: ['deflate-empty-blocks'],
  CRAWL_TOO_MANY_REDIRECTS: [
    ...['redirect-self', 'redirect-circle', 'redirect-endless', 'redirect-growing', 'redirect-userinfo'],
    ...['robots-redirect-self'],
  ],
  CRAWL_REDIRECT_INVALID: ['redirect-missing', 'redirect-empty', 'redirect-garbage', 'redirect-several'],
  CRAWL_SCHEME_REFUSED: ['redirect-script', 'redirect-file'],
  CRAWL_ADDRESS_REFUSED: ['redirect-private'],
  CRAWL_PORT_REFUSED: ['redirect-port'],
};

function expectedOf(name: string): readonly string[] {
  if (name.startsWith('random-') || name === 'mutated') return ['answer', ...CRAWL_ERROR_CODES];
  return endsOf(ENDS, name);
}

/** What has the fault: the page itself, or the file beside it. */
function targetOf(server: HostileServer, { name, place }: HostileFault): string {
  const files = { 'robots.txt': '/robots.txt', sitemap: '/sitemap.xml' } as Readonly<Record<string, string>>;
  return new URL(files[place] ?? '', server.url(name)).href;
}

let server: HostileServer;
const before = process.getActiveResourcesInfo().sort();

beforeAll(async () => {
  server = await HostileServer.start({ dripMs: 20 });
});

afterAll(() => server.close());

test('the document names each misbehaviour of the hostile server, and no two have one name', () => {
  expect(new Set(HOSTILE_FAULTS.map(({ name }) => name)).size).toBe(HOSTILE_FAULTS.length);
  const told = rowsOf(readDoc('docs/testing.md'), 'Misbehaviours').map(([name = '', does]) => [
    quotedIn(name)[0],
    does,
  ]);
  expect(told.sort()).toEqual(HOSTILE_FAULTS.map(({ name, does }) => [name, does]).sort());
});

describe.each(TRANSPORTS)('a fetch over %s', (transport) => {
  interface End {
    readonly code: string;
    readonly ms: number;
    /** What the next answer was. */
    readonly next: string;
  }
  let ends: Map<string, End>;

  beforeAll(async () => {
    const options = { transport, timeouts: TIMEOUTS, maxBodyBytes: 200_000 };
    await using together = newFetcher(options);
    await using alone = newFetcher(options);
    // What is loaded with the first request is no matter of its time.
    for (const fetcher of [together, alone]) await fetcher.fetch({ url: server.url() });
    ends = await forEachFault(FAULTS, async (fault) => {
      // What comes when another request has been sent on its connection is that one's answer, as far as anybody can tell.
      const isLate = fault.name === 'two-answers-late';
      const fetcher = isLate ? alone : together;
      const end = await endOf(fetcher.fetch({ url: targetOf(server, fault) }));
      if (isLate)
        await delay(150)
          .then(() => nextTurn())
          .then(() => nextTurn());
      const next = await fetcher.fetch({ url: server.url() }).then(
        ({ body }) => body.toString('latin1', 0, 80),
        (error) => String(error),
      );
      return { ...end, next };
    });
    for (const fetcher of [together, alone]) await fetcher.close();
    await vi.waitFor(() => expect(server.openConnections).toBe(0));
  }, 60_000);

  test.each(names)('ends where the server does %s', (name) => {
    const { code, ms } = ends.get(name)!;
    expect(ms).toBeLessThan(TIMEOUTS.page + GRACE_MS);
    expect(expectedOf(name)).toContain(code);
  });

  test.each(names)('is not spoilt by an answer before that did %s', (name) => {
    expect(ends.get(name)!.next).toContain('<title>hostile</title>');
  });
});

describe.each(TRANSPORTS)('a crawl over %s', (transport) => {
  let ends: Map<string, CrawlEnd>;

  beforeAll(async () => {
    ends = await forEachFault(FAULTS, ({ name }) =>
      endOfCrawl(server.url(name), {
        transport,
        network: 'seeds',
        timeouts: TIMEOUTS,
        maxRedirects: 3,
        sitemaps: 'robots',
        maxBodyBytes: 200_000,
      }),
    );
    await vi.waitFor(() => expect(server.openConnections).toBe(0));
  }, 120_000);

  test.each(names)('ends where the server does %s', (name) => {
    const { unsettled, urls, codes, left, ms } = ends.get(name)!;
    expect(urls).toBeGreaterThan(0);
    expect(unsettled).toEqual([]);
    expect(left).toBe(0);
    expect(codes).not.toContain('CRAWL_INTERNAL');
    expect(ms).toBeLessThan(12_000);
  });
});

test('all of this leaves no socket and no timer', async () => {
  expect(server.connections).toBeGreaterThan(names.length);
  await server.close();
  await expect.poll(() => process.getActiveResourcesInfo().sort()).toEqual(before);
});
