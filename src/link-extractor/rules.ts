import { type AttributeName, attribute, NameTable } from './names.ts';

/** How much of a page counts as a link. */
export type LinkProfile = 'navigation' | 'resources' | 'exhaustive';

const LEVELS: readonly LinkProfile[] = ['navigation', 'resources', 'exhaustive'];

/** What an attribute holds. */
export const HOLDS = {
  /** A reference; empty, it is one to the page itself. */
  link: 0,
  /** A reference to something that is fetched; empty, there is nothing to fetch. */
  embed: 1,
  /** Image candidates. */
  srcset: 2,
  /** References separated by white space. */
  list: 3,
  /** References separated by commas. */
  commaList: 4,
} as const;

type Holds = keyof typeof HOLDS;

/** The attributes of one element that hold references, in the order they are reported. */
type ElementRules = Readonly<Partial<Record<AttributeName, Holds>>>;

/** Per profile, what it adds to the one before. What depends on other attributes is in `Collector`. */
const HTML_RULES: Readonly<Record<LinkProfile, Readonly<Record<string, ElementRules>>>> = {
  navigation: {
    a: { href: 'link' },
    area: { href: 'link' },
    frame: { src: 'embed' },
    iframe: { src: 'embed' },
  },
  resources: {
    audio: { src: 'embed' },
    body: { background: 'embed' },
    embed: { src: 'embed' },
    img: { src: 'embed', srcset: 'srcset' },
    object: { data: 'embed' },
    script: { src: 'embed' },
    source: { src: 'embed', srcset: 'srcset' },
    table: { background: 'embed' },
    tbody: { background: 'embed' },
    td: { background: 'embed' },
    tfoot: { background: 'embed' },
    th: { background: 'embed' },
    thead: { background: 'embed' },
    tr: { background: 'embed' },
    track: { src: 'embed' },
    video: { src: 'embed', poster: 'embed' },
  },
  exhaustive: {
    applet: { code: 'embed', codebase: 'embed', archive: 'commaList' },
    bgsound: { src: 'embed' },
    blockquote: { cite: 'embed' },
    del: { cite: 'embed' },
    frame: { longdesc: 'embed' },
    head: { profile: 'list' },
    html: { manifest: 'embed' },
    iframe: { longdesc: 'embed' },
    img: { longdesc: 'embed', lowsrc: 'embed', dynsrc: 'embed' },
    ins: { cite: 'embed' },
    object: { codebase: 'embed', classid: 'embed', archive: 'list' },
    q: { cite: 'embed' },
  },
};

/** Elements of SVG and MathML that hold references in `href` and `xlink:href`, by the profile that reads them. */
const FOREIGN_RULES: Readonly<Record<LinkProfile, readonly string[]>> = {
  navigation: ['a'],
  resources: ['image', 'use', 'script', 'feimage', 'font-face-uri', 'cursor'],
  // Any element of SVG.
  exhaustive: [],
};

/** Elements that are read for what `Collector` knows of them. */
const READ_ALWAYS = ['base', 'link', 'meta', 'title'];
/** Elements whose content is no markup, or whose content or place decides what becomes of what follows. */
const SHAPES_TREE = [
  ...['title', 'textarea', 'style', 'xmp', 'iframe', 'noembed', 'noframes', 'script', 'plaintext'],
  ...['template', 'select', 'svg', 'math', 'frameset', 'frame'],
  // Not what begins the body, unlike any other.
  ...['html', 'head', 'noscript', 'basefont', 'bgsound'],
];
/** Elements that are dropped or not, depending on where they stand. */
const MAY_BE_DROPPED = [
  'caption',
  'col',
  'colgroup',
  'frame',
  'head',
  'noscript',
  'tbody',
  'td',
  'tfoot',
  'th',
  'thead',
  'tr',
];

/** The sources that are not made of names in a page; filled while rules are made. */
export const STATIC_SOURCES: string[] = [];

/** The number of a source, which is taken up where it is new. */
export function staticSource(source: string): number {
  const known = STATIC_SOURCES.indexOf(source);
  return known >= 0 ? known : STATIC_SOURCES.push(source) - 1;
}

/** One attribute to read of an element. */
export interface AttributeRule {
  readonly attribute: number;
  readonly holds: number;
  /** What links found there are said to come from: a place in {@link STATIC_SOURCES}. */
  readonly source: number;
}

/** Everything one profile looks at, ready for use. */
export class ProfileRules {
  readonly level: number;
  /** The elements that need more than being passed over. */
  readonly tags: NameTable;
  /** Their names, by their number in `tags`. */
  readonly names: readonly string[];
  /** What to read of HTML elements, by the same number. */
  readonly rules: readonly (readonly AttributeRule[])[];
  /** Whether links in an element of this number count only where the tree builder keeps it. */
  readonly mayBeDropped: readonly boolean[];

  constructor(profile: LinkProfile) {
    this.level = LEVELS.indexOf(profile);
    const byName = new Map<string, AttributeRule[]>();
    for (const name of [...READ_ALWAYS, ...SHAPES_TREE]) byName.set(name, []);
    for (const level of LEVELS.slice(0, this.level + 1)) {
      for (const [name, rules] of Object.entries(HTML_RULES[level])) {
        const known = byName.get(name) ?? [];
        byName.set(name, known);
        for (const [attr, holds] of Object.entries(rules) as [AttributeName, Holds][]) {
          known.push({ attribute: attribute(attr), holds: HOLDS[holds], source: staticSource(`${name}/${attr}`) });
        }
      }
    }
    if (this.level >= 1) for (const name of ['form', 'image', 'input', ...MAY_BE_DROPPED]) setDefault(byName, name);
    if (this.level >= 2) setDefault(byName, 'button');
    // An element that HTML renames.
    const img = byName.get('img');
    if (img !== undefined) byName.set('image', img);
    const names = [...byName.keys()];
    this.names = ['', ...names];
    this.tags = new NameTable(names);
    this.rules = [[], ...byName.values()];
    this.mayBeDropped = this.names.map((name) => MAY_BE_DROPPED.includes(name));
  }

  /** Whether an element of SVG or MathML holds references. */
  readsForeign(name: string): boolean {
    return this.level === 2 || FOREIGN_RULES.navigation.includes(name) || (this.level === 1 && isForeignResource(name));
  }
}

function isForeignResource(name: string): boolean {
  return FOREIGN_RULES.resources.includes(name);
}

function setDefault(map: Map<string, AttributeRule[]>, name: string): void {
  if (!map.has(name)) map.set(name, []);
}

const made = new Map<LinkProfile, ProfileRules>();

/** The rules of a profile; made when first asked for. */
export function rulesOf(profile: LinkProfile): ProfileRules {
  let rules = made.get(profile);
  if (rules === undefined) {
    rules = new ProfileRules(profile);
    made.set(profile, rules);
  }
  return rules;
}
