import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { LinkExtractor, type LinkProfile } from '../src/link-extractor/index.ts';
import { nastyDocument, random } from './helpers/nasty-html.ts';
import { referenceLinks } from './helpers/reference-links.ts';

const URL_OF_PAGE = 'https://garden.test/plants/index.html?v=1';
const PROFILES: readonly LinkProfile[] = ['navigation', 'resources', 'exhaustive'];
/** How many generated documents are compared; the figure in docs/link-extraction.md is of a longer run. */
const DOCUMENTS = Number(process.env.FUZZ_DOCUMENTS ?? 4000);
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1);

const extractors = new Map(PROFILES.map((profile) => [profile, new LinkExtractor({ profile })]));

/** Everything in a form that can be compared. */
function found(html: string, profile: LinkProfile): object {
  const result = (extractors.get(profile) as LinkExtractor).scan({ url: URL_OF_PAGE, html });
  const isFollowed = !result.metas.some(({ name, content }) => name === 'robots' && /nofollow|none/.test(content));
  return {
    links: result.links
      .map(({ source, url, rel, nofollow }) => `${source} ${url} ${isFollowed ? nofollow : rel.includes('nofollow')}`)
      .sort(),
    title: result.title,
    base: result.base,
    canonical: result.canonical,
    metas: result.metas.map(({ name, content }) => `${name}=${content}`),
  };
}

function expected(html: string, profile: LinkProfile): object {
  const { links, ...rest } = referenceLinks(html, URL_OF_PAGE, profile);
  return { links: [...links].map(([key, nofollow]) => `${key} ${nofollow}`).sort(), ...rest };
}

describe('finds what the parser of the HTML Standard finds', () => {
  const cases = JSON.parse(readFileSync(new URL('corpus/links.json', import.meta.url), 'utf8')) as {
    id: string;
    html: string;
  }[];
  test.each(cases)('in the corpus: $id', ({ html }) => {
    for (const profile of PROFILES) expect(found(html, profile)).toEqual(expected(html, profile));
  });

  test(`in ${DOCUMENTS} generated documents`, { timeout: 100_000_000 }, () => {
    const different: string[] = [];
    for (let seed = FIRST_SEED; seed < FIRST_SEED + DOCUMENTS && different.length < 20; seed++) {
      const html = nastyDocument(random(seed));
      const profile = PROFILES[seed % PROFILES.length] as LinkProfile;
      const mine = JSON.stringify(found(html, profile));
      const theirs = JSON.stringify(expected(html, profile));
      if (mine !== theirs) different.push(`${seed} ${profile}\n${html}\n  found    ${mine}\n  expected ${theirs}`);
    }
    expect(different.join('\n')).toBe('');
  });
});
