import { describe, expect, test } from 'vitest';
import { isCrawlError } from '../src/errors.ts';
import { checkUserAgent } from '../src/user-agent.ts';

function codeOf(userAgent: unknown): string {
  try {
    return checkUserAgent(userAgent);
  } catch (error) {
    return isCrawlError(error) ? error.code : 'not a CrawlError';
  }
}

describe('checkUserAgent()', () => {
  test.each([
    'name/1.0 (+mailto:you@site)',
    'name/1.0 (+https://site/bot)',
    'name (+http://127.0.0.1:8080/bot)',
    'ExampleBot/1.2 (+https://example.org/bot; bot@example.org)',
    'Mozilla/5.0 (compatible; ExampleBot/1.2; +https://example.org/bot)',
    'my-crawler bot@example.org',
    'my-crawler/2 <mailto:bot@example.org>',
  ])('%s says who asks and whom to talk to', (userAgent) => expect(codeOf(userAgent)).toBe(userAgent));

  test('takes off the white space around it', () => {
    expect(codeOf('  name/1.0 (+mailto:you@site)\n')).toBe('name/1.0 (+mailto:you@site)');
  });

  test.each([
    undefined,
    null,
    5,
    '',
    'name/1.0',
    'name/1.0 (you at site)',
    'name/1.0 (+mailto:)',
    'name/1.0 (+mailto:you)',
    'name/1.0 (+https://)',
    'name/1.0 (@site.example)',
    'name/1.0 (you@)',
    '(+mailto:you@site)',
    'got (https://github.com/sindresorhus/got)',
    'node',
    'axios/1.7',
    'curl/8.5.0 (+https://curl.se)',
    'python-requests/2.31 (+mailto:you@site)',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
    'Mozilla/5.0 (+mailto:you@site)',
  ])('%s does not', (userAgent) => expect(codeOf(userAgent)).toBe('CRAWL_CONTACT_MISSING'));

  test('says what to write', () => {
    expect(() => checkUserAgent('name/1.0')).toThrow(/\(\+mailto:you@site\.example\)/);
  });

  test.each([
    'name/1.0\r\nX: y (+mailto:you@site)',
    'näme/1.0 (+mailto:you@site)',
    `name/1.0 (+mailto:you@site)${'x'.repeat(1000)}`,
  ])('%j can not be sent', (userAgent) => expect(codeOf(userAgent)).toBe('CRAWL_OPTION_INVALID'));
});
