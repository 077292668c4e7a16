import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import tls from 'node:tls';
import { CrawlError } from '../errors.ts';
import { boolean, onlyKnown, wrongOption } from '../options.ts';

/** How secure connections are made; each is as in Node's `tls.connect`. */
export interface TlsSettings {
  /** Certificate authorities that are trusted in place of Node's own. */
  readonly ca?: ConnectionOptions['ca'];
  /** Certificate of the client. It, `key`, `pfx` and `passphrase` are used only for hosts that the user named. */
  readonly cert?: ConnectionOptions['cert'];
  readonly key?: ConnectionOptions['key'];
  readonly pfx?: ConnectionOptions['pfx'];
  readonly passphrase?: string | undefined;
  /** `false` trusts everybody: for servers of your own. @defaultValue `true` */
  readonly rejectUnauthorized?: boolean | undefined;
  readonly minVersion?: ConnectionOptions['minVersion'];
  readonly maxVersion?: ConnectionOptions['maxVersion'];
  readonly ciphers?: string | undefined;
}

/** Handshakes that one connection may take: a server that wants to know who asks takes one more, with TLS 1.2. */
const MOST_HANDSHAKES = 5;

/** Ends a connection whose server wants to do the handshake again and again, which costs this side the most. */
export function boundHandshakes(socket: Socket): void {
  let handshakes = 0;
  socket.on('secure', () => {
    if (++handshakes <= MOST_HANDSHAKES) return;
    socket.destroy(new CrawlError('CRAWL_TLS_FAILED', 'No secure connection: the server wants handshakes without end'));
  });
}

/** The part that says who asks. */
export type Identity = Pick<TlsSettings, 'cert' | 'key' | 'pfx' | 'passphrase'>;

const IDENTITY = ['cert', 'key', 'pfx', 'passphrase'] as const;
const KNOWN = ['ca', ...IDENTITY, 'rejectUnauthorized', 'minVersion', 'maxVersion', 'ciphers'];

/**
 * Tries them out, so that a key that does not fit its certificate is told of before the first request.
 * @throws {@link CrawlError} `CRAWL_OPTION_UNKNOWN` or `CRAWL_OPTION_INVALID`
 */
export function checkTls(given: TlsSettings | undefined): TlsSettings {
  if (given === undefined) return {};
  onlyKnown('tls', given, KNOWN);
  boolean('tls.rejectUnauthorized', given.rejectUnauthorized, true);
  mustBeCertificates(given.ca);
  const settings = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as TlsSettings;
  try {
    tls.createSecureContext(settings as tls.SecureContextOptions);
  } catch (cause) {
    throw new CrawlError('CRAWL_OPTION_INVALID', `Option "tls" can not be used: ${(cause as Error).message}`, {
      cause,
    });
  }
  return settings;
}

/** Node takes a text without a certificate for none at all, and trusts nobody then. */
function mustBeCertificates(ca: TlsSettings['ca']): void {
  for (const text of Array.isArray(ca) ? ca : [ca]) {
    if (typeof text !== 'string' || text.includes('-----BEGIN')) continue;
    const takes = 'the text of certificates (-----BEGIN CERTIFICATE-----) or a Buffer of it';
    throw wrongOption('tls.ca', takes, text, ' Of a file give what it holds: readFileSync(path).');
  }
}

export function identityOf(settings: TlsSettings): Identity {
  return pick(settings, (name) => (IDENTITY as readonly string[]).includes(name));
}

export function withoutIdentity(settings: TlsSettings): TlsSettings {
  return pick(settings, (name) => !(IDENTITY as readonly string[]).includes(name));
}

function pick(settings: TlsSettings, wanted: (name: string) => boolean): TlsSettings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => wanted(name))) as TlsSettings;
}
