import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { LinkExtractor, type LinkProfile } from '../src/link-extractor/index.ts';
import { canonicalizeUrl } from '../src/url.ts';

interface Case {
  id: string;
  group: string;
  url: string;
  html: string;
  headers?: Record<string, string | string[]>;
  agent?: string;
  expected: { url: string; source: string; rel?: string[]; nofollow?: boolean }[];
  why: string;
}

const cases = JSON.parse(readFileSync(new URL('corpus/links.json', import.meta.url), 'utf8')) as Case[];
const profiles: LinkProfile[] = ['navigation', 'resources', 'exhaustive'];

describe('the corpus of links', () => {
  test.each(cases)('$id: $why', ({ url, html, headers = {}, agent = 'TestBot', expected }) => {
    for (const profile of profiles) {
      const links = new LinkExtractor({ profile }).extract({ url, html, headers, userAgent: agent });
      const found = new Map(links.map((link) => [`${link.source} ${canonicalizeUrl(link.url)}`, link]));
      const wanted = expected.filter(({ source, rel }) => isIn(profile, source, rel));
      expect([...found.keys()].sort()).toEqual(wanted.map((link) => `${link.source} ${link.url}`).sort());
      for (const link of wanted) {
        const match = found.get(`${link.source} ${link.url}`);
        if (link.rel) expect(match?.rel).toEqual(link.rel);
        if (link.nofollow !== undefined) expect(match?.nofollow).toBe(link.nofollow);
      }
    }
  });
});

function isIn(profile: LinkProfile, source: string, rel: string[] = []): boolean {
  if (profile !== 'navigation') return true;
  if (rel.includes('stylesheet')) return false;
  return /^(a|area|frame|iframe|link|meta|header)\//.test(source);
}
