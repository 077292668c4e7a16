import { createHash } from 'node:crypto';
import { extensionFor } from './media-types.ts';

/** How files are laid out: folders as in the URL, or all in one folder. */
export type FileLayout = 'tree' | 'flat';

/** The file that lists all others; no URL gets this name. */
export const INDEX_NAME = 'urls.jsonl';
/** Ends the name of a file that is still being written; no URL gets a name that ends so. */
export const PARTIAL_SUFFIX = '~.part';

/** Longest file name that is made, in bytes: below the 255 that file systems take, with room for a prefix. */
export const MAX_NAME_BYTES = 150;
const MAX_FOLDER_BYTES = 64;
const MAX_HOST_BYTES = 200;
const MAX_FOLDERS = 16;
const HASH_DIGITS = 20;

/** Names that Windows keeps for devices, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;
const DEFAULT_SCHEME = 'https:';

/**
 * The file for a URL: a relative path with `/` between folders. The same URL and media type give the same path in any
 * order and on any system; different URLs give paths that differ even where case does not count.
 *
 * A URL whose path is plain (lower case letters, digits, `-` and `_`, a file extension, no query) is its own name.
 * Every other name ends in a digest of the URL behind a `~`, which plain names never contain; what stands before it is
 * for the eye only, so that anything unsafe there can simply be replaced. Folders have no dot and files have one: no name
 * can be both.
 *
 * @param url - Absolute; the canonical form, so that two spellings of one URL share a file.
 */
export function fileNameFor(url: string, mediaType: string, layout: FileLayout): string {
  const parsed = new URL(url);
  const segments = parsed.pathname.split('/').slice(1);
  const last = segments.pop() ?? '';
  if (layout === 'flat') {
    const stem = [parsed.host, ...segments, withoutExtension(last), parsed.search]
      .filter((part) => part !== '')
      .join('_');
    return hashedName(stem, last, url, mediaType);
  }
  const folders = segments.slice(0, MAX_FOLDERS).map(folderName);
  const host = hostFolder(parsed);
  if (isPlain(url, parsed, segments, folders, last)) return [host, ...folders, last].join('/');
  const stem = `${withoutExtension(last) || 'index'}${parsed.search}`;
  return [host, ...folders.filter((folder) => folder !== ''), hashedName(stem, last, url, mediaType)].join('/');
}

/** Whether nothing of the URL is lost or changed where its own parts are taken for names. */
function isPlain(url: string, parsed: URL, segments: string[], folders: string[], last: string): boolean {
  if (url !== `${parsed.protocol}//${parsed.host}${parsed.pathname}` || !isPlainHost(parsed) || !isPlainFile(last)) {
    return false;
  }
  return segments.length <= MAX_FOLDERS && segments.every((segment, i) => segment !== '' && segment === folders[i]);
}

function hashedName(stem: string, last: string, url: string, mediaType: string): string {
  const hash = createHash('sha256').update(url).digest('hex').slice(0, HASH_DIGITS);
  const end = `~${hash}.${extensionOf(last) ?? extensionFor(mediaType)}`;
  const start = DEVICE.test(stem) ? `_${safe(stem)}` : safe(stem);
  return `${start.slice(0, MAX_NAME_BYTES - end.length)}${end}`;
}

/** Scheme and port are part of it where they are not those of plain https. */
function hostFolder(url: URL): string {
  const host = safe(url.hostname.toLowerCase()).slice(0, MAX_HOST_BYTES).replace(/\.$/, '_');
  const scheme = url.protocol === DEFAULT_SCHEME ? '' : `_${safe(url.protocol.slice(0, -1))}`;
  const port = url.port === '' ? '' : `_${url.port}`;
  const name = `${host}${scheme}${port}`;
  return DEVICE.test(name) || name === INDEX_NAME ? `_${name}` : name;
}

function isPlainHost(url: URL): boolean {
  const { hostname } = url;
  return /^[a-z0-9.-]+$/.test(hostname) && hostname.length <= MAX_HOST_BYTES && !/^\.|\.$/.test(hostname);
}

function folderName(segment: string): string {
  const name = safe(segment).replaceAll('.', '_').toLowerCase().slice(0, MAX_FOLDER_BYTES);
  return DEVICE.test(name) ? `_${name}` : name;
}

function isPlainFile(name: string): boolean {
  return (
    /^[a-z0-9_-][a-z0-9_.-]*$/.test(name) &&
    name.length <= MAX_NAME_BYTES &&
    extensionOf(name) !== undefined &&
    !DEVICE.test(name)
  );
}

/** The extension where it is an ordinary one. */
function extensionOf(name: string): string | undefined {
  const dot = name.lastIndexOf('.');
  const extension = name.slice(dot + 1).toLowerCase();
  return dot > 0 && /^[a-z0-9]{1,10}$/.test(extension) ? extension : undefined;
}

function withoutExtension(name: string): string {
  return extensionOf(name) === undefined ? name : name.slice(0, name.lastIndexOf('.'));
}

/** ASCII letters, digits, `.`, `-` and `_`; not hidden. Escapes are never decoded: what they hide may be a separator. */
function safe(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+|[^a-z0-9_.-]/gi, '_').replace(/^\./, '_');
}
