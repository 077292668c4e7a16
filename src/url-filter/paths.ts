import { onlyKnown, show } from '../options.ts';
import { atLeastOne, invalid, type PartsFilter } from './hosts.ts';

/** Options of `UrlFilter.extensions`. */
export interface ExtensionRules {
  /** Only these; `''` stands for names without an extension. @defaultValue all */
  readonly allow?: readonly string[];
  /** Not these, even if allowed; `''` stands for names without an extension. @defaultValue none */
  readonly deny?: readonly string[];
}

/** Options of `UrlFilter.matching`. */
export interface PatternRules {
  /** Only URLs that one of these matches. @defaultValue all */
  readonly allow?: readonly RegExp[];
  /** No URL that one of these matches, even if allowed. @defaultValue none */
  readonly deny?: readonly RegExp[];
}

/** Extensions of programs that make a page anew for every request; what `UrlFilter.dynamicPages` refuses. */
export const DYNAMIC_EXTENSIONS: readonly string[] =
  'php php3 php4 php5 phtml asp aspx ashx asmx axd jsp jspx jsf do action cgi fcgi pl cfm cfml dll nsf idc'.split(' ');

/** Folders that programs live in. */
export const DYNAMIC_FOLDERS: readonly string[] = 'cgi-bin cgi cgi-win fcgi-bin isapi servlet servlets'.split(' ');

/** Refuses by the extension of the last path segment. */
export function extensions(rules: ExtensionRules): PartsFilter {
  onlyKnown('UrlFilter.extensions', rules, ['allow', 'deny']);
  const allow = extensionSet('allow', rules.allow);
  const deny = extensionSet('deny', rules.deny);
  return (url) => {
    const name = lastSegment(comparablePath(url.pathname));
    if (deny?.(name) === true) return 'extension';
    return allow === undefined || allow(name) ? undefined : 'extension';
  };
}

/** Refuses URLs with a query, and paths of well-known page-making programs. */
export function dynamicPages(): PartsFilter {
  const made = new Set(DYNAMIC_EXTENSIONS);
  const folders = new Set(DYNAMIC_FOLDERS);
  return (url) => {
    if (url.search !== '') return 'dynamic';
    for (const segment of comparablePath(url.pathname).toLowerCase().split('/')) {
      // A program may be followed by a path of its own: /index.php/news/1.
      if (segment.includes(';jsessionid=') || folders.has(segment)) return 'dynamic';
      if (made.has(extensionOf(withoutParameters(segment)))) return 'dynamic';
    }
    return undefined;
  };
}

/** Accepts paths that begin with one of the prefixes, letter for letter. */
export function pathPrefix(prefixes: readonly string[]): PartsFilter {
  const wanted = atLeastOne('pathPrefix', prefixes).map(parsePrefix);
  return (url) => {
    const path = comparablePath(url.pathname);
    return wanted.some((prefix) => path.startsWith(prefix)) ? undefined : 'path';
  };
}

/** Refuses by regular expressions over the whole URL. */
export function matching(rules: PatternRules): PartsFilter {
  if (rules instanceof RegExp || Array.isArray(rules))
    throw invalid('matching', `{ allow: [/.../], deny: [/.../] }, not ${show(rules)}`);
  onlyKnown('UrlFilter.matching', rules, ['allow', 'deny']);
  const allow = patternList('allow', rules.allow);
  const deny = patternList('deny', rules.deny) ?? [];
  return (url) => {
    if (deny.some((pattern) => matches(pattern, url.href))) return 'pattern';
    return allow === undefined || allow.some((pattern) => matches(pattern, url.href)) ? undefined : 'pattern';
  };
}

/**
 * A path with its escapes made alike, so that `/%7Eann` and `/~ann` compare equal: unreserved characters decoded,
 * other escapes in upper case. Escaped separators stay escaped.
 */
function comparablePath(path: string): string {
  if (!path.includes('%')) return path;
  return path.replace(/%[0-9a-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : escaped.toUpperCase();
  });
}

function parsePrefix(prefix: string): string {
  if (typeof prefix !== 'string' || !prefix.startsWith('/') || /[?#]/.test(prefix)) {
    throw invalid('pathPrefix', `paths that begin with a slash and have no query, not ${show(prefix)}`);
  }
  // An origin in front, not a base: "//a/b" is a path here, not a host.
  return comparablePath(new URL(`http://host${prefix}`).pathname);
}

function lastSegment(path: string): string {
  return withoutParameters(path.slice(path.lastIndexOf('/') + 1)).toLowerCase();
}

function withoutParameters(segment: string): string {
  const semicolon = segment.indexOf(';');
  return semicolon === -1 ? segment : segment.slice(0, semicolon);
}

/** `''` where there is none; a name that only begins with a dot has none. */
function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot + 1) : '';
}

function extensionSet(option: string, values: readonly string[] | undefined): ((name: string) => boolean) | undefined {
  if (values === undefined) return undefined;
  if (!Array.isArray(values) || values.some((value) => typeof value !== 'string' || value.includes('/'))) {
    throw invalid('extensions', `"${option}" as an array such as ['pdf', '.zip', '']`);
  }
  const normal = values.map((value) => value.toLowerCase().replace(/^\./, ''));
  const single = new Set(normal.filter((value) => !value.includes('.')));
  const compound = normal.filter((value) => value.includes('.')).map((value) => `.${value}`);
  return (name) =>
    single.has(extensionOf(name)) || compound.some((end) => name.length > end.length && name.endsWith(end));
}

function patternList(option: string, values: readonly RegExp[] | undefined): RegExp[] | undefined {
  if (values === undefined) return undefined;
  if (!Array.isArray(values) || values.some((value) => !(value instanceof RegExp))) {
    throw invalid('matching', `"${option}" as an array of regular expressions`);
  }
  // Copies: with the flags g and y an expression remembers where it stopped, and its owner may be using it too.
  return values.map((value) => new RegExp(value));
}

function matches(pattern: RegExp, text: string): boolean {
  pattern.lastIndex = 0;
  return pattern.test(text);
}
