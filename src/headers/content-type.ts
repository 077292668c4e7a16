import { splitUnquoted, toLines, unquote } from './lines.ts';

/** A media type as a header gives it. */
export interface ContentType {
  /** `type/subtype` in lower case; empty where none was given. */
  readonly type: string;
  /** The label of the encoding, in lower case. */
  readonly charset: string | undefined;
}

/** Characters of a token (RFC 9110, 5.6.2) on both sides of the slash. */
const MEDIA_TYPE = /^[!#$%&'*+.^_`|~a-z0-9-]+\/[!#$%&'*+.^_`|~a-z0-9-]+$/;

/**
 * Reads `Content-Type`. Where it comes more than once, the last that is a media type counts, and keeps the charset of
 * an equal one before it (Fetch, "extract a MIME type"). What makes no sense is passed over. Never throws.
 */
export function parseContentType(value: string | readonly string[] | undefined): ContentType {
  if (typeof value !== 'string' || value.length > LONGEST_REMEMBERED) return parse(value);
  let known = remembered.get(value);
  if (known === undefined) {
    known = parse(value);
    if (remembered.size >= MOST_REMEMBERED) remembered.clear();
    remembered.set(value, known);
  }
  return known;
}

/** Nearly all pages have one of a few types, which is asked for several times each. */
const remembered = new Map<string, ContentType>();
const MOST_REMEMBERED = 200;
const LONGEST_REMEMBERED = 100;

function parse(value: string | readonly string[] | undefined): ContentType {
  let type = '';
  let charset: string | undefined;
  for (const part of toLines(value).flatMap((line) => splitUnquoted(String(line), ','))) {
    const [first = '', ...parameters] = splitUnquoted(part, ';');
    // Some servers forget the semicolon before the first parameter.
    const [name = '', ...glued] = first.trim().toLowerCase().split(/\s+/);
    if (!MEDIA_TYPE.test(name) || name === '*/*') continue;
    const label = charsetOf(glued) ?? charsetOf(parameters);
    charset = label ?? (name === type ? charset : undefined);
    type = name;
  }
  return { type, charset };
}

function charsetOf(parameters: readonly string[]): string | undefined {
  for (const parameter of parameters) {
    const equals = parameter.indexOf('=');
    if (equals < 0 || parameter.slice(0, equals).trim().toLowerCase() !== 'charset') continue;
    const label = withoutApostrophes(unquote(parameter.slice(equals + 1).trim()).trim());
    if (label !== '') return label.toLowerCase();
  }
  return undefined;
}

/** Apostrophes are no quotation marks in HTTP, but are found in their place. */
function withoutApostrophes(label: string): string {
  return label.length > 1 && label.startsWith("'") && label.endsWith("'") ? label.slice(1, -1).trim() : label;
}
