/** Longest text of the network that is written in one piece, in UTF-16 units. */
const MAX_TEXT_LENGTH = 4096;

/** C0 and C1 controls, DEL, line and paragraph separators, and the characters that turn the direction of writing. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text in one line that does nothing to a terminal: unsafe characters as `\u001b`, too long a rest as `...`. */
export function oneLine(text: string): string {
  return shorten(text)
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replace(UNSAFE, escapeCharacter);
}

/** As JSON in one line that does nothing to a terminal either; it reads back as the same value. */
export function jsonLine(value: unknown): string {
  // Controls up to U+001F are escaped already; outside of strings JSON has no unsafe characters but the ones it needs.
  return JSON.stringify(value, (_, inner) => (typeof inner === 'string' ? shorten(inner) : inner)).replace(
    UNSAFE,
    escapeCharacter,
  );
}

function shorten(text: string): string {
  return text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH - 3)}...` : text;
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** A moment in local time with its offset, ISO 8601 to the millisecond: `2026-03-01T09:30:00.000+01:00`. */
export function localTime(date: Date): string {
  const offset = -date.getTimezoneOffset();
  const shifted = new Date(date.getTime() + offset * 60_000).toISOString().slice(0, -1);
  const two = (value: number) => String(Math.trunc(value)).padStart(2, '0');
  return `${shifted}${offset < 0 ? '-' : '+'}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`;
}
