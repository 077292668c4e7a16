// Every misbehaviour in TLS and in HTTP/2, met alone.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { HOSTILE_AUTHORITY, type HostileFault, HostileServer } from '../src/testing/index.ts';
import { newFetcher, TRANSPORTS } from './helpers/fetcher.ts';
import {
  type CrawlEnd,
  endOf,
  endOfCrawl,
  endsOf,
  faultsAt,
  forEachInTime,
  GRACE_MS,
  LONG,
  phaseOf,
  SHORT_MS,
} from './helpers/hostile.ts';

/** How a fetch ends; all that are not named give an answer. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  CRAWL_CONNECT_TIMEOUT: ['tls-silence', 'tls-silence-in-handshake', 'tls-drip'],
  CRAWL_TLS_FAILED: [
    ...[
      'tls-close',
      'tls-reset',
      'tls-close-in-handshake',
      'tls-hello-endless',
      'tls-alert-fatal',
      'tls-alert-endless',
    ],
    ...['tls-records-empty', 'tls-noise', 'tls-plain', 'tls-old', 'tls-client-unknown', 'certificate-expired'],
    ...['certificate-early', 'certificate-other-name', 'certificate-self-signed', 'certificate-chain-huge'],
    ...['tls-noise-in-body', 'tls-alert-in-body', 'tls-plain-in-body', 'tls-renegotiation-endless'],
  ],
  CRAWL_CONNECTION_LOST: [
    ...['tls-close-after-handshake', 'tls-cut-in-head', 'http2-reset-stream', 'http2-close', 'http2-goodbye'],
  ],
  CRAWL_BODY_TRUNCATED: [
    ...['tls-cut-in-body', 'tls-cut-in-chunks', 'tls-reset-in-body', 'tls-close-in-body', 'http2-length-short'],
    ...['http2-length-long', 'http2-reset-in-body', 'http2-close-in-body', 'http2-data-unasked'],
  ],
  CRAWL_HEADERS_TOO_LARGE: [
    ...['http2-hints-endless', 'http2-hints-large', 'http2-hints-compressed', 'http2-continuation-endless'],
    ...['http2-continuation-empty', 'http2-trailers-endless', 'http2-head-compressed', 'http2-head-fields'],
  ],
  CRAWL_PROTOCOL_INVALID: [
    ...['http2-priority-endless', 'http2-ping-endless', 'http2-ping-answers', 'http2-settings-empty'],
    ...['http2-settings-endless', 'http2-settings-answers', 'http2-data-empty', 'http2-data-padding'],
    ...['http2-data-one-byte-padded', 'http2-continuation-endless', 'http2-reset-endless', 'http2-window-endless'],
    ...['http2-window-in-body', 'http2-push-endless', 'http2-goaway-endless', 'http2-unknown-endless'],
    ...['http2-origin-endless', 'http2-alternative-endless', 'http2-noise', 'http2-head-garbage', 'http2-head-number'],
    ...['http2-table-huge', 'http2-status-missing', 'http2-status-switch', 'http2-names-upper-case'],
    ...['http2-settings-huge', 'http2-frame-huge', 'http2-data-early', 'http2-stream-wrong', 'http2-window-too-wide'],
    ...['http2-window-zero', 'http2-text', 'http2-data-one-byte', 'http2-drip'],
    // Later versions of Node take more than was said, or is allowed, for a breach of the rules.
    ...['http2-length-short', 'http2-data-unasked'],
  ],
  CRAWL_HEADERS_TIMEOUT: [
    ...['tls-silence-after-handshake', 'http2-silence', 'http2-silence-in-head', 'http2-drip', 'http2-no-streams'],
    ...['http2-silence-from-start'],
  ],
  CRAWL_PAGE_TIMEOUT: ['http2-silence-in-body'],
  // Of the next request on its connection nothing is left to answer with; and what is more than may be sent is so only
  // where it comes faster than it is read.
  answer: ['http2-data-one-byte', 'http2-data-unasked'],
};

const CERTIFICATE_FAULTS = /^certificate-(?!chain)/;

const SECURE = faultsAt('tls', 'http2');
const OPTIONS = { maxBodyBytes: 100_000, tls: { ca: HOSTILE_AUTHORITY } } as const;
/** What is over when its time is; all else is ended by what was sent. */
const phase = ({ name }: Pick<HostileFault, 'name'>) => phaseOf(endsOf(ENDS, name));

let server: HostileServer;
const before = process.getActiveResourcesInfo().sort();

beforeAll(async () => {
  server = await HostileServer.start({ dripMs: 20 });
});

afterAll(() => server.close());

describe.each(TRANSPORTS)('over %s', (transport) => {
  describe.each([false, true])('a fetch, with http2: %s', (http2) => {
    const faults = http2 ? SECURE : faultsAt('tls');
    const names = faults.map(({ name }) => name);
    let ends: Map<string, { code: string; ms: number; again: string; retryable: boolean }>;

    beforeAll(async () => {
      const warm = newFetcher({ ...OPTIONS, transport, http2 });
      await warm.fetch({ url: server.url('certificate-chain-long') });
      await warm.close();
      ends = await forEachInTime(faults, phase, async ({ name }, timeouts) => {
        await using fetcher = newFetcher({ ...OPTIONS, transport, http2, timeouts });
        const url = server.url(name);
        let retryable = false;
        const asked = fetcher.fetch({ url }).catch((error) => {
          retryable = error.retryable;
          throw error;
        });
        const first = await endOf(asked);
        // Of those that end in time the next request must not be told of the one before.
        const again = phase({ name }) !== undefined ? first : await endOf(fetcher.fetch({ url }));
        return { ...first, retryable, again: again.code };
      });
      await vi.waitFor(() => expect(server.openConnections).toBe(0));
    }, 60_000);

    test.each(names)('ends where the server does %s, and again the same way', (name) => {
      const { code, ms, again } = ends.get(name)!;
      expect(endsOf(ENDS, name)).toContain(code);
      expect(endsOf(ENDS, name)).toContain(again);
      if (phase({ name }) !== undefined) expect(ms).toBeLessThan(SHORT_MS + GRACE_MS);
    });

    test('a certificate that is wrong today is not tried again', () => {
      const wrong = names.filter((name) => CERTIFICATE_FAULTS.test(name));
      expect(wrong).toHaveLength(4);
      for (const name of wrong) expect(ends.get(name)!.retryable, name).toBe(false);
    });
  });

  test('what is sent without end is ended by what it is, not by time', async () => {
    const endless = SECURE.filter(({ name, does }) => does.includes('without end') && name !== 'http2-data-one-byte');
    expect(endless.length).toBeGreaterThanOrEqual(25);
    await using fetcher = newFetcher({ ...OPTIONS, transport, http2: true, timeouts: LONG });
    for (const { name } of endless) {
      const { code } = await endOf(fetcher.fetch({ url: server.url(name) }));
      expect(code, name).toMatch(/^CRAWL_(?:TLS_FAILED|HEADERS_TOO_LARGE|PROTOCOL_INVALID)$/);
      await vi.waitFor(() => expect(server.openConnections, name).toBe(0));
    }
  });

  test('a connection that is given up serves no other request', async () => {
    await using fetcher = newFetcher({ ...OPTIONS, transport, http2: true, timeouts: { headers: 1000 } });
    for (const name of ['http2-head-garbage', 'http2-frame-huge', 'http2-ping-endless', 'http2-silence-from-start']) {
      await Promise.all([1, 2].map((n) => endOf(fetcher.fetch({ url: server.url(name, n) }))));
      await vi.waitFor(() => expect(server.openConnections, name).toBe(0));
      const { connections } = server;
      const { code } = await endOf(fetcher.fetch({ url: server.url(name, 3) }));
      expect(endsOf(ENDS, name), name).toContain(code);
      expect(server.connections - connections, name).toBe(1);
    }
  });

  test('a server that never closes what it says goodbye to is left', async () => {
    await using fetcher = newFetcher({ ...OPTIONS, transport, http2: true });
    for (let n = 0; n < 3; n++) await fetcher.fetch({ url: server.url('http2-goodbye-after-answer', n) });
    await vi.waitFor(() => expect(server.openConnections).toBe(0));
  });

  describe('a crawl', () => {
    const names = SECURE.map(({ name }) => name);
    let ends: Map<string, CrawlEnd>;

    beforeAll(async () => {
      ends = await forEachInTime(SECURE, phase, ({ name }, timeouts) =>
        endOfCrawl([server.url(name), server.url(name, 1)], {
          ...OPTIONS,
          transport,
          http2: true,
          respectRobots: name.startsWith('tls-'),
          timeouts,
        }),
      );
      await vi.waitFor(() => expect(server.openConnections).toBe(0));
    }, 120_000);

    test.each(names)('ends where the server does %s', (name) => {
      const { unsettled, codes, left, ms } = ends.get(name)!;
      expect(unsettled).toEqual([]);
      expect(left).toBe(0);
      for (const code of codes) expect(endsOf(ENDS, name)).toContain(code);
      if (!endsOf(ENDS, name).includes('answer')) expect(codes.length).toBeGreaterThan(0);
      expect(ms).toBeLessThan(15_000);
    });
  });
});

test('all of this leaves no socket and no timer', async () => {
  await server.close();
  await expect.poll(() => process.getActiveResourcesInfo().sort()).toEqual(before);
});
