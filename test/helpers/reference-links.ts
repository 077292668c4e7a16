import { type DefaultTreeAdapterTypes, defaultTreeAdapter, parse } from 'parse5';
import { parseRefresh } from '../../src/headers.ts';
import { cssReferences } from '../../src/link-extractor/css.ts';
import { parseSrcset } from '../../src/link-extractor/srcset.ts';

type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.Node;

/** What the reference finds: links as `source url`, with whether all of their occurrences are `nofollow`. */
export interface ReferenceResult {
  readonly links: Map<string, boolean>;
  readonly title: string | undefined;
  readonly base: string;
  readonly canonical: string | undefined;
  readonly metas: string[];
}

type Profile = 'navigation' | 'resources' | 'exhaustive';

const HTML = 'http://www.w3.org/1999/xhtml';
const SVG = 'http://www.w3.org/2000/svg';

/** Attributes of HTML elements by element; `!` before those that name nothing when empty. */
const NAVIGATION = { a: ['href'], area: ['href'], frame: ['!src'], iframe: ['!src'] };
const BACKGROUND = ['body', 'table', 'tbody', 'td', 'tfoot', 'th', 'thead', 'tr'];
const RESOURCES = {
  ...Object.fromEntries(['audio', 'embed', 'img', 'script', 'source', 'track', 'video'].map((tag) => [tag, ['!src']])),
  ...Object.fromEntries(BACKGROUND.map((tag) => [tag, ['!background']])),
  object: ['!data'],
};
const EXHAUSTIVE = {
  ...Object.fromEntries(['blockquote', 'del', 'ins', 'q'].map((tag) => [tag, ['!cite']])),
  applet: ['!code', '!codebase'],
  bgsound: ['!src'],
  frame: ['!longdesc'],
  html: ['!manifest'],
  iframe: ['!longdesc'],
  img: ['!longdesc', '!lowsrc', '!dynsrc'],
  object: ['!codebase', '!classid'],
};
// Those that generated documents use.
const PAGES = ['next', 'prev', 'alternate', 'canonical', 'author', 'help'];
const PARTS = ['stylesheet', 'icon', 'preload', 'manifest'];
const FOREIGN = ['image', 'use', 'script', 'feimage', 'font-face-uri', 'cursor'];

/** Links by walking the tree that parse5 builds: slow, and as plain as can be. */
export function referenceLinks(html: string, url: string, profile: Profile): ReferenceResult {
  const owners = new Map<Element, Element | null>();
  const document = parse(html, {
    scriptingEnabled: false,
    treeAdapter: {
      ...defaultTreeAdapter,
      onElementCreated: (element: Element, context: { formElement: Element | null }) => {
        owners.set(element, context.formElement);
      },
    } as typeof defaultTreeAdapter,
  });
  const elements = [...walk(document)];
  const base = baseOf(elements, url);
  const links = new Map<string, boolean>();
  const add = (reference: string, source: string, rel: string[] = []): void => {
    const target = resolve(reference, base);
    if (target === undefined) return;
    const key = `${source} ${target}`;
    links.set(key, (links.get(key) ?? true) && rel.includes('nofollow'));
  };
  for (const element of elements)
    collect(element, profile, owners, add, (inner) => addInner(inner, base, profile, links));
  const canonicals = new Set(elements.filter(isCanonical).map((element) => resolve(attr(element, 'href') ?? '', base)));
  canonicals.delete(undefined);
  // What names the page itself with a fragment says nothing.
  if (elements.some((element) => isCanonical(element) && (attr(element, 'href') ?? '').includes('#')))
    canonicals.delete(resolve('', url));
  const title = elements.find((element) => isHtml(element, 'title'));
  return {
    links,
    title: title && fold(textOf(title)),
    base,
    canonical: canonicals.size === 1 ? [...canonicals][0] : undefined,
    metas: elements.filter((element) => isHtml(element, 'meta')).flatMap(namedMeta),
  };
}

function addInner(html: string, base: string, profile: Profile, links: Map<string, boolean>): void {
  for (const [key, nofollow] of referenceLinks(html, base, profile).links) {
    const [source = '', target = ''] = key.split(' ');
    if (source === 'iframe/srcdoc') continue;
    const own = `iframe/srcdoc ${target}`;
    links.set(own, (links.get(own) ?? true) && nofollow);
  }
}

function* walk(root: Node): Generator<Element> {
  const waiting: Node[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if ('tagName' in node) yield node;
    if ('childNodes' in node) waiting.push(...[...node.childNodes].reverse());
  }
}

type Add = (reference: string, source: string, rel?: string[]) => void;

function collect(
  element: Element,
  profile: Profile,
  owners: Map<Element, Element | null>,
  add: Add,
  addDocument: (html: string) => void,
): void {
  const { tagName } = element;
  const isWide = profile !== 'navigation';
  const isWidest = profile === 'exhaustive';
  if (element.namespaceURI !== HTML) {
    collectForeign(element, profile, add);
  } else {
    const tables: Record<string, string[]>[] = [
      NAVIGATION,
      ...(isWide ? [RESOURCES] : []),
      ...(isWidest ? [EXHAUSTIVE] : []),
    ];
    for (const table of tables) {
      for (const rule of Object.hasOwn(table, tagName) ? (table[tagName] as string[]) : []) {
        const name = rule.replace('!', '');
        const value = attr(element, name);
        if (value === undefined || (rule.startsWith('!') && value === '')) continue;
        add(value, `${tagName}/${name}`, tagName === 'a' || tagName === 'area' ? relOf(element) : []);
      }
    }
    if (tagName === 'link') collectLink(element, profile, add);
    if (tagName === 'meta') collectMeta(element, add);
    if (isWide) collectResources(element, add);
    if (isWidest) collectRare(element, owners, add, addDocument);
  }
  if (isWide)
    for (const url of cssReferences(attr(element, 'style') ?? '').urls) add(url, `${tagName.toLowerCase()}/style`);
}

function collectForeign(element: Element, profile: Profile, add: Add): void {
  const name = element.tagName.toLowerCase();
  const isResource = FOREIGN.includes(name) && element.namespaceURI === SVG && profile !== 'navigation';
  const isAny = element.namespaceURI === SVG && profile === 'exhaustive';
  if (name !== 'a' && !isResource && !isAny) return;
  const plain = element.attrs.find((a) => a.name === 'href' && a.prefix !== 'xlink');
  const old = element.attrs.find((a) => a.name === 'href' && a.prefix === 'xlink');
  const value = (plain ?? old)?.value;
  if (value === undefined || (name !== 'a' && (value === '' || value.startsWith('#')))) return;
  add(value, `${name}/${plain ? 'href' : 'xlink:href'}`, name === 'a' ? relOf(element) : []);
}

function collectLink(element: Element, profile: Profile, add: Add): void {
  const rel = relOf(element);
  if (rel.some((token) => ['pingback', 'preconnect', 'dns-prefetch'].includes(token))) return;
  const type = (attr(element, 'type') ?? '').toLowerCase();
  const isPage = (type === '' || type === 'text/html') && rel.some((token) => PAGES.includes(token));
  const isPart = rel.some((token) => PARTS.includes(token));
  const level = isPart ? 1 : isPage ? 0 : 2;
  if (level > ['navigation', 'resources', 'exhaustive'].indexOf(profile)) return;
  const href = attr(element, 'href') ?? '';
  if (href !== '') add(href, 'link/href', rel);
  if (profile === 'navigation') return;
  for (const url of parseSrcset(attr(element, 'imagesrcset') ?? '')) add(url, 'link/imagesrcset', rel);
}

function collectMeta(element: Element, add: Add): void {
  if (attr(element, 'http-equiv')?.toLowerCase() !== 'refresh') return;
  const url = parseRefresh(attr(element, 'content') ?? '')?.url;
  if (url !== undefined) add(url, 'meta/refresh');
}

function collectResources(element: Element, add: Add): void {
  const { tagName } = element;
  if (tagName === 'img' || tagName === 'source') {
    for (const url of parseSrcset(attr(element, 'srcset') ?? '')) add(url, `${tagName}/srcset`);
  }
  const src = attr(element, 'src') ?? '';
  if (tagName === 'input' && attr(element, 'type')?.toLowerCase() === 'image' && src !== '') add(src, 'input/src');
  const poster = attr(element, 'poster') ?? '';
  if (tagName === 'video' && poster !== '') add(poster, 'video/poster');
  const type = (attr(element, 'type') ?? '').trim().toLowerCase();
  if (tagName === 'style' && (type === '' || type === 'text/css')) {
    const { urls, imports } = cssReferences(textOf(element));
    for (const url of urls) add(url, 'style/url');
    for (const url of imports) add(url, 'style/import');
  }
}

function collectRare(
  element: Element,
  owners: Map<Element, Element | null>,
  add: Add,
  addDocument: (html: string) => void,
): void {
  const { tagName } = element;
  const lower = (name: string): string | undefined => attr(element, name)?.toLowerCase();
  const isPost = (method: string | undefined): boolean => method === 'post' || method === 'dialog';
  const action = attr(element, 'action') ?? '';
  if (tagName === 'form' && !isPost(lower('method')) && action !== '') add(action, 'form/action');
  const type = lower('type');
  const sends =
    tagName === 'input'
      ? type === 'image' || type === 'submit'
      : tagName === 'button' && type !== 'reset' && type !== 'button';
  const target = attr(element, 'formaction') ?? '';
  if (sends && target !== '') {
    const owner = owners.get(element);
    const ownMethod = lower('formmethod');
    const ofForm =
      owner != null && !isPost(attr(owner, 'method')?.toLowerCase()) && attr(element, 'form') === undefined;
    if (ownMethod === undefined ? ofForm : !isPost(ownMethod)) add(target, `${tagName}/formaction`);
  }
  const srcdoc = attr(element, 'srcdoc');
  if (tagName === 'iframe' && srcdoc !== undefined) addDocument(srcdoc);
  const list = tagName === 'head' ? 'profile' : 'archive';
  if (!['head', 'object', 'applet'].includes(tagName)) return;
  for (const url of (attr(element, list) ?? '').split(tagName === 'applet' ? /\s*,\s*/ : /\s+/)) {
    if (url !== '') add(url, `${tagName}/${list}`);
  }
}

function baseOf(elements: readonly Element[], url: string): string {
  const element = elements.find((candidate) => isHtml(candidate, 'base') && attr(candidate, 'href') !== undefined);
  if (element === undefined) return url;
  try {
    const base = new URL(attr(element, 'href') as string, url);
    return base.protocol === 'data:' || base.protocol === 'javascript:' ? url : base.href;
  } catch {
    return url;
  }
}

function isCanonical(element: Element): boolean {
  if (!isHtml(element, 'link') || !relOf(element).includes('canonical') || (attr(element, 'href') ?? '') === '')
    return false;
  if (['hreflang', 'lang', 'media', 'type'].some((name) => attr(element, name) !== undefined)) return false;
  for (let node = element.parentNode; node !== null && 'tagName' in node; node = node.parentNode) {
    if (isHtml(node, 'head')) return true;
  }
  return false;
}

function namedMeta(element: Element): string[] {
  const name = attr(element, 'name')?.trim();
  const content = attr(element, 'content');
  if (name === undefined || content === undefined || !/^[\w-]+$/.test(name)) return [];
  return [`${name.toLowerCase()}=${content}`];
}

function resolve(reference: string, base: string): string | undefined {
  try {
    const url = new URL(reference, base);
    url.hash = '';
    url.username = '';
    url.password = '';
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href.replace(/#$/, '') : undefined;
  } catch {
    return undefined;
  }
}

function relOf(element: Element): string[] {
  return (attr(element, 'rel') ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
}

function attr(element: Element, name: string): string | undefined {
  return element.attrs.find((candidate) => candidate.name === name && candidate.prefix === undefined)?.value;
}

function isHtml(element: Element, tagName: string): boolean {
  return element.tagName === tagName && element.namespaceURI === HTML;
}

function textOf(element: Element): string {
  return element.childNodes.map((node) => ('value' in node ? node.value : '')).join('');
}

function fold(text: string): string {
  return text.replace(/[\t\n\f\r ]+/g, ' ').replace(/^ | $/g, '');
}
