/** Headers as they come from Node or from a test: names in any case, values one string or one for each line. */
export type HeaderSource = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The lines of a header, one string each and never joined: some headers mean something else when their lines are.
 *
 * @param name - In any case.
 * @returns Empty where there is none. Never throws.
 */
export function headerLines(headers: HeaderSource, name: string): string[] {
  if (headers === null || typeof headers !== 'object') return [];
  const wanted = name.toLowerCase();
  const lines: string[] = [];
  for (const key of Object.keys(headers)) {
    if (key.length !== wanted.length || key.toLowerCase() !== wanted) continue;
    const value = headers[key];
    if (typeof value === 'string') lines.push(value);
    else if (Array.isArray(value)) for (const line of value) lines.push(String(line));
  }
  return lines;
}

/** One or several lines, or none, as an array. */
export function toLines(value: string | readonly string[] | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value : [];
}

/** Splits at a separator that stands outside of quoted strings (RFC 9110, 5.6.4), in one pass. */
export function splitUnquoted(text: string, separator: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quoted && char === '\\') at++;
    else if (char === '"') quoted = !quoted;
    else if (!quoted && char === separator) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

/** What a quoted string stands for; other text as it is. */
export function unquote(text: string): string {
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return text;
  const inner = text.slice(1, -1);
  return inner.includes('\\') ? inner.replace(/\\([\s\S])/g, '$1') : inner;
}
