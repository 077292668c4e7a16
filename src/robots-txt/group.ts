import { canonicalCutPattern, canonicalPattern } from './canonical.ts';
import { eachField, type Field, isSpace, type RobotsBytes, toText } from './lines.ts';

/** Delays that say nothing which are kept for people to read, and how much of each, in characters. */
const MOST_IGNORED = 5;
const LONGEST_IGNORED = 100;

/** The token of the groups that speak to everybody else. */
const ANYONE = '*';

export interface Rule {
  readonly allow: boolean;
  /** Canonical, with its `*` and final `$`: what is matched, and what the length is counted of. */
  readonly pattern: string;
  readonly line: number;
  /** As it stands in the file, for people to read. */
  readonly text: string;
}

/** All that a file says to one product token. */
export interface Group {
  readonly rules: readonly Rule[];
  /** Seconds; the largest of all that were asked for. */
  readonly delay: number | undefined;
  /** Delays that are none, as `Crawl-delay: abc`, the first few of them. */
  readonly ignoredDelays: readonly string[];
}

/** A field that is neither a rule nor the name of a crawler. */
export interface RobotsRecord {
  /** In lower case. */
  readonly key: string;
  readonly value: string;
  /** Line in the file, from 1. */
  readonly line: number;
  /** Product tokens of the group it stands in, as written; none before the first group. */
  readonly agents: readonly string[];
}

/**
 * The group for the first of `tokens` that the file names, else that for `*`, else none (RFC 9309, section 2.2.1).
 * Groups of one token are joined wherever they stand; those of `*` are never joined to others.
 */
export function selectGroup(file: RobotsBytes, tokens: readonly string[]): Group | undefined {
  const wanted = new Map<string, Collected>();
  for (const token of [...tokens, ANYONE]) if (token !== '') wanted.set(token.toLowerCase(), new Collected());
  walkGroups<Collected>(file, {
    member: (agent) => wanted.get(agent.toLowerCase())?.named(),
    rule: (field, members) => {
      if (members.size === 0) return;
      for (const rule of rulesOf(field)) for (const member of members) member.add(rule);
    },
    other: (field, _members, addressed) => {
      if (addressed.size === 0 || !isDelay(field)) return;
      const seconds = delaySeconds(field);
      for (const member of addressed) {
        if (seconds !== undefined) member.slow(seconds);
        if (seconds === undefined || seconds === 0) member.ignore(field);
      }
    },
  });
  for (const collected of wanted.values()) if (collected.isNamed) return collected;
  return undefined;
}

/** Every field that is neither a rule nor the name of a crawler, in order. */
export function readRecords(file: RobotsBytes): RobotsRecord[] {
  const found: { field: Field; members: ReadonlySet<string> }[] = [];
  walkGroups<string>(file, {
    member: (agent) => (agent === '' ? undefined : agent),
    other: (field, members) => found.push({ field, members }),
  });
  // Names of the group may follow the record, and one list serves all records of a group.
  const lists = new Map<ReadonlySet<string>, readonly string[]>();
  return found.map(({ field: { key, value, line }, members }) => {
    const agents = lists.get(members) ?? [...members];
    lists.set(members, agents);
    return { key: toText(key), value: toText(value), line, agents };
  });
}

interface Visitor<T> {
  /** What an agent named by a user-agent line adds to its group, if anything. */
  member(agent: string): T | undefined;
  rule?(field: Field, members: ReadonlySet<T>): void;
  /** `addressed`: those that a delay would be meant for. */
  other(field: Field, members: ReadonlySet<T>, addressed: ReadonlySet<T>): void;
}

/**
 * Only a user-agent line that follows a rule starts a new group (RFC 9309, section 2.1): blank lines, sitemaps, delays and
 * what is unknown stand between user-agent lines without parting them. A delay, though, is meant for the names right
 * before it: in `User-agent: a`, `Crawl-delay: 2`, `User-agent: b`, `Disallow: /x`, the rule is for both, the delay for a.
 */
function walkGroups<T>(file: RobotsBytes, visitor: Visitor<T>): void {
  let members = new Set<T>();
  let addressed = new Set<T>();
  // The first name starts a group, too: what stands before it belongs to nobody.
  let hasRules = true;
  let hasDelay = false;
  eachField(file, (field) => {
    if (field.kind === 'user-agent') {
      if (hasRules) members = new Set();
      if (hasRules || hasDelay) addressed = new Set();
      hasRules = hasDelay = false;
      const member = visitor.member(agentOf(field));
      if (member === undefined) return;
      members.add(member);
      addressed.add(member);
    } else if (field.kind === 'allow' || field.kind === 'disallow') {
      hasRules = true;
      addressed = members;
      visitor.rule?.(field, members);
    } else {
      hasDelay ||= isDelay(field);
      visitor.other(field, members, addressed);
    }
  });
}

/** The name a line speaks to: `*`, also with words behind it, or the token that its value begins with; `''` is nobody. */
function agentOf({ value, cut }: Field): string {
  if (cut) return '';
  if (value[0] === ANYONE && (value.length === 1 || isSpace(value.charCodeAt(1)))) return ANYONE;
  return /^[A-Za-z_-]*/.exec(value)?.[0] ?? '';
}

class Collected implements Group {
  isNamed = false;
  delay: number | undefined;
  readonly ignoredDelays: string[] = [];
  /** By kind and pattern: a line that is repeated says nothing new. */
  readonly #rules = new Map<string, Rule>();

  get rules(): readonly Rule[] {
    return [...this.#rules.values()];
  }

  named(): this {
    this.isNamed = true;
    return this;
  }

  add(rule: Rule): void {
    const key = `${rule.allow ? '+' : '-'}${rule.pattern}`;
    if (!this.#rules.has(key)) this.#rules.set(key, rule);
  }

  ignore({ kind, value }: Field): void {
    if (this.ignoredDelays.length >= MOST_IGNORED) return;
    const name = kind === 'crawl-delay' ? 'Crawl-delay' : 'Request-rate';
    this.ignoredDelays.push(`${name}: ${toText(value.slice(0, LONGEST_IGNORED))}`);
  }

  slow(seconds: number): void {
    this.delay = Math.max(this.delay ?? 0, seconds);
  }
}

function rulesOf({ kind, value, line, cut }: Field): Rule[] {
  const allow = kind === 'allow';
  // What is cut may say more than was meant: more that is forbidden does no harm, more that is allowed would.
  const pattern = cut ? (allow ? undefined : canonicalCutPattern(value)) : canonicalPattern(value);
  if (pattern === undefined) return [];
  const text = `${allow ? 'Allow' : 'Disallow'}: ${toText(value)}`;
  const rules = [{ allow, pattern, line, text }];
  const folder = allow ? folderOfIndex(pattern) : undefined;
  if (folder !== undefined) rules.push({ allow, pattern: `${folder}$`, line, text });
  return rules;
}

/** Google's parser reads `Allow: /x/index.html` as allowing `/x/`, too. */
function folderOfIndex(pattern: string): string | undefined {
  const slash = pattern.lastIndexOf('/');
  return pattern.startsWith('/index.htm', slash) ? pattern.slice(0, slash + 1) : undefined;
}

function isDelay({ kind }: Field): boolean {
  return kind === 'crawl-delay' || kind === 'request-rate';
}

const DECIMAL = /^(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})(?:e\+?\d{1,3})?$/i;

/** Requests, seconds, unit; a time of day may follow, outside which the limit is kept all the same. */
const RATE = /^(\d{1,9})[ \t]*\/[ \t]*(\d{1,9})[ \t]*([smh]?)(?:[ \t]+\d{4}[ \t]*-?[ \t]*\d{4})?$/i;

const UNIT_SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600 };

/** Seconds between requests; `undefined` for what is no delay, or none that is finite and at least 0. */
function delaySeconds({ kind, value, cut }: Field): number | undefined {
  if (cut || value.length > 64) return undefined;
  if (kind === 'crawl-delay') {
    const seconds = DECIMAL.test(value) ? Number(value) : Number.NaN;
    return Number.isFinite(seconds) ? seconds : undefined;
  }
  const rate = kind === 'request-rate' ? RATE.exec(value) : null;
  const requests = Number(rate?.[1] ?? 0);
  if (rate === null || requests === 0) return undefined;
  return (Number(rate[2]) * (UNIT_SECONDS[(rate[3] ?? '').toLowerCase()] ?? 1)) / requests;
}
