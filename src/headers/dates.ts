const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Hours east of Greenwich (RFC 5322, 4.3); other names tell nothing. */
const ZONES: ReadonlyMap<string, number> = new Map([
  ['gmt', 0],
  ['ut', 0],
  ['utc', 0],
  ['z', 0],
  ['est', -5],
  ['edt', -4],
  ['cst', -6],
  ['cdt', -5],
  ['mst', -7],
  ['mdt', -6],
  ['pst', -8],
  ['pdt', -7],
]);

/** `Sun, 06 Nov 1994 08:49:37 GMT`, also with other zones and without day of the week or seconds. */
const MAIL =
  /^(?:[a-z]{3,9},?\s+)?(\d{1,2})\s+([a-z]{3,9})\s+(\d{4}|\d{2})\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s+(\S{1,5})$/i;
/** `Sunday, 06-Nov-94 08:49:37 GMT` */
const RFC_850 = /^[a-z]{3,9},?\s+(\d{1,2})-([a-z]{3})-(\d{4}|\d{2})\s+(\d{1,2}):(\d{2}):(\d{2})\s+(\S{1,5})$/i;
/** `Sun Nov  6 08:49:37 1994`, which is GMT */
const ASCTIME = /^[a-z]{3}\s+([a-z]{3})\s+(\d{1,2})\s+(\d{1,2}):(\d{2}):(\d{2})\s+(\d{4})$/i;
const W3C = /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2}))?)?)?$/;

const LONGEST = 64;
const YEAR_MS = 365.2425 * 86_400_000;

/**
 * Reads an HTTP date in any of its three forms (RFC 9110, 5.6.7). Never throws.
 *
 * @param now - What a year of two digits is counted from, in milliseconds since the epoch.
 * @returns Milliseconds since the epoch, or `undefined` where it is no such date.
 */
export function parseHttpDate(value: string, now: number = Date.now()): number | undefined {
  const text = short(value);
  if (text === undefined) return undefined;
  const time = mailDate(text, now) ?? rfc850Date(text, now);
  if (time !== undefined) return time;
  const [, month, day, hour, minute, second, year] = ASCTIME.exec(text) ?? [];
  if (year === undefined) return undefined;
  return instant(Number(year), monthOf(month), day, hour, minute, second, 0);
}

/**
 * Reads a date as W3C Datetime has it: year, year and month, day, or day and time with a zone; a time without a zone
 * says no instant and is refused. Never throws.
 *
 * @returns Milliseconds since the epoch, the first moment (UTC) of what is named; or `undefined`.
 */
export function parseW3cDate(value: string): number | undefined {
  const text = short(value);
  const match = text === undefined ? null : W3C.exec(text);
  if (match === null) return undefined;
  const [, year, month = '1', day = '1', hour = '0', minute = '0', second = '0', fraction = '0', zone = 'Z'] = match;
  const offset = zone === 'Z' ? 0 : numericOffset(zone.replace(':', ''));
  const time = instant(Number(year), Number(month) - 1, day, hour, minute, second, offset);
  return time === undefined ? undefined : time + Math.floor(Number(`0.${fraction}`) * 1000);
}

/**
 * Reads a date in any form that pages and feeds use: RFC 822 and its heirs, RFC 850, asctime, W3C Datetime, also with a
 * space for its `T` or a zone without colon. Without a zone the time is taken as UTC, without a time as midnight.
 * Never throws.
 *
 * @returns Milliseconds since the epoch, or `undefined`.
 */
export function parseAnyDate(value: string, now: number = Date.now()): number | undefined {
  const text = short(value);
  if (text === undefined) return undefined;
  for (const spelling of [text, `${text} GMT`, `${text} 00:00 GMT`]) {
    const time = parseHttpDate(spelling, now);
    if (time !== undefined) return time;
  }
  return parseW3cDate(isoSpelling(text));
}

/** A looser ISO 8601 date and time, spelled as {@link parseW3cDate} wants it. */
function isoSpelling(text: string): string {
  const match = /^(\d{4}-\d{2}-\d{2})[ t](\d{2}:\d{2}[\d:.]{0,16})\s?(z|utc|gmt|[+-]\d{2}:?\d{0,2})?$/i.exec(text);
  if (match === null) return text;
  const [, day, time, zone = 'Z'] = match;
  const digits = zone.replace(':', '');
  if (!/^[+-]/.test(digits)) return `${day}T${time}Z`;
  return `${day}T${time}${digits.slice(0, 3)}:${digits.slice(3).padEnd(2, '0')}`;
}

function short(value: string): string | undefined {
  if (typeof value !== 'string' || value.length > LONGEST) return undefined;
  return value.trim();
}

function mailDate(text: string, now: number): number | undefined {
  const match = MAIL.exec(text);
  if (match === null) return undefined;
  const [, day, month, year, hour, minute, second = '0', zone] = match;
  return instant(fullYear(year, now), monthOf(month), day, hour, minute, second, zoneOffset(zone));
}

function rfc850Date(text: string, now: number): number | undefined {
  const match = RFC_850.exec(text);
  if (match === null) return undefined;
  const [, day, month, year, hour, minute, second, zone] = match;
  return instant(fullYear(year, now), monthOf(month), day, hour, minute, second, zoneOffset(zone));
}

/** Two digits mean the year nearest to now that is no more than 50 years ahead (RFC 9110, 5.6.7). */
function fullYear(digits: string | undefined, now: number): number {
  const year = Number(digits);
  if (digits?.length !== 2) return year;
  const current = 1970 + Math.floor(now / YEAR_MS);
  const guess = current - (current % 100) + year;
  return guess > current + 50 ? guess - 100 : guess;
}

function monthOf(name = ''): number {
  return MONTHS.indexOf(name.slice(0, 3).toLowerCase());
}

/** Minutes east of Greenwich, or `NaN`. */
function zoneOffset(zone = ''): number {
  const hours = ZONES.get(zone.toLowerCase());
  return hours === undefined ? numericOffset(zone) : hours * 60;
}

function numericOffset(zone: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2})(\d{2})$/.exec(zone) ?? [];
  if (Number(hours) > 23 || Number(minutes) > 59) return Number.NaN;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

/** The moment, where all parts are in range and the day is in the calendar. */
function instant(
  year: number,
  month: number,
  day: string | undefined,
  hour: string | undefined,
  minute: string | undefined,
  second: string | undefined,
  offsetMinutes: number,
): number | undefined {
  const [d, h, m, s] = [Number(day), Number(hour), Number(minute), Number(second)];
  // Before 1000, Date.UTC would take 94 for 1994. A leap second is the first of the next minute.
  if (year < 1000 || h > 23 || m > 59 || s > 60) return undefined;
  const midnight = Date.UTC(year, month, d);
  const date = new Date(midnight);
  if (month < 0 || date.getUTCMonth() !== month || date.getUTCDate() !== d) return undefined;
  const time = midnight + ((h * 60 + m - offsetMinutes) * 60 + s) * 1000;
  return Number.isNaN(time) ? undefined : time;
}
