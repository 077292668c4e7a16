import { CrawlError } from './errors.ts';
import { productToken } from './headers.ts';

/** Names of libraries and tools: they say which program asks, not who. */
const GENERIC_NAMES: ReadonlySet<string> = new Set(
  (
    'mozilla got node node-fetch undici axios superagent request needle curl wget libwww-perl lwp python python-requests ' +
    'python-urllib urllib aiohttp httpx scrapy go-http-client java okhttp apache-httpclient dart ruby php guzzle ' +
    'guzzlehttp postmanruntime insomnia httpie'
  ).split(' '),
);

const LONGEST_USER_AGENT = 1_000;

/**
 * Checks that a `User-Agent` header names a crawler and a way to reach who runs it: `mailto:you@site`, an e-mail
 * address, or an http(s) URL. There is no default for it: who is asked must be able to answer.
 *
 * @returns the header, white space around it cut off.
 * @throws {@link CrawlError} `CRAWL_CONTACT_MISSING` where name or contact are missing, `CRAWL_OPTION_INVALID` where it
 * can't be sent as a header.
 */
export function checkUserAgent(userAgent: unknown): string {
  const header = typeof userAgent === 'string' ? userAgent.trim() : '';
  if (header.length > LONGEST_USER_AGENT || !isPrintable(header)) {
    throw new CrawlError(
      'CRAWL_OPTION_INVALID',
      `Option "userAgent" takes printable ASCII, at most ${LONGEST_USER_AGENT} characters.`,
    );
  }
  const name = productToken(header);
  if (name !== undefined && !GENERIC_NAMES.has(name.toLowerCase()) && hasContact(header)) return header;
  const missing = hasContact(header) ? 'a name of its own' : 'a contact';
  throw new CrawlError(
    'CRAWL_CONTACT_MISSING',
    `Option "userAgent" needs ${missing}, so that who is asked knows whom to talk to. ` +
      'Write for example "name/1.0 (+mailto:you@site.example)" or "name/1.0 (+https://site.example/bot)".',
  );
}

function hasContact(header: string): boolean {
  return header.split(/[\s()<>;,"]/).some((word) => {
    const lower = word.toLowerCase();
    const mail = lower.indexOf('mailto:');
    if (mail >= 0) return isMailbox(lower.slice(mail + 'mailto:'.length));
    const url = Math.max(lower.indexOf('http://'), lower.indexOf('https://'));
    if (url >= 0) return URL.canParse(lower.slice(url));
    return isMailbox(lower) && lower.includes('.', lower.indexOf('@'));
  });
}

function isMailbox(text: string): boolean {
  const at = text.indexOf('@');
  return at > 0 && at === text.lastIndexOf('@') && at < text.length - 1;
}

function isPrintable(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}
