import { expect, test, vi } from 'vitest';
import { Crawler } from '../src/index.ts';
import { USER_AGENT } from './helpers/crawl.ts';

vi.mock('piscina', () => {
  throw new Error("Cannot find package 'piscina'");
});

test('without the package piscina a crawl with a page worker says what to install', async () => {
  const crawler = new Crawler({ userAgent: USER_AGENT, pageWorker: 'handler.js' });
  await expect(crawler.run('http://127.0.0.1/')).rejects.toMatchObject({
    code: 'CRAWL_DEPENDENCY_MISSING',
    message: expect.stringContaining('npm install piscina@5'),
  });
  expect(crawler.running).toBe(false);
});
