import { InvalidArgumentError } from 'commander';
import { checkUserAgent } from '../user-agent.ts';

/** What a number on the command line may be. */
export interface Range {
  readonly least?: number;
  readonly most?: number;
}

/** A count as an argument of an option. */
export function count({ least = 0, most = Number.POSITIVE_INFINITY }: Range = {}): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It takes a whole number${range(least, most)}.`);
  };
}

/** A number, of seconds or of times, as an argument of an option. */
export function decimal({ least = 0, most = Number.POSITIVE_INFINITY }: Range = {}): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+(\.\d+)?$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It takes a number${range(least, most)}, such as 0.5 or 10.`);
  };
}

function range(least: number, most: number): string {
  if (most !== Number.POSITIVE_INFINITY) return ` from ${least} to ${most}`;
  return least === 0 ? '' : `, ${least} or more`;
}

/** `html,htm` as a list. */
export function list(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** One more regular expression. */
export function patterns(text: string, before: readonly RegExp[] = []): RegExp[] {
  try {
    return [...before, new RegExp(text)];
  } catch (thrown) {
    throw new InvalidArgumentError(thrown instanceof Error ? thrown.message : 'It takes a regular expression.');
  }
}

/** One more header. */
export function headers(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const colon = text.indexOf(':');
  if (colon <= 0) throw new InvalidArgumentError('It takes "Name: value".');
  return { ...before, [text.slice(0, colon).trim()]: text.slice(colon + 1).trim() };
}

/** A mail address or a page, as it stands in a User-Agent. */
export function contact(text: string): string {
  const reachable = /^(https?:|mailto:)/i.test(text) ? text : `mailto:${text}`;
  try {
    checkUserAgent(`polite-crawler (+${reachable})`);
  } catch {
    throw new InvalidArgumentError(
      'It takes a mail address or an http(s) URL at which you can be reached: you@example.org, https://example.org/bot.',
    );
  }
  return reachable;
}
