import { expect, test, vi } from 'vitest';
import { Crawler } from '../src/index.ts';
import { USER_AGENT } from './helpers/crawl.ts';

vi.mock('socks', () => {
  throw new Error("Cannot find package 'socks'");
});

const PROXY = 'socks5://127.0.0.1:9';

test('without the package socks a crawl through such a proxy says at the start what to install', async () => {
  const crawler = new Crawler({ userAgent: USER_AGENT, proxy: PROXY });
  await expect(crawler.run('http://127.0.0.1/')).rejects.toMatchObject({
    code: 'CRAWL_DEPENDENCY_MISSING',
    message: expect.stringContaining('npm install socks'),
  });
  expect(crawler.running).toBe(false);
});
